//! How far an image is padded so that nothing of its kernel comes in from the far side.
//! Only lengths are known here.

use super::lengths::{Axis, LONGEST, fastest, next_smooth};
use crate::kernel::{GaussianTransfer, Grid, PixelCovariance};
use crate::plan::spec::{Edge, Precision};

/// Pixels added beyond three marginal FWHM.
const MARGIN_PX: usize = 8;

/// The transform length of an axis of `n` pixels with zero edges: the next length with no factors
/// but 2, 3, 5 and 7 that is not below `n + ceil(3 · marginal FWHM) + 8`.
///
/// Where the transfer function is not small at the Nyquist frequency the kernel rings, and this
/// length decides the last digits of the result; so it is a rule there, not a tuning knob. `None`
/// if the width is not a number or the length is beyond any memory.
#[must_use]
pub fn padded_length(n: usize, marginal_fwhm_px: f64) -> Option<usize> {
    next_smooth(least_length(n, marginal_fwhm_px)?)
}

fn least_length(n: usize, marginal_fwhm_px: f64) -> Option<usize> {
    let reach = (3.0 * marginal_fwhm_px).ceil();
    if !(0.0..=LONGEST as f64).contains(&reach) {
        return None;
    }
    n.checked_add(reach as usize)?.checked_add(MARGIN_PX)
}

/// The length that is transformed fastest of those that do as well as that of
/// [`padded_length`] in this precision, along x; `None` if the kernel rings too much for another.
pub(super) fn fast_row(n: usize, kernel: &PixelCovariance, precision: Precision) -> Option<usize> {
    let rings = |distance| GaussianTransfer::new(*kernel, 1.0).ringing_x(distance);
    let least = least_length(n, kernel.marginal_fwhm_x_px())?;
    is_free(n, least, rings, precision).then(|| fastest(least, Axis::Row))?
}

/// [`fast_row`] along y.
pub(super) fn fast_column(
    n: usize,
    kernel: &PixelCovariance,
    precision: Precision,
) -> Option<usize> {
    let rings = |distance| GaussianTransfer::new(*kernel, 1.0).ringing_y(distance);
    let least = least_length(n, kernel.marginal_fwhm_y_px())?;
    is_free(n, least, rings, precision).then(|| fastest(least, Axis::Column))?
}

/// Whether two lengths that are not below `least` give the same result. What differs is where the
/// kernel comes in again from the far side, at a distance of at least `least - n + 1` pixels from
/// where it stands: both lengths have that much ringing at most.
fn is_free(n: usize, least: usize, rings: impl Fn(f64) -> f64, precision: Precision) -> bool {
    is_silent(rings((least - n + 1) as f64), precision)
}

/// Whether twice this much ringing, as a share of the peak that a lone source keeps, is negligible
/// in this precision: DECISIONS.md, "Padded lengths" and "Strips of narrow kernels".
pub(super) fn is_silent(rings: f64, precision: Precision) -> bool {
    let most = match precision {
        Precision::F32 => 3e-7,
        Precision::F64 => 3e-13,
    };
    2.0 * rings <= most
}

/// The transform lengths for an image of `nx` × `ny` pixels: its own where it repeats
/// ([`Edge::Wrap`]), padded on each axis by the kernel's width along it where it ends.
/// `None` as for [`padded_length`].
#[must_use]
pub fn padded_grid(edge: Edge, nx: usize, ny: usize, kernel: &PixelCovariance) -> Option<Grid> {
    match edge {
        Edge::Wrap => Some(Grid { nx, ny }),
        Edge::Zero => Some(Grid {
            nx: padded_length(nx, kernel.marginal_fwhm_x_px())?,
            ny: padded_length(ny, kernel.marginal_fwhm_y_px())?,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn follows_the_formula() {
        // 64 + ceil(3 · 5.1) + 8 = 88, then 90 = 2 · 3² · 5.
        assert_eq!(padded_length(64, 5.1), Some(90));
        assert_eq!(padded_length(1, 0.0), Some(9));
        // 10240 + 30 + 8 = 10278; 10290 = 2 · 3 · 5 · 7³.
        assert_eq!(padded_length(10_240, 10.0), Some(10_290));
    }

    fn round(fwhm_px: f64) -> PixelCovariance {
        PixelCovariance {
            xx: fwhm_px * fwhm_px,
            xy: 0.0,
            yy: fwhm_px * fwhm_px,
        }
    }

    #[test]
    fn kernels_that_hardly_ring_may_have_the_fastest_length() {
        // 1024 + 12 + 8 = 1044 pixels are needed, of which 1050 is next and 1080 fast.
        let wide = round(4.0);
        assert_eq!(padded_length(1024, 4.0), Some(1050));
        assert_eq!(fast_row(1024, &wide, Precision::F32), Some(1080));
        assert_eq!(fast_column(1024, &wide, Precision::F32), Some(1080));
        assert_eq!(fast_row(1024, &wide, Precision::F64), None);
        assert_eq!(fast_row(1024, &round(6.0), Precision::F64), Some(1080));
        assert_eq!(fast_row(1024, &round(3.5), Precision::F32), None);
        assert_eq!(fast_row(1024, &round(f64::NAN), Precision::F32), None);
        // Along y it rings.
        let flat = PixelCovariance {
            yy: 2.0,
            ..round(5.0)
        };
        assert_eq!(fast_row(1024, &flat, Precision::F32), Some(1080));
        assert_eq!(fast_column(1024, &flat, Precision::F32), None);
    }

    #[test]
    fn refuses_widths_that_are_no_widths() {
        assert_eq!(padded_length(64, f64::NAN), None);
        assert_eq!(padded_length(64, f64::INFINITY), None);
        assert_eq!(padded_length(64, 1e300), None);
        assert_eq!(padded_length(usize::MAX, 3.0), None);
    }

    #[test]
    fn wrapping_keeps_the_lengths() {
        let kernel = PixelCovariance {
            xx: 26.01,
            xy: 3.0,
            yy: 1.0,
        };
        assert_eq!(
            padded_grid(Edge::Wrap, 53, 101, &kernel),
            Some(Grid { nx: 53, ny: 101 })
        );
        assert_eq!(
            padded_grid(Edge::Zero, 64, 37, &kernel),
            Some(Grid { nx: 90, ny: 48 })
        );
    }
}
