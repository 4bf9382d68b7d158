//! What can be wrong with the axes and pixel sizes of a header, each with what would be right.
//! Texts live here; the rules that lead to them do not.

use std::error::Error;
use std::fmt;

use fits_layout::LayoutError;

/// Why a header does not tell where its pixels lie on the sky.
///
/// Axis numbers count from 1, as in `NAXISn`. Types of axes are as found, and may be blank.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum SkyError {
    /// A card that is needed cannot be read.
    Card(LayoutError),
    /// Fewer than two axes.
    TooFewAxes {
        /// How many there are.
        found: usize,
    },
    /// The first two axes are named, and neither they nor any others are a sky.
    NotSky {
        /// `CTYPE1`.
        first: String,
        /// `CTYPE2`.
        second: String,
    },
    /// One half of a pair of celestial axes.
    HalfSky {
        /// The axis that is there.
        axis: usize,
        /// Its type.
        ctype: String,
        /// What is missing: `longitude` or `latitude`.
        missing: &'static str,
    },
    /// Several axes for one celestial coordinate, or two that do not belong together.
    MixedSky {
        /// One axis.
        axis: usize,
        /// Its type.
        ctype: String,
        /// The other axis.
        other_axis: usize,
        /// Its type.
        other_ctype: String,
    },
    /// The celestial axes are not the first two, so a plane of the file is no image of the sky.
    SkyNotFirst {
        /// The longitude axis.
        lon_axis: usize,
        /// Its type.
        lon_ctype: String,
        /// The latitude axis.
        lat_axis: usize,
        /// Its type.
        lat_ctype: String,
    },
    /// No pixel size.
    NoPixelSize {
        /// The first keyword that is missing.
        keyword: String,
    },
    /// A pixel size, rotation or matrix element that is no number one can use.
    NotFinite {
        /// Its keyword.
        keyword: String,
        /// Its value.
        found: f64,
    },
    /// Pixel axes that do not span the sky: a zero pixel size, or parallel axes.
    Singular {
        /// The keywords to blame.
        keywords: String,
        /// The determinant, in arcsec² per pixel².
        determinant: f64,
    },
    /// A unit of a celestial axis that is no angle.
    NoAngle {
        /// `CUNIT1` or `CUNIT2`.
        keyword: String,
        /// Its value.
        found: String,
    },
    /// A matrix element that couples a celestial axis to another one.
    Coupled {
        /// Its keyword.
        keyword: String,
        /// Its value.
        found: f64,
    },
    /// Two matrices that disagree.
    TwoMatrices {
        /// The keyword of an element of the one.
        keyword: String,
        /// That element, in the unit of its axis per pixel.
        found: f64,
        /// The keyword of the same element of the other.
        other: String,
        /// That element, in the same unit.
        other_found: f64,
    },
    /// A rotation that the standard gives no meaning to, or that we cannot follow.
    Rotation {
        /// Its keyword.
        keyword: String,
        /// Its value.
        found_deg: f64,
        /// What would have been right.
        expected: String,
    },
}

impl fmt::Display for SkyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.axes_text() {
            Some(text) => f.write_str(&text),
            None => self.pixels(f),
        }
    }
}

impl SkyError {
    /// What is wrong with the axes, if that is it.
    fn axes_text(&self) -> Option<String> {
        Some(match self {
            Self::TooFewAxes { found } => {
                format!("NAXIS = {found}: an image of the sky has at least two axes")
            }
            Self::NotSky { first, second } => format!(
                "axes 1 ('{first}') and 2 ('{second}') are no sky: expected a longitude and a \
                 latitude such as RA---SIN and DEC--SIN in CTYPE1 and CTYPE2"
            ),
            Self::HalfSky {
                axis,
                ctype,
                missing,
            } => format!(
                "axis {axis} is celestial (CTYPE{axis} = '{ctype}') and no other axis is its \
                 {missing}"
            ),
            Self::MixedSky {
                axis,
                ctype,
                other_axis,
                other_ctype,
            } => format!(
                "axes {axis} ('{ctype}') and {other_axis} ('{other_ctype}') do not make one pair \
                 of celestial axes: expected one longitude and one latitude of the same system"
            ),
            Self::SkyNotFirst {
                lon_axis,
                lon_ctype,
                lat_axis,
                lat_ctype,
            } => format!(
                "the celestial axes are {lon_axis} ('{lon_ctype}') and {lat_axis} ('{lat_ctype}'), \
                 not 1 and 2: planes are NAXIS1 x NAXIS2 pixels, so transpose the cube until its \
                 first two axes are the sky"
            ),
            _ => return None,
        })
    }

    /// What is wrong with the pixel sizes.
    fn pixels(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoPixelSize { keyword } => write!(
                f,
                "{keyword} is missing: the pixel size is needed, as CDELT1 and CDELT2 or as a \
                 CDi_j matrix"
            ),
            Self::NotFinite { keyword, found } => {
                write!(f, "{keyword} = {found}: expected a finite number")
            }
            Self::Singular {
                keywords,
                determinant,
            } => write!(
                f,
                "{keywords}: the pixel axes do not span the sky (determinant {determinant:e} \
                 arcsec² per pixel²), expected two directions and sizes that are not zero"
            ),
            Self::NoAngle { keyword, found } => write!(
                f,
                "{keyword} = '{found}' is no unit of a celestial axis: expected deg, arcmin, \
                 arcsec, mas or rad"
            ),
            Self::Coupled { keyword, found } => write!(
                f,
                "{keyword} = {found} couples a celestial axis to another axis: expected 0, planes \
                 that are images of the sky"
            ),
            Self::TwoMatrices {
                keyword,
                found,
                other,
                other_found,
            } => write!(
                f,
                "two pixel matrices that disagree: {keyword} gives {found:e} and {other} with \
                 CDELTi gives {other_found:e}; remove the wrong one"
            ),
            Self::Rotation {
                keyword,
                found_deg,
                expected,
            } => {
                write!(f, "{keyword} = {found_deg}: expected {expected}")
            }
            _ => f.write_str("cannot read a card that tells where the pixels lie"),
        }
    }
}

impl Error for SkyError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Card(error) => Some(error),
            _ => None,
        }
    }
}

impl From<LayoutError> for SkyError {
    fn from(error: LayoutError) -> Self {
        Self::Card(error)
    }
}
