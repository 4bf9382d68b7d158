//! Write-behind: finished pieces of an output go to the disk while the next ones are computed, and
//! their pages, with those of the input that they came from, leave the page cache. So a cube
//! larger than the memory does not push everything else out of it, and freed pages serve the next
//! pieces.

use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use crate::error::{Stage, ThreadError};
use crate::map::{Behind, FileId, MapError, Source};
use crate::output::OutputError;

/// Written and let go at once.
pub(super) const PIECE_BYTES: u64 = 8 << 20;

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
    pub fn new(source: &'a Source, path: &Path, start: u64, sample_bytes: u64) -> Self {
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
    piece_bytes: u64,
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
    /// Pieces let go.
    gone: usize,
    /// No more pieces will come.
    ended: bool,
    /// The first failure; it is handed out once.
    failure: Option<MapError>,
    failed: bool,
}

impl<'a> WriteBehind<'a> {
    /// `data` are the output's samples, of `sample_bytes` bytes each, which are not 0, as are
    /// `piece_bytes`, a multiple of every page.
    pub fn new(
        behind: Behind<'a>,
        origin: Origin<'a>,
        (data, sample_bytes): (Range<u64>, u64),
        piece_bytes: u64,
    ) -> Self {
        let pieces = data.end.div_ceil(piece_bytes) - data.start / piece_bytes;
        Self {
            behind,
            origin,
            data,
            sample_bytes,
            piece_bytes,
            filled: (0..pieces).map(|_| AtomicU64::new(0)).collect(),
            state: Mutex::default(),
            changed: Condvar::new(),
        }
    }

    /// Does `work` with the pieces that it completes being written beside it, and waits for the
    /// last of them.
    ///
    /// # Errors
    /// [`Stage::Threads`], and the first piece that the disk did not take: `part` is the file.
    pub fn beside<R>(&self, part: &Path, work: impl FnOnce() -> R) -> Result<R, Stage> {
        let result = thread::scope(|scope| {
            let thread = thread::Builder::new()
                .name("mmfits-behind".to_owned())
                .spawn_scoped(scope, || self.write_pieces())
                .map_err(|error| ThreadError::of_one(&error))?;
            let result = {
                let _ended = EndWhenDropped(self);
                work()
            };
            // Its panic is a failure already.
            let _ = thread.join();
            Ok::<R, ThreadError>(result)
        })?;
        match self.lock().failure.take() {
            Some(source) => Err(OutputError::Working {
                path: part.to_owned(),
                source,
            }
            .into()),
            None => Ok(result),
        }
    }

    /// These bytes of the output are in place. Waits where the disk is far behind.
    ///
    /// # Errors
    /// A piece was not taken by the disk: the rest need not be made.
    pub fn filled(&self, at: u64, length: u64) -> io::Result<()> {
        let end = at.saturating_add(length);
        let first = self.data.start / self.piece_bytes;
        for number in at / self.piece_bytes..end.div_ceil(self.piece_bytes) {
            let piece = number.checked_sub(first);
            let piece = piece.and_then(|piece| usize::try_from(piece).ok());
            let Some((piece, filled)) = piece.and_then(|p| Some((p, self.filled.get(p)?))) else {
                continue;
            };
            let range = self.range(piece);
            let new = end.min(range.end).saturating_sub(at.max(range.start));
            let before = filled.fetch_add(new, Ordering::AcqRel);
            if new > 0 && before + new == range.end - range.start {
                self.complete(piece)?;
            }
        }
        Ok(())
    }

    fn complete(&self, piece: usize) -> io::Result<()> {
        let mut state = self.lock();
        state.complete.push_back(piece);
        self.changed.notify_all();
        while !state.failed && state.complete.len() + state.in_flight > BACKLOG {
            state = self.wait(state);
        }
        if state.failed {
            return Err(io::Error::other(
                "an earlier part was not written to its disk",
            ));
        }
        Ok(())
    }

    /// The bytes of a piece that are samples.
    fn range(&self, piece: usize) -> Range<u64> {
        let start = (self.data.start / self.piece_bytes + piece as u64) * self.piece_bytes;
        let end = start.saturating_add(self.piece_bytes);
        start.max(self.data.start)..end.min(self.data.end)
    }

    /// The life of the thread.
    fn write_pieces(&self) {
        let _failed = FailWhenPanicking(self);
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
                return self.fail(error);
            }
        }
    }

    /// No lane waits any more, and none goes on.
    fn fail(&self, error: MapError) {
        let mut state = self.lock();
        state.failed = true;
        state.failure.get_or_insert(error);
        self.changed.notify_all();
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
    fn finish(&self, piece: Option<usize>) -> Result<(), MapError> {
        let Some(piece) = piece else { return Ok(()) };
        let range = self.range(piece);
        self.behind.finish(&range)?;
        if let Some(file) = &self.origin.file {
            self.origin.source.let_go(file, &self.input_range(&range));
        }
        let mut state = self.lock();
        state.in_flight -= 1;
        state.gone += 1;
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

/// Lets the lanes end if the thread does not.
struct FailWhenPanicking<'w, 'a>(&'w WriteBehind<'a>);

impl Drop for FailWhenPanicking<'_, '_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.fail(MapError::Lost {
                at_bytes: self.0.data.start,
                source: io::Error::other("the thread that writes panicked"),
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::map::{Io, Slot, Target, Touch};

    /// Small, so that there are more pieces than may be behind.
    const SMALL: u64 = 16 << 10;

    const DATA: Range<u64> = 2880..2880 + 2 * SMALL * BACKLOG as u64 + 1000;

    fn value(at: u64) -> u8 {
        (at % 251) as u8
    }

    /// A slot from byte `start` on is filled in rows that are no divisors of a piece.
    fn fill_slot(slot: Slot<'_>, start: u64, behind: &WriteBehind<'_>) {
        let row_bytes = 4 * 345;
        let bytes: Vec<u8> = (start..start + slot.len_bytes()).map(value).collect();
        let (place, mut memory) = slot.into_parts();
        for (row, bytes) in bytes.chunks(row_bytes).enumerate() {
            let first = row * row_bytes;
            match &mut memory {
                Some(memory) => {
                    let room = &mut memory[first..first + bytes.len()];
                    place.make_ready(first as u64, room, Touch::Zeros).unwrap();
                    room.copy_from_slice(bytes);
                }
                None => place.write(first as u64, bytes).unwrap(),
            }
            behind
                .filled(start + first as u64, bytes.len() as u64)
                .unwrap();
        }
    }

    /// An output with something before and after its data, filled from two threads.
    fn fill(io: Io) {
        let folder = tempfile::tempdir().unwrap();
        let (input, output) = (folder.path().join("in"), folder.path().join("out"));
        let length = DATA.end - DATA.start;
        std::fs::write(&input, vec![1; 100 + length as usize / 4]).unwrap();
        let source = Source::open(&input).unwrap();
        let mut target = Target::create(&output, DATA.end + 1000, io).unwrap();
        // Both halves share a page.
        let middle = DATA.start + length / 8 * 4;
        let ranges = [DATA.start..middle, middle..DATA.end];
        let (slots, behind) = target.slots(ranges).unwrap();
        let origin = Origin::new(&source, &input, 100, 1);
        assert!(origin.file.is_some());
        let behind = WriteBehind::new(behind, origin, (DATA, 4), SMALL);
        let work = || {
            thread::scope(|scope| {
                let behind = &behind;
                for (start, slot) in [DATA.start, middle].into_iter().zip(slots) {
                    scope.spawn(move || fill_slot(slot, start, behind));
                }
            });
        };
        behind.beside(&output, work).unwrap();
        let state = behind.lock();
        assert_eq!((state.complete.len(), state.in_flight), (0, 0));
        assert_eq!(state.gone, behind.filled.len());
        assert!(state.gone > BACKLOG);
        drop(state);
        let found = std::fs::read(&output).unwrap();
        let (start, end) = (DATA.start as usize, DATA.end as usize);
        assert!(found[..start].iter().all(|&byte| byte == 0));
        assert!(DATA.map(value).eq(found[start..end].iter().copied()));
        assert!(found[end..].iter().all(|&byte| byte == 0));
        assert!(source.bytes().iter().all(|&byte| byte == 1));
    }

    #[test]
    fn every_piece_is_written_and_let_go_and_no_byte_changes() {
        fill(Io::Map);
        fill(Io::Write);
    }

    /// A small output with write-behind, for tests of its parts.
    fn with_small(test: impl FnOnce(&WriteBehind<'_>, &Path)) {
        let folder = tempfile::tempdir().unwrap();
        let (input, output) = (folder.path().join("in"), folder.path().join("out"));
        std::fs::write(&input, [0; 10]).unwrap();
        let source = Source::open(&input).unwrap();
        let mut target = Target::create(&output, 4000, Io::Auto).unwrap();
        let (_, behind) = target.slots([]).unwrap();
        let origin = Origin::new(&source, &input, 5760, 2);
        let behind = WriteBehind::new(behind, origin, (2880..3280, 4), PIECE_BYTES);
        test(&behind, &output);
    }

    #[test]
    fn pieces_of_the_output_are_made_from_those_of_the_input() {
        with_small(|behind, _| {
            assert_eq!(behind.input_range(&(2880..3280)), 5760..5960);
            assert_eq!(behind.input_range(&(2884..2888)), 5762..5764);
        });
    }

    #[test]
    fn after_a_failure_nothing_more_is_made_and_the_failure_is_told() {
        with_small(|behind, output| {
            let stage = behind.beside(output, || {
                behind.filled(2880, 100).unwrap();
                behind.fail(MapError::Lost {
                    at_bytes: 2880,
                    source: io::Error::from_raw_os_error(libc::EIO),
                });
                behind.filled(2980, 300).unwrap_err()
            });
            let Err(Stage::Output(OutputError::Working { path, source })) = stage else {
                unreachable!("{stage:?}");
            };
            assert_eq!(path, output);
            assert!(matches!(source, MapError::Lost { at_bytes: 2880, .. }));
        });
    }

    #[test]
    fn a_panic_of_the_thread_is_a_failure() {
        with_small(|behind, _| {
            let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                let _failed = FailWhenPanicking(behind);
                std::panic::resume_unwind(Box::new("for a test"));
            }));
            assert!(panicked.is_err());
            assert!(behind.filled(2880, 400).is_err());
        });
    }
}
