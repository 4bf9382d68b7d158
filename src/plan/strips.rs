//! How the columns of a plane's spectrum are convolved: in strips where the kernel is wide enough
//! for that, over the full height otherwise; and where a row may be longer than the image that
//! repeats. Only lengths are known here.
//!
//! A strip is a block of rows with a halo of neighbouring rows above and below it, convolved by
//! itself (overlap-save: Oppenheim and Schafer, Discrete-Time Signal Processing, section 8.7.3).
//! That equals the convolution of the whole plane as far as the kernel ends within the halo. A
//! Gaussian sampled in frequency does so only where its transfer function is negligible at the
//! Nyquist frequency; where it is not, the kernel rings all over the plane.

use crate::kernel::{GaussianTransfer, PixelCovariance};
use crate::plan::padding::next_smooth;
use crate::plan::spec::Precision;

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

/// Lengths of column transforms, and the rows of both halos together that each is for.
const LENGTHS: [(usize, usize); 4] = [(256, 104), (384, 160), (512, 256), (1024, 512)];

/// Twice this and so on are for halos of any width, where memory is short: they are no faster than
/// the full height.
const LONGEST_FAST: usize = 1024;

/// Wider halos than this are not tried where speed is wanted.
const WIDEST_FAST: usize = 512;

/// Shorter planes, in lengths of the column transform, are no faster in strips.
const LEAST_LENGTHS: usize = 2;

/// A row whose length has a prime factor above this is transformed several times slower.
const LARGEST_FACTOR: usize = 13;

impl ColumnMethod {
    /// The method for planes of `ny` rows and a transform of this precision.
    #[must_use]
    pub fn choose(kernel: &PixelCovariance, ny: usize, precision: Precision) -> Self {
        strips(kernel, ny, precision).map_or(Self::Full, Self::Strips)
    }

    /// The strips for columns whose full height of `rows`, the padding included, needs more memory
    /// than there is, though they may be slower; `None` where the kernel is too narrow for strips,
    /// or so wide that they would need no less.
    #[must_use]
    pub fn thrifty(kernel: &PixelCovariance, rows: usize, precision: Precision) -> Option<Self> {
        let border = GaussianTransfer::new(*kernel, 1.0).border_y();
        let halo = halo(kernel.marginal_fwhm_y_px(), border, precision, rows)?;
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
    let border = GaussianTransfer::new(*kernel, 1.0).border_y();
    let halo = halo(kernel.marginal_fwhm_y_px(), border, precision, WIDEST_FAST)?;
    let fits = |&&(_, both): &&(usize, usize)| 2 * halo <= both;
    let &(length, _) = LENGTHS.iter().find(fits)?;
    (ny >= LEAST_LENGTHS * length).then_some(Strips { length, halo })
}

/// How an image that repeats is laid out in rows that are transformed fast: their length, and how
/// many pixels of the image's far end stand before its first pixel. Lengths that are fast already
/// stay, and so do those of kernels too narrow for a halo: `(nx, 0)`.
#[must_use]
pub fn wrapped_row(kernel: &PixelCovariance, nx: usize, precision: Precision) -> (usize, usize) {
    haloed_row(kernel, nx, precision).unwrap_or((nx, 0))
}

fn haloed_row(kernel: &PixelCovariance, nx: usize, precision: Precision) -> Option<(usize, usize)> {
    if has_small_factors(nx) {
        return None;
    }
    let border = GaussianTransfer::new(*kernel, 1.0).border_x();
    let halo = halo(kernel.marginal_fwhm_x_px(), border, precision, WIDEST_FAST)?;
    let length = next_smooth(nx.checked_add(2 * halo)?)?;
    (length <= nx + nx / 2).then_some((length, halo))
}

/// Pixels on each side beyond which the kernel is negligible in this precision; `None` if it is
/// nowhere, or only beyond `most` pixels. Both limits were measured against the full transform: DECISIONS.md, "Strips".
fn halo(marginal_fwhm_px: f64, border: f64, precision: Precision, longest: usize) -> Option<usize> {
    let (most, widths) = match precision {
        Precision::F32 => (1e-8, 2.5),
        Precision::F64 => (1e-15, 3.5),
    };
    let reach = (widths * marginal_fwhm_px).ceil();
    let is_compact = border <= most && reach <= longest as f64;
    is_compact.then(|| (reach as usize).next_multiple_of(8))
}

fn has_small_factors(n: usize) -> bool {
    let mut rest = n.max(1);
    for factor in 2..=LARGEST_FACTOR {
        while rest.is_multiple_of(factor) {
            rest /= factor;
        }
    }
    rest == 1
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
        match ColumnMethod::choose(kernel, ny, precision) {
            ColumnMethod::Full => None,
            ColumnMethod::Strips(strips) => Some((strips.length, strips.halo)),
        }
    }

    #[test]
    fn narrow_kernels_take_the_full_height() {
        // exp(-π²/(4 ln 2) · w²/4) is 1e-8 at w = 4.55 and 1e-15 at w = 6.23.
        assert_eq!(lengths(&round(4.5), 4096, Precision::F32), None);
        assert_eq!(lengths(&round(4.6), 4096, Precision::F32), Some((256, 16)));
        assert_eq!(lengths(&round(6.2), 4096, Precision::F64), None);
        assert_eq!(lengths(&round(6.3), 4096, Precision::F64), Some((256, 24)));
    }

    #[test]
    fn rotated_kernels_are_as_narrow_as_their_narrowest_cut() {
        // Along y it is 10 px wide, but at u = -xy/xx · v the transfer falls off with 4 px only.
        let rotated = PixelCovariance {
            xx: 100.0,
            xy: 91.65,
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
            ColumnMethod::thrifty(&round(kernel), rows, precision).map(|method| match method {
                ColumnMethod::Full => (0, 0),
                ColumnMethod::Strips(strips) => (strips.length, strips.halo),
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
        assert_eq!(thrifty(4.5, 40_000, Precision::F32), None);
        assert_eq!(thrifty(6.2, 40_000, Precision::F64), None);
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
        // 5039 is a prime; 5039 + 2 · 16 = 5071, and 5103 = 3⁶ · 7 comes next.
        assert_eq!(wrapped_row(&round(6.0), 5039, Precision::F32), (5103, 16));
        assert_eq!(wrapped_row(&round(4.0), 5039, Precision::F32), (5039, 0));
        assert_eq!(wrapped_row(&round(6.0), 5040, Precision::F32), (5040, 0));
        assert_eq!(wrapped_row(&round(6.0), 2600, Precision::F32), (2600, 0));
        assert_eq!(wrapped_row(&round(6.0), 31, Precision::F32), (31, 0));
        assert_eq!(wrapped_row(&round(6.0), 0, Precision::F32), (0, 0));
    }
}
