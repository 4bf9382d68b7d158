//! What becomes of blank pixels, a row at a time: before the transform they are zero, after it a
//! rule says which pixels of the result are blank. No transform.

use crate::convolve::{LEAST_WEIGHT, RACS_BLANK_FROM};
use crate::plane::Real;

/// Makes every value that is not finite zero; says how many there were.
pub(super) fn zero_blanks<T: Real>(row: &mut [T]) -> usize {
    let mut blanks = 0;
    for value in row {
        let finite = value.is_finite();
        blanks += usize::from(!finite);
        *value = if finite { *value } else { T::ZERO };
    }
    blanks
}

/// Makes every value that is not finite one, and all others zero.
pub(super) fn mark_blanks<T: Real>(row: &mut [T]) {
    for value in row {
        *value = if value.is_finite() { T::ZERO } else { T::ONE };
    }
}

/// [`NanRule::Keep`](crate::plan::NanRule::Keep): blank where the input row is.
pub(super) fn keep<T: Real>(smoothed: &mut [T], input: &[T]) {
    for (value, input) in smoothed.iter_mut().zip(input) {
        *value = if input.is_finite() { *value } else { T::BLANK };
    }
}

/// [`NanRule::Racs`](crate::plan::NanRule::Racs): blank where `gain` times the smoothed mask
/// reaches [`RACS_BLANK_FROM`].
pub(super) fn racs<T: Real>(smoothed: &mut [T], mask: &[T], gain: f64) {
    for (value, mask) in smoothed.iter_mut().zip(mask) {
        let blank = gain * mask.widened() >= RACS_BLANK_FROM;
        *value = if blank { T::BLANK } else { *value };
    }
}

/// [`NanRule::Interpolate`](crate::plan::NanRule::Interpolate): divided by the smoothed weight,
/// which is one less the smoothed mask; blank where that is below [`LEAST_WEIGHT`].
pub(super) fn interpolate<T: Real>(smoothed: &mut [T], mask: &[T]) {
    for (value, mask) in smoothed.iter_mut().zip(mask) {
        let weight = 1.0 - mask.widened();
        let known = T::rounded(value.widened() / weight);
        *value = if weight < LEAST_WEIGHT {
            T::BLANK
        } else {
            known
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROW: [f32; 6] = [1.0, f32::NAN, -2.0, f32::INFINITY, f32::NEG_INFINITY, 0.0];

    #[test]
    fn infinities_are_blank_too() {
        let mut row = ROW;
        assert_eq!(zero_blanks(&mut row), 3);
        assert_eq!(row, [1.0, 0.0, -2.0, 0.0, 0.0, 0.0]);
        let mut mask = ROW;
        mark_blanks(&mut mask);
        assert_eq!(mask, [0.0, 1.0, 0.0, 1.0, 1.0, 0.0]);
    }

    #[test]
    fn rules_blank_from_their_limits_on() {
        let mut kept = [5.0_f32; 6];
        keep(&mut kept, &ROW);
        assert_eq!(
            kept.map(f32::is_nan),
            [false, true, false, true, true, false]
        );

        let mut values = [5.0_f64; 3];
        racs(&mut values, &[0.494, 0.495, 0.6], 2.0);
        assert_eq!(values.map(f64::is_nan), [false, true, true]);

        let mut values = [5.0_f64; 3];
        interpolate(&mut values, &[0.0, 0.5, 0.9995]);
        assert_eq!(values[..2], [5.0, 10.0]);
        assert!(values[2].is_nan());
    }
}
