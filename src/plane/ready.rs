//! Which bytes of a plane in memory have been made ready, so that each is once, in pieces that end
//! where pieces of the file do.

use std::ops::Range;

use super::pen::PIECE_BYTES;

/// What has been made ready of a plane or a band of its rows. Bytes are counted from its first.
#[derive(Debug, Default)]
pub(super) struct Ready {
    /// Made ready, but not yet begun.
    ahead: Range<usize>,
    /// Nothing at or beyond this has been begun or made ready.
    highest: usize,
}

impl Ready {
    /// The bytes to be made ready when those of `range` are begun, which none were before. They
    /// reach beyond the range, to the end of a piece of the file or of the `length` bytes, but
    /// never to bytes that were begun. `phase` is the place of the first byte within its piece.
    pub fn begin(&mut self, range: &Range<usize>, length: usize, phase: usize) -> Range<usize> {
        let first = if self.ahead.contains(&range.start) {
            self.ahead.end
        } else {
            range.start
        };
        let end = if range.end >= self.highest {
            piece_end(range.end, phase).min(length).max(range.end)
        } else {
            range.end
        };
        if first >= range.end {
            self.ahead = range.end..first;
            return first..first;
        }
        self.ahead = range.end..end;
        self.highest = self.highest.max(end);
        first..end
    }
}

impl Ready {
    /// For a part of the plane: if anything was begun, no more than what is begun there is made
    /// ready, as it may have been filled.
    pub fn of_parts(&self) -> Self {
        Self {
            ahead: 0..0,
            highest: if self.highest > 0 { usize::MAX } else { 0 },
        }
    }
}

/// The end of the piece of the file that `at` lies in, or `at` where one ends.
pub(super) fn piece_end(at: usize, phase: usize) -> usize {
    (at + phase).next_multiple_of(PIECE_BYTES) - phase
}

#[cfg(test)]
mod tests {
    use super::*;

    const PIECE: usize = PIECE_BYTES;

    #[test]
    fn rows_in_order_are_made_ready_in_whole_pieces() {
        let (length, phase) = (5 * PIECE, 1000);
        let mut ready = Ready::default();
        assert_eq!(ready.begin(&(0..50_000), length, phase), 0..PIECE - 1000);
        let second = ready.begin(&(50_000..100_000), length, phase);
        assert_eq!(second, PIECE - 1000..2 * PIECE - 1000);
        // These are ready already.
        assert!(ready.begin(&(100_000..110_000), length, phase).is_empty());
        assert!(ready.begin(&(110_000..120_000), length, phase).is_empty());
        let last = ready.begin(&(120_000..length), length, phase);
        assert_eq!(last, 2 * PIECE - 1000..length);
    }

    /// Every order of rows, with rows that are no divisors of a piece.
    #[test]
    fn each_byte_is_ready_when_it_is_begun_and_never_touched_after() {
        let (row, rows, phase) = (PIECE / 3 + 7, 7, 4321);
        let mut order: Vec<usize> = (0..rows).collect();
        for _ in 0..500 {
            // The next permutation in a walk through some of them.
            order.rotate_left(3);
            order.swap(0, 2);
            order.reverse();
            let (mut ready, mut state) = (Ready::default(), vec![0_u8; row * rows]);
            for &y in &order {
                let begun = y * row..(y + 1) * row;
                for byte in &mut state[ready.begin(&begun, row * rows, phase)] {
                    assert!(*byte < 2, "a begun byte is touched");
                    *byte = 1;
                }
                for byte in &mut state[begun] {
                    assert_eq!(*byte, 1, "begun before it was ready");
                    *byte = 2;
                }
            }
        }
    }
}
