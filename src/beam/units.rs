//! Units of angles as they stand in tables, logs and cards.
//! Brightness units are the business of `sky`.

/// Arcseconds in one of `unit`, in any case and in the spellings of FITS, AIPS and astropy;
/// `None` for a unit that is no angle, or not known.
pub(super) fn arcsec_in(unit: &str) -> Option<f64> {
    let name = unit.trim().to_ascii_lowercase();
    let name = name.trim_end_matches('.');
    let arcsec_in_rad = 180.0 * 3600.0 / std::f64::consts::PI;
    Some(match name {
        "deg" | "degs" | "degree" | "degrees" | "d" | "°" => 3600.0,
        "arcmin" | "arcmins" | "arcminute" | "arcminutes" | "amin" | "'" => 60.0,
        "arcsec" | "arcsecs" | "arcsecond" | "arcseconds" | "asec" | "\"" | "''" => 1.0,
        "mas" | "marcsec" | "milliarcsec" | "milliarcsecond" | "milliarcseconds" => 1e-3,
        "uas" | "uarcsec" | "microarcsec" | "microarcsecond" | "microarcseconds" => 1e-6,
        "rad" | "rads" | "radian" | "radians" => arcsec_in_rad,
        "mrad" => arcsec_in_rad * 1e-3,
        _ => return None,
    })
}

/// Degrees in one of `unit`, as [`arcsec_in`].
pub(super) fn degrees_in(unit: &str) -> Option<f64> {
    Some(match arcsec_in(unit)? {
        3600.0 => 1.0,
        arcsec => arcsec / 3600.0,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings() {
        for degrees in ["deg", "DEG", "degree", "Degrees", "DEGREES", " degrees "] {
            assert_eq!(
                (arcsec_in(degrees), degrees_in(degrees)),
                (Some(3600.0), Some(1.0))
            );
        }
        assert_eq!(arcsec_in("ArcSec"), Some(1.0));
        assert_eq!(arcsec_in("arcmin"), Some(60.0));
        assert_eq!(arcsec_in("mas"), Some(1e-3));
        // 1 rad is 206 264.806 247 096 36 arcsec.
        assert!((arcsec_in("rad").unwrap() - 206_264.806_247_096_36).abs() < 1e-9);
        assert!((degrees_in("RADIANS").unwrap() - 57.295_779_513_082_32).abs() < 1e-13);
        for other in ["", "m", "Hz", "beam", "arcsec2", "furlong"] {
            assert_eq!(arcsec_in(other), None, "{other}");
        }
    }
}
