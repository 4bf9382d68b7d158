//! The convolving Gaussian: its shape in pixels and its Fourier transform on a grid of
//! frequencies. Neither pixels nor transforms are known here.

mod exp;
mod gaussian;
mod grid;

pub use gaussian::GaussianTransfer;
pub use grid::Grid;

use crate::beam::Covariance;

/// A Gaussian's covariance in pixels, scaled so that a diagonal element is the square of the
/// FWHM along that axis: FWHM² in px², x along a row (NAXIS1), y along a column (NAXIS2).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PixelCovariance {
    /// Along x, px².
    pub xx: f64,
    /// Between x and y, px².
    pub xy: f64,
    /// Along y, px².
    pub yy: f64,
}

impl PixelCovariance {
    /// Carries a covariance from the sky into pixels: `P = J⁻¹ C J⁻ᵀ`, as the covariance of a
    /// linear map of its argument. `pixels_per_arcsec` is `J⁻¹`, the inverse of the Jacobian from
    /// pixels to the sky: rows (x, y), columns (east, north).
    #[must_use]
    pub fn carry(covariance: &Covariance, pixels_per_arcsec: &[[f64; 2]; 2]) -> Self {
        let Covariance { ee, en, nn } = *covariance;
        let [[xe, xn], [ye, yn]] = *pixels_per_arcsec;
        Self {
            xx: xe * xe * ee + 2.0 * xe * xn * en + xn * xn * nn,
            xy: xe * ye * ee + (xe * yn + xn * ye) * en + xn * yn * nn,
            yy: ye * ye * ee + 2.0 * ye * yn * en + yn * yn * nn,
        }
    }

    /// FWHM of the kernel summed over columns, px: its width along x, however it is rotated.
    #[must_use]
    pub fn marginal_fwhm_x_px(&self) -> f64 {
        self.xx.max(0.0).sqrt()
    }

    /// FWHM of the kernel summed over rows, px: its width along y, however it is rotated.
    #[must_use]
    pub fn marginal_fwhm_y_px(&self) -> f64 {
        self.yy.max(0.0).sqrt()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flipped_axis_turns_the_sign_of_the_cross_term() {
        let sky = Covariance {
            ee: 300.0,
            en: 40.0,
            nn: 200.0,
        };
        let east_is_left = [[-0.4, 0.0], [0.0, 0.4]];
        let carried = PixelCovariance::carry(&sky, &east_is_left);
        assert!((carried.xx - 48.0).abs() < 1e-12);
        assert!((carried.xy + 6.4).abs() < 1e-12);
        assert!((carried.yy - 32.0).abs() < 1e-12);
    }

    #[test]
    fn a_rotation_keeps_trace_and_determinant() {
        let sky = Covariance {
            ee: 300.0,
            en: 40.0,
            nn: 200.0,
        };
        let (s, c) = 0.6_f64.sin_cos();
        let carried = PixelCovariance::carry(&sky, &[[c, -s], [s, c]]);
        assert!((carried.xx + carried.yy - 500.0).abs() < 1e-10);
        let determinant = carried.xx * carried.yy - carried.xy * carried.xy;
        assert!((determinant - 58_400.0).abs() < 1e-7);
    }

    #[test]
    fn pixels_of_unequal_size_scale_each_axis_by_itself() {
        let sky = Covariance {
            ee: 100.0,
            en: 0.0,
            nn: 100.0,
        };
        let carried = PixelCovariance::carry(&sky, &[[-0.5, 0.0], [0.0, 0.25]]);
        assert_eq!(carried.marginal_fwhm_x_px(), 5.0);
        assert_eq!(carried.marginal_fwhm_y_px(), 2.5);
    }
}
