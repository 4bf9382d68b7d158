//! How far an image is padded so that nothing of its kernel comes in from the far side.
//! Only lengths are known here.

use crate::kernel::{Grid, PixelCovariance};
use crate::plan::spec::Edge;

/// Pixels added beyond three marginal FWHM.
const MARGIN_PX: usize = 8;

/// Transforms longer than this are not planned; no plane in memory has such a row.
const LONGEST: usize = 1 << 28;

/// The transform length of an axis of `n` pixels with zero edges: the next length with no factors
/// but 2, 3, 5 and 7 that is not below `n + ceil(3 · marginal FWHM) + 8`.
///
/// Where the transfer function is not small at the Nyquist frequency the kernel rings, and this
/// length decides the last digits of the result; so it is a rule, not a tuning knob. `None` if
/// the width is not a number or the length is beyond any memory.
#[must_use]
pub fn padded_length(n: usize, marginal_fwhm_px: f64) -> Option<usize> {
    let reach = (3.0 * marginal_fwhm_px).ceil();
    if !(0.0..=LONGEST as f64).contains(&reach) {
        return None;
    }
    let least = n.checked_add(reach as usize)?.checked_add(MARGIN_PX)?;
    next_smooth(least)
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

/// The smallest number with no factors but 2, 3, 5, 7 that is not below `least`.
pub(super) fn next_smooth(least: usize) -> Option<usize> {
    if least > LONGEST {
        return None;
    }
    let mut best = least.next_power_of_two();
    for sevens in powers(7, best) {
        for fives in powers(5, best) {
            for threes in powers(3, best) {
                let Some(odd) = sevens
                    .checked_mul(fives)
                    .and_then(|p| p.checked_mul(threes))
                else {
                    break;
                };
                let twos = least.div_ceil(odd).next_power_of_two();
                best = odd
                    .checked_mul(twos)
                    .map_or(best, |length| length.min(best));
            }
        }
    }
    Some(best)
}

/// 1, base, base², … up to `last`.
fn powers(base: usize, last: usize) -> impl Iterator<Item = usize> {
    std::iter::successors(Some(1_usize), move |p| p.checked_mul(base))
        .take_while(move |&p| p <= last)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_smooth(mut n: usize) -> bool {
        for prime in [2, 3, 5, 7] {
            while n.is_multiple_of(prime) {
                n /= prime;
            }
        }
        n == 1
    }

    #[test]
    fn finds_the_next_smooth_length_as_trial_division_does() {
        for least in (1..3000).chain([5039, 10_007, 16_385, 65_537]) {
            let expected = (least..).find(|&n| is_smooth(n));
            assert_eq!(next_smooth(least), expected, "from {least}");
        }
    }

    #[test]
    fn follows_the_formula() {
        // 64 + ceil(3 · 5.1) + 8 = 88, then 90 = 2 · 3² · 5.
        assert_eq!(padded_length(64, 5.1), Some(90));
        assert_eq!(padded_length(1, 0.0), Some(9));
        // 10240 + 30 + 8 = 10278; 10290 = 2 · 3 · 5 · 7³.
        assert_eq!(padded_length(10_240, 10.0), Some(10_290));
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
