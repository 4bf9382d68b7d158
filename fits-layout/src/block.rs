//! Blocks and cards: the two fixed lengths of a FITS file. No parsing here.

/// Bytes in a FITS block (FITS 4.0, 3.1).
pub const BLOCK_BYTES: usize = 2880;

/// Bytes in a header card (FITS 4.0, 4.1.1).
pub const CARD_BYTES: usize = 80;

/// `bytes` rounded up to whole blocks (FITS 4.0, 3.1); `None` beyond 64 bits.
///
/// ```
/// use fits_layout::padded_bytes;
/// assert_eq!(padded_bytes(0), Some(0));
/// assert_eq!(padded_bytes(1), Some(2880));
/// assert_eq!(padded_bytes(2880), Some(2880));
/// assert_eq!(padded_bytes(u64::MAX), None);
/// ```
#[must_use]
pub fn padded_bytes(bytes: u64) -> Option<u64> {
    bytes.checked_next_multiple_of(BLOCK_BYTES as u64)
}
