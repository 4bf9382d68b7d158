//! One plane's samples as they lie in the file: borrowed big-endian bytes, the codec that gives
//! them their values, and the big-endian slot that an output plane is written to.
//! No files are opened and no transform is run here.

mod codec;
mod error;

use fits_layout::Bitpix;

pub use codec::{Codec, Real};
pub use error::PlaneError;

use codec::{encode, fill_blank};

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
        let found = (slot.nx, slot.ny);
        if found != expected {
            return Err(PlaneError::Shape { found, expected });
        }
        if self.codec.bitpix == slot.bitpix && self.codec.is_plain() {
            slot.bytes.copy_from_slice(self.bytes);
            return Ok(());
        }
        let mut values = [0.0_f64; CHUNK_SAMPLES];
        let from = self.bytes.chunks(CHUNK_SAMPLES * self.codec.sample_bytes());
        let to = slot.bytes.chunks_mut(CHUNK_SAMPLES * slot.sample_bytes());
        for (stored, sample) in from.zip(to) {
            let count = stored.len() / self.codec.sample_bytes();
            let values = values.get_mut(..count).unwrap_or_default();
            self.codec.decode(stored, values);
            encode(slot.bitpix, values, sample);
        }
        Ok(())
    }
}

/// An output plane, or a band of its rows: `ny` rows of `nx` big-endian floating-point samples,
/// to be filled in place.
#[derive(Debug)]
pub struct PlaneMut<'a> {
    bytes: &'a mut [u8],
    nx: usize,
    ny: usize,
    row_bytes: usize,
    bitpix: Bitpix,
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
        if !bitpix.is_float() {
            return Err(PlaneError::NotFloat {
                bitpix: bitpix.code(),
            });
        }
        let row_bytes = row_bytes_of(bytes.len(), nx, ny, &Codec::plain(bitpix))?;
        Ok(Self {
            bytes,
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

    /// All samples as they are stored, big-endian.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        self.bytes
    }

    /// Encodes `nx` values as row `y`, counted from 0.
    ///
    /// # Errors
    /// [`PlaneError::Row`] if there is no such row, [`PlaneError::RowLength`] if `values` has
    /// not exactly `nx` elements.
    pub fn write_row<T: Real>(&mut self, y: usize, values: &[T]) -> Result<(), PlaneError> {
        if values.len() != self.nx {
            return Err(PlaneError::RowLength {
                found: values.len(),
                nx: self.nx,
            });
        }
        let bitpix = self.bitpix;
        encode(bitpix, values, self.row_bytes_mut(y)?);
        Ok(())
    }

    /// Makes every sample NaN.
    pub fn fill_blank(&mut self) {
        fill_blank(self.bitpix, self.bytes);
    }

    /// Makes every sample of row `y` NaN.
    ///
    /// # Errors
    /// [`PlaneError::Row`] if there is no such row.
    pub fn fill_row_blank(&mut self, y: usize) -> Result<(), PlaneError> {
        let bitpix = self.bitpix;
        fill_blank(bitpix, self.row_bytes_mut(y)?);
        Ok(())
    }

    /// Cuts the plane into bands of `rows` rows (the last may have fewer), first row first, each
    /// with the number of its first row. They are disjoint, so threads can fill them at once.
    /// Zero rows count as one.
    pub fn bands(
        &mut self,
        rows: usize,
    ) -> impl ExactSizeIterator<Item = (usize, PlaneMut<'_>)> + Send {
        let rows = rows.clamp(1, self.ny);
        let (nx, row_bytes, bitpix) = (self.nx, self.row_bytes, self.bitpix);
        self.bytes
            .chunks_mut(rows * row_bytes)
            .enumerate()
            .map(move |(band, bytes)| {
                let ny = bytes.len() / row_bytes;
                (
                    band * rows,
                    PlaneMut {
                        bytes,
                        nx,
                        ny,
                        row_bytes,
                        bitpix,
                    },
                )
            })
    }

    /// The bytes of row `y`, counted from 0, to be filled with `nx` big-endian samples.
    ///
    /// # Errors
    /// [`PlaneError::Row`] if there is no such row.
    pub fn row_bytes_mut(&mut self, y: usize) -> Result<&mut [u8], PlaneError> {
        let missing = PlaneError::Row {
            row: y,
            ny: self.ny,
        };
        let (start, length) = (
            y.checked_mul(self.row_bytes).ok_or(missing)?,
            self.row_bytes,
        );
        self.bytes
            .get_mut(start..)
            .and_then(|rest| rest.get_mut(..length))
            .ok_or(missing)
    }

    fn sample_bytes(&self) -> usize {
        self.row_bytes / self.nx
    }
}
