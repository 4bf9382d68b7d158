//! A read-only map of a whole input.

use std::fs::File;
use std::path::Path;
use std::time::SystemTime;

use memmap2::Mmap;

use super::{FileId, MapError};

/// A whole file, mapped read-only.
#[derive(Debug)]
pub struct Source {
    map: Mmap,
    id: FileId,
    modified: Option<SystemTime>,
}

impl Source {
    /// Maps the file at `path`. Nothing is read yet; pages come in as they are looked at.
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
        // SAFETY: the map is read-only, and the user promises that inputs stay put for the run
        // (module docs), so no one changes the bytes behind the slices handed out.
        let map =
            unsafe { Mmap::map(&file) }.map_err(|source| MapError::Map { len_bytes, source })?;
        Ok(Self {
            map,
            id: FileId::of(&metadata),
            modified: metadata.modified().ok(),
        })
    }

    /// The file's bytes, as they lie on disk.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.map
    }

    /// Which file this is.
    #[must_use]
    pub fn id(&self) -> FileId {
        self.id
    }

    /// When the file was last changed, if the file system says.
    #[must_use]
    pub fn modified(&self) -> Option<SystemTime> {
        self.modified
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
