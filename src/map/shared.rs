//! An output that several processes make, maybe on several machines: written by position only,
//! never mapped, never read, never emptied, and never opened for reading. A client of a network
//! file system that may read a page reads it before it writes a part of it, and writes the whole of
//! it back, with what others have written meanwhile lost (DECISIONS.md, "Shards").

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::ops::Range;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::thread;
use std::time::Duration;

use super::slot::Slot;
use super::{FileId, MapError};

/// An output being made by several processes.
#[derive(Debug)]
pub struct Shared {
    file: File,
    len_bytes: u64,
}

impl Shared {
    /// Opens the file at `path`, or makes it; it is `len_bytes` long then, and what it held stays.
    ///
    /// # Errors
    /// [`MapError::Create`], [`MapError::Reserve`], [`MapError::Locked`] where one process alone is
    /// making it.
    pub fn create(path: &Path, len_bytes: u64) -> Result<Self, MapError> {
        let shared = Self::opened(path, len_bytes, OpenOptions::new().create(true))?;
        let reserve = |source| MapError::Reserve { len_bytes, source };
        let found_bytes = shared.file.metadata().map_err(reserve)?.len();
        if found_bytes < len_bytes {
            shared.file.set_len(len_bytes).map_err(reserve)?;
        }
        match blocks(&shared.file, len_bytes) {
            Err(source) => Err(MapError::Reserve { len_bytes, source }),
            Ok(()) => Ok(shared),
        }
    }

    /// Opens the file at `path`, which must be there and `len_bytes` long, or longer.
    ///
    /// # Errors
    /// [`MapError::Create`], [`MapError::Length`], [`MapError::Locked`] where one process alone is
    /// making it.
    pub fn open(path: &Path, len_bytes: u64) -> Result<Self, MapError> {
        const LOOKS: usize = 15;
        let mut found_bytes = 0;
        for look in 0..LOOKS {
            if look > 0 {
                // What another machine has just made may show an earlier length for a second or so.
                thread::sleep(Duration::from_millis(200));
            }
            let shared = Self::opened(path, len_bytes, &mut OpenOptions::new())?;
            let metadata = shared.file.metadata();
            found_bytes = metadata.map_err(|source| MapError::Open { source })?.len();
            // Longer, where two began it at once by command lines of different lengths.
            if found_bytes >= len_bytes {
                return Ok(shared);
            }
        }
        Err(MapError::Length {
            found_bytes,
            len_bytes,
        })
    }

    fn opened(path: &Path, len_bytes: u64, how: &mut OpenOptions) -> Result<Self, MapError> {
        // A link at this name leads to somebody else's file.
        let how = how.write(true).custom_flags(libc::O_NOFOLLOW);
        let file = how
            .open(path)
            .map_err(|source| MapError::Create { source })?;
        match file.try_lock_shared() {
            Err(TryLockError::WouldBlock) => Err(MapError::Locked),
            // Network file systems lock for sharing only what is open for reading; the work goes on
            // without.
            Ok(()) | Err(TryLockError::Error(_)) => Ok(Self { file, len_bytes }),
        }
    }

    /// Slots for these ranges, each for one thread at a time.
    ///
    /// # Errors
    /// [`MapError::Range`] for one that leaves the file.
    pub fn slots<I>(&self, ranges: I) -> Result<Vec<Slot<'_>>, MapError>
    where
        I: IntoIterator<Item = Range<u64>>,
    {
        let slots = ranges.into_iter().map(|range| {
            if range.end > self.len_bytes || range.start > range.end {
                return Err(MapError::Range {
                    start_bytes: range.start,
                    end_bytes: range.end,
                    free_from_bytes: 0,
                    len_bytes: self.len_bytes,
                });
            }
            Ok(Slot::new(&self.file, range, None))
        });
        slots.collect()
    }

    /// Writes `bytes` at byte `at`.
    ///
    /// # Errors
    /// [`MapError::Write`].
    pub fn write_at(&self, at: u64, bytes: &[u8]) -> Result<(), MapError> {
        let written = self.file.write_all_at(bytes, at);
        written.map_err(|source| MapError::Write {
            at_bytes: at,
            source,
        })
    }

    /// A second handle, to wait for the disk.
    ///
    /// # Errors
    /// [`MapError::Open`].
    pub fn file(&self) -> Result<File, MapError> {
        let file = self.file.try_clone();
        file.map_err(|source| MapError::Open { source })
    }

    /// Cuts off what lies beyond its length.
    ///
    /// # Errors
    /// [`MapError::Open`], [`MapError::Reserve`].
    pub fn cut(&self) -> Result<(), MapError> {
        let len_bytes = self.len_bytes;
        let metadata = self.file.metadata();
        let found_bytes = metadata.map_err(|source| MapError::Open { source })?.len();
        if found_bytes == len_bytes {
            return Ok(());
        }
        let cut = self.file.set_len(len_bytes);
        cut.map_err(|source| MapError::Reserve { len_bytes, source })
    }

    /// Which file this is, whatever has its name by now.
    ///
    /// # Errors
    /// [`MapError::Open`].
    pub fn id(&self) -> Result<FileId, MapError> {
        let metadata = self.file.metadata();
        let metadata = metadata.map_err(|source| MapError::Open { source })?;
        Ok(FileId::of(&metadata))
    }

    /// Waits until all that was written through this handle is on the disk.
    ///
    /// # Errors
    /// [`MapError::Sync`].
    pub fn sync(&self) -> Result<(), MapError> {
        let synced = self.file.sync_data();
        synced.map_err(|source| MapError::Sync { source })
    }
}

/// Reserves blocks where the file system can. `posix_fallocate` would read and rewrite every block
/// where it cannot, over what others have written.
#[cfg(target_os = "linux")]
fn blocks(file: &File, len_bytes: u64) -> io::Result<()> {
    use std::os::fd::AsRawFd;

    let Ok(length) = libc::off_t::try_from(len_bytes) else {
        return Err(io::Error::from(io::ErrorKind::FileTooLarge));
    };
    if length == 0 {
        return Ok(());
    }
    // SAFETY: `file` is open for writing and outlives the call, which touches no memory of ours.
    let status = unsafe { libc::fallocate(file.as_raw_fd(), 0, 0, length) };
    if status == 0 {
        return Ok(());
    }
    let error = io::Error::last_os_error();
    match error.raw_os_error() {
        Some(libc::EOPNOTSUPP | libc::ENOSYS | libc::EINTR) => Ok(()),
        _ => Err(error),
    }
}

#[cfg(not(target_os = "linux"))]
fn blocks(_: &File, _: u64) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::map::{Io, Target};

    #[test]
    fn what_others_wrote_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.part");
        let first = Shared::create(&path, 10_000).unwrap();
        first.write_at(5000, b"first").unwrap();
        let second = Shared::create(&path, 10_000).unwrap();
        second.write_at(0, b"second").unwrap();
        let third = Shared::open(&path, 10_000).unwrap();
        third.sync().unwrap();
        let bytes = std::fs::read(&path).unwrap();
        assert_eq!(
            (&bytes[..6], &bytes[5000..5005]),
            (&b"second"[..], &b"first"[..])
        );
        assert_eq!(bytes.len(), 10_000);
        assert!(matches!(
            Shared::open(&path, 10_001),
            Err(MapError::Length { .. })
        ));
        assert!(matches!(
            Shared::open(&folder.path().join("y"), 1),
            Err(MapError::Create { .. })
        ));
    }

    #[test]
    fn one_process_alone_and_several_shut_each_other_out() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.part");
        let shared = Shared::create(&path, 100).unwrap();
        assert!(matches!(
            Target::create(&path, 100, Io::Auto),
            Err(MapError::Locked)
        ));
        drop(shared);
        let _target = Target::create(&path, 100, Io::Auto).unwrap();
        assert!(matches!(Shared::create(&path, 100), Err(MapError::Locked)));
    }

    #[test]
    fn no_slot_leaves_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let shared = Shared::create(&folder.path().join("x"), 100).unwrap();
        assert_eq!(shared.slots([0..50, 90..100]).unwrap().len(), 2);
        assert!(matches!(
            shared.slots([0..50, 90..101]),
            Err(MapError::Range { .. })
        ));
    }
}
