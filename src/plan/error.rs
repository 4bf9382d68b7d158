//! Why something cannot be planned.

use std::error::Error;
use std::fmt;

use crate::beam::{Beam, BeamError};

/// A request that the inputs do not allow.
#[derive(Debug)]
#[non_exhaustive]
pub enum PlanError {
    /// A plane's beam does not fit into its target.
    Unreachable {
        /// The plane.
        plane: u64,
        /// Its channel.
        channel: u64,
        /// Its beam.
        beam: Beam,
        /// The target.
        target: Beam,
        /// Least eigenvalue of target − beam over BMAJ²; below -1e-6 it cannot be reached.
        least_eigenvalue: f64,
    },
    /// BUNIT is not understood.
    UnknownUnit {
        /// What it says.
        bunit: String,
    },
    /// No input has a usable beam, so nothing is common.
    NoBeams,
    /// The common beam could not be made, or not rounded as asked.
    Common {
        /// Why.
        source: BeamError,
    },
    /// Per-channel targets over files with different channel counts.
    ChannelCounts {
        /// Of the first file.
        first: u64,
        /// Of this one.
        found: u64,
    },
    /// The list of targets does not match the cube's channels.
    TargetCount {
        /// How many targets there are.
        targets: u64,
        /// How many channels the cube has.
        channels: u64,
    },
    /// The targets differ between the Stokes planes of one channel.
    TargetStokes {
        /// The channel.
        channel: u64,
    },
    /// The reference channel does not exist.
    RefChannel {
        /// What was asked for.
        asked: u64,
        /// How many channels there are.
        channels: u64,
    },
    /// The kernel is wider than any transform could be.
    KernelTooWide {
        /// Whether the target was the user's own, rather than what the beams have in common.
        asked_for: bool,
        /// Its width along one axis, px.
        fwhm_px: f64,
        /// The image's length along it, px.
        length: usize,
    },
    /// Sizes that do not fit 64 bits.
    TooLarge,
    /// The memory allowed does not hold one plane's work.
    Memory {
        /// Whether the limit is the user's own, rather than what the machine has.
        asked_for: bool,
        /// What was allowed, bytes.
        allowed_bytes: u64,
        /// What one plane in flight needs, and all that is beside it, bytes.
        needed_bytes: u64,
        /// Whether it is not more than that: of absurd lengths only the least is known.
        exact: bool,
        /// How much of that could lie in a file; `None` if it does already, or nothing could.
        scratch_bytes: Option<u64>,
    },
    /// The memory allowed does not even hold what the headers say.
    Headers {
        /// Whether the limit is the user's own, rather than what the machine has.
        asked_for: bool,
        /// What was allowed, bytes.
        allowed_bytes: u64,
        /// How long the headers of all files may be then, bytes.
        limit_bytes: u64,
    },
    /// The memory allowed does not even hold what is known of the planes.
    Known {
        /// Whether the limit is the user's own, rather than what the machine has.
        asked_for: bool,
        /// What was allowed, bytes.
        allowed_bytes: u64,
        /// About what the headers and the list of planes of all files take, and all that is taken
        /// before any work, bytes.
        needed_bytes: u64,
        /// How many planes there are.
        planes: u64,
    },
}

impl PlanError {
    /// Whether another request would mend it (rather than another input).
    #[must_use]
    pub fn is_request(&self) -> bool {
        matches!(
            self,
            Self::Memory {
                asked_for: true,
                ..
            } | Self::Known {
                asked_for: true,
                ..
            } | Self::Headers {
                asked_for: true,
                ..
            } | Self::Unreachable { .. }
                | Self::Common { .. }
                | Self::RefChannel { .. }
                | Self::KernelTooWide {
                    asked_for: true,
                    ..
                }
        )
    }
}

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreachable {
                plane,
                channel,
                beam,
                target,
                least_eigenvalue,
            } => write!(
                f,
                "plane {plane} (channel {channel}) has a beam of {beam}, which no kernel turns \
                 into the target {target} (least eigenvalue of the difference over BMAJ² is \
                 {least_eigenvalue:.1e}, at least -1e-6 is needed); take a larger target, none \
                 for the smallest common beam, or blank such planes with --cutoff"
            ),
            Self::UnknownUnit { bunit } => write!(
                f,
                "BUNIT = '{bunit}' is not a unit known here; say with --unit per-beam that pixels \
                 scale with the beam area, or with --unit surface that they do not"
            ),
            Self::NoBeams => write!(
                f,
                "no plane of any input has a usable beam, so there is no common beam; give a \
                 target (--bmaj, --bmin, --bpa), or beams with --beamlog"
            ),
            Self::Common { .. } => write!(f, "the common beam"),
            Self::ChannelCounts { first, found } => write!(
                f,
                "{found} channels where the first file has {first}; one beam per channel \
                 (--mode natural) needs equal counts, --mode total does not"
            ),
            Self::TargetCount { targets, channels } => write!(
                f,
                "{targets} target beams for {channels} channels; one for all or one per channel \
                 is needed"
            ),
            Self::TargetStokes { channel } => write!(
                f,
                "the target beams of channel {channel} differ between Stokes planes; one per \
                 channel is needed"
            ),
            Self::RefChannel { asked, channels } => write!(
                f,
                "there is no channel {asked} to take as reference; channels are 0 to {}",
                channels.saturating_sub(1)
            ),
            Self::KernelTooWide {
                fwhm_px, length, ..
            } => write!(
                f,
                "a kernel of {fwhm_px:.3e} px beside an image of {length} px is wider than any \
                 transform can be"
            ),
            Self::TooLarge => write!(f, "the output would be larger than 64-bit offsets allow"),
            Self::Memory { .. } => self.write_lane(f),
            Self::Known { .. } => self.write_known(f),
            Self::Headers {
                asked_for,
                allowed_bytes,
                limit_bytes,
            } => write!(
                f,
                "the headers have more than {limit_bytes} bytes, and {allowed_bytes} bytes of \
                 memory have no room for more{}",
                if *asked_for { "; raise --memory" } else { "" }
            ),
        }
    }
}

impl PlanError {
    /// A lane too large.
    fn write_lane(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self::Memory {
            asked_for,
            allowed_bytes,
            needed_bytes,
            exact,
            scratch_bytes,
        } = self
        else {
            return Ok(());
        };
        let least = if *exact { "" } else { "at least " };
        let found = if *asked_for {
            "are allowed; raise --memory"
        } else {
            "are there; smaller images or a machine with more memory are needed"
        };
        write!(
            f,
            "one plane in flight needs {least}{needed_bytes} bytes of memory, and {allowed_bytes} \
             {found}"
        )?;
        match scratch_bytes {
            Some(bytes) => write!(f, ", or put {bytes} of them into a file with --scratch DIR"),
            None => Ok(()),
        }
    }

    /// A list of planes too long.
    fn write_known(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self::Known {
            asked_for,
            allowed_bytes,
            needed_bytes,
            planes,
        } = self
        else {
            return Ok(());
        };
        let found = if *asked_for {
            "are allowed; raise --memory or give fewer planes"
        } else {
            "are there; give fewer planes"
        };
        write!(
            f,
            "the list of {planes} planes and the headers take {needed_bytes} bytes of memory, and \
             {allowed_bytes} {found} at a time"
        )
    }
}

impl Error for PlanError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Common { source } => Some(source),
            _ => None,
        }
    }
}
