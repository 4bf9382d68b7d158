//! What was assumed about the axes of a cube, for the user to read. Nothing is decided here.

use std::fmt;

/// An assumption about the axes. Axis numbers count from 1, as in `NAXISn`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SkyNote {
    /// The first two axes carry no celestial names.
    SkyAssumed {
        /// `CTYPE1`, which may be blank.
        first: String,
        /// `CTYPE2`, which may be blank.
        second: String,
    },
    /// The celestial axes have names without a projection.
    NoProjection {
        /// The axis.
        axis: usize,
        /// Its type.
        ctype: String,
    },
    /// No axis is called spectral, and one is taken as the channels.
    ChannelsAssumed {
        /// The axis.
        axis: usize,
        /// Its type, which may be blank.
        ctype: String,
        /// How many channels it has.
        length: u64,
    },
    /// A second spectral axis, along which the channel does not change.
    SpectralIgnored {
        /// The axis.
        axis: usize,
        /// Its type.
        ctype: String,
        /// How long it is.
        length: u64,
        /// The axis that counts channels.
        used: usize,
    },
}

impl SkyNote {
    /// What a user may do about it.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::SkyAssumed { .. } => {
                Some("set CTYPE1 and CTYPE2 if these axes are something else")
            }
            Self::NoProjection { .. } => None,
            Self::ChannelsAssumed { .. } => Some("set its CTYPE if it is something else"),
            Self::SpectralIgnored { .. } => Some("planes along it share the beam of their channel"),
        }
    }
}

impl fmt::Display for SkyNote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SkyAssumed { first, second } => write!(
                f,
                "axes 1 ('{first}') and 2 ('{second}') carry no celestial names, taken as \
                 longitude and latitude"
            ),
            Self::NoProjection { axis, ctype } => write!(
                f,
                "CTYPE{axis} = '{ctype}' has no projection, pixel sizes taken as angles on the sky"
            ),
            Self::ChannelsAssumed {
                axis,
                ctype,
                length,
            } => write!(
                f,
                "no axis is called spectral, axis {axis} ('{ctype}') taken as {length} channels"
            ),
            Self::SpectralIgnored {
                axis,
                ctype,
                length,
                used,
            } => write!(
                f,
                "two spectral axes, channels counted along axis {used} and not along axis {axis} \
                 ('{ctype}', length {length})"
            ),
        }
    }
}
