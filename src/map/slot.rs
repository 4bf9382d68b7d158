//! One range of an output, for one thread or the threads of one lane.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;

use super::advice::{Touch, make_ready};

/// The bytes of one output plane.
#[derive(Debug)]
pub struct Slot<'a> {
    place: Place<'a>,
    memory: Option<&'a mut [u8]>,
}

/// Where the bytes of a slot lie.
#[derive(Debug)]
pub struct Place<'a> {
    file: &'a File,
    range: Range<u64>,
    /// Address of the first byte, if they are mapped.
    mapped_at: Option<usize>,
}

impl<'a> Slot<'a> {
    /// `memory`, if there is any, is where this range of the file is mapped.
    pub(super) fn new(file: &'a File, range: Range<u64>, memory: Option<&'a mut [u8]>) -> Self {
        let mapped_at = memory.as_deref().map(|bytes| bytes.as_ptr().addr());
        let place = Place {
            file,
            range,
            mapped_at,
        };
        Self { place, memory }
    }

    /// How many bytes.
    #[must_use]
    pub fn len_bytes(&self) -> u64 {
        self.place.len_bytes()
    }

    /// Where the bytes lie, and the part of the map that they are; `None` if they are written by
    /// position.
    #[must_use]
    pub fn into_parts(self) -> (Place<'a>, Option<&'a mut [u8]>) {
        (self.place, self.memory)
    }
}

impl Place<'_> {
    /// The first byte in the file.
    #[must_use]
    pub fn start(&self) -> u64 {
        self.range.start
    }

    fn len_bytes(&self) -> u64 {
        self.range.end.saturating_sub(self.range.start)
    }

    /// Makes `room`, which is where byte `at` of the slot and the following ones are mapped, ready
    /// to be filled.
    ///
    /// # Errors
    /// What the system said; [`io::ErrorKind::InvalidInput`] if it is not mapped there.
    pub fn make_ready(&self, at: u64, room: &mut [u8], touch: Touch) -> io::Result<()> {
        let end = at.checked_add(room.len() as u64);
        let offset = usize::try_from(at).ok();
        let address = self
            .mapped_at
            .zip(offset)
            .and_then(|(a, b)| a.checked_add(b));
        let is_mapped = address == Some(room.as_ptr().addr());
        if !is_mapped || end.is_none_or(|end| end > self.len_bytes()) {
            return Err(io::Error::from(io::ErrorKind::InvalidInput));
        }
        // The range ends within the file, so this does not overflow.
        make_ready(self.file, self.range.start + at, room, touch)
    }

    /// Writes `bytes` at byte `at` of a slot that is not mapped.
    ///
    /// # Errors
    /// What the system said; [`io::ErrorKind::InvalidInput`] where they leave the slot, or it is
    /// mapped, and the bytes may be somebody's.
    pub fn write(&self, at: u64, bytes: &[u8]) -> io::Result<()> {
        let end = at.checked_add(bytes.len() as u64);
        if self.mapped_at.is_some() || end.is_none_or(|end| end > self.len_bytes()) {
            return Err(io::Error::from(io::ErrorKind::InvalidInput));
        }
        self.file.write_all_at(bytes, self.range.start + at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_written_outside_a_slot() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(10).unwrap();
        let (place, memory) = Slot::new(&file, 2..6, None).into_parts();
        assert!(memory.is_none());
        place.write(1, &[1, 2, 3]).unwrap();
        assert!(place.write(2, &[1, 2, 3]).is_err());
        assert!(place.write(u64::MAX, &[1]).is_err());
        let mut bytes = [0; 10];
        file.read_exact_at(&mut bytes, 0).unwrap();
        assert_eq!(bytes, [0, 0, 0, 1, 2, 3, 0, 0, 0, 0]);
    }

    #[test]
    fn only_the_slots_own_memory_is_made_ready() {
        let file = tempfile::tempfile().unwrap();
        file.write_all_at(&[7; 10], 0).unwrap();
        // SAFETY: a file of this test alone, as long as the map.
        let mut map = unsafe { memmap2::MmapMut::map_mut(&file) }.unwrap();
        let (place, memory) = Slot::new(&file, 2..6, Some(&mut map[2..6])).into_parts();
        let memory = memory.unwrap();
        let mut other = [0; 2];
        assert!(place.make_ready(0, &mut other, Touch::Zeros).is_err());
        assert!(place.make_ready(0, &mut memory[1..], Touch::Zeros).is_err());
        assert!(place.write(0, &[1]).is_err(), "it is mapped");
        place
            .make_ready(1, &mut memory[1..3], Touch::Zeros)
            .unwrap();
        assert_eq!(map[..], [7, 7, 7, 0, 0, 7, 7, 7, 7, 7]);
    }
}
