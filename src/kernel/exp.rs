//! The exponential function as a loop without branches or calls, so that the compiler can work
//! on several elements at once. Only the Gaussian's fillers use it.

use std::f64::consts::{LN_2, LOG2_E};

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
#[inline(always)]
pub(super) fn exp(x: f64) -> f64 {
    let rounded = x * LOG2_E + ROUND;
    let n = rounded - ROUND;
    let r = (x - n * LN_2_HIGH) - n * LN_2_LOW;
    let c = &TAYLOR;
    let (r2, r4) = (r * r, (r * r) * (r * r));
    let low = (c[0] + c[1] * r) + (c[2] + c[3] * r) * r2;
    let middle = (c[4] + c[5] * r) + (c[6] + c[7] * r) * r2;
    let high = (c[8] + c[9] * r) + (c[10] + c[11] * r) * r2;
    let series = low + r4 * (middle + r4 * (high + r4 * (c[12] + c[13] * r)));
    let power = f64::from_bits((rounded.to_bits() << 52).wrapping_add(1023 << 52));
    series * power
}

/// e^x for -80 ≤ x ≤ 80, to two units in the last place of an `f32`; meaningless outside.
///
/// As [`exp`], but once the argument is reduced, and no longer loses digits, all is single.
/// The ninth term of the series is below 6e-9.
#[inline(always)]
pub(super) fn exp_single(x: f64) -> f32 {
    let rounded = x * LOG2_E + ROUND;
    let n = rounded - ROUND;
    let r = (x - n * LN_2) as f32;
    let c = &TAYLOR_SINGLE;
    let r2 = r * r;
    let low = (c[0] + c[1] * r) + (c[2] + c[3] * r) * r2;
    let high = (c[4] + c[5] * r) + (c[6] + c[7] * r) * r2;
    let series = low + (r2 * r2) * high;
    let power = f32::from_bits(((rounded.to_bits() as u32) << 23).wrapping_add(127 << 23));
    series * power
}

/// 1/0!, 1/1!, … 1/7!.
const TAYLOR_SINGLE: [f32; 8] = {
    let mut coefficients = [1.0; 8];
    let mut term = 0;
    while term < 8 {
        coefficients[term] = TAYLOR[term] as f32;
        term += 1;
    }
    coefficients
};

/// 1/0!, 1/1!, … 1/13!.
const TAYLOR: [f64; 14] = {
    let mut coefficients = [1.0; 14];
    let (mut term, mut factorial) = (1, 1.0);
    while term < 14 {
        factorial *= term as f64;
        coefficients[term] = 1.0 / factorial;
        term += 1;
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

    #[test]
    fn the_single_one_agrees_as_far_as_it_goes() {
        for step in 0..=20_000 {
            let x = -80.0 + f64::from(step) * 0.008;
            let (found, expected) = (f64::from(exp_single(x)), x.exp());
            assert!(
                (found / expected - 1.0).abs() < 2.4e-7,
                "e^{x}: {found:e}, not {expected:e}"
            );
        }
        assert_eq!(exp_single(0.0), 1.0);
    }
}
