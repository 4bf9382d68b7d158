//! Why an output cannot be made or get its name.

use std::error::Error;
use std::fmt;
use std::io;
use std::path::PathBuf;

use fits_layout::LayoutError;

use crate::error::Blame;
use crate::map::MapError;

/// An output that cannot be.
#[derive(Debug)]
#[non_exhaustive]
pub enum OutputError {
    /// It exists, and nobody said to overwrite it.
    Exists,
    /// It is one of the inputs, by whatever name.
    IsInput {
        /// That input's path.
        input: PathBuf,
    },
    /// Two inputs would give it.
    Collides {
        /// The other input.
        other: PathBuf,
    },
    /// An output name was given for several inputs.
    OneName {
        /// How many inputs there are.
        inputs: usize,
    },
    /// The input's path has no file name to make one from.
    NoName,
    /// A prefix or suffix would lead into another folder.
    Slash {
        /// The prefix or suffix.
        part: String,
    },
    /// Without prefix and suffix it would stand beside its input under its name.
    Unmarked,
    /// The folder it belongs in is not there.
    NoFolder {
        /// The folder.
        folder: PathBuf,
    },
    /// Something that is no file stands where it belongs.
    NotAFile,
    /// Its working file could not be made.
    Working {
        /// The working file.
        path: PathBuf,
        /// Why not.
        source: MapError,
    },
    /// It could not be given its final name.
    Publish {
        /// The complete working file.
        part: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A file beside it could not be written.
    Write {
        /// What the system said.
        source: io::Error,
    },
    /// It could not be looked up.
    Look {
        /// What the system said.
        source: io::Error,
    },
    /// A part of it lies beyond its planned end: a mistake of this program.
    Beyond {
        /// First byte of the part.
        at_bytes: u64,
    },
    /// A header that is no image's, or cannot be written.
    Header {
        /// What is wrong.
        source: LayoutError,
    },
    /// The header lacks a card that an image must have.
    MissingCard {
        /// Its keyword.
        keyword: String,
    },
    /// Samples in the image to be made are not floating point.
    NotFloat {
        /// Its BITPIX.
        bitpix: i64,
    },
}

impl OutputError {
    /// Whose it is to mend.
    pub(crate) fn blame(&self) -> Blame {
        match self {
            Self::Exists
            | Self::IsInput { .. }
            | Self::Collides { .. }
            | Self::OneName { .. }
            | Self::NoName
            | Self::Slash { .. }
            | Self::Unmarked
            | Self::NoFolder { .. }
            | Self::NotAFile
            | Self::MissingCard { .. }
            | Self::NotFloat { .. } => Blame::Request,
            Self::Working {
                source: MapError::Locked | MapError::Linked,
                ..
            } => Blame::Request,
            Self::Working { .. }
            | Self::Publish { .. }
            | Self::Write { .. }
            | Self::Look { .. } => Blame::Machine,
            Self::Header { .. } => Blame::Input,
            Self::Beyond { .. } => Blame::Bug,
        }
    }
}

impl fmt::Display for OutputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exists => write!(
                f,
                "exists already; --overwrite replaces it, --skip-existing leaves it as it is"
            ),
            Self::IsInput { input } => write!(
                f,
                "is the same file as the input {}; choose another folder, prefix or suffix",
                input.display()
            ),
            Self::Collides { other } => write!(
                f,
                "would be the output of {} as well; smooth them into different folders",
                other.display()
            ),
            Self::OneName { inputs } => {
                write!(
                    f,
                    "one output name (--output) was given for {inputs} inputs"
                )
            }
            Self::NoName => write!(f, "has no file name to make an output name from"),
            Self::Slash { part } => write!(
                f,
                "'{part}' in its name would lead into another folder; --outdir chooses the folder"
            ),
            Self::Unmarked => write!(
                f,
                "no prefix and no suffix leave nothing to tell its output from it; give one of \
                 them, or another folder"
            ),
            Self::NoFolder { folder } => {
                write!(f, "its folder {} does not exist", folder.display())
            }
            Self::NotAFile => write!(f, "something that is not a file stands at this name"),
            Self::Working { path, .. } => write!(f, "its working file {}", path.display()),
            Self::Publish { part, .. } => {
                write!(
                    f,
                    "the complete file {} cannot be given this name",
                    part.display()
                )
            }
            Self::Write { .. } => write!(f, "cannot be written"),
            Self::Look { .. } => write!(f, "cannot be looked up"),
            Self::Beyond { at_bytes } => {
                write!(f, "the part at byte {at_bytes} lies beyond the planned end")
            }
            Self::Header { .. } => write!(f, "header"),
            Self::MissingCard { keyword } => {
                write!(
                    f,
                    "the header lacks {keyword} at its place, which an image needs"
                )
            }
            Self::NotFloat { bitpix } => {
                write!(f, "BITPIX = {bitpix}; -32 or -64 is needed")
            }
        }
    }
}

impl Error for OutputError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Working { source, .. } => Some(source),
            Self::Publish { source, .. } | Self::Write { source } | Self::Look { source } => {
                Some(source)
            }
            Self::Header { source } => Some(source),
            _ => None,
        }
    }
}
