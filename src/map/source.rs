//! A read-only map of a whole input.

use std::fs::File;
use std::ops::Range;
use std::path::Path;

use memmap2::Mmap;

use super::guard::{Kind, Registration};
use super::{FileId, FileStamp, MapError, advice};

/// A whole file, mapped read-only.
#[derive(Debug)]
pub struct Source {
    // Before `map`: nothing is listed that is not mapped.
    entry: Registration,
    map: Mmap,
    id: FileId,
    stamp: FileStamp,
}

impl Source {
    /// Maps the file at `path`. Nothing is read yet; pages come in as they are looked at.
    ///
    /// The caller gives its word that nobody changes or shortens the file while it is mapped:
    /// changed bytes would change under the slices handed out, and bytes cut off would end the
    /// process with SIGBUS. What a program can say then is in [`guard`](super::guard).
    ///
    /// # Errors
    /// [`MapError::Open`], [`MapError::NotAFile`], [`MapError::TooLarge`], [`MapError::Map`].
    pub fn open(path: &Path) -> Result<Self, MapError> {
        let open = |source| MapError::Open { source };
        // Looked at before it is opened: opening a named pipe would wait for a writer.
        if !std::fs::metadata(path).map_err(open)?.is_file() {
            return Err(MapError::NotAFile);
        }
        let file = File::open(path).map_err(open)?;
        let metadata = file.metadata().map_err(open)?;
        let len_bytes = metadata.len();
        if usize::try_from(len_bytes).is_err() {
            return Err(MapError::TooLarge { len_bytes });
        }
        // SAFETY: the map is read-only, and as long as the file, whose length was taken from the
        // open file; that no one changes its bytes is the caller's word (see above).
        let map =
            unsafe { Mmap::map(&file) }.map_err(|source| MapError::Map { len_bytes, source })?;
        let place = (map.as_ptr().addr(), map.len());
        Ok(Self {
            entry: Registration::new(Kind::Input, path, place),
            map,
            id: FileId::of(&metadata),
            stamp: FileStamp::of(&metadata),
        })
    }

    /// The file's bytes, as they lie on disk.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.map
    }

    /// What the file holds in `range` are pieces of `piece_bytes` bytes each: where a byte of theirs
    /// cannot be had, the number of its piece is told ([`guard`](super::guard)).
    pub fn set_pieces(&self, range: &Range<u64>, piece_bytes: u64) {
        self.entry.set_pieces(range, piece_bytes);
    }

    /// Lets go of the pages of `range`, here and in the page cache; the next look reads them from
    /// the disk again. `file` is this file, opened once more.
    pub fn let_go(&self, file: &File, range: &Range<u64>) {
        let length = self.map.len();
        let start = usize::try_from(range.start).unwrap_or(length).min(length);
        let end = usize::try_from(range.end).unwrap_or(length).min(length);
        let Some(bytes) = self.map.get(start..end) else {
            return;
        };
        // SAFETY: the bytes are part of our own read-only map.
        unsafe { advice::unmap_pages(bytes.as_ptr(), bytes.len()) };
        advice::let_go(file, range);
    }

    /// Its length and when it was last changed, as it was opened.
    #[must_use]
    pub fn stamp(&self) -> FileStamp {
        self.stamp
    }

    /// Which file this is.
    #[must_use]
    pub fn id(&self) -> FileId {
        self.id
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_no_file() {
        let folder = tempfile::tempdir().unwrap();
        assert!(matches!(
            Source::open(folder.path()),
            Err(MapError::NotAFile)
        ));
    }

    #[test]
    fn an_empty_file_has_no_bytes() {
        let file = tempfile::NamedTempFile::new().unwrap();
        assert!(Source::open(file.path()).unwrap().bytes().is_empty());
    }

    #[test]
    fn what_was_written_is_seen() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), b"SIMPLE").unwrap();
        let source = Source::open(file.path()).unwrap();
        assert_eq!(source.bytes(), b"SIMPLE");
        assert_eq!(Some(source.id()), FileId::at(file.path()).unwrap());
    }
}
