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

/// An input plane: `ny` rows of `nx` big-endian samples, borrowed from wherever they lie.
/// The bytes need no alignment; making one copies nothing.
#[derive(Clone, Copy, Debug)]
pub struct PlaneRef<'a> {
    bytes: &'a [u8],
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
            bytes,
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

    /// All samples as they are stored, big-endian.
    #[must_use]
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// The stored bytes of row `y`, counted from 0.
    ///
    /// # Errors
    /// [`PlaneError::Row`] if there is no such row.
    pub fn row_bytes(&self, y: usize) -> Result<&'a [u8], PlaneError> {
        let missing = PlaneError::Row {
            row: y,
            ny: self.ny,
        };
        let start = y.checked_mul(self.row_bytes).ok_or(missing)?;
        self.bytes
            .get(start..)
            .and_then(|rest| rest.get(..self.row_bytes))
            .ok_or(missing)
    }

    /// Decodes row `y` into `nx` native values. Blank samples become NaN; NaN and infinities of
    /// floating-point samples go through.
    ///
    /// # Errors
    /// [`PlaneError::Row`] if there is no such row, [`PlaneError::RowLength`] if `values` has
    /// not exactly `nx` elements.
    pub fn read_row<T: Real>(&self, y: usize, values: &mut [T]) -> Result<(), PlaneError> {
        let bytes = self.row_bytes(y)?;
        if values.len() != self.nx {
            return Err(PlaneError::RowLength {
                found: values.len(),
                nx: self.nx,
            });
        }
        self.codec.decode(bytes, values);
        Ok(())
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
            return slot.fill_pieces(|at, piece| {
                // The shapes and types are equal, so both sides have the same bytes.
                piece.copy_from_slice(&self.bytes[at..at + piece.len()]);
            });
        }
        let (from, to) = (self.codec.sample_bytes(), slot.sample_bytes());
        let bitpix = slot.bitpix();
        let mut values = [0.0_f64; CHUNK_SAMPLES];
        slot.fill_pieces(|at, piece| {
            let stored = &self.bytes[at / to * from..];
            let stored = stored.chunks(CHUNK_SAMPLES * from);
            for (stored, samples) in stored.zip(piece.chunks_mut(CHUNK_SAMPLES * to)) {
                let count = samples.len() / to;
                let values = values.get_mut(..count).unwrap_or_default();
                self.codec.decode(&stored[..count * from], values);
                encode(bitpix, values, samples);
            }
        })
    }
}
