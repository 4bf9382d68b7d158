//! An input read by position: what cannot be had is an error here, where a map has a signal.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use super::{FileId, FileStamp, MapError, Source};

/// Compared at once.
const PIECE_BYTES: usize = 16 << 10;

/// A mapped input, opened once more.
#[derive(Debug)]
pub struct Reader {
    file: File,
}

impl Reader {
    /// Opens the file at `path`, which must still be the one that `source` maps, of the length and
    /// the time of last change that it had.
    ///
    /// # Errors
    /// [`MapError::Open`], [`MapError::Changed`], [`MapError::Replaced`].
    pub fn open(path: &Path, source: &Source) -> Result<Self, MapError> {
        let open = |source| MapError::Open { source };
        let file = File::open(path).map_err(open)?;
        let metadata = file.metadata().map_err(open)?;
        let (planned, found) = (source.stamp(), FileStamp::of(&metadata));
        if planned != found {
            let later_ns = found.modified_ns.saturating_sub(planned.modified_ns);
            return Err(MapError::Changed {
                planned_bytes: planned.len_bytes,
                found_bytes: found.len_bytes,
                later_ns: i64::try_from(later_ns).unwrap_or(i64::MAX),
            });
        }
        if FileId::of(&metadata) != source.id() {
            return Err(MapError::Replaced);
        }
        Ok(Self { file })
    }

    /// Reads the bytes from byte `at` on.
    ///
    /// # Errors
    /// [`MapError::CutShort`] where the file ends before them, [`MapError::Read`].
    pub fn read_at(&self, at: u64, bytes: &mut [u8]) -> Result<(), MapError> {
        let mut done = 0;
        while let Some(rest) = bytes.get_mut(done..).filter(|rest| !rest.is_empty()) {
            let at_bytes = at.saturating_add(done as u64);
            match self.file.read_at(rest, at_bytes) {
                Ok(0) => return Err(MapError::CutShort { at_bytes }),
                Ok(count) => done += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(source) => return Err(MapError::Read { at_bytes, source }),
            }
        }
        Ok(())
    }

    /// Whether these bytes are in the file, from byte `at` on.
    ///
    /// # Errors
    /// [`MapError::ChangedAt`] with the first that is another; as [`read_at`](Self::read_at).
    pub fn expect(&self, at: u64, bytes: &[u8]) -> Result<(), MapError> {
        let mut found = [0; PIECE_BYTES];
        let mut at = at;
        for planned in bytes.chunks(PIECE_BYTES) {
            let found = found.get_mut(..planned.len()).unwrap_or_default();
            self.read_at(at, found)?;
            let mut pairs = found.iter().zip(planned);
            if let Some(first) = pairs.position(|(found, planned)| found != planned) {
                let at_bytes = at.saturating_add(first as u64);
                return Err(MapError::ChangedAt { at_bytes });
            }
            at = at.saturating_add(planned.len() as u64);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::time::{Duration, SystemTime};

    use super::*;

    fn input() -> (tempfile::TempDir, std::path::PathBuf, Source) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x");
        let bytes: Vec<u8> = (0..40_000_u32).map(|i| (i % 251) as u8).collect();
        fs::write(&path, bytes).unwrap();
        let source = Source::open(&path).unwrap();
        (folder, path, source)
    }

    #[test]
    fn what_is_read_is_what_is_mapped() {
        let (_folder, path, source) = input();
        let reader = Reader::open(&path, &source).unwrap();
        let mut bytes = vec![0; 30_000];
        reader.read_at(7000, &mut bytes).unwrap();
        assert_eq!(bytes, source.bytes()[7000..37_000]);
        reader.expect(7000, &bytes).unwrap();
        bytes[29_000] ^= 1;
        let other = reader.expect(7000, &bytes);
        assert!(matches!(
            other,
            Err(MapError::ChangedAt { at_bytes: 36_000 })
        ));
    }

    #[test]
    fn an_end_that_comes_too_soon_is_told_with_its_place() {
        let (_folder, path, source) = input();
        let reader = Reader::open(&path, &source).unwrap();
        let file = File::options().write(true).open(&path).unwrap();
        file.set_len(9000).unwrap();
        let cut = reader.read_at(8000, &mut [0; 2000]);
        assert!(matches!(cut, Err(MapError::CutShort { at_bytes: 9000 })));
        assert!(matches!(
            Reader::open(&path, &source),
            Err(MapError::Changed {
                planned_bytes: 40_000,
                found_bytes: 9000,
                ..
            })
        ));
    }

    #[test]
    fn another_time_or_another_file_is_noticed() {
        let (_folder, path, source) = input();
        let modified = fs::metadata(&path).unwrap().modified().unwrap();
        let set = |path: &Path, time: SystemTime| {
            let file = File::options().write(true).open(path).unwrap();
            file.set_modified(time).unwrap();
        };
        set(&path, modified + Duration::from_secs(1));
        assert!(matches!(
            Reader::open(&path, &source),
            Err(MapError::Changed { .. })
        ));
        let copy = path.with_extension("copy");
        fs::copy(&path, &copy).unwrap();
        set(&copy, modified);
        fs::rename(&copy, &path).unwrap();
        assert!(matches!(
            Reader::open(&path, &source),
            Err(MapError::Replaced)
        ));
        fs::remove_file(&path).unwrap();
        assert!(matches!(
            Reader::open(&path, &source),
            Err(MapError::Open { .. })
        ));
    }
}
