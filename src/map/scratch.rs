//! Working memory in a file that has no name: it goes when it is dropped, or with the process.

use std::ffi::CString;
use std::fs::{File, OpenOptions};
use std::io;
use std::mem::MaybeUninit;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

use memmap2::{MmapMut, MmapOptions};

use super::MapError;
use super::guard::{Kind, Registration};
use super::reserve::{Reserve, Start, reserve};

/// Bytes in a file, reserved and mapped, that nobody else can open.
#[derive(Debug)]
pub struct Scratch {
    // Before `map`: nothing is listed that is not mapped. Of memory there is nothing to list.
    _entry: Option<Registration>,
    map: MmapMut,
}

impl Scratch {
    /// Whether `len_bytes` could be had in `folder` now, as far as that can be told without making
    /// a file.
    ///
    /// # Errors
    /// As [`create`](Self::create).
    pub fn check(folder: &Path, len_bytes: u64) -> Result<(), MapError> {
        is_folder(folder)?;
        has_room(folder, len_bytes).map_err(|source| MapError::Scratch {
            folder: folder.to_owned(),
            len_bytes,
            source,
        })
    }

    /// `len_bytes` zero bytes on the disk that `folder` lies on.
    ///
    /// # Errors
    /// [`MapError::NoScratch`] where there is no such folder, [`MapError::ScratchNoFolder`] where
    /// it is something else, [`MapError::Scratch`] for all that the system refuses.
    pub fn create(folder: &Path, len_bytes: u64) -> Result<Self, MapError> {
        is_folder(folder)?;
        Self::reserved(folder, len_bytes).map_err(|source| MapError::Scratch {
            folder: folder.to_owned(),
            len_bytes,
            source,
        })
    }

    fn reserved(folder: &Path, len_bytes: u64) -> io::Result<Self> {
        let length =
            usize::try_from(len_bytes).map_err(|_| io::Error::from(io::ErrorKind::FileTooLarge))?;
        if length == 0 {
            // A map of nothing is refused by some systems.
            let map = MmapMut::map_anon(1)?;
            return Ok(Self { _entry: None, map });
        }
        let file = nameless(folder)?;
        reserve(&file, len_bytes, (Reserve::Surely, Start::Zero))?;
        let mut options = MmapOptions::new();
        options.len(length);
        // SAFETY: `reserve` has made the file this long, so no page of the map lies beyond its
        // end, and `nameless` has made it in this call without a name, so nobody else can write,
        // shorten or map it.
        let map = unsafe { options.map_mut(&file) }?;
        // It has no name, so its folder stands for it.
        let place = (map.as_ptr().addr(), map.len());
        let entry = Registration::new(Kind::Output, folder, place);
        Ok(Self {
            _entry: Some(entry),
            map,
        })
    }

    /// All bytes, or more where none were asked for.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.map
    }

    /// The same, to be written.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.map
    }
}

fn is_folder(folder: &Path) -> Result<(), MapError> {
    if folder.is_dir() {
        return Ok(());
    }
    Err(if folder.exists() {
        MapError::ScratchNoFolder {
            path: folder.to_owned(),
        }
    } else {
        MapError::NoScratch {
            folder: folder.to_owned(),
        }
    })
}

/// Whether files may be made in `folder`, and its disk has so many bytes for us.
fn has_room(folder: &Path, len_bytes: u64) -> io::Result<()> {
    let path = CString::new(folder.as_os_str().as_bytes())?;
    // SAFETY: the path ends with a zero byte, and the call only reads it.
    let status = unsafe { libc::access(path.as_ptr(), libc::W_OK | libc::X_OK) };
    if status != 0 {
        return Err(io::Error::last_os_error());
    }
    let mut answer = MaybeUninit::<libc::statvfs>::uninit();
    // SAFETY: the path ends with a zero byte, and `answer` has room for what the call writes.
    let status = unsafe { libc::statvfs(path.as_ptr(), answer.as_mut_ptr()) };
    if status != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the call succeeded, and so has filled it.
    let answer = unsafe { answer.assume_init() };
    // A disk without any blocks does not tell.
    #[allow(
        clippy::unnecessary_cast,
        reason = "the fields are narrower on some systems"
    )]
    let free_bytes = (answer.f_bavail as u64).saturating_mul(answer.f_frsize as u64);
    if answer.f_blocks > 0 && free_bytes < len_bytes {
        return Err(io::Error::from(io::ErrorKind::StorageFull));
    }
    Ok(())
}

/// A new file without a name in `folder`.
fn nameless(folder: &Path) -> io::Result<File> {
    #[cfg(target_os = "linux")]
    {
        let mut options = OpenOptions::new();
        options.read(true).write(true).mode(0o600);
        // Not every file system can; what it says then differs (open(2)).
        if let Ok(file) = options.custom_flags(libc::O_TMPFILE).open(folder) {
            return Ok(file);
        }
    }
    unlinked(folder)
}

/// A new file whose name is taken away at once.
fn unlinked(folder: &Path) -> io::Result<File> {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    loop {
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = folder.join(format!(".mmconv-{}-{number}.scratch", std::process::id()));
        let mut options = OpenOptions::new();
        options.read(true).write(true).create_new(true).mode(0o600);
        match options.open(&path) {
            Ok(file) => {
                std::fs::remove_file(&path)?;
                return Ok(file);
            }
            // Left by a process that had our number and died between the two calls.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_has_no_name_and_keeps_what_is_written() {
        let folder = tempfile::tempdir().unwrap();
        let mut scratch = Scratch::create(folder.path(), 10_000).unwrap();
        assert_eq!(scratch.bytes(), [0; 10_000]);
        scratch.bytes_mut()[9_999] = 7;
        assert_eq!(scratch.bytes()[9_999], 7);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        assert!(Scratch::create(folder.path(), 0).is_ok());
    }

    #[test]
    fn nothing_is_left_where_files_must_have_names_at_first() {
        let folder = tempfile::tempdir().unwrap();
        let file = unlinked(folder.path()).unwrap();
        reserve(&file, 5000, (Reserve::Surely, Start::Zero)).unwrap();
        assert_eq!(file.metadata().unwrap().len(), 5000);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn what_can_be_known_is_known_without_a_file() {
        let folder = tempfile::tempdir().unwrap();
        assert!(Scratch::check(folder.path(), 10_000).is_ok());
        assert!(matches!(
            Scratch::check(folder.path(), 1 << 62),
            Err(MapError::Scratch { len_bytes, source, .. })
                if len_bytes == 1 << 62 && source.kind() == io::ErrorKind::StorageFull
        ));
        let file = folder.path().join("file");
        std::fs::write(&file, "a file").unwrap();
        for refused in [
            Scratch::check(&file, 1),
            Scratch::create(&file, 1).map(drop),
        ] {
            assert!(matches!(
                refused,
                Err(MapError::ScratchNoFolder { path }) if path == file
            ));
        }
    }

    #[test]
    fn refusals_say_what_was_asked_for() {
        let folder = tempfile::tempdir().unwrap();
        let none = folder.path().join("none");
        assert!(matches!(
            Scratch::create(&none, 1),
            Err(MapError::NoScratch { folder }) if folder == none
        ));
        assert!(matches!(
            Scratch::create(folder.path(), 1 << 62),
            Err(MapError::Scratch { len_bytes, .. }) if len_bytes == 1 << 62
        ));
    }
}
