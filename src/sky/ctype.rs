//! What the text of one `CTYPEn` names. No axis numbers and no decisions live here.

/// What a `CTYPEn` names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Named {
    /// A longitude of this system.
    Longitude(String),
    /// A latitude of this system.
    Latitude(String),
    /// Frequency, velocity, wavelength, energy or a channel number.
    Spectral,
    /// Polarisation.
    Stokes,
    /// Nothing: absent, blank, or a word for a mere pixel count.
    Nameless,
    /// Something else, such as time.
    Other,
}

/// The first letters of spectral types (FITS 4.0, table 25, and `VELO`, `FELO`, `CHANNEL` of
/// older software).
const SPECTRAL: [&str; 12] = [
    "FREQ", "VELO", "VRAD", "VOPT", "ZOPT", "BETA", "FELO", "WAVE", "AWAV", "WAVN", "ENER", "CHAN",
];
const STOKES: [&str; 4] = ["STOKES", "POL", "POLARIZATION", "POLARISATION"];
/// Types that name no coordinate at all.
const NAMELESS: [&str; 7] = ["", "LINEAR", "PIXEL", "PIXELS", "PIX", "X", "Y"];
/// Projections about the point they touch the sphere at (FITS 4.0, table 23; `NCP` of AIPS and the
/// distorted tangent planes), where a native pole turns the image.
const ZENITHAL: [&str; 14] = [
    "AZP", "SZP", "TAN", "STG", "SIN", "ARC", "ZPN", "ZEA", "AIR", "NCP", "TPV", "TNX", "ZPX",
    "TPD",
];

/// What `ctype` names: the part before the first hyphen, in any case, so that `RA--SIN` and `RA`
/// count as well as `RA---SIN` (FITS 4.0, section 8.3).
pub fn named(ctype: &str) -> Named {
    let name = name_part(ctype);
    if let Some(celestial) = celestial(&name) {
        celestial
    } else if SPECTRAL.iter().any(|spectral| name.starts_with(spectral)) {
        Named::Spectral
    } else if STOKES.contains(&name.as_str()) {
        Named::Stokes
    } else if NAMELESS.contains(&name.as_str()) {
        Named::Nameless
    } else {
        Named::Other
    }
}

/// The pairs of FITS 4.0, section 8.3 (`RA`/`DEC`, `xLON`/`xLAT`, `xyLN`/`xyLT`), and the bare
/// direction cosines `LL`/`MM` of AIPS.
fn celestial(name: &str) -> Option<Named> {
    let system = |letters: &str| letters.to_owned();
    match name {
        "RA" => return Some(Named::Longitude(system("RA"))),
        "DEC" => return Some(Named::Latitude(system("RA"))),
        "LL" => return Some(Named::Longitude(system("LL"))),
        "MM" => return Some(Named::Latitude(system("LL"))),
        _ => {}
    }
    let ending = |text: &str, longest: usize| {
        let letters = name.strip_suffix(text)?;
        (letters.len() <= longest).then(|| system(letters))
    };
    let longitude = ending("LON", 1).or_else(|| ending("LN", 2).filter(|x| x.len() == 2));
    let latitude = ending("LAT", 1).or_else(|| ending("LT", 2).filter(|x| x.len() == 2));
    longitude
        .map(Named::Longitude)
        .or(latitude.map(Named::Latitude))
}

/// The three letters of the projection, upper case; `None` for a bare type.
pub fn projection(ctype: &str) -> Option<String> {
    let ctype = ctype.trim().to_ascii_uppercase();
    let (_, rest) = ctype.split_once('-')?;
    let code = rest.trim_start_matches('-').split('-').next()?.trim();
    (!code.is_empty()).then(|| code.to_owned())
}

/// Whether a projection touches the sphere at one point, its reference point.
pub fn is_zenithal(projection: &str) -> bool {
    ZENITHAL.contains(&projection)
}

fn name_part(ctype: &str) -> String {
    let upper = ctype.trim().to_ascii_uppercase();
    upper
        .split('-')
        .next()
        .unwrap_or_default()
        .trim()
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn longitude(system: &str) -> Named {
        Named::Longitude(system.to_owned())
    }

    fn latitude(system: &str) -> Named {
        Named::Latitude(system.to_owned())
    }

    #[test]
    fn celestial_types_in_every_dress() {
        for text in [
            "RA---SIN",
            "RA--SIN",
            "RA",
            "ra---tan",
            " RA ",
            "RA---TAN-SIP",
            "RA-NCP",
        ] {
            assert_eq!(named(text), longitude("RA"), "{text}");
        }
        for text in ["DEC--SIN", "DEC-SIN", "DEC", "dec--arc", "DEC---NCP"] {
            assert_eq!(named(text), latitude("RA"), "{text}");
        }
        assert_eq!(named("GLON-CAR"), longitude("G"));
        assert_eq!(named("GLAT-CAR"), latitude("G"));
        assert_eq!(named("ELON-AIT"), longitude("E"));
        assert_eq!(named("SLAT"), latitude("S"));
        assert_eq!(named("HPLN-TAN"), longitude("HP"));
        assert_eq!(named("HPLT-TAN"), latitude("HP"));
        assert_eq!(named("LL--SIN"), longitude("LL"));
        assert_eq!(named("MM"), latitude("LL"));
    }

    #[test]
    fn other_types() {
        for text in "FREQ;FREQ-LSR;VELO-LSR;VELO;FELO-HEL;VRAD;VOPT-F2W;ZOPT;BETA;WAVE;AWAV;\
                     WAVN;ENER;CHANNEL;CHAN;freq;WAVELENGTH;VELOCITY"
            .split(';')
        {
            assert_eq!(named(text), Named::Spectral, "{text}");
        }
        for text in ["STOKES", "stokes", "Stokes  "] {
            assert_eq!(named(text), Named::Stokes, "{text}");
        }
        for text in ["", "   ", "LINEAR", "PIXEL", "x"] {
            assert_eq!(named(text), Named::Nameless, "{text}");
        }
        for text in [
            "TIME", "UU---SIN", "RADIUS", "COMPLEX", "ANGLE", "LAMBDA", "PLATE", "SALT1",
        ] {
            assert_eq!(named(text), Named::Other, "{text}");
        }
    }

    #[test]
    fn projections() {
        assert_eq!(projection("RA---SIN").as_deref(), Some("SIN"));
        assert_eq!(projection("RA--sin").as_deref(), Some("SIN"));
        assert_eq!(projection("RA---TAN-SIP").as_deref(), Some("TAN"));
        assert_eq!(projection("RA"), None);
        assert_eq!(projection("RA---"), None);
        assert!(is_zenithal("NCP") && !is_zenithal("CAR"));
    }
}
