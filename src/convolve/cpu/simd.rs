//! Which vector instructions this machine has, loops compiled for them, and the few loops written
//! in them. All arithmetic is the same, in the same order, with and without them, so that no bit
//! of a result depends on the machine's instructions.

#![allow(
    unsafe_code,
    reason = "compiling for instructions found at run time, and hints to the cache, are unsafe"
)]

use std::any::TypeId;

use bytemuck::{cast_slice, cast_slice_mut};

#[cfg(target_arch = "x86_64")]
use super::avx2;
use super::real;
use crate::plane::Real;

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
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn with_avx2<R>(work: impl FnOnce() -> R) -> R {
    work()
}

/// The same values, where `T` is `U`; the sizes are checked.
#[cfg(target_arch = "x86_64")]
fn same<T: Real, U: Real>(pairs: real::Pairs<'_, T>) -> real::Pairs<'_, U> {
    real::Pairs {
        low: cast_slice_mut(pairs.low),
        high: cast_slice_mut(pairs.high),
        factors: cast_slice(pairs.factors),
    }
}

/// Says that the cache line at `address` will be written soon.
#[inline]
pub(super) fn will_write<T>(address: *const T) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: a hint to the cache, which changes no register, no flag and no memory, and never
    // faults, wherever the address points to; processors without it take it as no operation.
    unsafe {
        std::arch::asm!("prefetchw [{0}]", in(reg) address, options(nostack, preserves_flags));
    }
}

/// Says that the cache line at `address` will be read soon.
#[inline]
pub(super) fn will_read<T>(address: *const T) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: as in `will_write`.
    unsafe {
        std::arch::asm!("prefetcht0 [{0}]", in(reg) address, options(nostack, preserves_flags));
    }
}
