//! The transform of a real row of even length by a complex one of half the length, and the two
//! passes that make the one out of the other. Nothing is scaled.
//!
//! A row x of 2m values is read as m complex ones z, with the spectrum Z. Then, with
//! w = exp(-iπ/m), X[k] = E + wᵏ O and X[m - k] = conj(E - wᵏ O), where E = (Z[k] + conj Z[m - k])
//! / 2 is the spectrum of the even values and O = (Z[k] - conj Z[m - k]) / 2i that of the odd ones
//! (Press et al., Numerical Recipes, section 12.3). The way back gives 2m times the row, as all
//! transforms here do.

use std::f64::consts::PI;

use num_complex::Complex;

use super::simd::Isa;
use crate::plane::Real;

/// Bins k and m - k, and what belongs to them.
pub(super) struct Pairs<'a, T: Real> {
    /// Bins 1, 2, … below m / 2.
    pub low: &'a mut [Complex<T>],
    /// Their partners, as many, which lie the other way round.
    pub high: &'a mut [Complex<T>],
    /// The factors of the low ones.
    pub factors: &'a [Complex<T>],
}

/// The factors `exp(-iπ k / m) / 2i` for k = 1, 2, … below m / 2.
pub(super) fn factors<T: Real>(half: usize) -> Vec<Complex<T>> {
    (1..half.div_ceil(2))
        .map(|k| {
            let (sin, cos) = (PI * k as f64 / half as f64).sin_cos();
            Complex::new(T::rounded(-0.5 * sin), T::rounded(-0.5 * cos))
        })
        .collect()
}

/// Makes the m + 1 bins of a row of 2m real values out of the m bins of its complex reading, which
/// are the first of `bins`.
pub(super) fn split<T: Real>(isa: Isa, bins: &mut [Complex<T>], factors: &[Complex<T>]) {
    let [first, between @ .., last] = bins else {
        return;
    };
    *last = Complex::new(first.re - first.im, T::ZERO);
    *first = Complex::new(first.re + first.im, T::ZERO);
    let (pairs, middle) = pairs_of(between, factors);
    if let Some(middle) = middle {
        middle.im = -middle.im;
    }
    isa.pairs(false, pairs);
}

/// The way back: twice the m bins of the complex reading, from the m + 1 of the real row. The
/// imaginary parts of the first and the last bin count as zero, which those of a real row are.
pub(super) fn join<T: Real>(isa: Isa, bins: &mut [Complex<T>], factors: &[Complex<T>]) {
    let [first, between @ .., last] = bins else {
        return;
    };
    *first = Complex::new(first.re + last.re, first.re - last.re);
    let (pairs, middle) = pairs_of(between, factors);
    if let Some(middle) = middle {
        *middle = Complex::new(middle.re + middle.re, -(middle.im + middle.im));
    }
    isa.pairs(true, pairs);
}

/// The pairs of bins 1 to m - 1, and the bin in the middle, if there is one, which is its own
/// partner.
fn pairs_of<'a, T: Real>(
    between: &'a mut [Complex<T>],
    factors: &'a [Complex<T>],
) -> (Pairs<'a, T>, Option<&'a mut Complex<T>>) {
    let count = between.len() / 2;
    let (low, rest) = between.split_at_mut(count);
    let (middle, high) = rest.split_at_mut(rest.len() - count);
    let pairs = Pairs { low, high, factors };
    (pairs, middle.first_mut())
}

/// Every pair by itself: [`join_pair`] if `back`, else [`split_pair`].
pub(super) fn pairs<T: Real>(back: bool, pairs: Pairs<'_, T>) {
    let Pairs { low, high, factors } = pairs;
    let partners = low.iter_mut().zip(high.iter_mut().rev());
    for ((low, high), &factor) in partners.zip(factors) {
        (*low, *high) = if back {
            join_pair(*low, *high, factor)
        } else {
            split_pair(*low, *high, factor)
        };
    }
}

/// `Z[k]`, `Z[m - k]` to `X[k]`, `X[m - k]`.
fn split_pair<T: Real>(
    low: Complex<T>,
    high: Complex<T>,
    factor: Complex<T>,
) -> (Complex<T>, Complex<T>) {
    let half = T::rounded(0.5);
    let even = (low + high.conj()).scale(half);
    let odd = (low - high.conj()) * factor;
    (even + odd, (even - odd).conj())
}

/// `X[k]`, `X[m - k]` to `2 Z[k]`, `2 Z[m - k]`.
fn join_pair<T: Real>(
    low: Complex<T>,
    high: Complex<T>,
    factor: Complex<T>,
) -> (Complex<T>, Complex<T>) {
    let two = T::ONE + T::ONE;
    let even = low + high.conj();
    let odd = (low - high.conj()).scale(two) * factor.conj();
    (even + odd, (even - odd).conj())
}
