//! One plane's samples as they lie in the file: borrowed big-endian bytes, the codec that gives
//! them their values, and the big-endian slot that an output plane is written to.
//! No files are opened and no transform is run here.

mod codec;
mod error;
mod pen;
mod ready;
mod slot;

pub(crate) use codec::encode;
pub use codec::{Codec, Real};
pub use error::PlaneError;
pub use pen::Pen;
pub use slot::{PlaneMut, Store};

use std::fmt;
use std::io;

/// Samples decoded at once where a row has to pass through a buffer on the stack.
const CHUNK_SAMPLES: usize = 256;

/// Bytes of one row, after a check that `bytes` holds exactly `ny` rows of `nx` samples.
fn row_bytes_of(
    found_bytes: usize,
    nx: usize,
    ny: usize,
    codec: &Codec,
) -> Result<usize, PlaneError> {
    let size = PlaneError::Size { nx, ny };
    let row_bytes = nx
        .checked_mul(codec.sample_bytes())
        .filter(|&b| b > 0)
        .ok_or(size)?;
    let plane_bytes = row_bytes.checked_mul(ny).filter(|&b| b > 0).ok_or(size)?;
    if plane_bytes != found_bytes {
        let bitpix = codec.bitpix.code();
        return Err(PlaneError::Length {
            nx,
            ny,
            bitpix,
            found_bytes,
        });
    }
    Ok(row_bytes)
}

/// What an input plane that is no memory is read from.
pub trait Fetch: Sync + fmt::Debug {
    /// Reads the bytes of the plane from its byte `at` on.
    ///
    /// # Errors
    /// What the system said; [`io::ErrorKind::UnexpectedEof`] where there are no such bytes.
    fn fetch(&self, at: u64, bytes: &mut [u8]) -> io::Result<()>;
}

/// Where the samples of an input plane are.
#[derive(Clone, Copy, Debug)]
enum Place<'a> {
    Memory(&'a [u8]),
    Elsewhere(&'a dyn Fetch),
}

/// An input plane: `ny` rows of `nx` big-endian samples, borrowed from wherever they lie.
/// The bytes need no alignment; making one copies nothing.
#[derive(Clone, Copy, Debug)]
pub struct PlaneRef<'a> {
    place: Place<'a>,
    nx: usize,
    ny: usize,
    row_bytes: usize,
    codec: Codec,
}

impl<'a> PlaneRef<'a> {
    /// A view of `bytes` as `ny` rows of `nx` samples.
    ///
    /// # Errors
    /// [`PlaneError::Length`] if the bytes are not exactly as many, [`PlaneError::Size`] if the
    /// plane is empty or cannot be addressed.
    pub fn new(bytes: &'a [u8], nx: usize, ny: usize, codec: Codec) -> Result<Self, PlaneError> {
        let row_bytes = row_bytes_of(bytes.len(), nx, ny, &codec)?;
        Ok(Self {
            place: Place::Memory(bytes),
            nx,
            ny,
            row_bytes,
            codec,
        })
    }

    /// A plane of `ny` rows of `nx` samples that is read row by row.
    ///
    /// # Errors
    /// [`PlaneError::Size`] as for [`new`](Self::new).
    pub fn fetched(
        from: &'a dyn Fetch,
        (nx, ny): (usize, usize),
        codec: Codec,
    ) -> Result<Self, PlaneError> {
        let bytes = nx.saturating_mul(codec.sample_bytes()).saturating_mul(ny);
        let row_bytes = row_bytes_of(bytes, nx, ny, &codec)?;
        Ok(Self {
            place: Place::Elsewhere(from),
            nx,
            ny,
            row_bytes,
            codec,
        })
    }

    /// Samples in a row (NAXIS1).
    #[must_use]
    pub fn nx(&self) -> usize {
        self.nx
    }

    /// Rows (NAXIS2).
    #[must_use]
    pub fn ny(&self) -> usize {
        self.ny
    }

    /// How samples become values.
    #[must_use]
    pub fn codec(&self) -> &Codec {
        &self.codec
    }

    /// All samples as they are stored, big-endian; none where they are no memory.
    #[must_use]
    pub fn bytes(&self) -> &'a [u8] {
        match self.place {
            Place::Memory(bytes) => bytes,
            Place::Elsewhere(_) => &[],
        }
    }

    /// The stored bytes of row `y`, counted from 0, of a plane that is memory; `None` of another,
    /// and where there is no such row.
    #[must_use]
    pub fn mapped_row(&self, y: usize) -> Option<&'a [u8]> {
        let start = y.checked_mul(self.row_bytes)?;
        self.bytes().get(start..)?.get(..self.row_bytes)
    }

    /// The stored bytes of row `y`, counted from 0. Where they are no memory they are read into
    /// `room`, which is as long as a row or longer.
    ///
    /// # Errors
    /// [`PlaneError::Row`] if there is no such row, [`PlaneError::Read`] if it cannot be read,
    /// [`PlaneError::Length`] if it does not fit into the room.
    pub fn row_bytes<'r>(&self, y: usize, room: &'r mut [u8]) -> Result<&'r [u8], PlaneError>
    where
        'a: 'r,
    {
        let missing = PlaneError::Row {
            row: y,
            ny: self.ny,
        };
        let Place::Elsewhere(from) = self.place else {
            return self.mapped_row(y).ok_or(missing);
        };
        if y >= self.ny {
            return Err(missing);
        }
        let found_bytes = room.len();
        let room = room.get_mut(..self.row_bytes).ok_or(PlaneError::Length {
            nx: self.nx,
            ny: 1,
            bitpix: self.codec.bitpix.code(),
            found_bytes,
        })?;
        // Smaller than the length of the plane, which was counted.
        fetch(from, y * self.row_bytes, room)?;
        Ok(room)
    }

    /// Decodes row `y` into `nx` native values. Blank samples become NaN; NaN and infinities of
    /// floating-point samples go through. `room` is as for [`row_bytes`](Self::row_bytes).
    ///
    /// # Errors
    /// As those of [`row_bytes`](Self::row_bytes); [`PlaneError::RowLength`] if `values` has not
    /// exactly `nx` elements.
    pub fn read_row_in<T: Real>(
        &self,
        y: usize,
        values: &mut [T],
        room: &mut [u8],
    ) -> Result<(), PlaneError> {
        let bytes = self.row_bytes(y, room)?;
        if values.len() != self.nx {
            return Err(PlaneError::RowLength {
                found: values.len(),
                nx: self.nx,
            });
        }
        self.codec.decode(bytes, values);
        Ok(())
    }

    /// The same of a plane that is memory, which needs no room.
    ///
    /// # Errors
    /// As those of [`read_row_in`](Self::read_row_in).
    pub fn read_row<T: Real>(&self, y: usize, values: &mut [T]) -> Result<(), PlaneError> {
        self.read_row_in(y, values, &mut [])
    }

    /// The stored bytes from byte `at` of the plane on, which are in it: copied.
    fn copy_bytes(&self, at: usize, bytes: &mut [u8]) -> Result<(), PlaneError> {
        match self.place {
            Place::Memory(all) => {
                bytes.copy_from_slice(&all[at..at + bytes.len()]);
                Ok(())
            }
            Place::Elsewhere(from) => fetch(from, at, bytes),
        }
    }

    /// Stores this plane's values in `slot`: bit for bit (payloads of NaNs included) where the
    /// samples have the slot's BITPIX and are not scaled, converted otherwise.
    ///
    /// # Errors
    /// [`PlaneError::Shape`] if the slot has other dimensions.
    pub fn copy_exact(&self, slot: &mut PlaneMut<'_>) -> Result<(), PlaneError> {
        let expected = (self.nx, self.ny);
        let found = (slot.nx(), slot.ny());
        if found != expected {
            return Err(PlaneError::Shape { found, expected });
        }
        if self.codec.bitpix == slot.bitpix() && self.codec.is_plain() {
            // The shapes and types are equal, so both sides have the same bytes.
            return slot.fill_pieces(|at, piece| self.copy_bytes(at, piece));
        }
        let (from, to) = (self.codec.sample_bytes(), slot.sample_bytes());
        let bitpix = slot.bitpix();
        let mut values = [0.0_f64; CHUNK_SAMPLES];
        let mut stored = [0; CHUNK_SAMPLES * size_of::<f64>()];
        slot.fill_pieces(|at, piece| {
            let mut first = at / to * from;
            for samples in piece.chunks_mut(CHUNK_SAMPLES * to) {
                let count = samples.len() / to;
                let values = values.get_mut(..count).unwrap_or_default();
                let stored = stored.get_mut(..count * from).unwrap_or_default();
                self.copy_bytes(first, stored)?;
                self.codec.decode(stored, values);
                encode(bitpix, values, samples);
                first += count * from;
            }
            Ok(())
        })
    }
}

fn fetch(from: &dyn Fetch, at: usize, bytes: &mut [u8]) -> Result<(), PlaneError> {
    let at_bytes = at as u64;
    from.fetch(at_bytes, bytes)
        .map_err(|error| PlaneError::Read {
            at_bytes,
            kind: error.kind(),
            os_error: error.raw_os_error(),
        })
}
