//! Sums of two doubles: about 32 decimal digits, for the few steps of the common beam where
//! needle-shaped and nearly equal beams cancel. Arithmetic only; no beams live here.
//!
//! The error-free sum and product are those of Dekker (1971, Numer. Math. 18, 224) and Knuth
//! (The Art of Computer Programming 2, 4.2.2); values are expected far from overflow.

use std::cmp::Ordering;
use std::ops::{Add, Div, Mul, Neg, Sub};

/// The unevaluated sum `hi + lo`, with `|lo|` at most half an ulp of `hi`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Double {
    hi: f64,
    lo: f64,
}

impl Double {
    pub(super) const ZERO: Self = Self { hi: 0.0, lo: 0.0 };

    /// The nearest double.
    pub(super) fn value(self) -> f64 {
        self.hi
    }

    /// The exact product of two doubles.
    pub(super) fn product(a: f64, b: f64) -> Self {
        let hi = a * b;
        Self {
            hi,
            lo: a.mul_add(b, -hi),
        }
    }

    pub(super) fn half(self) -> Self {
        Self {
            hi: self.hi * 0.5,
            lo: self.lo * 0.5,
        }
    }

    pub(super) fn double(self) -> Self {
        Self {
            hi: self.hi * 2.0,
            lo: self.lo * 2.0,
        }
    }

    pub(super) fn square(self) -> Self {
        self * self
    }

    /// The square root; zero for a number that is not positive.
    pub(super) fn sqrt(self) -> Self {
        if self.hi <= 0.0 {
            return Self::ZERO;
        }
        let root = self.hi.sqrt();
        let rest = self - Self::product(root, root);
        quick_sum(root, rest.hi / (2.0 * root))
    }

    pub(super) fn is_positive(self) -> bool {
        self.hi > 0.0
    }

    pub(super) fn is_finite(self) -> bool {
        self.hi.is_finite() && self.lo.is_finite()
    }
}

/// `a + b` and its rounding error.
fn two_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    let part = sum - a;
    (sum, (a - (sum - part)) + (b - part))
}

/// As [`two_sum`], where `|a| >= |b|`.
fn quick_sum(a: f64, b: f64) -> Double {
    let hi = a + b;
    Double {
        hi,
        lo: b - (hi - a),
    }
}

impl From<f64> for Double {
    fn from(value: f64) -> Self {
        Self { hi: value, lo: 0.0 }
    }
}

impl Add for Double {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        let (hi, low) = two_sum(self.hi, other.hi);
        let (mid, tail) = two_sum(self.lo, other.lo);
        let first = quick_sum(hi, low + mid);
        quick_sum(first.hi, first.lo + tail)
    }
}

impl Neg for Double {
    type Output = Self;

    fn neg(self) -> Self {
        Self {
            hi: -self.hi,
            lo: -self.lo,
        }
    }
}

impl Sub for Double {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        self + -other
    }
}

impl Mul for Double {
    type Output = Self;

    fn mul(self, other: Self) -> Self {
        let top = Self::product(self.hi, other.hi);
        quick_sum(top.hi, top.lo + (self.hi * other.lo + self.lo * other.hi))
    }
}

impl Div for Double {
    type Output = Self;

    fn div(self, other: Self) -> Self {
        let first = self.hi / other.hi;
        let rest = self - other * Self::from(first);
        let second = rest.hi / other.hi;
        let rest = rest - other * Self::from(second);
        quick_sum(first, second) + Self::from(rest.hi / other.hi)
    }
}

impl PartialOrd for Double {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        (*self - *other).hi.partial_cmp(&0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(got: Double, want: Double) {
        let off = (got - want).value().abs();
        assert!(
            off <= 1e-30 * want.value().abs(),
            "{got:?} is off {want:?} by {off:e}"
        );
    }

    #[test]
    fn thirty_digits_survive() {
        let third = Double::from(1.0) / Double::from(3.0);
        close(third * Double::from(3.0), Double::from(1.0));
        let root = Double::from(2.0).sqrt();
        close(root.square(), Double::from(2.0));
        // 1 + 1e-25 minus 1, which a double would lose whole.
        let small = (Double::from(1.0) + Double::from(1e-25)) - Double::from(1.0);
        close(small, Double::from(1e-25));
    }

    #[test]
    fn order_and_sign() {
        let above = Double::from(1.0) + Double::from(1e-20);
        assert!(above > Double::from(1.0) && (-above) < Double::ZERO);
        assert_eq!(Double::from(-1.0).sqrt(), Double::ZERO);
        assert_eq!(above.half().double(), above);
    }
}
