//! Beams: elliptical Gaussians, their algebra, the smallest common one, and where the beams of
//! a file are written down. Only text logs are opened here; pixels and sky axes are elsewhere.
//!
//! A beam is an ellipse of full widths at half maximum; as a [`Covariance`] it is a matrix in
//! which convolution is addition, and "can be convolved to" is "is smaller than". [`source`]
//! finds the beam of each plane of a file; [`common_beam`] the smallest one they all reach.
//!
//! ```
//! use mmfits::beam::{Beam, Relation, common_beam};
//!
//! let a = Beam::new(20.0, 10.0, 0.0)?;
//! let b = Beam::new(20.0, 10.0, 90.0)?;
//! let common = common_beam(&[a, b])?;
//! assert!((common.bmaj_arcsec() - 20.0).abs() < 1e-12);
//! assert!((common.bmin_arcsec() - 20.0).abs() < 1e-12);
//! assert!(matches!(Relation::between(&a, &common), Relation::Reachable(_)));
//! # Ok::<(), mmfits::beam::BeamError>(())
//! ```

pub mod source;

pub mod log;
pub mod table;

mod angle;
mod cards;
mod common;
mod covariance;
mod dd;
mod entry;
mod error;
mod history;
mod note;
mod round;
mod units;

use std::fmt;

pub use angle::normal_angle_deg;
pub use common::common_beam;
pub use covariance::{Covariance, Relation, TOLERANCE};
pub use error::{BeamError, IndexFault};
pub use note::BeamNote;
pub use round::{round_up, smallest_circle};

/// Area of an elliptical Gaussian of unit full widths: π / (4 ln 2).
const UNIT_AREA: f64 = std::f64::consts::PI / (4.0 * std::f64::consts::LN_2);

/// A restoring beam: an elliptical Gaussian by its full widths at half maximum.
///
/// Always finite, `bmaj >= bmin >= 0`, the position angle (north through east) in (−90, 90] and
/// 0 where the beam is round.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Beam {
    bmaj_arcsec: f64,
    bmin_arcsec: f64,
    bpa_deg: f64,
}

impl Beam {
    /// A beam of these axes; the angle is brought into (−90, 90].
    ///
    /// # Errors
    /// [`BeamError::NotABeam`] unless all three are finite and `bmaj >= bmin >= 0`.
    pub fn new(bmaj_arcsec: f64, bmin_arcsec: f64, bpa_deg: f64) -> Result<Self, BeamError> {
        let finite = bmaj_arcsec.is_finite() && bpa_deg.is_finite();
        if !(finite && bmin_arcsec >= 0.0 && bmaj_arcsec >= bmin_arcsec) {
            return Err(BeamError::NotABeam {
                bmaj_arcsec,
                bmin_arcsec,
                bpa_deg,
            });
        }
        let round = bmaj_arcsec == bmin_arcsec;
        let bpa_deg = if round {
            0.0
        } else {
            normal_angle_deg(bpa_deg)
        };
        Ok(Self {
            bmaj_arcsec,
            bmin_arcsec,
            bpa_deg,
        })
    }

    /// Major axis, FWHM, arcsec.
    pub fn bmaj_arcsec(&self) -> f64 {
        self.bmaj_arcsec
    }

    /// Minor axis, FWHM, arcsec.
    pub fn bmin_arcsec(&self) -> f64 {
        self.bmin_arcsec
    }

    /// Position angle of the major axis, north through east, degrees in (−90, 90].
    pub fn bpa_deg(&self) -> f64 {
        self.bpa_deg
    }

    /// The matrix of squared full widths.
    pub fn covariance(&self) -> Covariance {
        Covariance::of_ellipse(self.bmaj_arcsec, self.bmin_arcsec, self.bpa_deg)
    }

    /// Area under the unit-peak beam, arcsec²: π/(4 ln 2) · BMAJ · BMIN.
    pub fn area_arcsec2(&self) -> f64 {
        UNIT_AREA * self.bmaj_arcsec * self.bmin_arcsec
    }

    /// Area under the unit-peak beam, steradian.
    pub fn area_sr(&self) -> f64 {
        let arcsec = (1.0 / 3600.0_f64).to_radians();
        self.area_arcsec2() * arcsec * arcsec
    }

    /// The beam of an image of this beam, convolved with `other`.
    ///
    /// # Errors
    /// [`BeamError::NotABeam`] where the squares of the axes are beyond a double.
    pub fn convolve(&self, other: &Self) -> Result<Self, BeamError> {
        self.covariance().plus(other.covariance()).to_beam()
    }

    /// The kernel that makes this beam of `other`, by [`Relation::between`]: `None` where there
    /// is none, a beam of no width where the two are the same.
    pub fn deconvolve(&self, other: &Self) -> Option<Self> {
        match Relation::between(other, self) {
            Relation::Equal => Self::new(0.0, 0.0, 0.0).ok(),
            Relation::Reachable(kernel) => kernel.to_beam().ok(),
            Relation::Unreachable { .. } => None,
        }
    }

    /// Whether `other` can be convolved to this beam, within [`TOLERANCE`].
    pub fn contains(&self, other: &Self) -> bool {
        !matches!(Relation::between(other, self), Relation::Unreachable { .. })
    }

    /// Whether this is a beam at all and not one of the ways to say "no beam here": both axes at
    /// least `floor_arcsec` (1e-3 of a pixel), and not zero.
    pub fn is_usable(&self, floor_arcsec: f64) -> bool {
        self.bmin_arcsec > 0.0 && self.bmin_arcsec >= floor_arcsec
    }
}

/// To seven digits, as many as a float32 table has; the fields have them all.
impl fmt::Display for Beam {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [bmaj, bmin, bpa] = [self.bmaj_arcsec, self.bmin_arcsec, self.bpa_deg].map(shown);
        write!(f, "{bmaj}\" x {bmin}\" at {bpa} deg")
    }
}

fn shown(value: f64) -> String {
    let magnitude = value.abs().log10().floor();
    if value == 0.0 {
        return String::from("0");
    }
    if !(-9.0..=9.0).contains(&magnitude) {
        return format!("{value:e}");
    }
    // Between 0 and 15, as the magnitude has just been checked.
    let decimals = (6.0 - magnitude).max(0.0) as usize;
    let text = format!("{value:.decimals$}");
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

#[cfg(test)]
mod tests {
    use super::Beam;

    #[test]
    fn beams_are_shown_to_seven_digits() {
        let shown = |a, b, pa| Beam::new(a, b, pa).unwrap().to_string();
        assert_eq!(shown(30.0, 28.0, 20.0), "30\" x 28\" at 20 deg");
        assert_eq!(
            shown(16.15401872563846, 0.0513550814, -39.726262666),
            "16.15402\" x 0.05135508\" at -39.72626 deg"
        );
        assert_eq!(shown(1e20, 1e-20, 0.0), "1e20\" x 1e-20\" at 0 deg");
        assert_eq!(shown(5.0, 5.0, 77.0), "5\" x 5\" at 0 deg");
    }
}
