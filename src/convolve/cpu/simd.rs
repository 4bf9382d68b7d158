//! Which vector instructions this machine has, loops compiled for them, and the few loops written
//! in them. All arithmetic is the same, in the same order, with and without them, so that no bit
//! of a result depends on the machine's instructions.

#![allow(
    unsafe_code,
    reason = "compiling for instructions found at run time, and hints to the cache, are unsafe"
)]

#[cfg(target_arch = "x86_64")]
use std::any::TypeId;

#[cfg(target_arch = "x86_64")]
use super::avx2;
use super::real;
use super::turn::Lines;
use crate::plane::Real;
use num_complex::Complex;

/// Instructions that loops may be compiled for. Only [`best`](Self::best) gives more than
/// every machine has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Isa(Set);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Set {
    /// What the program as a whole is compiled for.
    Portable,
    /// Vectors of 32 bytes. Made only where [`Isa::best`] has found them.
    #[cfg(target_arch = "x86_64")]
    Avx2,
}

impl Isa {
    /// What the program as a whole is compiled for; tests hold the others against it.
    #[cfg(test)]
    pub const PORTABLE: Self = Self(Set::Portable);

    /// The widest that this machine has. The answer is kept by the standard library, so asking
    /// costs a load.
    #[inline]
    pub fn best() -> Self {
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2") {
            return Self(Set::Avx2);
        }
        Self(Set::Portable)
    }

    /// Does `work`, compiled for these instructions as far as it is inlined: it and what it calls
    /// should be `#[inline(always)]`.
    #[inline]
    pub fn run<R>(self, work: impl FnOnce() -> R) -> R {
        match self.0 {
            Set::Portable => work(),
            #[cfg(target_arch = "x86_64")]
            Set::Avx2 => {
                // SAFETY: `Set::Avx2` is private to this file and made only by `best`, after it
                // has found AVX2 on this machine.
                unsafe { with_avx2(work) }
            }
        }
    }

    /// [`real::pairs`] with [`real::split_pair`], or with [`real::join_pair`] if `back`.
    #[inline]
    pub fn pairs<T: Real>(self, back: bool, pairs: real::Pairs<'_, T>) {
        #[cfg(target_arch = "x86_64")]
        if self.0 == Set::Avx2 {
            if TypeId::of::<T>() == TypeId::of::<f32>() {
                let pairs = same::<T, f32>(pairs);
                // SAFETY: as in `run`.
                return unsafe { avx2::single::pairs(back, pairs) };
            }
            if TypeId::of::<T>() == TypeId::of::<f64>() {
                let pairs = same::<T, f64>(pairs);
                // SAFETY: as in `run`.
                return unsafe { avx2::double::pairs(back, pairs) };
            }
        }
        real::pairs(back, pairs);
    }

    /// Turns a whole tile of a band, [`BAND_ROWS`](super::fft2::BAND_ROWS) rows of
    /// [`TILE_COLUMNS`](super::turn::TILE_COLUMNS) values, into columns, `first` being as in
    /// [`rows_to_columns`](super::turn::rows_to_columns); or does nothing and says `false`.
    #[inline]
    pub fn turn_in<T: Real>(
        self,
        band: &Lines<&[Complex<T>]>,
        columns: &mut Lines<&mut [Complex<T>]>,
        first: (usize, usize),
    ) -> bool {
        #[cfg(target_arch = "x86_64")]
        if self.0 == Set::Avx2 {
            if TypeId::of::<T>() == TypeId::of::<f32>() {
                let (band, mut columns) = (lines(band), lines_mut(columns));
                // SAFETY: as in `run`.
                unsafe { avx2::single::turn_in(&band, &mut columns, first) };
                return true;
            }
            if TypeId::of::<T>() == TypeId::of::<f64>() {
                let (band, mut columns) = (lines(band), lines_mut(columns));
                // SAFETY: as in `run`.
                unsafe { avx2::double::turn_in(&band, &mut columns, first) };
                return true;
            }
        }
        false
    }

    /// [`turn_in`](Self::turn_in) the other way.
    #[inline]
    pub fn turn_out<T: Real>(
        self,
        columns: &Lines<&[Complex<T>]>,
        band: &mut Lines<&mut [Complex<T>]>,
        first: (usize, usize),
    ) -> bool {
        #[cfg(target_arch = "x86_64")]
        if self.0 == Set::Avx2 {
            if TypeId::of::<T>() == TypeId::of::<f32>() {
                let (columns, mut band) = (lines(columns), lines_mut(band));
                // SAFETY: as in `run`.
                unsafe { avx2::single::turn_out(&columns, &mut band, first) };
                return true;
            }
            if TypeId::of::<T>() == TypeId::of::<f64>() {
                let (columns, mut band) = (lines(columns), lines_mut(band));
                // SAFETY: as in `run`.
                unsafe { avx2::double::turn_out(&columns, &mut band, first) };
                return true;
            }
        }
        false
    }
}

/// The same values, where `T` is `U`; the sizes are checked.
#[cfg(target_arch = "x86_64")]
fn lines<'a, T: Real, U: Real>(from: &Lines<&'a [Complex<T>]>) -> Lines<&'a [Complex<U>]> {
    Lines {
        values: bytemuck::cast_slice(from.values),
        distance: from.distance,
    }
}

/// [`lines`] that may be changed.
#[cfg(target_arch = "x86_64")]
fn lines_mut<'a, T: Real, U: Real>(
    from: &'a mut Lines<&mut [Complex<T>]>,
) -> Lines<&'a mut [Complex<U>]> {
    Lines {
        values: bytemuck::cast_slice_mut(from.values),
        distance: from.distance,
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn with_avx2<R>(work: impl FnOnce() -> R) -> R {
    work()
}

/// The same values, where `T` is `U`; the sizes are checked.
#[cfg(target_arch = "x86_64")]
fn same<T: Real, U: Real>(pairs: real::Pairs<'_, T>) -> real::Pairs<'_, U> {
    let real::Pairs { low, high, factors } = pairs;
    real::Pairs {
        low: bytemuck::cast_slice_mut(low),
        high: bytemuck::cast_slice_mut(high),
        factors: bytemuck::cast_slice(factors),
    }
}

/// Says that the cache line at `address` will be written soon.
#[inline]
pub(super) fn will_write<T>(address: *const T) {
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a hint to the cache, which changes no register, no flag and no memory, and never
    // faults, wherever the address points to; processors without it take it as no operation.
    unsafe {
        std::arch::asm!("prefetchw [{0}]", in(reg) address, options(nostack, preserves_flags));
    }
}

/// Says that the cache line at `address` will be read soon.
#[inline]
pub(super) fn will_read<T>(address: *const T) {
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
    #[cfg(target_arch = "x86_64")]
    // SAFETY: as in `will_write`.
    unsafe {
        std::arch::asm!("prefetcht0 [{0}]", in(reg) address, options(nostack, preserves_flags));
    }
}

#[cfg(test)]
mod tests {
    use num_complex::Complex;

    use super::*;
    use crate::kernel::{GaussianTransfer, Grid, PixelCovariance};

    /// Complex values of all kinds, blanks, infinities and denormal numbers among them if `wild`.
    fn values<T: Real>(count: usize, wild: bool) -> Vec<Complex<T>> {
        let special = [
            f64::NAN,
            f64::INFINITY,
            -f64::INFINITY,
            3e-310,
            -7e-41,
            -0.0,
        ];
        let mut state = 7 + count as u64;
        let mut next = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            let pick = (state >> 33) as usize % 24;
            let plain = (state >> 11) as f64 / (1_u64 << 52) as f64 - 1.0;
            let special = special.get(pick).filter(|_| wild);
            T::rounded(special.copied().unwrap_or(plain))
        };
        (0..count).map(|_| Complex::new(next(), next())).collect()
    }

    /// The bits, all NaNs alike.
    fn bits<T: Real>(values: &[Complex<T>]) -> Vec<u64> {
        let parts = values.iter().flat_map(|value| [value.re, value.im]);
        let canonical = |v: f64| if v.is_nan() { f64::NAN } else { v };
        parts.map(|v| canonical(v.widened()).to_bits()).collect()
    }

    fn pairs_agree<T: Real>() {
        for count in 0..=200 {
            for (wild, back) in [(false, false), (false, true), (true, false), (true, true)] {
                let factors = values(count, false);
                let results = [Isa::PORTABLE, Isa::best()].map(|isa| {
                    let mut low: Vec<Complex<T>> = values(count, wild);
                    let mut high = low.iter().map(|v| *v * *v).collect::<Vec<_>>();
                    let pairs = real::Pairs {
                        low: &mut low,
                        high: &mut high,
                        factors: &factors,
                    };
                    isa.pairs(back, pairs);
                    (bits(&low), bits(&high))
                });
                assert!(results[0] == results[1], "{count} {wild} {back}");
            }
        }
    }

    #[test]
    fn pairs_have_the_same_bits_with_and_without_vectors() {
        pairs_agree::<f32>();
        pairs_agree::<f64>();
    }

    fn transfers_agree<T: Real>(cut: f64) {
        let covariance = PixelCovariance {
            xx: 9.0,
            xy: -3.0,
            yy: 7.0,
        };
        let transfer = GaussianTransfer::new(covariance, 2.5e-4);
        for ny in 1..=200 {
            let grid = Grid { nx: 8, ny };
            for kx in 0..grid.half_columns() {
                let results = [Isa::PORTABLE, Isa::best()].map(|isa| {
                    let mut values = vec![T::BLANK; ny];
                    isa.run(
                        #[inline(always)]
                        || transfer.fill_column(&grid, kx, cut, &mut values),
                    );
                    values
                        .iter()
                        .map(|v| v.widened().to_bits())
                        .collect::<Vec<_>>()
                });
                assert!(results[0] == results[1], "{ny} rows, column {kx}");
            }
        }
    }

    #[test]
    fn transfers_have_the_same_bits_with_and_without_vectors() {
        transfers_agree::<f32>(23.0);
        transfers_agree::<f64>(41.5);
    }

    #[test]
    fn hints_may_point_anywhere() {
        for address in [
            std::ptr::null::<u8>(),
            std::ptr::without_provenance(usize::MAX),
        ] {
            will_read(address);
            will_write(address);
        }
    }
}
