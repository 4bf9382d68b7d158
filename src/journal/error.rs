//! Why a journal cannot be read or kept.

use std::error::Error;
use std::fmt;
use std::io;
use std::path::PathBuf;

use super::Difference;

/// A journal, or the job file beside it, that failed.
#[derive(Debug)]
#[non_exhaustive]
pub enum JournalError {
    /// It could not be read.
    Read {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// It could not be written.
    Write {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// What is in place of the job file is none of ours, or was changed.
    NotAJob {
        /// The file.
        path: PathBuf,
    },
    /// Unfinished work was begun in another way than is asked for now.
    OtherJob {
        /// Its folder.
        folder: PathBuf,
        /// How many of its planes are stored.
        stored: u64,
        /// Where both differ.
        differences: Vec<Difference>,
    },
}

impl JournalError {
    /// Whether what is asked for does not fit what is there.
    pub(crate) fn is_request(&self) -> bool {
        matches!(self, Self::NotAJob { .. } | Self::OtherJob { .. })
    }
}

impl fmt::Display for JournalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read { path, .. } => write!(f, "cannot read {}", path.display()),
            Self::Write { path, .. } => write!(f, "cannot write {}", path.display()),
            Self::NotAJob { path } => write!(
                f,
                "{} is not a whole job file of this program; `mmconv clean` removes what is \
                 unfinished",
                path.display()
            ),
            Self::OtherJob {
                folder,
                stored,
                differences,
            } => {
                write!(
                    f,
                    "unfinished work of another kind is in {} ({stored} planes); --restart throws \
                     it away. ",
                    folder.display()
                )?;
                for (number, difference) in differences.iter().enumerate() {
                    let comma = if number == 0 { "" } else { "; " };
                    write!(f, "{comma}{difference}")?;
                }
                Ok(())
            }
        }
    }
}

impl Error for JournalError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Read { source, .. } | Self::Write { source, .. } => Some(source),
            Self::NotAJob { .. } | Self::OtherJob { .. } => None,
        }
    }
}
