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
    /// The bytes that a pen for rows of up to `row_bytes` bytes allocates.
    #[must_use]
    pub fn bytes_for(row_bytes: usize) -> usize {
        row_bytes.max(PIECE_BYTES)
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

    /// Whether `length` bytes for byte `at` of the plane follow what is gathered, and fit.
    pub(super) fn takes(&self, at: u64, length: usize) -> bool {
        let follows = self.used == 0 || self.at.checked_add(self.used as u64) == Some(at);
        follows && length <= self.buffer.len() - self.used
    }

    /// Room for `length` more bytes, which belong at byte `at` of the plane; `None` unless it
    /// [`takes`](Self::takes) them.
    pub(super) fn room(&mut self, at: u64, length: usize) -> Option<&mut [u8]> {
        if !self.takes(at, length) {
            return None;
        }
        if self.used == 0 {
            self.at = at;
        }
        let first = self.used;
        self.used += length;
        self.buffer.get_mut(first..self.used)
    }

    /// What is gathered, in pieces with their places in the plane; it is forgotten.
    pub(super) fn lift(&mut self) -> impl Iterator<Item = (u64, &[u8])> {
        let gathered = &self.buffer[..std::mem::take(&mut self.used)];
        let places = (self.at..).step_by(PIECE_BYTES);
        places.zip(gathered.chunks(PIECE_BYTES))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbouring_rows_are_gathered_until_it_is_full() {
        let mut pen = Pen::new(30_000).unwrap();
        assert_eq!(pen.bytes(), Pen::bytes_for(30_000));
        pen.room(60_000, 30_000).unwrap().fill(1);
        pen.room(90_000, 30_000).unwrap().fill(2);
        assert!(pen.room(120_000, 30_000).is_none(), "full");
        assert!(pen.room(0, 1).is_none(), "not a neighbour");
        let lifted: Vec<_> = pen.lift().map(|(at, piece)| (at, piece.len())).collect();
        assert_eq!(lifted, [(60_000, 60_000)]);
        assert_eq!(pen.lift().count(), 0);
        assert!(pen.takes(0, 30_000));
    }

    #[test]
    fn long_rows_are_lifted_in_pieces() {
        let mut pen = Pen::new(150_000).unwrap();
        pen.room(8, 150_000).unwrap().fill(1);
        let lifted: Vec<_> = pen.lift().map(|(at, piece)| (at, piece.len())).collect();
        assert_eq!(lifted, [(8, 65_536), (65_544, 65_536), (131_080, 18_928)]);
    }
}
