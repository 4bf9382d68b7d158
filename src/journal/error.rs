//! Why a journal cannot be read or kept.

use std::error::Error;
use std::fmt;
use std::io;
use std::path::PathBuf;

use super::Difference;
use crate::plan::note::ranges;

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
    /// Planes did not reach the disk, and so are not recorded.
    Data {
        /// What the system said.
        source: io::Error,
    },
    /// What is in place of the job file is none of ours, or was changed.
    NotAJob {
        /// The file.
        path: PathBuf,
    },
    /// Something of somebody else's stands where the journals belong.
    Foreign {
        /// The folder, or what is in its place.
        path: PathBuf,
    },
    /// Several processes share the unfinished work, which none of them may take away.
    Shared {
        /// Its folder.
        folder: PathBuf,
    },
    /// The work was taken away while this process was at it.
    Taken,
    /// The input is not what the work was begun with.
    Input {
        /// The input.
        path: String,
        /// What was found.
        found: String,
        /// What it was.
        begun: String,
    },
    /// One process alone makes the output: the same command goes on, and publishes it.
    Alone,
    /// Nothing is under way, and there is no output.
    Nothing,
    /// Planes of an output that several processes make are missing.
    Incomplete {
        /// Which.
        missing: Vec<u64>,
        /// All planes.
        planes: u64,
        /// Journals read.
        journals: usize,
        /// Of these, those with a torn end.
        torn: usize,
    },
    /// Stored planes are not what their records say.
    Mismatch {
        /// Which.
        planes: Vec<u64>,
    },
    /// This machine's pages are larger than the blocks that a job was begun with.
    Pages {
        /// Of the job.
        block_bytes: u64,
        /// Of this machine.
        page_bytes: u64,
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
        matches!(
            self,
            Self::NotAJob { .. }
                | Self::OtherJob { .. }
                | Self::Foreign { .. }
                | Self::Shared { .. }
                | Self::Alone
                | Self::Nothing
                | Self::Pages { .. }
        )
    }
}

impl fmt::Display for JournalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read { path, .. } => write!(f, "cannot read {}", path.display()),
            Self::Write { path, .. } => write!(f, "cannot write {}", path.display()),
            Self::Data { .. } => write!(f, "planes did not reach its disk"),
            Self::NotAJob { path } => write!(
                f,
                "{} is not a whole job file of this program; `mmconv clean` removes what is \
                 unfinished",
                path.display()
            ),
            Self::Foreign { path } => write!(
                f,
                "{} is not this program's, or holds what is not; it is not touched",
                path.display()
            ),
            Self::Shared { folder } => write!(
                f,
                "several processes share the unfinished work in {}; `mmconv clean` throws it away",
                folder.display()
            ),
            Self::Taken => write!(
                f,
                "its unfinished work was taken away while this process was at it"
            ),
            Self::Input { path, found, begun } => write!(
                f,
                "the input {path} was changed since the work began: {found}, and was {begun}; \
                 `mmconv clean` throws the work away"
            ),
            Self::Alone => write!(
                f,
                "is made by one process; the same command again goes on and gives it its name"
            ),
            Self::Nothing => write!(f, "there is no such output, and none under way"),
            Self::Incomplete {
                missing,
                planes,
                journals,
                torn,
            } => write!(
                f,
                "{} of {planes} planes are missing: {} ({journals} journals, {torn} torn)",
                missing.len(),
                ranges(missing)
            ),
            Self::Mismatch { planes } => write!(
                f,
                "planes {} do not match their checksums; the shards make them again with --recheck",
                ranges(planes)
            ),
            Self::Pages {
                block_bytes,
                page_bytes,
            } => write!(
                f,
                "this machine's pages of {page_bytes} bytes are larger than the blocks of \
                 {block_bytes} bytes that its shards were begun with"
            ),
            Self::OtherJob {
                folder,
                stored,
                differences,
            } => {
                write!(
                    f,
                    "unfinished work of another kind is in {} ({stored} planes stored); --restart, \
                     or `mmconv clean`, throws it away: ",
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
            Self::Read { source, .. } | Self::Write { source, .. } | Self::Data { source } => {
                Some(source)
            }
            _ => None,
        }
    }
}
