//! Where an output plane goes: rows of big-endian samples, in memory or written by position.

use std::fmt;
use std::io;
use std::ops::Range;

use fits_layout::Bitpix;

use super::codec::{Real, encode, fill_blank};
use super::pen::{PIECE_BYTES, Pen};
use super::ready::{Ready, piece_end};
use super::{Codec, PlaneError, row_bytes_of};

/// What stands behind an output plane that is more than plain memory: a map that is told which
/// rows come next, or a file that is written by position. Bytes are counted from the plane's
/// first. Threads call it at the same time, for disjoint bytes.
pub trait Store: Sync + fmt::Debug {
    /// Where the plane's first byte lies in its file, so that pieces of the file are touched
    /// whole: a multiple of 8, as all data of FITS files begin at one of 2880 (FITS 4.0, 3.1).
    fn origin(&self) -> u64;

    /// Bytes of a plane that is memory are about to be filled: `room`, at byte `at` of the plane.
    ///
    /// # Errors
    /// What the system said: the memory cannot be had, or the disk behind it.
    fn expect(&self, at: u64, room: &mut [u8]) -> io::Result<()>;

    /// Writes bytes of a plane that is not memory.
    ///
    /// # Errors
    /// What the system said.
    fn write(&self, at: u64, bytes: &[u8]) -> io::Result<()>;

    /// These bytes are in place, and not touched again.
    ///
    /// # Errors
    /// What the system said of these bytes or of earlier ones: no more need be made.
    fn filled(&self, at: u64, bytes: &[u8]) -> io::Result<()>;
}

/// An output plane, or a band of its rows: `ny` rows of `nx` big-endian floating-point samples,
/// to be filled in any order.
#[derive(Debug)]
pub struct PlaneMut<'a> {
    place: Place<'a>,
    /// Of the first row, in the whole plane.
    start: u64,
    ready: Ready,
    nx: usize,
    ny: usize,
    row_bytes: usize,
    bitpix: Bitpix,
}

#[derive(Debug)]
enum Place<'a> {
    Memory(&'a mut [u8], Option<&'a dyn Store>),
    Elsewhere(&'a dyn Store),
}

impl<'a> PlaneMut<'a> {
    /// A view of `bytes` as `ny` rows of `nx` samples of `bitpix`, which is F32 or F64.
    ///
    /// # Errors
    /// [`PlaneError::NotFloat`] for an integer BITPIX, [`PlaneError::Length`] if the bytes are
    /// not exactly as many, [`PlaneError::Size`] if the plane is empty or cannot be addressed.
    pub fn new(
        bytes: &'a mut [u8],
        nx: usize,
        ny: usize,
        bitpix: Bitpix,
    ) -> Result<Self, PlaneError> {
        let found_bytes = bytes.len();
        Self::at_place(Place::Memory(bytes, None), found_bytes, (nx, ny), bitpix)
    }

    /// As [`new`](Self::new), with a store that hears which rows are begun and ended.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn mapped(
        bytes: &'a mut [u8],
        store: &'a dyn Store,
        (nx, ny): (usize, usize),
        bitpix: Bitpix,
    ) -> Result<Self, PlaneError> {
        let found_bytes = bytes.len();
        let place = Place::Memory(bytes, Some(store));
        Self::at_place(place, found_bytes, (nx, ny), bitpix)
    }

    /// A plane of `len_bytes` bytes that is not memory: its rows are given to `store`.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn written(
        store: &'a dyn Store,
        len_bytes: usize,
        (nx, ny): (usize, usize),
        bitpix: Bitpix,
    ) -> Result<Self, PlaneError> {
        Self::at_place(Place::Elsewhere(store), len_bytes, (nx, ny), bitpix)
    }

    fn at_place(
        place: Place<'a>,
        found_bytes: usize,
        (nx, ny): (usize, usize),
        bitpix: Bitpix,
    ) -> Result<Self, PlaneError> {
        if !bitpix.is_float() {
            return Err(PlaneError::NotFloat {
                bitpix: bitpix.code(),
            });
        }
        let row_bytes = row_bytes_of(found_bytes, nx, ny, &Codec::plain(bitpix))?;
        Ok(Self {
            place,
            start: 0,
            ready: Ready::default(),
            nx,
            ny,
            row_bytes,
            bitpix,
        })
    }

    /// Samples in a row.
    #[must_use]
    pub fn nx(&self) -> usize {
        self.nx
    }

    /// Rows.
    #[must_use]
    pub fn ny(&self) -> usize {
        self.ny
    }

    /// The type of the samples, F32 or F64.
    #[must_use]
    pub fn bitpix(&self) -> Bitpix {
        self.bitpix
    }

    /// Encodes `nx` values as row `y`, counted from 0. Whoever has many rows is better served by
    /// [`row_room`](Self::row_room), which gathers them where that pays.
    ///
    /// # Errors
    /// [`PlaneError::Row`] if there is no such row, [`PlaneError::RowLength`] if `values` has
    /// not exactly `nx` elements, [`PlaneError::Store`] if the row could not be stored.
    pub fn write_row<T: Real>(&mut self, y: usize, values: &[T]) -> Result<(), PlaneError> {
        if values.len() != self.nx {
            return Err(PlaneError::RowLength {
                found: values.len(),
                nx: self.nx,
            });
        }
        let (at, bitpix, size) = (self.row_start(y)?, self.bitpix, self.sample_bytes());
        self.fill_bytes(at..at + self.row_bytes, |piece_at, piece| {
            let first = (piece_at - at) / size;
            encode(bitpix, &values[first..first + piece.len() / size], piece);
            Ok(())
        })
    }

    /// Makes every sample NaN.
    ///
    /// # Errors
    /// [`PlaneError::Store`] if it could not be stored.
    pub fn fill_blank(&mut self) -> Result<(), PlaneError> {
        let bitpix = self.bitpix;
        self.fill_pieces(|_, piece| {
            fill_blank(bitpix, piece);
            Ok(())
        })
    }

    /// Cuts the plane into bands of `rows` rows (the last may have fewer), first row first, each
    /// with the number of its first row. They are disjoint, so threads can fill them at once.
    /// Zero rows count as one.
    pub fn bands(
        &mut self,
        rows: usize,
    ) -> impl ExactSizeIterator<Item = (usize, PlaneMut<'_>)> + Send {
        let rows = rows.clamp(1, self.ny);
        let bands = self.ny.div_ceil(rows);
        let mut rest = self.reborrow();
        (0..bands).map(move |band| (band * rows, rest.split_rows(rows)))
    }

    /// Says that these rows are about to be filled, and were not before.
    ///
    /// # Errors
    /// [`PlaneError::Row`] if there are no such rows, [`PlaneError::Store`] if there is no room
    /// for them.
    pub fn begin_rows(&mut self, rows: Range<usize>) -> Result<(), PlaneError> {
        let range = self.rows_range(rows)?;
        let (length, phase) = (self.row_bytes * self.ny, self.phase());
        let range = self.ready.begin(&range, length, phase);
        self.expect(range)
    }

    /// Room for the bytes of row `y`, counted from 0, to be filled with `nx` big-endian samples:
    /// the slot's own, or the pen's, which gathers neighbouring rows until
    /// [`end_rows`](Self::end_rows).
    ///
    /// # Errors
    /// [`PlaneError::Row`] if there is no such row, [`PlaneError::Store`] if the rows before it
    /// could not be stored, [`PlaneError::Length`] if the pen was made for shorter rows.
    pub fn row_room<'r>(
        &'r mut self,
        y: usize,
        pen: &'r mut Pen,
    ) -> Result<&'r mut [u8], PlaneError> {
        let (first, length) = (self.row_start(y)?, self.row_bytes);
        let at = self.start + first as u64;
        if let Place::Elsewhere(store) = self.place {
            lift(store, pen, !pen.is_followed_by(at))?;
        }
        let room = match &mut self.place {
            Place::Memory(bytes, _) => bytes.get_mut(first..first + length),
            Place::Elsewhere(_) => pen.room(at, length),
        };
        room.ok_or(PlaneError::Length {
            nx: self.nx,
            ny: 1,
            bitpix: self.bitpix.code(),
            found_bytes: 0,
        })
    }

    /// Says that these rows are complete. The last of them may stay in the pen until the last row
    /// of this plane, or of this band, is complete.
    ///
    /// # Errors
    /// [`PlaneError::Row`] if there are no such rows, [`PlaneError::Store`] if they could not be
    /// stored.
    pub fn end_rows(&mut self, rows: Range<usize>, pen: &mut Pen) -> Result<(), PlaneError> {
        let range = self.rows_range(rows)?;
        match &self.place {
            Place::Memory(bytes, Some(store)) => {
                let at = self.start + range.start as u64;
                let bytes = bytes.get(range).unwrap_or_default();
                store.filled(at, bytes).map_err(|error| refused(at, &error))
            }
            Place::Memory(_, None) => Ok(()),
            Place::Elsewhere(store) => lift(*store, pen, range.end == self.row_bytes * self.ny),
        }
    }

    /// Stores samples that are big-endian and of this slot's kind already, all of them.
    ///
    /// # Errors
    /// [`PlaneError::Length`] if they are not as many, [`PlaneError::Store`].
    pub fn fill_from(&mut self, samples: &[u8]) -> Result<(), PlaneError> {
        let (nx, ny, bitpix) = (self.nx, self.ny, self.bitpix.code());
        let refused = PlaneError::Length {
            nx,
            ny,
            bitpix,
            found_bytes: samples.len(),
        };
        if samples.len() != self.row_bytes * ny {
            return Err(refused);
        }
        self.fill_pieces(|at, piece| {
            let samples = samples.get(at..).and_then(|rest| rest.get(..piece.len()));
            piece.copy_from_slice(samples.ok_or(refused)?);
            Ok(())
        })
    }

    /// Fills all bytes from first to last, in pieces of whole samples: `fill` gets each piece
    /// with the place of its first byte.
    pub(super) fn fill_pieces(
        &mut self,
        fill: impl FnMut(usize, &mut [u8]) -> Result<(), PlaneError>,
    ) -> Result<(), PlaneError> {
        self.fill_bytes(0..self.row_bytes * self.ny, fill)
    }

    fn fill_bytes(
        &mut self,
        range: Range<usize>,
        mut fill: impl FnMut(usize, &mut [u8]) -> Result<(), PlaneError>,
    ) -> Result<(), PlaneError> {
        let (mut at, phase) = (range.start, self.phase());
        while at < range.end {
            let piece = at..piece_end(at + 1, phase).min(range.end);
            let ready = self.ready.begin(&piece, self.row_bytes * self.ny, phase);
            self.expect(ready)?;
            let place = self.start + at as u64;
            let next = piece.end;
            match &mut self.place {
                Place::Memory(bytes, store) => {
                    let bytes = bytes.get_mut(piece).unwrap_or_default();
                    fill(at, bytes)?;
                    if let Some(store) = store {
                        let filled = store.filled(place, bytes);
                        filled.map_err(|error| refused(place, &error))?;
                    }
                }
                Place::Elsewhere(store) => {
                    let mut room = [0; PIECE_BYTES];
                    let room = &mut room[..piece.len()];
                    fill(at, room)?;
                    put(*store, place, room)?;
                }
            }
            at = next;
        }
        Ok(())
    }

    /// The place of the first byte within its piece of the file.
    fn phase(&self) -> usize {
        let origin = match &self.place {
            Place::Memory(_, None) => 0,
            Place::Memory(_, Some(store)) | Place::Elsewhere(store) => store.origin(),
        };
        (origin.wrapping_add(self.start) % PIECE_BYTES as u64) as usize
    }

    fn expect(&mut self, range: Range<usize>) -> Result<(), PlaneError> {
        let at = self.start + range.start as u64;
        let Place::Memory(bytes, Some(store)) = &mut self.place else {
            return Ok(());
        };
        let room = bytes.get_mut(range).unwrap_or_default();
        if room.is_empty() {
            return Ok(());
        }
        store.expect(at, room).map_err(|error| refused(at, &error))
    }

    fn reborrow(&mut self) -> PlaneMut<'_> {
        let place = match &mut self.place {
            Place::Memory(bytes, store) => Place::Memory(bytes, *store),
            Place::Elsewhere(store) => Place::Elsewhere(*store),
        };
        PlaneMut {
            place,
            ready: self.ready.of_parts(),
            ..*self
        }
    }

    /// Takes the first `rows` rows, or what is left, off the plane.
    fn split_rows(&mut self, rows: usize) -> Self {
        let rows = rows.min(self.ny);
        let length = rows * self.row_bytes;
        let place = match &mut self.place {
            Place::Memory(bytes, store) => {
                let (first, rest) = std::mem::take(bytes).split_at_mut(length);
                *bytes = rest;
                Place::Memory(first, *store)
            }
            Place::Elsewhere(store) => Place::Elsewhere(*store),
        };
        let band = Self {
            place,
            ready: self.ready.of_parts(),
            ny: rows,
            ..*self
        };
        self.start += length as u64;
        self.ny -= rows;
        band
    }

    fn row_start(&self, y: usize) -> Result<usize, PlaneError> {
        if y < self.ny {
            // Smaller than the length of the plane, which was counted.
            Ok(y * self.row_bytes)
        } else {
            Err(PlaneError::Row {
                row: y,
                ny: self.ny,
            })
        }
    }

    fn rows_range(&self, rows: Range<usize>) -> Result<Range<usize>, PlaneError> {
        if rows.start > rows.end || rows.end > self.ny {
            return Err(PlaneError::Row {
                row: rows.end,
                ny: self.ny,
            });
        }
        Ok(rows.start * self.row_bytes..rows.end * self.row_bytes)
    }

    pub(super) fn sample_bytes(&self) -> usize {
        self.row_bytes / self.nx
    }
}

/// Stores what the pen has gathered: all of it, or as far as it fills pieces of the file.
fn lift(store: &dyn Store, pen: &mut Pen, all: bool) -> Result<(), PlaneError> {
    pen.lift(all, store.origin(), |at, bytes| put(store, at, bytes))
}

fn put(store: &dyn Store, at: u64, bytes: &[u8]) -> Result<(), PlaneError> {
    let stored = store.write(at, bytes);
    let filled = stored.and_then(|()| store.filled(at, bytes));
    filled.map_err(|error| refused(at, &error))
}

fn refused(at_bytes: u64, error: &io::Error) -> PlaneError {
    PlaneError::Store {
        at_bytes,
        kind: error.kind(),
        os_error: error.raw_os_error(),
    }
}
