//! The unit names we know and what each means for smoothing. Case is folded before the look-up.
//! Only names live here; exponents and operators are `parse`'s.

/// What a unit says about the question *per beam or not*.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The synthesised beam.
    Beam,
    /// The pixel.
    Pixel,
    /// A solid angle.
    SolidAngle,
    /// A plane angle; its square is a solid angle.
    Angle,
    /// Flux density, power or energy: brightness only when it is per something on the sky.
    Flux,
    /// Temperature, which is a brightness by itself.
    Temperature,
    /// A logarithm, which cannot be averaged.
    Logarithm,
    /// Any other unit.
    Other,
}

/// Names that take no prefix, in lower case.
const WHOLE: &[(&str, Kind)] = &[
    ("beam", Kind::Beam),
    ("beams", Kind::Beam),
    ("bm", Kind::Beam),
    // AIPS, whose BUNIT had eight characters: `JY/B*M/S`.
    ("b", Kind::Beam),
    ("psf", Kind::Beam),
    ("pixel", Kind::Pixel),
    ("pixels", Kind::Pixel),
    ("pix", Kind::Pixel),
    ("px", Kind::Pixel),
    ("voxel", Kind::Pixel),
    ("spaxel", Kind::Pixel),
    ("steradian", Kind::SolidAngle),
    ("steradians", Kind::SolidAngle),
    ("ster", Kind::SolidAngle),
    ("deg", Kind::Angle),
    ("degree", Kind::Angle),
    ("degrees", Kind::Angle),
    ("arcmin", Kind::Angle),
    ("arcminute", Kind::Angle),
    ("arcminutes", Kind::Angle),
    ("arcseconds", Kind::Angle),
    ("mas", Kind::Angle),
    ("uas", Kind::Angle),
    ("radian", Kind::Angle),
    ("radians", Kind::Angle),
    ("janskys", Kind::Flux),
    ("janskies", Kind::Flux),
    ("sfu", Kind::Flux),
    ("watts", Kind::Flux),
    ("ergs", Kind::Flux),
    ("kelvins", Kind::Temperature),
    // Temperature scales, written after `K` or instead of it.
    ("tb", Kind::Temperature),
    ("tmb", Kind::Temperature),
    ("ta", Kind::Temperature),
    ("mag", Kind::Logarithm),
    ("mags", Kind::Logarithm),
    ("magnitude", Kind::Logarithm),
    ("dex", Kind::Logarithm),
    ("db", Kind::Logarithm),
    ("decibel", Kind::Logarithm),
    ("meters", Kind::Other),
    ("metres", Kind::Other),
    ("sec", Kind::Other),
    ("seconds", Kind::Other),
    ("min", Kind::Other),
    ("h", Kind::Other),
    ("hr", Kind::Other),
    ("hour", Kind::Other),
    ("d", Kind::Other),
    ("day", Kind::Other),
    ("angstrom", Kind::Other),
    ("angstroms", Kind::Other),
    ("micron", Kind::Other),
    ("microns", Kind::Other),
    ("au", Kind::Other),
    ("lyr", Kind::Other),
    ("solmass", Kind::Other),
    ("sollum", Kind::Other),
    ("solrad", Kind::Other),
    ("msun", Kind::Other),
    ("lsun", Kind::Other),
    ("count", Kind::Other),
    ("counts", Kind::Other),
    ("ct", Kind::Other),
    ("cts", Kind::Other),
    ("photon", Kind::Other),
    ("photons", Kind::Other),
    ("ph", Kind::Other),
    ("electron", Kind::Other),
    ("electrons", Kind::Other),
    ("adu", Kind::Other),
    ("dn", Kind::Other),
    ("bin", Kind::Other),
    ("chan", Kind::Other),
    ("channel", Kind::Other),
    // The width of the rotation measure spread function, in Faraday depth cubes.
    ("rmsf", Kind::Other),
    ("rmtf", Kind::Other),
    ("percent", Kind::Other),
    ("%", Kind::Other),
    ("ratio", Kind::Other),
    ("dimensionless", Kind::Other),
    ("unitless", Kind::Other),
];

/// Names that may carry a prefix of [`PREFIXES`], in lower case.
const PREFIXED: &[(&str, Kind)] = &[
    ("jy", Kind::Flux),
    ("jansky", Kind::Flux),
    ("w", Kind::Flux),
    ("watt", Kind::Flux),
    ("erg", Kind::Flux),
    ("j", Kind::Flux),
    ("joule", Kind::Flux),
    ("ev", Kind::Flux),
    ("k", Kind::Temperature),
    ("kelvin", Kind::Temperature),
    ("sr", Kind::SolidAngle),
    ("arcsec", Kind::Angle),
    ("asec", Kind::Angle),
    ("arcsecond", Kind::Angle),
    ("rad", Kind::Angle),
    ("m", Kind::Other),
    ("meter", Kind::Other),
    ("metre", Kind::Other),
    ("s", Kind::Other),
    ("second", Kind::Other),
    ("hz", Kind::Other),
    ("hertz", Kind::Other),
    ("g", Kind::Other),
    ("gauss", Kind::Other),
    ("pc", Kind::Other),
    ("yr", Kind::Other),
    ("v", Kind::Other),
    ("t", Kind::Other),
    ("pa", Kind::Other),
    ("mol", Kind::Other),
    ("r", Kind::Other),
    ("rayleigh", Kind::Other),
];

/// Metric prefixes (FITS 4.0, table 5) with case folded and the micro sign made `u`; the words
/// come before the letters they begin with.
const PREFIXES: &[&str] = &[
    "milli", "micro", "nano", "kilo", "mega", "giga", "da", "d", "c", "m", "u", "n", "p", "f", "a",
    "z", "y", "h", "k", "g", "t", "e",
];

/// What `name` means, or `None` if it is no unit we know. Any case; `µ` is the prefix micro.
pub fn kind(name: &str) -> Option<Kind> {
    let name = name.to_lowercase().replace(['\u{b5}', '\u{3bc}'], "u");
    find(WHOLE, &name)
        .or_else(|| find(PREFIXED, &name))
        .or_else(|| {
            let stripped = PREFIXES
                .iter()
                .filter_map(|prefix| name.strip_prefix(prefix));
            stripped.filter_map(|rest| find(PREFIXED, rest)).next()
        })
}

fn find(table: &[(&str, Kind)], name: &str) -> Option<Kind> {
    table
        .iter()
        .find(|(known, _)| *known == name)
        .map(|(_, kind)| *kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_belong_to_units_that_take_them() {
        assert_eq!(kind("mJy"), Some(Kind::Flux));
        assert_eq!(kind("KM"), Some(Kind::Other));
        assert_eq!(kind("milliJy"), Some(Kind::Flux));
        assert_eq!(kind("µK"), Some(Kind::Temperature));
        assert_eq!(kind("mbeam"), None);
        assert_eq!(kind("kpixel"), None);
        assert_eq!(kind(""), None);
    }

    #[test]
    fn whole_names_come_before_prefixes() {
        assert_eq!(kind("mas"), Some(Kind::Angle));
        assert_eq!(kind("pix"), Some(Kind::Pixel));
        assert_eq!(kind("min"), Some(Kind::Other));
    }
}
