//! The transfer function of the convolving Gaussian, one bin at a time and a column at a time.
//! What it is multiplied with is not known here.
//!
//! A Gaussian with covariance Σ (σ², px²) has the Fourier transform exp(-2π² fᵀ Σ f), f in
//! cycles/px (Bracewell, The Fourier Transform and Its Applications, chapter 2 of any edition,
//! in two dimensions). FWHM² = 8 ln 2 · σ², hence the factor 2π² / (8 ln 2) on a
//! [`PixelCovariance`].

use std::f64::consts::{LN_2, PI};

use super::exp::{exp, exp_single};
use super::{Grid, PixelCovariance};
use crate::plane::Real;

/// 2π² / (8 ln 2).
const EXPONENT: f64 = PI * PI / (4.0 * LN_2);

/// Elements computed with one running index; small enough to be exact in any float.
const BLOCK: usize = 256;

/// Exponents that the exponential for `f32` is good for.
const SINGLE_CUT: f64 = 80.0;

/// `gain · exp(-2π² / (8 ln 2) · fᵀ P f)`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GaussianTransfer {
    gain: f64,
    covariance: PixelCovariance,
}

impl GaussianTransfer {
    /// The transfer function of a Gaussian of this covariance whose pixels add up to `gain`.
    #[must_use]
    pub fn new(covariance: PixelCovariance, gain: f64) -> Self {
        Self { gain, covariance }
    }

    /// The value at a frequency, cycles/px.
    #[must_use]
    pub fn at(&self, u: f64, v: f64) -> f64 {
        self.gain * self.exponent(u, v).exp()
    }

    /// The value for bin (`kx`, `ky`) of the full spectrum of a real plane on `grid`.
    ///
    /// On the Nyquist row and column of an even length the bins (kx, ky) and (-kx, -ky) stand for
    /// one real wave, but have different values here when the Gaussian is rotated. Both get the
    /// mean of the two: that is the real part of the product of full complex spectra, and a mirror
    /// image then gives the mirror image of the result. The corner, which is Nyquist on both axes
    /// of a grid of two even lengths, is its own partner and keeps its value at (-1/2, -1/2).
    #[must_use]
    pub fn bin(&self, grid: &Grid, kx: usize, ky: usize) -> f64 {
        let (u, v) = (grid.u(kx), grid.v(ky));
        match (grid.is_nyquist_column(kx), grid.is_nyquist_row(ky)) {
            (true, false) => 0.5 * (self.at(u, v) + self.at(u, -v)),
            (false, true) => 0.5 * (self.at(u, v) + self.at(-u, v)),
            _ => self.at(u, v),
        }
    }

    /// The exponent of bin (j, i) of `grid`, with the integer frequencies j along x and i along y,
    /// is −(a j² + b j i + c i²); these are a, b and c.
    #[must_use]
    pub fn per_bin(&self, grid: &Grid) -> [f64; 3] {
        let PixelCovariance { xx, xy, yy } = self.covariance;
        let (nx, ny) = (grid.nx as f64, grid.ny as f64);
        [
            EXPONENT * xx / (nx * nx),
            2.0 * EXPONENT * xy / (nx * ny),
            EXPONENT * yy / (ny * ny),
        ]
    }

    /// The largest value on the border |v| = 1/2, over all u, as a share of the gain: what a
    /// sampled kernel rings with along y.
    #[must_use]
    pub fn border_y(&self) -> f64 {
        let PixelCovariance { xx, xy, yy } = self.covariance;
        largest_on_border(xx, xy, yy)
    }

    /// The largest value on the border |u| = 1/2, over all v, as a share of the gain: what a
    /// sampled kernel rings with along x.
    #[must_use]
    pub fn border_x(&self) -> f64 {
        let PixelCovariance { xx, xy, yy } = self.covariance;
        largest_on_border(yy, xy, xx)
    }

    /// A bound on what a sampled kernel rings with along x, at this many pixels from its centre and
    /// beyond, as a share of its own largest value: of the peak that a lone source keeps, however
    /// long the kernel is across. `ringing` and `least_peak` say how it is found.
    #[must_use]
    pub fn ringing_x(&self, distance_px: f64) -> f64 {
        let PixelCovariance { xx, xy, yy } = self.covariance;
        ringing(self.border_x(), (xx, xy, yy), distance_px) / least_peak(xx)
    }

    /// [`ringing_x`](Self::ringing_x) along y.
    #[must_use]
    pub fn ringing_y(&self, distance_px: f64) -> f64 {
        let PixelCovariance { xx, xy, yy } = self.covariance;
        ringing(self.border_y(), (yy, xy, xx), distance_px) / least_peak(yy)
    }

    /// How many columns of the half spectrum on `grid`, from the first on, have a value of at
    /// least `gain · exp(-cut)`: all others are negligible from end to end. It is never less
    /// than 1, and may be a little more than needed.
    #[must_use]
    pub fn columns_above(&self, grid: &Grid, cut: f64) -> usize {
        let PixelCovariance { xx, xy, yy } = self.covariance;
        // The largest exponent of a column over all v, at v = -u xy / yy, is -EXPONENT·narrow·u².
        let narrow = if xy == 0.0 { xx } else { xx - xy * xy / yy };
        if !(narrow > 0.0 && yy >= 0.0) {
            return grid.half_columns();
        }
        let last = (cut / (EXPONENT * narrow)).sqrt() * grid.nx as f64;
        if last < grid.half_columns() as f64 {
            last as usize + 1
        } else {
            grid.half_columns()
        }
    }

    /// Fills `values`, one for each row of `grid`, with column `kx` of the half spectrum, as
    /// [`bin`](Self::bin) has them. Values below `gain · exp(-cut)` are exactly zero: as small
    /// numbers they would change nothing but make the transform slow. `cut` is at most 700.
    ///
    /// It is inlined into its caller, to be compiled for the vector instructions that this has.
    #[inline(always)]
    pub fn fill_column<T: Real>(&self, grid: &Grid, kx: usize, cut: f64, values: &mut [T]) {
        if grid.is_nyquist_column(kx) {
            for (ky, value) in values.iter_mut().enumerate() {
                *value = self.cut_bin(grid, kx, ky, cut);
            }
            return;
        }
        let rows = grid.positive_rows().min(values.len());
        let (positive, negative) = values.split_at_mut(rows);
        let step = 1.0 / grid.ny as f64;
        self.fill_run(grid.u(kx), (0.0, step), cut, positive);
        self.fill_run(grid.u(kx), (-(negative.len() as f64), step), cut, negative);
        if let Some(first) = negative.first_mut()
            && grid.is_nyquist_row(rows)
        {
            *first = self.cut_bin(grid, kx, rows, cut);
        }
    }

    /// Values at `u` and `v = (first + i) · step`, i = 0, 1, …
    #[inline(always)]
    fn fill_run<T: Real>(&self, u: f64, (first, step): (f64, f64), cut: f64, values: &mut [T]) {
        let (below, above) = self.span(u, cut);
        // One row more on either side, lest rounding decide; casts of floats saturate.
        let begin = ((below / step - first).floor() - 1.0) as usize;
        let end = (((above / step - first).ceil() + 2.0) as usize).min(values.len());
        let begin = begin.min(end);
        let (before, rest) = values.split_at_mut(begin);
        let (inside, after) = rest.split_at_mut(end - begin);
        before.fill(T::ZERO);
        after.fill(T::ZERO);
        self.fill_inside(u, (first + begin as f64, step), cut, inside);
    }

    /// The range of v outside which column `u` is below the cut: where the exponent, a parabola
    /// in v, reaches it. All v if there is no parabola.
    fn span(&self, u: f64, cut: f64) -> (f64, f64) {
        let PixelCovariance { xx, xy, yy } = self.covariance;
        let centre = -xy / yy * u;
        let half = ((cut / EXPONENT - (xx - xy * xy / yy) * u * u).max(0.0) / yy).sqrt();
        if centre.is_finite() && half.is_finite() {
            (centre - half, centre + half)
        } else {
            (f64::NEG_INFINITY, f64::INFINITY)
        }
    }

    /// [`fill_run`](Self::fill_run) with every value computed.
    #[inline(always)]
    fn fill_inside<T: Real>(&self, u: f64, (first, step): (f64, f64), cut: f64, values: &mut [T]) {
        let PixelCovariance { xx, xy, yy } = self.covariance;
        let (flat, slope, curve) = (xx * u * u, 2.0 * xy * u, yy);
        let single = size_of::<T>() == size_of::<f32>() && cut <= SINGLE_CUT;
        let mut start = first;
        for block in values.chunks_mut(BLOCK) {
            for (value, i) in block.iter_mut().zip(0_i32..) {
                let v = (start + f64::from(i)) * step;
                let exponent = -EXPONENT * (flat + v * (slope + v * curve));
                let inside = exponent.max(-cut);
                let kept = if single {
                    f64::from(exp_single(inside))
                } else {
                    exp(inside)
                };
                *value = T::rounded(if exponent < -cut {
                    0.0
                } else {
                    self.gain * kept
                });
            }
            start += BLOCK as f64;
        }
    }

    fn cut_bin<T: Real>(&self, grid: &Grid, kx: usize, ky: usize, cut: f64) -> T {
        let value = self.bin(grid, kx, ky);
        T::rounded(if value.abs() < self.gain.abs() * (-cut).exp() {
            0.0
        } else {
            value
        })
    }

    fn exponent(&self, u: f64, v: f64) -> f64 {
        let PixelCovariance { xx, xy, yy } = self.covariance;
        -EXPONENT * (xx * u * u + 2.0 * xy * u * v + yy * v * v)
    }
}

/// The largest `exp(-EXPONENT · (along t² + cross t + across / 4))` over -1/2 ≤ t ≤ 1/2: at the
/// vertex of the parabola, unless that lies outside or there is none.
fn largest_on_border(along: f64, cross: f64, across: f64) -> f64 {
    let vertex = (-cross / (2.0 * along)).clamp(-0.5, 0.5);
    let form = |t: f64| along * t * t + cross * t + 0.25 * across;
    // `min` takes no notice of a vertex that is not a number.
    let least = [0.5, -0.5, vertex]
        .map(form)
        .into_iter()
        .fold(f64::NAN, f64::min);
    (-EXPONENT * least).exp()
}

/// A bound on the ringing of a kernel at a distance along an axis, whose transfer function is cut
/// off at f = ±1/2 on that axis and is `border` there at most. The covariance is given as
/// (along the axis, between both, across), and the bound in units of the sum S below.
///
/// What is cut off are two tails of the Gaussian. Their transform at distance r is, by parts twice
/// (Erdélyi, Asymptotic Expansions, section 2.8), the difference of the values at the two ends over
/// 2πr, which is 0 where the Gaussian is not rotated, and the slopes there over (2πr)² twice:
/// once at the ends, once for the rest, in which the slope falls to zero. Both are summed over the
/// frequencies g across: the values are border · exp(-EXPONENT · across · (g - g₀)²), g₀ of
/// opposite sign at the two ends, and sum up to border · S at most, where S is the sum for g₀ = 0.
/// S is an integral for an image that ends. For one that repeats it is the mean over the bins,
/// which is much larger where the image is smaller across than the kernel; by Poisson's formula
/// that is a sum of positive terms, of which a shift g₀ turns the phases and no more. Which of the
/// two it is does not matter, as [`least_peak`] is in units of the same S.
fn ringing(border: f64, (along, cross, across): (f64, f64, f64), distance_px: f64) -> f64 {
    // The error function of half the distance of the two, or more.
    let apart = cross.abs() * (EXPONENT / (PI * across)).sqrt();
    let jump = if cross.abs() <= across {
        2.0 * border * apart.min(1.0)
    } else {
        2.0 * border
    };
    let slope = EXPONENT * (along + cross.abs()) * border;
    let turn = 2.0 * PI * distance_px;
    jump / turn + 4.0 * slope / (turn * turn)
}

/// The least that the central value of a sampled kernel can be, in units of the same sum S across
/// as [`ringing`].
///
/// The value is the mean of the transfer function over all frequencies (f, g). The mean of its
/// values at (f, g) and (f, -g) is that for no rotation times cosh(2 EXPONENT · cross · f g) ≥ 1, so
/// it is at least S times F, the mean of exp(-π q f²) over -1/2 ≤ f ≤ 1/2, with
/// q = EXPONENT · along / π. F² is the mean of exp(-q A) over a unit square, where A = π r² about its
/// centre. A exceeds t on 1 - t of the square up to t = π/4, on less beyond, on nothing from π/2 on:
/// on exp(-t) of it at most. So F² is no less than the mean of exp(-q t) for t of density exp(-t),
/// which is 1 / (1 + q). For wide kernels F² is 1/q = 4 ln 2 / (π along).
fn least_peak(along: f64) -> f64 {
    (1.0 + EXPONENT / PI * along).sqrt().recip()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROTATED: PixelCovariance = PixelCovariance {
        xx: 3.0,
        xy: 1.2,
        yy: 1.5,
    };

    #[test]
    fn half_width_of_the_transform_is_4_ln2_over_pi_fwhm() {
        // FWHM in frequency of a Gaussian of FWHM w is 4 ln 2 / (π w).
        let transfer = GaussianTransfer::new(
            PixelCovariance {
                xx: 25.0,
                xy: 0.0,
                yy: 16.0,
            },
            3.0,
        );
        let half = 2.0 * LN_2 / (PI * 5.0);
        assert!((transfer.at(half, 0.0) - 1.5).abs() < 1e-14);
        assert!((transfer.at(0.0, half * 1.25) - 1.5).abs() < 1e-14);
        assert_eq!(transfer.at(0.0, 0.0), 3.0);
    }

    #[test]
    fn every_bin_equals_its_conjugate_partner() {
        for grid in [
            Grid { nx: 8, ny: 6 },
            Grid { nx: 7, ny: 6 },
            Grid { nx: 8, ny: 5 },
        ] {
            let transfer = GaussianTransfer::new(ROTATED, 1.0);
            for ky in 0..grid.ny {
                for kx in 0..grid.nx {
                    let partner = ((grid.nx - kx) % grid.nx, (grid.ny - ky) % grid.ny);
                    let (one, other) = (
                        transfer.bin(&grid, kx, ky),
                        transfer.bin(&grid, partner.0, partner.1),
                    );
                    assert!(
                        (one - other).abs() < 1e-16,
                        "{grid:?} {kx} {ky}: {one} {other}"
                    );
                }
            }
        }
    }

    #[test]
    fn the_corner_keeps_its_value() {
        let transfer = GaussianTransfer::new(ROTATED, 1.0);
        let grid = Grid { nx: 8, ny: 6 };
        assert_eq!(transfer.bin(&grid, 4, 3), transfer.at(-0.5, -0.5));
        let mean = 0.5 * (transfer.at(-0.5, 1.0 / 6.0) + transfer.at(0.5, 1.0 / 6.0));
        assert!((transfer.bin(&grid, 4, 1) - mean).abs() < 1e-16);
    }

    #[test]
    fn columns_are_filled_with_the_bins() {
        for grid in [
            Grid { nx: 12, ny: 600 },
            Grid { nx: 11, ny: 13 },
            Grid { nx: 2, ny: 1 },
        ] {
            let transfer = GaussianTransfer::new(ROTATED, 2.5);
            let mut values = vec![0.0_f64; grid.ny];
            for kx in 0..grid.half_columns() {
                transfer.fill_column(&grid, kx, 41.5, &mut values);
                for (ky, value) in values.iter().enumerate() {
                    let expected = transfer.bin(&grid, kx, ky);
                    assert!((value / expected - 1.0).abs() < 1e-14, "{grid:?} {kx} {ky}");
                }
            }
        }
    }

    #[test]
    fn single_columns_are_the_double_ones_to_their_precision() {
        let grid = Grid { nx: 40, ny: 300 };
        for gain in [1.0, 3e-10] {
            let transfer = GaussianTransfer::new(ROTATED, gain);
            let (mut single, mut double) = (vec![0.0_f32; 300], vec![0.0_f64; 300]);
            for kx in 0..grid.half_columns() {
                transfer.fill_column(&grid, kx, 23.0, &mut single);
                transfer.fill_column(&grid, kx, 23.0, &mut double);
                for (single, double) in single.iter().zip(&double) {
                    let off = (f64::from(*single) - double).abs();
                    assert!(off <= 3e-7 * double, "{single:e}, not {double:e}");
                }
            }
        }
    }

    #[test]
    fn below_the_cut_is_exactly_zero_and_dropped_columns_are_all_zero() {
        let wide = PixelCovariance {
            xx: 400.0,
            xy: -150.0,
            yy: 300.0,
        };
        let transfer = GaussianTransfer::new(wide, 2.0);
        let grid = Grid { nx: 100, ny: 90 };
        let kept = transfer.columns_above(&grid, 23.0);
        assert!(kept > 1 && kept < grid.half_columns(), "{kept}");
        let mut values = vec![0.0_f32; grid.ny];
        for kx in 0..grid.half_columns() {
            transfer.fill_column(&grid, kx, 23.0, &mut values);
            assert_eq!(
                values.iter().any(|&v| v != 0.0),
                kx < kept,
                "column {kx} of {kept}"
            );
            assert!(values.iter().all(|&v| v == 0.0 || v > 2.0e-10));
        }
    }

    #[test]
    fn rows_below_the_cut_are_those_of_the_bins() {
        let grid = Grid { nx: 90, ny: 84 };
        for (xx, xy, yy) in [(30.0, 19.0, 90.0), (4.0, -6.0, 9.0), (1e-17, 1e-9, 80.0)] {
            let transfer = GaussianTransfer::new(PixelCovariance { xx, xy, yy }, 2.0);
            let mut values = vec![7.0_f64; grid.ny];
            for kx in 0..grid.half_columns() {
                transfer.fill_column(&grid, kx, 23.0, &mut values);
                for (ky, &value) in values.iter().enumerate() {
                    let bin = transfer.bin(&grid, kx, ky);
                    let expected = if bin < 2.0 * (-23.0_f64).exp() {
                        0.0
                    } else {
                        bin
                    };
                    assert!((value - expected).abs() <= 1e-13 * bin, "{xx} {kx} {ky}");
                }
            }
        }
    }

    #[test]
    fn borders_have_the_largest_of_their_values() {
        let kernels = [
            (3.0, 1.2, 1.5),
            (9.0, -7.0, 8.0),
            (0.5, 0.9, 2.0),
            (0.0, 0.0, 4.0),
        ];
        for (xx, xy, yy) in kernels
            .into_iter()
            .chain([(4.0, 0.0, 0.0), (4.0, -6.0, 9.0)])
        {
            let transfer = GaussianTransfer::new(PixelCovariance { xx, xy, yy }, 3.0);
            let steps = || (0..=1000).map(|i| f64::from(i) / 1000.0 - 0.5);
            let y = steps().fold(0.0, |most, u| transfer.at(u, 0.5).max(most)) / 3.0;
            let x = steps().fold(0.0, |most, v| transfer.at(0.5, v).max(most)) / 3.0;
            assert!(
                (transfer.border_y() / y - 1.0).abs() < 1e-4,
                "{xx} {xy} {yy}"
            );
            assert!(
                (transfer.border_x() / x - 1.0).abs() < 1e-4,
                "{xx} {xy} {yy}"
            );
        }
        let nothing = PixelCovariance {
            xx: f64::NAN,
            xy: 0.0,
            yy: 9.0,
        };
        assert!(GaussianTransfer::new(nothing, 1.0).border_y().is_nan());
    }

    /// The kernel on a grid, at (x, y) from its centre.
    fn sampled(transfer: &GaussianTransfer, grid: &Grid, x: usize, y: usize) -> f64 {
        let bins = (0..grid.nx).flat_map(|kx| (0..grid.ny).map(move |ky| (kx, ky)));
        let sum: f64 = bins
            .map(|(kx, ky)| {
                let turns = grid.u(kx) * x as f64 + grid.v(ky) * y as f64;
                transfer.bin(grid, kx, ky) * (2.0 * PI * turns).cos()
            })
            .sum();
        sum / grid.bins()
    }

    #[test]
    fn no_sampled_kernel_rings_more_than_its_bound() {
        let grid = Grid { nx: 128, ny: 24 };
        let kernels = [(9.0, 0.0, 9.0), (12.0, 3.0, 8.0), (10.0, -8.0, 16.0)];
        // Up to 300 px across, where the grid has 24.
        let longer = [(6.0, 1.0, 2.0), (8.0, 0.0, 9e4), (9.0, 300.0, 5e4)];
        for (xx, xy, yy) in kernels.into_iter().chain(longer) {
            let transfer = GaussianTransfer::new(PixelCovariance { xx, xy, yy }, 1.0);
            let turned = GaussianTransfer::new(PixelCovariance { xx: yy, xy, yy: xx }, 1.0);
            let peak = sampled(&transfer, &grid, 0, 0);
            let least = (3.0 * xx.sqrt()).ceil() as usize + 9;
            for x in [least, least + 1, least + 2, 40, 53] {
                // From the kernel's centre and from the next one, which comes in again.
                let bound = transfer.ringing_x(x as f64) + transfer.ringing_x((128 - x) as f64);
                assert_eq!(turned.ringing_y(x as f64), transfer.ringing_x(x as f64));
                let most = (0..4).map(|y| sampled(&transfer, &grid, x, y).abs());
                let most = most.fold(0.0, f64::max) / peak;
                assert!(
                    most <= bound,
                    "{xx} {xy} {yy} at {x}: {most:e}, bound {bound:e}"
                );
                assert!(
                    most > 1e-4 * bound,
                    "{xx} {xy} {yy} at {x}: {most:e}, bound {bound:e}"
                );
            }
        }
    }

    #[test]
    fn no_sampled_kernel_has_a_lower_peak() {
        let grid = Grid { nx: 61, ny: 24 };
        let widths = [0.0_f64, 0.3, 0.9, 2.0, 16.0, 900.0];
        for (xx, yy) in widths.into_iter().flat_map(|xx| widths.map(|yy| (xx, yy))) {
            for turned in [-0.99, 0.0, 0.6] {
                let xy = turned * (xx * yy).sqrt();
                let transfer = GaussianTransfer::new(PixelCovariance { xx, xy, yy }, 1.0);
                let peak = sampled(&transfer, &grid, 0, 0);
                let least = least_peak(xx) * least_peak(yy);
                assert!(peak > 0.999 * least, "{xx} {xy} {yy}: {peak:e}, {least:e}");
                assert!(turned != 0.0 || xx.max(yy) > 99.0 || peak < 1.3 * least);
            }
        }
    }

    #[test]
    fn flat_and_degenerate_transfers_keep_every_column() {
        let grid = Grid { nx: 64, ny: 48 };
        for (xx, xy, yy) in [(0.0, 0.0, 0.0), (0.0, 0.0, 300.0), (1e-17, 1e-9, 300.0)] {
            let transfer = GaussianTransfer::new(PixelCovariance { xx, xy, yy }, 1.0);
            assert_eq!(transfer.columns_above(&grid, 23.0), 33);
        }
        let line = GaussianTransfer::new(
            PixelCovariance {
                xx: 900.0,
                xy: 0.0,
                yy: 0.0,
            },
            1.0,
        );
        assert!(line.columns_above(&grid, 23.0) < 10);
    }
}
