//! The planes of one process of several, and the blocks of a file that belong to one plane alone.

use std::ops::Range;

/// One share of an output's planes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    /// From 0, below `count`.
    pub index: u64,
    /// How many share, not 0.
    pub count: u64,
}

impl Shard {
    /// Its planes: neighbours, so that what it reads and writes is contiguous. The shares of all
    /// differ by one plane at the most.
    #[must_use]
    pub fn planes(&self, planes: u64) -> Range<u64> {
        let edge = |index: u64| {
            let (planes, index) = (u128::from(planes), u128::from(index.min(self.count)));
            // At most `planes`.
            (planes * index / u128::from(self.count.max(1))) as u64
        };
        edge(self.index)..edge(self.index.saturating_add(1))
    }
}

/// The bytes of one plane by whom they may be written: whole blocks inside belong to the plane
/// alone; its head and its tail share a block with others. Machines on a network file system lose
/// each other's bytes in a block that both write (DECISIONS.md, "Shards").
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blocks {
    /// Bytes of the file before the first whole block; all of a plane that fills no block.
    pub head: Range<u64>,
    /// Whole blocks.
    pub inside: Range<u64>,
    /// Bytes after the last whole block.
    pub tail: Range<u64>,
}

impl Blocks {
    /// Of the plane with these bytes of the file, in blocks of `block_bytes`, which is not 0.
    #[must_use]
    pub fn of(range: &Range<u64>, block_bytes: u64) -> Self {
        let block = block_bytes.max(1);
        let first = range.start.div_ceil(block).saturating_mul(block);
        let last = range.end / block * block;
        if first >= last {
            let end = range.end..range.end;
            return Self {
                head: range.clone(),
                inside: end.clone(),
                tail: end,
            };
        }
        Self {
            head: range.start..first,
            inside: first..last,
            tail: last..range.end,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_all_planes_once() {
        for planes in [0, 1, 5, 37, 1000, u64::MAX] {
            for count in [1, 2, 3, 16, 64] {
                let mut next = 0;
                for index in 0..count {
                    let share = Shard { index, count }.planes(planes);
                    assert_eq!(share.start, next);
                    assert!((share.end - share.start).abs_diff(planes / count) <= 1);
                    next = share.end;
                }
                assert_eq!(next, planes);
            }
        }
        assert_eq!(Shard { index: 2, count: 4 }.planes(37), 18..27);
    }

    #[test]
    fn blocks_that_belong_to_one_plane_are_whole() {
        for block in [1, 4, 7, 16] {
            for start in 0..40 {
                for length in 0..40 {
                    let range = start..start + length;
                    let Blocks { head, inside, tail } = Blocks::of(&range, block);
                    assert_eq!((head.start, tail.end), (range.start, range.end));
                    assert_eq!((head.end, inside.end), (inside.start, tail.start));
                    if inside.is_empty() {
                        assert!(tail.is_empty());
                        assert!(length < 2 * block);
                    } else {
                        assert_eq!((inside.start % block, inside.end % block), (0, 0));
                        assert!(head.end - head.start < block && tail.end - tail.start < block);
                    }
                }
            }
        }
    }
}
