//! Finished bytes of an output on their way to the disk and out of the page cache.

use std::fs::File;
use std::io;
use std::ops::Range;

use super::{MapError, advice};

/// Writes ranges of an output to its disk and lets their pages go. It changes no byte, and so can
/// be used while other threads fill slots.
#[derive(Debug)]
pub struct Behind<'a> {
    file: &'a File,
    /// Address and length of the map; they are never looked into.
    pages: Option<(usize, usize)>,
}

impl<'a> Behind<'a> {
    /// # Safety
    /// `map`, if there is one, is a shared map of a file that lives for `'a`. It may be written
    /// meanwhile.
    pub(super) unsafe fn new(file: &'a File, map: Option<&[u8]>) -> Self {
        Self {
            file,
            pages: map.map(|map| (map.as_ptr().expose_provenance(), map.len())),
        }
    }

    /// Begins to write these bytes of the file, which are complete, and does not wait. Their
    /// pages leave our map first: the kernel would take each of them from all processors before
    /// it writes it.
    ///
    /// # Errors
    /// [`MapError::Lost`].
    pub fn begin(&self, range: &Range<u64>) -> Result<(), MapError> {
        if let Some((address, length)) = self.pages {
            let start = usize::try_from(range.start).unwrap_or(length).min(length);
            let end = usize::try_from(range.end).unwrap_or(length).min(length);
            let first = std::ptr::with_exposed_provenance(address + start);
            // SAFETY: the range was cut to the shared map that `new` was given for `'a`.
            unsafe { advice::unmap_pages(first, end.saturating_sub(start)) };
        }
        advice::begin_writing(self.file, range).map_err(|source| lost(range, source))
    }

    /// Waits until these bytes are on the disk, and lets them go from the page cache.
    ///
    /// # Errors
    /// [`MapError::Lost`]: a write that failed.
    pub fn finish(&self, range: &Range<u64>) -> Result<(), MapError> {
        advice::finish_writing(self.file, range).map_err(|source| lost(range, source))?;
        advice::let_go(self.file, range);
        Ok(())
    }
}

fn lost(range: &Range<u64>, source: io::Error) -> MapError {
    MapError::Lost {
        at_bytes: range.start,
        source,
    }
}
