//! The 2×2 matrix of the celestial axes as a header gives it: `CDi_j`, `PCi_j` or `PC00i00j` with
//! `CDELTi`, or `CDELTi` with `CROTAn`, in the units of `CUNITi` (FITS WCS papers I and II).
//! What the matrix means for a beam is not known here.

use std::f64::consts::PI;

use fits_layout::Header;

use super::axes::Axes;
use super::error::SkyError;
use super::terms::{Form, Terms};

/// Rows (east, north), columns (x, y).
pub type Matrix = [[f64; 2]; 2];

const ARCSEC_PER_DEG: f64 = 3600.0;

/// A matrix and the keywords it came from.
#[derive(Clone, Debug)]
pub struct Found {
    /// Rows (east, north), columns (x, y).
    pub arcsec_per_px: Matrix,
    /// For the error of a matrix that cannot be used.
    pub keywords: String,
}

/// Reads the matrix of the first two axes.
pub fn read(header: &Header, axes: &Axes) -> Result<Found, SkyError> {
    let terms = Terms::of(header, axes.lengths().len())?;
    terms.check_uncoupled()?;
    let step = steps(header)?;
    let units = [
        unit_arcsec(header, "CUNIT1")?,
        unit_arcsec(header, "CUNIT2")?,
    ];
    let cd = terms.cd();
    let pc = terms.pc(step)?;
    let (by_axis, keywords) = match (cd, pc) {
        (Some(cd), Some(pc)) => {
            terms.check_same(&cd, &pc)?;
            (in_arcsec(cd, units), terms.keywords(Form::Cd))
        }
        (Some(cd), None) => (in_arcsec(cd, units), terms.keywords(Form::Cd)),
        (None, Some(pc)) => (in_arcsec(pc, units), terms.keywords(terms.pc_form())),
        (None, None) => turned(header, axes, both(step)?, units)?,
    };
    let [first, second] = by_axis;
    let arcsec_per_px = if axes.celestial() == (1, 0) {
        [second, first]
    } else {
        [first, second]
    };
    Ok(Found {
        arcsec_per_px,
        keywords,
    })
}

/// Rows in the units of their axes, made arcsec.
fn in_arcsec([first, second]: Matrix, units: [f64; 2]) -> Matrix {
    [
        first.map(|element| element * units[0]),
        second.map(|element| element * units[1]),
    ]
}

/// `CDELT1` and `CDELT2`, where they are.
fn steps(header: &Header) -> Result<[Option<f64>; 2], SkyError> {
    Ok([number(header, "CDELT1")?, number(header, "CDELT2")?])
}

/// Both steps, or the name of the missing one.
pub fn both(step: [Option<f64>; 2]) -> Result<[f64; 2], SkyError> {
    let missing = |keyword: &str| SkyError::NoPixelSize {
        keyword: keyword.to_owned(),
    };
    let first = step[0].ok_or_else(|| missing("CDELT1"))?;
    let second = step[1].ok_or_else(|| missing("CDELT2"))?;
    Ok([first, second])
}

/// `CDELTi` turned by `CROTAn` of the latitude axis (paper II, section 6.1): the rotation is from
/// the longitude axis to the latitude axis, whatever their order.
fn turned(
    header: &Header,
    axes: &Axes,
    step: [f64; 2],
    units: [f64; 2],
) -> Result<(Matrix, String), SkyError> {
    let step = [step[0] * units[0], step[1] * units[1]];
    let keyword = format!("CROTA{}", axes.celestial().1 + 1);
    let angle_deg = match number(header, &keyword)? {
        Some(angle) => angle,
        None => no_stray_rotation(header, axes, &keyword)?,
    };
    let (sine, cosine) = angle_deg.to_radians().sin_cos();
    // Longitude first, the second row reads +sine; latitude first, the first row does.
    let sine = if axes.celestial() == (1, 0) {
        -sine
    } else {
        sine
    };
    let matrix = [
        [step[0] * cosine, -step[1] * sine],
        [step[0] * sine, step[1] * cosine],
    ];
    let zero = |axis: usize| step.get(axis) == Some(&0.0);
    let keywords = match (zero(0), zero(1)) {
        (true, false) => "CDELT1 = 0",
        (false, true) => "CDELT2 = 0",
        _ => "CDELT1, CDELT2",
    };
    Ok((matrix, keywords.to_owned()))
}

/// No rotation; but one on the longitude axis alone has no meaning, and is not to be ignored.
fn no_stray_rotation(header: &Header, axes: &Axes, expected: &str) -> Result<f64, SkyError> {
    let keyword = format!("CROTA{}", axes.celestial().0 + 1);
    match number(header, &keyword)? {
        Some(found_deg) if found_deg != 0.0 => {
            let expected = format!("the rotation in {expected}, on the latitude axis");
            Err(SkyError::Rotation {
                keyword,
                found_deg,
                expected,
            })
        }
        _ => Ok(0.0),
    }
}

/// A finite number, if there.
pub fn number(header: &Header, keyword: &str) -> Result<Option<f64>, SkyError> {
    match header.real(keyword)? {
        Some(found) if !found.is_finite() => Err(SkyError::NotFinite {
            keyword: keyword.to_owned(),
            found,
        }),
        found => Ok(found),
    }
}

/// The unit of a celestial axis in arcsec; degrees where it is absent or blank (FITS 4.0, section
/// 8.2 and table 3).
fn unit_arcsec(header: &Header, keyword: &str) -> Result<f64, SkyError> {
    let found = header.text(keyword)?.unwrap_or_default();
    let unit = found.trim().to_ascii_lowercase();
    let arcsec = match unit.as_str() {
        "" | "deg" | "degs" | "degree" | "degrees" => ARCSEC_PER_DEG,
        "arcmin" | "arcmins" | "amin" | "arcminute" | "arcminutes" => 60.0,
        "arcsec" | "arcsecs" | "asec" | "arcsecond" | "arcseconds" => 1.0,
        "mas" | "marcsec" | "milliarcsec" => 1e-3,
        "uas" | "uarcsec" | "microarcsec" => 1e-6,
        "rad" | "rads" | "radian" | "radians" => 180.0 / PI * ARCSEC_PER_DEG,
        "mrad" => 0.18 / PI * ARCSEC_PER_DEG,
        _ => {
            return Err(SkyError::NoAngle {
                keyword: keyword.to_owned(),
                found,
            });
        }
    };
    Ok(arcsec)
}
