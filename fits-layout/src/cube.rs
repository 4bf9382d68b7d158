//! The planes of an image as byte ranges. Samples are not decoded here.

use crate::bitpix::Bitpix;
use crate::block::padded_bytes;
use crate::error::LayoutError;
use crate::hdu::{Hdu, HduKind, product};
use std::ops::Range;

/// All planes of one image HDU: plane `k` is `ny` rows of `nx` big-endian samples, NAXIS1 fastest
/// (FITS 4.0, 3.3.2). Planes are counted over all axes from the third on, NAXIS3 fastest.
///
/// ```
/// use fits_layout::{Bitpix, Cube};
///
/// let cube = Cube::new(Bitpix::F32, &[100, 80, 7, 4], 5760)?;
/// assert_eq!((cube.nx(), cube.ny(), cube.planes()), (100, 80, 28));
/// assert_eq!(cube.plane_bytes(), 32_000);
/// assert_eq!(cube.plane_range(27), Some(869_760..901_760));
/// assert_eq!(cube.plane_range(28), None);
/// # Ok::<(), fits_layout::LayoutError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cube {
    bitpix: Bitpix,
    axes: Vec<u64>,
    nx: u64,
    ny: u64,
    planes: u64,
    plane_bytes: u64,
    data_range: Range<u64>,
    span_bytes: u64,
}

impl Cube {
    /// The cube of an image HDU.
    ///
    /// # Errors
    /// [`LayoutError::NotAnImage`] for another kind of HDU, fewer than two axes or no pixels.
    pub fn of(hdu: &Hdu) -> Result<Self, LayoutError> {
        let offset = hdu.header_range().start;
        if !matches!(hdu.kind(), HduKind::Primary | HduKind::Image) {
            return Err(LayoutError::NotAnImage {
                offset,
                found: hdu.kind().to_string(),
            });
        }
        if (hdu.pcount(), hdu.gcount()) != (0, 1) {
            let found = format!("{} groups with {} parameters", hdu.gcount(), hdu.pcount());
            return Err(LayoutError::NotAnImage { offset, found });
        }
        Self::sized(hdu.bitpix(), hdu.axes(), hdu.data_range().start, offset)
    }

    /// A cube of `axes` (NAXIS1 first) whose data begin at byte `data_offset` of a file.
    ///
    /// # Errors
    /// [`LayoutError::NotAnImage`] for fewer than two axes or an axis of length 0,
    /// [`LayoutError::Overflow`] if its end is beyond 64 bits.
    pub fn new(bitpix: Bitpix, axes: &[u64], data_offset: u64) -> Result<Self, LayoutError> {
        Self::sized(bitpix, axes, data_offset, 0)
    }

    /// The same; `offset` is the header's, for errors.
    fn sized(
        bitpix: Bitpix,
        axes: &[u64],
        data_offset: u64,
        offset: u64,
    ) -> Result<Self, LayoutError> {
        let overflow = || LayoutError::Overflow {
            offset,
            what: "the size of the data",
        };
        let &[nx, ny, ref outer @ ..] = axes else {
            let found = format!("an image of {} axes", axes.len());
            return Err(LayoutError::NotAnImage { offset, found });
        };
        if let Some(empty) = axes.iter().position(|&length| length == 0) {
            let found = format!("without pixels (NAXIS{} is 0)", empty.saturating_add(1));
            return Err(LayoutError::NotAnImage { offset, found });
        }
        let planes = product(outer).ok_or_else(overflow)?;
        let plane_bytes = product(&[nx, ny, bitpix.size_bytes()]).ok_or_else(overflow)?;
        let data_bytes = plane_bytes.checked_mul(planes).ok_or_else(overflow)?;
        let span_bytes = padded_bytes(data_bytes).ok_or_else(overflow)?;
        data_offset.checked_add(span_bytes).ok_or_else(overflow)?;
        let data_range = data_offset..data_offset.saturating_add(data_bytes);
        let axes = axes.to_vec();
        Ok(Self {
            bitpix,
            axes,
            nx,
            ny,
            planes,
            plane_bytes,
            data_range,
            span_bytes,
        })
    }

    /// Columns of a plane: NAXIS1.
    #[must_use]
    pub fn nx(&self) -> u64 {
        self.nx
    }

    /// Rows of a plane: NAXIS2.
    #[must_use]
    pub fn ny(&self) -> u64 {
        self.ny
    }

    /// How many planes: the product of NAXIS3 and up.
    #[must_use]
    pub fn planes(&self) -> u64 {
        self.planes
    }

    /// Sample type.
    #[must_use]
    pub fn bitpix(&self) -> Bitpix {
        self.bitpix
    }

    /// `NAXIS1` to `NAXISn`.
    #[must_use]
    pub fn axes(&self) -> &[u64] {
        &self.axes
    }

    /// Bytes of a plane.
    #[must_use]
    pub fn plane_bytes(&self) -> u64 {
        self.plane_bytes
    }

    /// Bytes of the file that hold plane `k`; `None` beyond the last.
    #[must_use]
    pub fn plane_range(&self, k: u64) -> Option<Range<u64>> {
        if k >= self.planes {
            return None;
        }
        let start = self
            .data_range
            .start
            .checked_add(k.checked_mul(self.plane_bytes)?)?;
        Some(start..start.checked_add(self.plane_bytes)?)
    }

    /// Bytes of the file that hold all planes, padding excluded.
    #[must_use]
    pub fn data_range(&self) -> Range<u64> {
        self.data_range.clone()
    }

    /// Bytes of the data with padding to whole blocks.
    #[must_use]
    pub fn span_bytes(&self) -> u64 {
        self.span_bytes
    }
}
