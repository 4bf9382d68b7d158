//! How outputs are stored: by which way, and what happens to finished bytes.

use std::io;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use fits_layout::Sum;

use crate::convolve::vectorised;
use crate::journal::PlaneSums;
pub use crate::map::Io;
use crate::map::{Place, Touch};
use crate::plan::Blocks;
use crate::plane::Store;
use crate::run::Stop;
use crate::run::behind::WriteBehind;

/// How outputs are stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Storage {
    /// Mapped or written.
    pub io: Io,
    /// When finished bytes are written to the disk at once and dropped from the page cache.
    pub write_behind: When,
}

/// When something is done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum When {
    /// Where it pays.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

impl Storage {
    /// Whether an output of this length is written behind: above a quarter of the memory, where
    /// the page cache would push out everything else. `memory_bytes` is the machine's.
    pub(super) fn writes_behind(&self, len_bytes: u64, memory_bytes: u64) -> bool {
        match self.write_behind {
            When::Auto => len_bytes > memory_bytes / 4,
            When::Always => true,
            When::Never => false,
        }
    }
}

/// What stands behind one output plane.
#[derive(Debug)]
pub(super) struct PlaneStore<'a> {
    pub place: Place<'a>,
    /// How the pages of a map are made.
    pub touch: Touch,
    /// The sums of what is filled.
    pub sums: Mutex<PlaneSums>,
    /// Whether DATASUM needs one of them.
    pub datasum: bool,
    pub behind: Option<&'a WriteBehind<'a>>,
    /// With several processes: what is not to be written, as it shares a block with others.
    pub edges: Option<Mutex<Edges>>,
    /// Looked at before anything is stored.
    pub stop: &'a Stop,
}

/// The first and the last bytes of a plane of a shared output.
#[derive(Debug)]
pub(super) struct Edges {
    /// The plane's whole blocks, counted from its first byte.
    inside: Range<u64>,
    pub head: Vec<u8>,
    pub tail: Vec<u8>,
}

impl Edges {
    /// For the plane with these bytes of the file.
    pub fn of(range: &Range<u64>, block_bytes: u64) -> Self {
        let Blocks { head, inside, tail } = Blocks::of(range, block_bytes);
        // Each is shorter than two blocks.
        let room = |edge: Range<u64>| vec![0; (edge.end - edge.start) as usize];
        Self {
            inside: inside.start - range.start..inside.end - range.start,
            head: room(head),
            tail: room(tail),
        }
    }

    /// Keeps what of `bytes`, which stand at byte `at` of the plane, belongs to the edges; where in
    /// `bytes` the others are.
    fn keep(&mut self, at: u64, bytes: &[u8]) -> Range<usize> {
        let end = at + bytes.len() as u64;
        let place = |edge: u64| (edge.clamp(at, end) - at) as usize;
        let inside = place(self.inside.start)..place(self.inside.end);
        put(&mut self.head, at, &bytes[..inside.start]);
        if let Some(first) = (at + inside.end as u64).checked_sub(self.inside.end) {
            put(&mut self.tail, first, &bytes[inside.end..]);
        }
        inside
    }
}

/// Copies `bytes` to byte `at` of an edge.
fn put(edge: &mut [u8], at: u64, bytes: &[u8]) {
    let first = usize::try_from(at).unwrap_or(usize::MAX);
    let room = edge.get_mut(first..).unwrap_or_default();
    for (to, from) in room.iter_mut().zip(bytes) {
        *to = *from;
    }
}

impl PlaneStore<'_> {
    /// The sums of all that was filled.
    pub fn sums(&self) -> PlaneSums {
        *self.sums.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Store for PlaneStore<'_> {
    fn origin(&self) -> u64 {
        self.place.start()
    }

    fn expect(&self, at: u64, room: &mut [u8]) -> io::Result<()> {
        self.stop.check()?;
        self.place.make_ready(at, room, self.touch)
    }

    fn write(&self, at: u64, bytes: &[u8]) -> io::Result<()> {
        self.stop.check()?;
        match &self.edges {
            None => self.place.write(at, bytes),
            Some(edges) => {
                let mut edges = edges.lock().unwrap_or_else(PoisonError::into_inner);
                let inside = edges.keep(at, bytes);
                drop(edges);
                let inside_bytes = bytes.get(inside.clone()).unwrap_or_default();
                self.place.write(at + inside.start as u64, inside_bytes)
            }
        }
    }

    /// Sums are of words of four bytes, and samples are one or two of them, so the parts of a
    /// plane add up in any order (FITS 4.0, appendix J).
    fn filled(&self, at: u64, bytes: &[u8]) -> io::Result<()> {
        self.stop.check()?;
        let mut sums = vectorised(
            #[inline(always)]
            || PlaneSums::of_at(at, bytes),
        );
        if self.datasum {
            sums = sums.with_fits(Sum::of(bytes));
        }
        let mut total = self.sums.lock().unwrap_or_else(PoisonError::into_inner);
        *total = total.plus(sums);
        drop(total);
        match self.behind {
            Some(behind) => {
                let at = self.place.start().saturating_add(at);
                behind.filled(at, bytes.len() as u64)
            }
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges_are_kept_and_blocks_are_not() {
        for (start, length) in [(10, 100), (16, 64), (3, 9), (0, 5), (15, 18), (20, 3)] {
            for piece in [1, 4, 7, 100] {
                let bytes: Vec<u8> = (1..=length as u8).collect();
                let mut edges = Edges::of(&(start..start + length), 16);
                let mut file = vec![0; length as usize];
                for (number, part) in bytes.chunks(piece).enumerate() {
                    let at = number * piece;
                    let inside = edges.keep(at as u64, part);
                    let place = at + inside.start..at + inside.end;
                    file[place].copy_from_slice(&part[inside]);
                }
                let (head, tail) = (edges.head.len(), length as usize - edges.tail.len());
                assert_eq!(edges.head, bytes[..head]);
                assert_eq!(edges.tail, bytes[tail..]);
                assert_eq!(file[head..tail], bytes[head..tail]);
                assert!(
                    file[..head]
                        .iter()
                        .chain(&file[tail..])
                        .all(|&byte| byte == 0)
                );
            }
        }
    }

    #[test]
    fn large_outputs_are_written_behind() {
        let storage = |write_behind| Storage {
            write_behind,
            ..Storage::default()
        };
        for (when, at_limit, above) in [
            (When::Auto, false, true),
            (When::Always, true, true),
            (When::Never, false, false),
        ] {
            assert_eq!(storage(when).writes_behind(25, 100), at_limit, "{when:?}");
            assert_eq!(storage(when).writes_behind(26, 100), above, "{when:?}");
        }
    }
}
