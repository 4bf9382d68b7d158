//! Write-behind: finished pieces of an output go to the disk while the next ones are computed, and
//! their pages, with those of the input that they came from, leave the page cache. So a cube
//! larger than the memory does not push everything else out of it, and freed pages serve the next
//! pieces.

use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use crate::map::{Behind, FileId, Source};

/// Written and let go at once.
const PIECE_BYTES: u64 = 8 << 20;

/// Pieces that the disk is given before the oldest of them is waited for.
const IN_FLIGHT: usize = 8;

/// Pieces that may be complete and not yet let go; then lanes wait for the disk.
const BACKLOG: usize = 64;

/// The input that an output's samples are made from, one for one.
#[derive(Debug)]
pub(super) struct Origin<'a> {
    pub source: &'a Source,
    /// The same file, opened once more; `None` where that failed, and its pages stay.
    pub file: Option<File>,
    /// First byte of its samples.
    pub start: u64,
    /// Bytes of a sample.
    pub sample_bytes: u64,
}

impl<'a> Origin<'a> {
    pub fn new(source: &'a Source, path: &std::path::Path, start: u64, sample_bytes: u64) -> Self {
        let same = |file: &File| {
            file.metadata()
                .is_ok_and(|metadata| FileId::of(&metadata) == source.id())
        };
        Self {
            source,
            file: File::open(path).ok().filter(same),
            start,
            sample_bytes,
        }
    }
}

/// The work behind the lanes of one output.
#[derive(Debug)]
pub(super) struct WriteBehind<'a> {
    behind: Behind<'a>,
    origin: Origin<'a>,
    /// The output's samples, and the bytes of one.
    data: Range<u64>,
    sample_bytes: u64,
    /// Bytes in place of each piece. Pieces lie on a grid of the whole file.
    filled: Vec<AtomicU64>,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// Pieces that are complete and not yet begun.
    complete: VecDeque<usize>,
    /// Pieces begun and not yet let go.
    in_flight: usize,
    /// No more pieces will come.
    ended: bool,
    failure: Option<io::Error>,
}

impl<'a> WriteBehind<'a> {
    /// `data` are the output's samples, of `sample_bytes` bytes each.
    pub fn new(
        behind: Behind<'a>,
        origin: Origin<'a>,
        data: Range<u64>,
        sample_bytes: u64,
    ) -> Self {
        let pieces = data.end.div_ceil(PIECE_BYTES) - data.start / PIECE_BYTES;
        Self {
            behind,
            origin,
            data,
            sample_bytes,
            filled: (0..pieces).map(|_| AtomicU64::new(0)).collect(),
            state: Mutex::default(),
            changed: Condvar::new(),
        }
    }

    /// Does `work` with the pieces that it completes being written beside it, and waits for the
    /// last of them.
    ///
    /// # Errors
    /// A piece that the disk did not take.
    pub fn beside<R>(&self, work: impl FnOnce() -> R) -> io::Result<R> {
        let result = thread::scope(|scope| {
            let _ended = EndWhenDropped(self);
            thread::Builder::new()
                .name("mmfits-behind".to_owned())
                .spawn_scoped(scope, || self.write_pieces())?;
            Ok::<R, io::Error>(work())
        })?;
        match self.lock().failure.take() {
            Some(error) => Err(error),
            None => Ok(result),
        }
    }

    /// These bytes of the output are in place. Waits where the disk is far behind.
    pub fn filled(&self, at: u64, length: u64) {
        let end = at.saturating_add(length);
        let first = self.data.start / PIECE_BYTES;
        for number in at / PIECE_BYTES..end.div_ceil(PIECE_BYTES) {
            let piece = (number - first.min(number)) as usize;
            let Some(filled) = self.filled.get(piece) else {
                continue;
            };
            let range = self.range(piece);
            let new = end.min(range.end).saturating_sub(at.max(range.start));
            let before = filled.fetch_add(new, Ordering::Relaxed);
            if new > 0 && before + new == range.end - range.start {
                self.complete(piece);
            }
        }
    }

    fn complete(&self, piece: usize) {
        let mut state = self.lock();
        state.complete.push_back(piece);
        self.changed.notify_all();
        while state.failure.is_none() && state.complete.len() + state.in_flight > BACKLOG {
            state = self.wait(state);
        }
    }

    /// The bytes of a piece that are samples.
    fn range(&self, piece: usize) -> Range<u64> {
        let start = (self.data.start / PIECE_BYTES + piece as u64) * PIECE_BYTES;
        let end = start.saturating_add(PIECE_BYTES);
        start.max(self.data.start)..end.min(self.data.end)
    }

    /// The life of the thread.
    fn write_pieces(&self) {
        let mut in_flight = VecDeque::new();
        loop {
            let (next, ended) = self.next(in_flight.is_empty());
            let result = match next {
                Some(piece) => {
                    in_flight.push_back(piece);
                    let begun = self.behind.begin(&self.range(piece));
                    if in_flight.len() > IN_FLIGHT {
                        begun.and_then(|()| self.finish(in_flight.pop_front()))
                    } else {
                        begun
                    }
                }
                None if ended && in_flight.is_empty() => return,
                None => self.finish(in_flight.pop_front()),
            };
            if let Err(error) = result {
                let mut state = self.lock();
                state.failure.get_or_insert(error);
                self.changed.notify_all();
                return;
            }
        }
    }

    /// The next complete piece, if there is one, and whether no more will come. Waits for either
    /// if there is nothing else to do.
    fn next(&self, idle: bool) -> (Option<usize>, bool) {
        let mut state = self.lock();
        while idle && state.complete.is_empty() && !state.ended {
            state = self.wait(state);
        }
        let next = state.complete.pop_front();
        state.in_flight += usize::from(next.is_some());
        (next, state.ended)
    }

    /// Waits until a piece is on the disk, and lets it go with what it was made from.
    fn finish(&self, piece: Option<usize>) -> io::Result<()> {
        let Some(piece) = piece else { return Ok(()) };
        let range = self.range(piece);
        self.behind.finish(&range)?;
        if let Some(file) = &self.origin.file {
            self.origin.source.let_go(file, &self.input_range(&range));
        }
        self.lock().in_flight -= 1;
        self.changed.notify_all();
        Ok(())
    }

    /// The bytes of the input that these of the output were made from.
    fn input_range(&self, range: &Range<u64>) -> Range<u64> {
        let place = |at: u64| {
            let samples = (at - self.data.start) / self.sample_bytes;
            self.origin.start + samples * self.origin.sample_bytes
        };
        place(range.start)..place(range.end)
    }

    fn wait<'g>(&self, state: MutexGuard<'g, State>) -> MutexGuard<'g, State> {
        self.changed
            .wait(state)
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Lets the thread end however the work ends.
struct EndWhenDropped<'w, 'a>(&'w WriteBehind<'a>);

impl Drop for EndWhenDropped<'_, '_> {
    fn drop(&mut self) {
        self.0.lock().ended = true;
        self.0.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::map::{Io, Target, write_within};

    /// An output of one piece and a half with a header before and something after its data,
    /// filled from two threads in rows of an odd length.
    fn fill(io: Io) {
        let folder = tempfile::tempdir().unwrap();
        let (input, output) = (folder.path().join("in"), folder.path().join("out"));
        let data = 2880..2880 + 3 * PIECE_BYTES / 2;
        let length = data.end - data.start;
        let value = |at: u64| (at % 251) as u8;
        std::fs::write(&input, vec![1; 100 + length as usize / 4]).unwrap();
        let source = Source::open(&input).unwrap();
        let mut target = Target::create(&output, data.end + 1000, io).unwrap();
        let middle = data.start + length / 2;
        let ranges = [data.start..middle, middle..data.end];
        let (slots, behind) = target.slots(ranges).unwrap();
        let origin = Origin::new(&source, &input, 100, 1);
        assert!(origin.file.is_some());
        let behind = WriteBehind::new(behind, origin, data.clone(), 4);
        let row_bytes = 4 * 12_345;
        behind
            .beside(|| {
                thread::scope(|scope| {
                    for (start, slot) in [data.start, middle].into_iter().zip(slots) {
                        let behind = &behind;
                        scope.spawn(move || {
                            let bytes: Vec<u8> =
                                (start..start + slot.len_bytes()).map(value).collect();
                            let mut slot = slot;
                            for (row, bytes) in bytes.chunks(row_bytes).enumerate() {
                                let at = (row * row_bytes) as u64;
                                let end = at as usize + bytes.len();
                                match &mut slot.memory {
                                    Some(place) => {
                                        place[at as usize..end].copy_from_slice(bytes);
                                    }
                                    None => {
                                        write_within(slot.file, &slot.range, at, bytes).unwrap();
                                    }
                                }
                                behind.filled(start + at, bytes.len() as u64);
                            }
                        });
                    }
                });
            })
            .unwrap();
        let state = behind.lock();
        assert_eq!((state.complete.len(), state.in_flight), (0, 0));
        for (piece, filled) in behind.filled.iter().enumerate() {
            let range = behind.range(piece);
            assert_eq!(filled.load(Ordering::Relaxed), range.end - range.start);
        }
        drop(state);
        let found = std::fs::read(&output).unwrap();
        assert!(found[..2880].iter().all(|&byte| byte == 0));
        let (data_start, data_end) = (data.start as usize, data.end as usize);
        assert!(
            (data.start..data.end)
                .map(value)
                .eq(found[data_start..data_end].iter().copied())
        );
        assert!(source.bytes().iter().all(|&byte| byte == 1));
    }

    #[test]
    fn every_piece_is_written_and_let_go_and_no_byte_changes() {
        fill(Io::Map);
        fill(Io::Write);
    }

    #[test]
    fn pieces_of_the_output_are_made_from_those_of_the_input() {
        let folder = tempfile::tempdir().unwrap();
        let (input, output) = (folder.path().join("in"), folder.path().join("out"));
        std::fs::write(&input, [0; 10]).unwrap();
        let source = Source::open(&input).unwrap();
        let mut target = Target::create(&output, 10, Io::Auto).unwrap();
        let (_, behind) = target.slots([]).unwrap();
        let origin = Origin::new(&source, &input, 5760, 2);
        let behind = WriteBehind::new(behind, origin, 2880..2880 + 400, 4);
        assert_eq!(behind.input_range(&(2880..3280)), 5760..5960);
        assert_eq!(behind.input_range(&(2884..2888)), 5762..5764);
    }
}
