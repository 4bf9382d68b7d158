//! Which file a path means, whatever its name: device and inode; and whether it is still as it
//! was.

use std::fs::Metadata;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// A file's device and inode: equal for two names (hard links, symbolic links) of one file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FileId {
    device: u64,
    inode: u64,
}

impl FileId {
    /// The file a path leads to, symbolic links followed; `None` where there is none.
    ///
    /// # Errors
    /// What the system said, other than that nothing is there.
    pub fn at(path: &Path) -> io::Result<Option<Self>> {
        match std::fs::metadata(path) {
            Ok(metadata) => Ok(Some(Self::of(&metadata))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The file this metadata belongs to.
    #[must_use]
    pub fn of(metadata: &Metadata) -> Self {
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
        }
    }
}

/// A file's length and when it was last changed: equal as long as nobody writes to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileStamp {
    /// Its length, bytes.
    pub len_bytes: u64,
    /// When it was last changed, nanoseconds since 1970.
    pub modified_ns: i128,
}

impl FileStamp {
    /// Of the file this metadata belongs to.
    #[must_use]
    pub fn of(metadata: &Metadata) -> Self {
        Self {
            len_bytes: metadata.len(),
            modified_ns: i128::from(metadata.mtime()) * 1_000_000_000
                + i128::from(metadata.mtime_nsec()),
        }
    }
}
