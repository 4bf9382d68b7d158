//! A beam as a symmetric 2×2 matrix, in which convolution is addition.
//! Two matrices are compared here; finding a common one lives in `common`.

use super::angle::{cos_sin, degrees_of};
use super::{Beam, BeamError};

/// Elements of target − beam over BMAJ² up to which two beams are the same, and how far below
/// zero its least eigenvalue may lie before a target is out of reach: float32 tables and degree
/// cards round at 1e-7.
pub const TOLERANCE: f64 = 1e-6;

/// Squared full widths of an elliptical Gaussian, arcsec²: the covariance times 8 ln 2.
///
/// The axes are east (E) and north (N) on the sky; with semi-turn position angle p from north
/// through east, `ee = a² sin² p + b² cos² p`, `en = (a² − b²) sin p cos p`,
/// `nn = a² cos² p + b² sin² p` for full widths a and b. Convolving two Gaussians adds their
/// covariances.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Covariance {
    /// East-east element, arcsec².
    pub ee: f64,
    /// East-north element, arcsec².
    pub en: f64,
    /// North-north element, arcsec².
    pub nn: f64,
}

impl Covariance {
    /// Of an ellipse of full widths `a` and `b` (any length unit) at `pa_deg` from N through E.
    pub(super) fn of_ellipse(a: f64, b: f64, pa_deg: f64) -> Self {
        let (c, s) = cos_sin(pa_deg);
        let (a2, b2) = (a * a, b * b);
        Self {
            ee: a2 * s * s + b2 * c * c,
            en: (a - b) * (a + b) * s * c,
            nn: a2 * c * c + b2 * s * s,
        }
    }

    /// The element-wise sum: the covariance of the convolution.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            ee: self.ee + other.ee,
            en: self.en + other.en,
            nn: self.nn + other.nn,
        }
    }

    /// The element-wise difference: the kernel that makes `self` of `other`, if there is one.
    #[must_use]
    pub fn minus(self, other: Self) -> Self {
        Self {
            ee: self.ee - other.ee,
            en: self.en - other.en,
            nn: self.nn - other.nn,
        }
    }

    /// Every element times `factor`.
    #[must_use]
    pub fn times(self, factor: f64) -> Self {
        Self {
            ee: self.ee * factor,
            en: self.en * factor,
            nn: self.nn * factor,
        }
    }

    /// The determinant, a²b², arcsec⁴; without the rounding of the two products.
    pub fn determinant(self) -> f64 {
        let product = self.en * self.en;
        let error = (-self.en).mul_add(self.en, product);
        self.ee.mul_add(self.nn, -product) + error
    }

    /// Largest and least eigenvalue, arcsec².
    pub fn eigenvalues(self) -> (f64, f64) {
        let (t, r) = (self.half_trace(), self.radius());
        let largest = t + r;
        // For a matrix near singular t − r loses its digits and the determinant does not.
        let least = if largest > 0.0 && t >= r {
            self.determinant() / largest
        } else {
            t - r
        };
        (largest, least)
    }

    /// The nearest matrix without a negative eigenvalue: that eigenvalue is set to zero.
    #[must_use]
    pub fn clamped(self) -> Self {
        let (t, r) = (self.half_trace(), self.radius());
        if t >= r {
            return self;
        }
        if t + r <= 0.0 {
            return Self::default();
        }
        let half = 0.5 * (t + r);
        let (c, s) = (0.5 * (self.nn - self.ee) / r, self.en / r);
        Self {
            ee: half * (1.0 - c),
            en: half * s,
            nn: half * (1.0 + c),
        }
    }

    /// The ellipse of this matrix. An eigenvalue that is negative by rounding alone (1e-12 of
    /// the largest) is taken as zero; so a line and a point are beams of no width.
    ///
    /// # Errors
    /// [`BeamError::NotABeam`] for a matrix that is not finite or has a negative eigenvalue.
    pub fn to_beam(self) -> Result<Beam, BeamError> {
        let (a2, b2) = self.eigenvalues();
        let bpa_deg = 0.5 * degrees_of(2.0 * self.en, self.nn - self.ee);
        if b2 < -1e-12 * a2 || a2 < 0.0 {
            let root = |square: f64| square.signum() * square.abs().sqrt();
            return Err(BeamError::NotABeam {
                bmaj_arcsec: root(a2),
                bmin_arcsec: root(b2),
                bpa_deg,
            });
        }
        let (a, b) = (a2.sqrt(), b2.max(0.0).sqrt().min(a2.sqrt()));
        // Below this the difference of the axes is rounding, and so is the angle.
        let round = self.radius() <= 4.0 * f64::EPSILON * self.half_trace();
        Beam::new(a, if round { a } else { b }, bpa_deg)
    }

    fn half_trace(self) -> f64 {
        0.5 * (self.ee + self.nn)
    }

    /// Half the difference of the eigenvalues.
    fn radius(self) -> f64 {
        (0.5 * (self.nn - self.ee)).hypot(self.en)
    }
}

/// How a plane's beam stands to a target beam.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Relation {
    /// The same beam within [`TOLERANCE`]: nothing to convolve.
    Equal,
    /// Convolving with this kernel makes the target of the beam; negative eigenvalues were set
    /// to zero, and what is left of them is rounding.
    Reachable(Covariance),
    /// No kernel makes the target of the beam.
    Unreachable {
        /// Least eigenvalue of target − beam, over the beam's BMAJ²: below −[`TOLERANCE`].
        least_eigenvalue: f64,
    },
}

impl Relation {
    /// Compares a plane's beam with a target. Differences are taken in covariances, over the
    /// beam's BMAJ²; a least eigenvalue between −[`TOLERANCE`] and 0 is rounding and clamped.
    pub fn between(beam: &Beam, target: &Beam) -> Self {
        let unit = beam.bmaj_arcsec() * beam.bmaj_arcsec();
        let difference = target.covariance().minus(beam.covariance());
        let least_eigenvalue = difference.eigenvalues().1 / unit;
        let limit = TOLERANCE * unit;
        let Covariance { ee, en, nn } = difference;
        if [ee, en, nn].iter().all(|element| element.abs() <= limit) {
            Self::Equal
        } else if least_eigenvalue >= -TOLERANCE || (unit == 0.0 && least_eigenvalue.is_nan()) {
            Self::Reachable(difference.clamped())
        } else {
            Self::Unreachable { least_eigenvalue }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn beam(a: f64, b: f64, pa: f64) -> Beam {
        Beam::new(a, b, pa).unwrap()
    }

    #[test]
    fn elements_at_known_angles() {
        // North-south ellipse: the major axis is the north element, exactly.
        let north = beam(3.0, 2.0, 0.0).covariance();
        assert_eq!((north.ee, north.en, north.nn), (4.0, 0.0, 9.0));
        let east = beam(3.0, 2.0, 90.0).covariance();
        assert_eq!((east.ee, east.en, east.nn), (9.0, 0.0, 4.0));
        // North-east: half the sum on the diagonal, half the difference off it, positive.
        let diagonal = beam(3.0, 2.0, 45.0).covariance();
        assert!((diagonal.ee - 6.5).abs() < 1e-15 && (diagonal.en - 2.5).abs() < 1e-15);
    }

    #[test]
    fn ellipses_come_back() {
        for (a, b) in [
            (3.0, 2.0),
            (1e-4, 1e-4),
            (1e4, 1e4 * (1.0 - 1e-9)),
            (1e7, 1e3),
        ] {
            for pa in [-89.9, -45.0, -0.1, 0.0, 13.7, 45.0, 90.0] {
                let back = beam(a, b, pa).covariance().to_beam().unwrap();
                let want = beam(a, b, pa);
                assert!(
                    (back.bmaj_arcsec() / a - 1.0).abs() < 1e-15,
                    "{back:?} of {want:?}"
                );
                // A needle's width is what the rounding of the elements leaves of it.
                let share = f64::EPSILON * (a / b) * (a / b);
                assert!(
                    (back.bmin_arcsec() / b - 1.0).abs() < 4.0 * share,
                    "{back:?}"
                );
                if a > 1.5 * b {
                    assert!(
                        (back.bpa_deg() - want.bpa_deg()).abs() < 1e-13,
                        "{back:?} {want:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn a_needle_along_an_axis_keeps_its_width() {
        let back = beam(1e8, 1.0, 90.0).covariance().to_beam().unwrap();
        assert_eq!(
            (back.bmaj_arcsec(), back.bmin_arcsec(), back.bpa_deg()),
            (1e8, 1.0, 90.0)
        );
    }

    #[test]
    fn round_within_rounding_is_round() {
        let sum = beam(20.0, 10.0, 30.0)
            .covariance()
            .plus(beam(20.0, 10.0, -60.0).covariance());
        let round = sum.to_beam().unwrap();
        assert_eq!(round.bpa_deg(), 0.0);
        assert_eq!(round.bmaj_arcsec(), round.bmin_arcsec());
        assert!((round.bmaj_arcsec() - 500f64.sqrt()).abs() < 1e-14);
    }

    #[test]
    fn a_negative_matrix_is_no_beam() {
        let negative = Covariance {
            ee: 1.0,
            en: 0.0,
            nn: -0.5,
        };
        assert!(negative.to_beam().is_err());
        assert_eq!(
            negative.clamped(),
            Covariance {
                ee: 1.0,
                en: 0.0,
                nn: 0.0
            }
        );
        assert_eq!(negative.times(-3.0).minus(negative).ee, -4.0);
        assert_eq!(
            Covariance {
                ee: -1.0,
                en: 0.0,
                nn: -1.0
            }
            .clamped(),
            Covariance::default()
        );
    }

    #[test]
    fn relation_at_the_tolerance() {
        let plane = beam(10.0, 8.0, 20.0);
        assert_eq!(Relation::between(&plane, &plane), Relation::Equal);
        assert_eq!(
            Relation::between(&plane, &beam(10.000001, 8.0, 200.0)),
            Relation::Equal
        );
        let grown = Relation::between(&plane, &beam(10.1, 8.0, 20.0));
        let Relation::Reachable(kernel) = grown else {
            panic!("{grown:?}")
        };
        assert!((kernel.eigenvalues().0 - 2.01).abs() < 1e-13);
        assert!(kernel.eigenvalues().1.abs() < 1e-14);
        let turned = Relation::between(&plane, &beam(10.0, 8.0, 21.0));
        assert!(
            matches!(turned, Relation::Unreachable { least_eigenvalue } if
            least_eigenvalue < -1e-3)
        );
        // 8" to 7.999 999 5": below zero by 8e-8 of BMAJ², so clamped to a line kernel.
        let line = Relation::between(&plane, &beam(12.0, 7.999_999_5, 20.0));
        let Relation::Reachable(kernel) = line else {
            panic!("{line:?}")
        };
        assert!(kernel.eigenvalues().1.abs() < 1e-13 * kernel.eigenvalues().0);
    }
}
