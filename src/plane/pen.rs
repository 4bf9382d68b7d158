//! Rows on their way to a slot that is not memory.

/// Bytes written in one go at the most. Larger writes make the kernel look for larger free pieces
/// of memory, which cost more than they save (DECISIONS, "Stores").
pub(super) const PIECE_BYTES: usize = 64 << 10;

/// A small buffer that gathers neighbouring rows for a slot that is written by position. A slot
/// that is memory does not use it.
#[derive(Debug)]
pub struct Pen {
    buffer: Vec<u8>,
    /// Where in the plane the first byte belongs.
    at: u64,
    used: usize,
}

impl Pen {
    /// The bytes that a pen for rows of up to `row_bytes` bytes allocates; [`usize::MAX`] if they
    /// are beyond counting.
    #[must_use]
    pub fn bytes_for(row_bytes: usize) -> usize {
        row_bytes.saturating_add(PIECE_BYTES)
    }

    /// A pen for rows of up to `row_bytes` bytes; `None` if there is no memory for it.
    #[must_use]
    pub fn new(row_bytes: usize) -> Option<Self> {
        let length = Self::bytes_for(row_bytes);
        let mut buffer = Vec::new();
        buffer.try_reserve_exact(length).ok()?;
        buffer.resize(length, 0);
        Some(Self {
            buffer,
            at: 0,
            used: 0,
        })
    }

    /// The bytes it has allocated.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.buffer.capacity()
    }

    /// Forgets what it holds of a plane that was given up.
    pub fn clear(&mut self) {
        self.used = 0;
    }

    /// Whether byte `at` of the plane follows what is gathered.
    pub(super) fn is_followed_by(&self, at: u64) -> bool {
        self.used == 0 || self.at.checked_add(self.used as u64) == Some(at)
    }

    /// Room for `length` more bytes, which belong at byte `at` of the plane and follow what is
    /// gathered; `None` if they do not fit.
    pub(super) fn room(&mut self, at: u64, length: usize) -> Option<&mut [u8]> {
        if self.used == 0 {
            self.at = at;
        }
        let first = self.used;
        let end = first.checked_add(length)?;
        let room = self.buffer.get_mut(first..end)?;
        self.used = end;
        Some(room)
    }

    /// Gives away what is gathered, with its places in the plane: all of it, or as far as it fills
    /// pieces of the file. `origin` is the plane's first byte in the file.
    pub(super) fn lift<E>(
        &mut self,
        all: bool,
        origin: u64,
        mut give: impl FnMut(u64, &[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let piece = PIECE_BYTES as u64;
        let mut lifted = 0;
        loop {
            let at = self.at + lifted as u64;
            // At most a piece.
            let to_end = (piece - origin.wrapping_add(at) % piece) as usize;
            let left = self.used - lifted;
            if left == 0 || (left < to_end && !all) {
                break;
            }
            let count = left.min(to_end);
            give(at, &self.buffer[lifted..lifted + count])?;
            lifted += count;
        }
        self.buffer.copy_within(lifted..self.used, 0);
        self.at += lifted as u64;
        self.used -= lifted;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lifted(pen: &mut Pen, all: bool, origin: u64) -> Vec<(u64, usize)> {
        let mut pieces = Vec::new();
        let result: Result<(), ()> = pen.lift(all, origin, |at, bytes| {
            assert!(
                bytes
                    .iter()
                    .enumerate()
                    .all(|(i, &byte)| { byte == ((at + i as u64) / 30_000) as u8 })
            );
            pieces.push((at, bytes.len()));
            Ok(())
        });
        assert_eq!(result, Ok(()));
        pieces
    }

    fn put(pen: &mut Pen, row: u8, length: usize) {
        let at = u64::from(row) * length as u64;
        assert!(pen.is_followed_by(at));
        pen.room(at, length).unwrap().fill(row);
    }

    #[test]
    fn rows_are_lifted_in_pieces_of_the_file() {
        let mut pen = Pen::new(30_000).unwrap();
        assert_eq!(pen.bytes(), Pen::bytes_for(30_000));
        let origin = 5760;
        for row in 2..4 {
            put(&mut pen, row, 30_000);
        }
        // From byte 65 760 of the file: the piece ends at 131 072.
        assert_eq!(lifted(&mut pen, false, origin), []);
        put(&mut pen, 4, 30_000);
        assert_eq!(lifted(&mut pen, false, origin), [(60_000, 65_312)]);
        assert!(pen.is_followed_by(150_000));
        assert!(!pen.is_followed_by(180_000));
        put(&mut pen, 5, 30_000);
        assert_eq!(lifted(&mut pen, true, origin), [(125_312, 54_688)]);
        assert!(pen.is_followed_by(0), "it is empty");
    }

    #[test]
    fn long_rows_are_lifted_in_several() {
        let mut pen = Pen::new(150_000).unwrap();
        let room = pen.room(0, 150_000).unwrap();
        for (i, byte) in room.iter_mut().enumerate() {
            *byte = (i / 30_000) as u8;
        }
        let pieces = [(0, 65_526), (65_526, 65_536), (131_062, 18_938)];
        assert_eq!(lifted(&mut pen, true, 10), pieces);
    }

    #[test]
    fn what_does_not_fit_is_refused_and_what_is_given_up_is_forgotten() {
        let mut pen = Pen::new(10).unwrap();
        assert!(pen.room(0, PIECE_BYTES + 11).is_none());
        assert!(pen.room(0, usize::MAX).is_none());
        pen.room(0, 10).unwrap().fill(1);
        pen.clear();
        assert_eq!(lifted(&mut pen, true, 0), []);
    }
}
