//! How the columns of a plane's spectrum are convolved: in strips where the kernel is wide enough
//! for that, over the full height otherwise; and where a row may be longer than the image that
//! repeats. Only lengths are known here.
//!
//! A strip is a block of rows with a halo of neighbouring rows above and below it, convolved by
//! itself (overlap-save: Oppenheim and Schafer, Discrete-Time Signal Processing, section 8.7.3).
//! That equals the convolution of the whole plane as far as the kernel ends within the halo. A
//! Gaussian sampled in frequency does so only where its transfer function is small at the Nyquist
//! frequency; where it is not, the kernel rings all over the plane.

use crate::kernel::{GaussianTransfer, PixelCovariance};
use crate::plan::lengths::{Axis, cost, fastest};
use crate::plan::padding::{fast_column, is_silent};
use crate::plan::spec::{Edge, Precision};

/// How the columns of the spectrum are convolved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ColumnMethod {
    /// Each column over the grid's full height.
    #[default]
    Full,
    /// In blocks of rows.
    Strips(Strips),
}

/// The lengths of strips, rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Strips {
    /// Length of the column transforms: a block with its halo on both sides. A multiple of 16.
    pub length: usize,
    /// Rows above and below a block that count for it. A multiple of 8, less than half of
    /// `length`.
    pub halo: usize,
}

impl Strips {
    /// Rows of a block, which is what one strip yields; `None` if the lengths are not as they
    /// must be.
    #[must_use]
    pub fn block(&self) -> Option<usize> {
        let right = self.length.is_multiple_of(16) && self.halo.is_multiple_of(8);
        let block = self.length.checked_sub(self.halo.checked_mul(2)?)?;
        (right && block > 0).then_some(block)
    }
}

/// The largest halo that is taken because a kernel rings: the most that the shortest transform has.
const MOST_FOR_RINGING: usize = 48;

/// Lengths of column transforms, and the rows of both halos together that each is for.
const LENGTHS: [(usize, usize); 4] = [(256, 104), (384, 160), (512, 256), (1024, 512)];

/// Twice this and so on are for halos of any width, where memory is short: they are no faster than
/// the full height.
const LONGEST_FAST: usize = 1024;

/// Wider halos than this are not tried where speed is wanted.
const WIDEST_FAST: usize = 512;

/// Shorter planes, in lengths of the column transform, are no faster in strips.
const LEAST_LENGTHS: usize = 2;

impl ColumnMethod {
    /// The method for planes of `ny` rows and a transform of this precision.
    #[must_use]
    pub fn choose(kernel: &PixelCovariance, ny: usize, edge: Edge, precision: Precision) -> Self {
        // The full height has a little ringing from beyond an edge, which strips have not.
        let agrees = edge == Edge::Wrap || fast_column(ny, kernel, precision).is_some();
        let strips = strips(kernel, ny, precision).filter(|_| agrees);
        strips.map_or(Self::Full, Self::Strips)
    }

    /// The strips for columns whose full height of `rows`, the padding included, needs more memory
    /// than there is, though they may be slower; `None` where the kernel is too narrow for strips,
    /// or so wide that they would need no less.
    #[must_use]
    pub fn thrifty(
        kernel: &PixelCovariance,
        rows: usize,
        edge: Edge,
        precision: Precision,
    ) -> Option<Self> {
        if edge == Edge::Zero {
            fast_column(rows, kernel, precision)?;
        }
        let rings = |distance| GaussianTransfer::new(*kernel, 1.0).ringing_y(distance);
        let halo = halo((kernel.marginal_fwhm_y_px(), rows), rings, precision)?;
        let both = halo.checked_mul(2)?;
        let known = LENGTHS.iter().find(|&&(_, most)| both <= most);
        let longer = || {
            let doubled = std::iter::successors(Some(LONGEST_FAST), |length| length.checked_mul(2));
            doubled
                .take_while(|&length| length < rows)
                .find(|length| both <= length / 2)
        };
        let length = known.map(|&(length, _)| length).or_else(longer)?;
        // The transfer function of a strip is kept in a table, half as large as its ring.
        (length + length / 2 < rows).then_some(Self::Strips(Strips { length, halo }))
    }
}

fn strips(kernel: &PixelCovariance, ny: usize, precision: Precision) -> Option<Strips> {
    let rings = |distance| GaussianTransfer::new(*kernel, 1.0).ringing_y(distance);
    let halo = halo((kernel.marginal_fwhm_y_px(), WIDEST_FAST), rings, precision)?;
    let fits = |&&(_, both): &&(usize, usize)| 2 * halo <= both;
    let &(length, _) = LENGTHS.iter().find(fits)?;
    (ny >= LEAST_LENGTHS * length).then_some(Strips { length, halo })
}

/// How an image that repeats is laid out in rows that are transformed fast: their length, and how
/// many pixels of the image's far end stand before its first pixel. Lengths that are about as fast
/// as those with a halo stay, and so do those of kernels too narrow for one: `(nx, 0)`.
#[must_use]
pub fn wrapped_row(kernel: &PixelCovariance, nx: usize, precision: Precision) -> (usize, usize) {
    haloed_row(kernel, nx, precision).unwrap_or((nx, 0))
}

fn haloed_row(kernel: &PixelCovariance, nx: usize, precision: Precision) -> Option<(usize, usize)> {
    let rings = |distance| GaussianTransfer::new(*kernel, 1.0).ringing_x(distance);
    let halo = halo((kernel.marginal_fwhm_x_px(), WIDEST_FAST), rings, precision)?;
    let length = fastest(nx.checked_add(2 * halo)?, Axis::Row)?;
    // The halo itself costs a little, too.
    let gains = cost(length, Axis::Row) < cost(nx, Axis::Row) / 10 * 9;
    (gains && length <= nx + nx / 2).then_some((length, halo))
}

/// Pixels on each side beyond which the kernel is negligible in this precision; `None` if it is
/// nowhere, or only beyond `longest`. The widths were measured against the full transform:
/// DECISIONS.md, "Strips".
fn halo(
    (marginal_fwhm_px, longest): (f64, usize),
    rings: impl Fn(f64) -> f64,
    precision: Precision,
) -> Option<usize> {
    let widths = match precision {
        Precision::F32 => 2.5,
        Precision::F64 => 3.5,
    };
    let reach = (widths * marginal_fwhm_px).ceil();
    if !(0.0..=longest as f64).contains(&reach) {
        return None;
    }
    let first = (reach as usize).next_multiple_of(8);
    (first..=first.max(MOST_FOR_RINGING))
        .step_by(8)
        .find(|&halo| is_silent(rings((halo + 1) as f64), precision))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round(fwhm_px: f64) -> PixelCovariance {
        PixelCovariance {
            xx: fwhm_px * fwhm_px,
            xy: 0.0,
            yy: fwhm_px * fwhm_px,
        }
    }

    fn lengths(
        kernel: &PixelCovariance,
        ny: usize,
        precision: Precision,
    ) -> Option<(usize, usize)> {
        match ColumnMethod::choose(kernel, ny, Edge::Wrap, precision) {
            ColumnMethod::Full => None,
            ColumnMethod::Strips(strips) => Some((strips.length, strips.halo)),
        }
    }

    #[test]
    fn narrow_kernels_take_the_full_height() {
        // What is cut off begins at exp(-π²/(4 ln 2) · w²/4): 3e-5 at w = 3.4, 2e-11 at w = 5.25.
        assert_eq!(lengths(&round(3.4), 4096, Precision::F32), None);
        assert_eq!(lengths(&round(3.5), 4096, Precision::F32), Some((256, 48)));
        assert_eq!(lengths(&round(3.9), 4096, Precision::F32), Some((256, 16)));
        assert_eq!(lengths(&round(5.25), 4096, Precision::F64), None);
        assert_eq!(lengths(&round(5.9), 4096, Precision::F64), Some((256, 24)));
    }

    #[test]
    fn strips_and_padded_columns_agree() {
        let choose =
            |fwhm_px| ColumnMethod::choose(&round(fwhm_px), 4096, Edge::Zero, Precision::F32);
        assert_eq!(choose(3.7), ColumnMethod::Full);
        assert!(choose(3.8) != ColumnMethod::Full);
    }

    #[test]
    fn rotated_kernels_are_as_narrow_as_their_narrowest_cut() {
        // Along y it is 10 px wide, but at u = -xy/xx · v the transfer falls off with 3 px only.
        let rotated = PixelCovariance {
            xx: 100.0,
            xy: 95.4,
            yy: 100.0,
        };
        assert_eq!(lengths(&rotated, 4096, Precision::F32), None);
        // A line has no width across itself.
        let line = PixelCovariance {
            xx: 400.0,
            xy: 400.0,
            yy: 400.0,
        };
        assert_eq!(lengths(&line, 4096, Precision::F32), None);
        let upright = PixelCovariance {
            xx: 0.0,
            xy: 0.0,
            yy: 400.0,
        };
        assert_eq!(lengths(&upright, 4096, Precision::F32), Some((384, 56)));
    }

    #[test]
    fn wide_kernels_take_longer_transforms() {
        assert_eq!(lengths(&round(19.0), 4096, Precision::F32), Some((256, 48)));
        assert_eq!(lengths(&round(25.0), 4096, Precision::F32), Some((384, 64)));
        assert_eq!(
            lengths(&round(50.0), 4096, Precision::F32),
            Some((512, 128))
        );
        assert_eq!(
            lengths(&round(100.0), 4096, Precision::F32),
            Some((1024, 256))
        );
        assert_eq!(lengths(&round(110.0), 4096, Precision::F32), None);
        assert_eq!(lengths(&round(1e300), 4096, Precision::F32), None);
        assert_eq!(lengths(&round(f64::NAN), 4096, Precision::F32), None);
    }

    #[test]
    fn where_memory_is_short_strips_are_taken_for_wide_kernels_and_short_planes_too() {
        let thrifty = |kernel: f64, rows, precision| {
            ColumnMethod::thrifty(&round(kernel), rows, Edge::Wrap, precision).map(|method| {
                match method {
                    ColumnMethod::Full => (0, 0),
                    ColumnMethod::Strips(strips) => (strips.length, strips.halo),
                }
            })
        };
        // 2.5 · 110 = 275 -> 280, and 560 rows of both halos are more than half of 1024.
        assert_eq!(thrifty(110.0, 5000, Precision::F32), Some((2048, 280)));
        assert_eq!(
            thrifty(1000.0, 40_000, Precision::F32),
            Some((16_384, 2504))
        );
        assert_eq!(thrifty(6.0, 511, Precision::F32), Some((256, 16)));
        // No less than the full height.
        assert_eq!(thrifty(110.0, 3000, Precision::F32), None);
        assert_eq!(thrifty(6.0, 300, Precision::F32), None);
        assert_eq!(thrifty(1e300, 40_000, Precision::F32), None);
        // Too narrow.
        assert_eq!(thrifty(3.4, 40_000, Precision::F32), None);
        assert_eq!(thrifty(5.2, 40_000, Precision::F64), None);
    }

    #[test]
    fn short_planes_take_the_full_height() {
        assert_eq!(lengths(&round(6.0), 511, Precision::F32), None);
        assert_eq!(lengths(&round(6.0), 512, Precision::F32), Some((256, 16)));
    }

    #[test]
    fn blocks_are_what_the_halos_leave() {
        let strips = |length, halo| Strips { length, halo }.block();
        assert_eq!(strips(256, 16), Some(224));
        for (length, halo) in [
            (256, 128),
            (256, 15),
            (250, 16),
            (16, usize::MAX - 7),
            (0, 0),
        ] {
            assert_eq!(strips(length, halo), None, "{length} {halo}");
        }
    }

    #[test]
    fn only_awkward_rows_of_wide_kernels_get_a_halo() {
        // 5039 is a prime; 5039 + 2 · 16 = 5071, and 5184 = 2⁶ · 3⁴ is the fastest from there on.
        assert_eq!(wrapped_row(&round(6.0), 5039, Precision::F32), (5184, 16));
        assert_eq!(wrapped_row(&round(3.4), 5039, Precision::F32), (5039, 0));
        assert_eq!(wrapped_row(&round(6.0), 5040, Precision::F32), (5040, 0));
        // 2600 = 2³ · 5² · 13.
        assert_eq!(wrapped_row(&round(6.0), 2600, Precision::F32), (2688, 16));
        assert_eq!(wrapped_row(&round(6.0), 3000, Precision::F32), (3000, 0));
        assert_eq!(wrapped_row(&round(6.0), 31, Precision::F32), (31, 0));
        assert_eq!(wrapped_row(&round(6.0), 0, Precision::F32), (0, 0));
    }
}
