//! What a user should know, as data: the library prints nothing.

use std::fmt;
use std::path::PathBuf;

use fits_layout::Bitpix;

use crate::beam::BeamNote;
use crate::plan::spec::Precision;
use crate::sky::SkyNote;

/// Something noticed while planning.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Note {
    /// About the beams.
    Beam(BeamNote),
    /// About the axes.
    Sky(SkyNote),
    /// There is no BUNIT, and Jy/beam is assumed.
    NoUnit,
    /// Integer samples become floating point.
    IntegerInput {
        /// What they are.
        bitpix: Bitpix,
        /// What they become.
        precision: Precision,
    },
    /// Beams above the cutoff were taken as blank.
    CutOff {
        /// The cutoff, arcsec.
        cutoff_arcsec: f64,
        /// Their channels.
        channels: Vec<u64>,
    },
    /// Some planes have no usable beam or no target.
    SomeBlank {
        /// How many planes.
        planes: u64,
    },
    /// Every plane will be blank.
    AllBlank,
    /// One file in natural mode is at its own target already.
    NaturalAlone,
    /// Planes are convolved in strips only because the memory does not hold their full height.
    Thrifty {
        /// How many planes.
        planes: u64,
    },
    /// An earlier run was interrupted, and this one goes on.
    Continues {
        /// Planes stored by it.
        stored: u64,
        /// All planes.
        planes: u64,
    },
    /// A lane's spectrum lies in a file.
    Scratch {
        /// Its folder.
        folder: PathBuf,
        /// Its length.
        bytes: u64,
    },
    /// One plane in flight needs more than the default share of the memory, though not more than
    /// there is.
    LargeLane {
        /// The default share, bytes.
        share_bytes: u64,
        /// What is needed, bytes.
        needed_bytes: u64,
    },
    /// What a backend has to say of the work it did, in its own words.
    Backend(String),
    /// The output's folder lies on a network file system: it is written, not mapped.
    Network {
        /// What it is called.
        file_system: &'static str,
    },
}

impl Note {
    /// What the user may do about it.
    #[must_use]
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::NoUnit => Some("say --unit per-beam or --unit surface to be sure"),
            Self::IntegerInput { .. } => Some("--precision f32 or f64 chooses the output type"),
            Self::AllBlank => Some("mmconv beams FILE shows what was found"),
            Self::NaturalAlone => {
                Some("--mode total brings all channels to one beam; several files share beams")
            }
            Self::Network { .. } => Some("--io map maps it all the same"),
            Self::Beam(note) => note.hint(),
            Self::Sky(note) => note.hint(),
            Self::Thrifty { .. } => Some("a larger --memory may be faster"),
            Self::Scratch { .. } => Some("with a larger --memory no file is needed"),
            Self::LargeLane { .. } => {
                Some("--memory sets a limit, and --scratch DIR puts most of it into a file")
            }
            Self::Continues { .. } => Some("--restart begins anew"),
            Self::CutOff { .. } | Self::SomeBlank { .. } | Self::Backend(_) => None,
        }
    }
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Beam(note) => note.fmt(f),
            Self::Sky(note) => note.fmt(f),
            Self::NoUnit => write!(f, "no BUNIT: pixels are taken as Jy/beam"),
            Self::IntegerInput { bitpix, precision } => {
                let code = precision.bitpix().code();
                write!(
                    f,
                    "integer samples (BITPIX {}) become BITPIX {code}",
                    bitpix.code()
                )
            }
            Self::CutOff {
                cutoff_arcsec,
                channels,
            } => write!(
                f,
                "BMAJ is above the cutoff of {cutoff_arcsec} arcsec in channels {}",
                ranges(channels)
            ),
            Self::SomeBlank { planes } => {
                write!(
                    f,
                    "planes without a usable beam or a target, which will be blank: {planes}"
                )
            }
            Self::AllBlank => write!(f, "no plane has a usable beam: the output will be blank"),
            Self::Backend(text) => f.write_str(text),
            Self::Network { file_system } => write!(
                f,
                "the output lies on {file_system}: it is written by position, not mapped"
            ),
            Self::NaturalAlone => write!(
                f,
                "natural mode over one file: each channel is at its own common beam already and \
                 passed through"
            ),
            Self::Thrifty { planes } => write!(
                f,
                "the memory does not hold the full height of planes, which go by strips: {planes}"
            ),
            Self::Continues { stored, planes } => write!(
                f,
                "an interrupted run has stored {stored} of {planes} planes; this one goes on"
            ),
            Self::Scratch { folder, bytes } => write!(
                f,
                "{bytes} bytes of the working memory lie in a file in {}",
                folder.display()
            ),
            Self::LargeLane {
                share_bytes,
                needed_bytes,
            } => write!(
                f,
                "one plane in flight needs {needed_bytes} bytes, more than a quarter of the \
                 memory ({share_bytes} bytes)"
            ),
        }
    }
}

/// Ascending numbers for a person: `0-3, 7, 9-10`.
#[must_use]
pub fn ranges(numbers: &[u64]) -> String {
    let mut text = String::new();
    let mut rest = numbers;
    while let Some(&first) = rest.first() {
        let run = (first..)
            .zip(rest)
            .take_while(|(expected, number)| expected == *number)
            .count();
        let comma = if text.is_empty() { "" } else { ", " };
        let last = first + run as u64 - 1;
        if run == 1 {
            text.push_str(&format!("{comma}{first}"));
        } else {
            text.push_str(&format!("{comma}{first}-{last}"));
        }
        rest = rest.get(run..).unwrap_or_default();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::ranges;

    #[test]
    fn numbers_are_joined_into_ranges() {
        assert_eq!(ranges(&[]), "");
        assert_eq!(ranges(&[4]), "4");
        assert_eq!(ranges(&[0, 1, 2, 7, 9, 10]), "0-2, 7, 9-10");
    }
}
