//! One range of an output, for one thread or the threads of one lane.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;

/// The bytes of one output plane.
#[derive(Debug)]
pub struct Slot<'a> {
    /// The output.
    pub file: &'a File,
    /// Where they lie in it.
    pub range: Range<u64>,
    /// The part of the map that they are; `None` if they are written by position.
    pub memory: Option<&'a mut [u8]>,
}

impl Slot<'_> {
    /// How many bytes.
    #[must_use]
    pub fn len_bytes(&self) -> u64 {
        self.range.end.saturating_sub(self.range.start)
    }
}

/// Writes `bytes` at byte `at` of a range of `file`.
///
/// # Errors
/// What the system said; [`io::ErrorKind::InvalidInput`] where they leave the range.
pub fn write_within(file: &File, range: &Range<u64>, at: u64, bytes: &[u8]) -> io::Result<()> {
    let start = range.start.checked_add(at);
    let end = start.and_then(|start| start.checked_add(bytes.len() as u64));
    match (start, end) {
        (Some(start), Some(end)) if end <= range.end => file.write_all_at(bytes, start),
        _ => Err(io::Error::from(io::ErrorKind::InvalidInput)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_written_outside_a_range() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(10).unwrap();
        write_within(&file, &(2..6), 1, &[1, 2, 3]).unwrap();
        assert!(write_within(&file, &(2..6), 2, &[1, 2, 3]).is_err());
        assert!(write_within(&file, &(2..6), u64::MAX, &[1]).is_err());
        let mut bytes = [0; 10];
        file.read_exact_at(&mut bytes, 0).unwrap();
        assert_eq!(bytes, [0, 0, 0, 1, 2, 3, 0, 0, 0, 0]);
    }
}
