//! What can go wrong between a file and its map.

use std::error::Error;
use std::fmt;
use std::io;
use std::path::PathBuf;

/// A file that could not be opened, reserved, mapped or flushed.
#[derive(Debug)]
#[non_exhaustive]
pub enum MapError {
    /// Opening failed.
    Open {
        /// What the system said.
        source: io::Error,
    },
    /// It is a folder, pipe or device, which cannot be mapped.
    NotAFile,
    /// The file is larger than this machine's address space.
    TooLarge {
        /// Its length, bytes.
        len_bytes: u64,
    },
    /// Mapping failed.
    Map {
        /// How much was to be mapped, bytes.
        len_bytes: u64,
        /// What the system said.
        source: io::Error,
    },
    /// Creating the file failed.
    Create {
        /// What the system said.
        source: io::Error,
    },
    /// Another process is writing it.
    Locked,
    /// A file to go on with has a second name, and may be somebody's backup or output.
    Linked,
    /// A file to go on with has another length than it was given.
    Length {
        /// Its length, bytes.
        found_bytes: u64,
        /// What it was given, bytes.
        len_bytes: u64,
    },
    /// Its blocks could not be reserved: no space, a quota, or a file system that cannot.
    Reserve {
        /// How much was asked for, bytes.
        len_bytes: u64,
        /// What the system said.
        source: io::Error,
    },
    /// There is no such folder for scratch files.
    NoScratch {
        /// The folder.
        folder: PathBuf,
    },
    /// Scratch files were to go to something that is no folder.
    ScratchNoFolder {
        /// What it is called.
        path: PathBuf,
    },
    /// A scratch file could not be made, reserved or mapped.
    Scratch {
        /// Its folder.
        folder: PathBuf,
        /// How long it was to be, bytes.
        len_bytes: u64,
        /// What the system said.
        source: io::Error,
    },
    /// Writing failed.
    Write {
        /// Where.
        at_bytes: u64,
        /// What the system said.
        source: io::Error,
    },
    /// An input was changed since the work on it was planned.
    Changed {
        /// How long it was then, bytes.
        planned_bytes: u64,
        /// How long it is.
        found_bytes: u64,
        /// How much later it was last written, nanoseconds.
        later_ns: i64,
    },
    /// An input's bytes are not those that the work was planned from.
    ChangedAt {
        /// The first that is another.
        at_bytes: u64,
    },
    /// An input's path leads to another file than it did.
    Replaced,
    /// An input ends before its time.
    CutShort {
        /// Where.
        at_bytes: u64,
    },
    /// Reading failed.
    Read {
        /// Where.
        at_bytes: u64,
        /// What the system said.
        source: io::Error,
    },
    /// What was written at first, and then counted as stored, did not reach the disk.
    Lost {
        /// Where.
        at_bytes: u64,
        /// What the system said.
        source: io::Error,
    },
    /// What was written did not all reach the disk.
    Sync {
        /// What the system said.
        source: io::Error,
    },
    /// A requested range lies outside the map or overlaps the one before it.
    Range {
        /// First byte asked for.
        start_bytes: u64,
        /// One past the last byte asked for.
        end_bytes: u64,
        /// Where the range had to lie at the earliest.
        free_from_bytes: u64,
        /// Length of the map.
        len_bytes: u64,
    },
}

impl fmt::Display for MapError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Open { .. } => write!(f, "cannot be opened"),
            Self::NotAFile => {
                write!(
                    f,
                    "is not a regular file; a file that can be mapped is needed"
                )
            }
            Self::TooLarge { len_bytes } => {
                write!(
                    f,
                    "has {len_bytes} bytes, more than this machine can address"
                )
            }
            Self::Map { len_bytes, .. } => write!(f, "{len_bytes} bytes cannot be mapped"),
            Self::Create { .. } => write!(f, "cannot be created"),
            Self::Locked => write!(f, "is being written by another run, which must end first"),
            Self::Linked => write!(
                f,
                "has a second name (a hard link), which must go, or be copied, before the work goes on"
            ),
            Self::Length {
                found_bytes,
                len_bytes,
            } => write!(
                f,
                "has {found_bytes} bytes, and was given {len_bytes} when it was begun; --restart, or \
                 `mmconv clean`, throws it away"
            ),
            Self::Reserve { len_bytes, .. } => {
                write!(f, "{len_bytes} bytes cannot be reserved on its disk")
            }
            Self::NoScratch { folder } => {
                write!(f, "the scratch folder {} does not exist", folder.display())
            }
            Self::ScratchNoFolder { path } => {
                write!(f, "{} is no folder; scratch files need one", path.display())
            }
            Self::Scratch {
                folder, len_bytes, ..
            } => write!(
                f,
                "a scratch file of {len_bytes} bytes cannot be had in {}",
                folder.display()
            ),
            Self::Changed {
                planned_bytes,
                found_bytes,
                later_ns,
            } => changed_text(f, (*planned_bytes, *found_bytes), *later_ns),
            Self::ChangedAt { at_bytes } => write!(
                f,
                "was changed while it was worked on: byte {at_bytes} is another than the work was \
                 planned from"
            ),
            Self::Replaced => write!(f, "was replaced by another file while it was worked on"),
            Self::CutShort { at_bytes } => write!(
                f,
                "was cut short while it was worked on: it ends at byte {at_bytes}"
            ),
            Self::Read { at_bytes, .. } => write!(f, "cannot be read at byte {at_bytes}"),
            Self::Lost { at_bytes, .. } => write!(
                f,
                "did not reach its disk whole; what is missing begins at byte {at_bytes} or later"
            ),
            Self::Sync { .. } => write!(f, "did not reach its disk whole"),
            Self::Write { at_bytes, .. } => {
                write!(f, "cannot be written at byte {at_bytes}")
            }
            Self::Range {
                start_bytes,
                end_bytes,
                free_from_bytes,
                len_bytes,
            } => write!(
                f,
                "bytes {start_bytes}..{end_bytes} do not lie within {free_from_bytes}..{len_bytes}"
            ),
        }
    }
}

fn changed_text(
    f: &mut fmt::Formatter<'_>,
    (planned_bytes, found_bytes): (u64, u64),
    later_ns: i64,
) -> fmt::Result {
    write!(f, "was changed while it was worked on: it ")?;
    if planned_bytes != found_bytes {
        return write!(f, "has {found_bytes} bytes, and had {planned_bytes}");
    }
    let later_s = later_ns as f64 / 1e9;
    write!(f, "was written to, and is newer by {later_s} s")
}

impl MapError {
    /// Whether an input is not what it was: what was made of it is of no use any more.
    pub(crate) fn is_changed_input(&self) -> bool {
        matches!(
            self,
            Self::Changed { .. } | Self::ChangedAt { .. } | Self::Replaced | Self::CutShort { .. }
        )
    }

    /// Whether bytes that counted as stored may be missing: nobody knows which, and the page cache
    /// goes on showing them.
    pub(crate) fn is_lost(&self) -> bool {
        matches!(self, Self::Lost { .. } | Self::Sync { .. })
    }
}

impl Error for MapError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Open { source }
            | Self::Map { source, .. }
            | Self::Create { source }
            | Self::Reserve { source, .. }
            | Self::Write { source, .. }
            | Self::Sync { source }
            | Self::Read { source, .. }
            | Self::Lost { source, .. }
            | Self::Scratch { source, .. } => Some(source),
            Self::NotAFile
            | Self::TooLarge { .. }
            | Self::Locked
            | Self::Length { .. }
            | Self::Linked
            | Self::NoScratch { .. }
            | Self::ScratchNoFolder { .. }
            | Self::Changed { .. }
            | Self::ChangedAt { .. }
            | Self::Replaced
            | Self::CutShort { .. }
            | Self::Range { .. } => None,
        }
    }
}
