//! Position angles in degrees: normal form, and sines that are exact at right angles.
//! Units of angles in files live in `units`.

/// The same axis with its angle in (−90, 90]; an axis has no arrow, so half turns do not count.
pub fn normal_angle_deg(pa_deg: f64) -> f64 {
    let turn = pa_deg % 180.0;
    let folded = if turn > 90.0 {
        turn - 180.0
    } else if turn <= -90.0 {
        turn + 180.0
    } else {
        turn
    };
    // Minus zero is not written as such.
    folded + 0.0
}

/// Cosine and sine of an angle in degrees, exact at multiples of 90°.
pub(super) fn cos_sin(angle_deg: f64) -> (f64, f64) {
    let turn = angle_deg % 360.0;
    let quarters = (turn / 90.0).round();
    let (s, c) = (turn - 90.0 * quarters).to_radians().sin_cos();
    match quarters.rem_euclid(4.0) as u8 {
        0 => (c, s),
        1 => (-s, c),
        2 => (-c, -s),
        _ => (s, -c),
    }
}

/// The angle of the direction (`x`, `y`) from x towards y, degrees in (−180, 180]; 0 of (0, 0).
pub(super) fn degrees_of(y: f64, x: f64) -> f64 {
    y.atan2(x).to_degrees()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_turns_do_not_count() {
        for (given, want) in [
            (0.0, 0.0),
            (90.0, 90.0),
            (-90.0, 90.0),
            (180.0, 0.0),
            (-160.0, 20.0),
            (640.0, -80.0),
        ] {
            assert_eq!(normal_angle_deg(given), want, "{given}");
        }
        assert!(normal_angle_deg(-180.0).is_sign_positive());
    }

    #[test]
    fn right_angles_are_exact() {
        assert_eq!(cos_sin(90.0), (0.0, 1.0));
        assert_eq!(cos_sin(-90.0), (0.0, -1.0));
        assert_eq!(cos_sin(180.0), (-1.0, 0.0));
        for angle in [-170.0, -91.3, -45.0, 12.5, 45.0, 135.0, 179.0, 300.0] {
            let (c, s) = cos_sin(angle);
            let radians = f64::to_radians(angle);
            assert!((c - radians.cos()).abs() < 4e-16 && (s - radians.sin()).abs() < 4e-16);
        }
    }

    #[test]
    fn directions_come_back() {
        for angle in [
            -179.5, -135.0, -90.0, -89.0, -45.0, 0.0, 1e-9, 44.0, 90.0, 135.0,
        ] {
            let (c, s) = cos_sin(angle);
            assert!(
                (degrees_of(s, c) - angle).abs() < 2e-13,
                "{angle}: {}",
                degrees_of(s, c)
            );
        }
        assert_eq!(degrees_of(1.0, 0.0), 90.0);
        assert_eq!(degrees_of(0.0, -1.0), 180.0);
        assert_eq!(degrees_of(0.0, 0.0), 0.0);
    }
}
