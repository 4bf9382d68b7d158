//! The exponential function as a loop without branches or calls, so that the compiler can work
//! on several elements at once. Only the Gaussian's fillers use it.

use std::f64::consts::LOG2_E;

/// ln 2 cut to 32 bits, so that its product with a small integer is exact.
const LN_2_HIGH: f64 = 0.693_147_180_369_123_8;
/// ln 2 less [`LN_2_HIGH`].
const LN_2_LOW: f64 = 1.908_214_929_270_587_7e-10;
/// 1.5 · 2^52: adding it rounds to an integer, which is then found in the low bits.
const ROUND: f64 = 6_755_399_441_055_744.0;

/// e^x for -700 ≤ x ≤ 700, to two units in the last place; meaningless outside.
///
/// `x = n ln 2 + r` with `|r| ≤ ln 2 / 2`; e^r is its Taylor series, whose fourteenth term is
/// below 1e-17, and 2^n is put together from its bits.
#[inline]
pub(super) fn exp(x: f64) -> f64 {
    let rounded = x * LOG2_E + ROUND;
    let n = rounded - ROUND;
    let r = (x - n * LN_2_HIGH) - n * LN_2_LOW;
    let mut series = TAYLOR[0];
    for coefficient in &TAYLOR[1..] {
        series = series * r + coefficient;
    }
    let power = f64::from_bits((rounded.to_bits() << 52).wrapping_add(1023 << 52));
    series * power
}

/// 1/13!, 1/12!, … 1/1!, 1/0!.
const TAYLOR: [f64; 14] = {
    let mut coefficients = [1.0; 14];
    let mut term = 13;
    let mut factorial = 1.0;
    while term > 0 {
        coefficients[term - 1] = {
            factorial *= (14 - term) as f64;
            1.0 / factorial
        };
        term -= 1;
    }
    coefficients
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_the_standard_library() {
        for step in 0..=20_000 {
            let x = -45.0 + f64::from(step) * 0.002_25;
            let (found, expected) = (exp(x), x.exp());
            assert!(
                (found / expected - 1.0).abs() < 5e-16,
                "e^{x}: {found:e}, not {expected:e}"
            );
        }
        assert_eq!(exp(0.0), 1.0);
    }
}
