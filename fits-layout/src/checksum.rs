//! Ones'-complement sums, their ASCII form, and the two cards that hold them. No files here.
//!
//! The algorithm is that of FITS 4.0, 4.4.2.7 and appendix J.

use crate::card::Card;
use crate::error::LayoutError;
use crate::header::Header;
use std::ops::{Add, AddAssign};

/// Words that are summed before carries are folded; a u64 holds 2³² of them.
const FOLD_BYTES: usize = 1 << 30;

/// A ones'-complement sum of big-endian 32-bit words: the sum of the whole is the sum of the sums
/// of its parts, in any order (FITS 4.0, appendix J).
///
/// ```
/// use fits_layout::Sum;
///
/// let bytes = b"any bytes at all, cut anywhere";
/// let (front, back) = bytes.split_at(7);
/// assert_eq!(Sum::of(front) + Sum::of_at(back, 7), Sum::of(bytes));
/// assert_eq!(Sum::of(&[0xff; 4]).value(), 0xffff_ffff);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Sum(u32);

impl Sum {
    /// A sum that was kept as a number.
    #[must_use]
    pub fn from_value(value: u32) -> Self {
        Self(value)
    }

    /// The sum of bytes that begin on a word of their HDU, as whole planes and blocks do if the
    /// bytes before them are a multiple of 4. Missing bytes of the last word count as zero.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        bytes
            .chunks(FOLD_BYTES)
            .fold(Self::default(), |sum, part| sum.plus(Self::of_part(part)))
    }

    /// The sum of bytes that stand at `offset_in_hdu`, whatever it is.
    #[must_use]
    pub fn of_at(bytes: &[u8], offset_in_hdu: u64) -> Self {
        // 2^32 = 1 in this arithmetic: a shift by bytes is a rotation
        let Self(sum) = Self::of(bytes);
        Self(match offset_in_hdu & 3 {
            0 => sum,
            1 => sum.rotate_right(8),
            2 => sum.rotate_right(16),
            _ => sum.rotate_right(24),
        })
    }

    /// The sum of at most [`FOLD_BYTES`].
    fn of_part(bytes: &[u8]) -> Self {
        let (words, rest) = bytes.as_chunks::<4>();
        let mut last = [0; 4];
        last.iter_mut().zip(rest).for_each(|(to, from)| *to = *from);
        let total = words
            .iter()
            .fold(u64::from(u32::from_be_bytes(last)), |total, word| {
                total.wrapping_add(u64::from(u32::from_be_bytes(*word)))
            });
        Self(fold(total))
    }

    /// Both sums together.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self(fold(u64::from(self.0).wrapping_add(u64::from(other.0))))
    }

    /// The 32 bits of the sum: what DATASUM holds in decimal.
    #[must_use]
    pub fn value(self) -> u32 {
        self.0
    }

    /// Whether the words cancel: the sum of an HDU with a right CHECKSUM is -0 (all bits set), and
    /// of no words 0.
    #[must_use]
    pub fn is_zero(self) -> bool {
        self.0 == 0 || self.0 == u32::MAX
    }

    /// The sum, or its complement, as the 16 letters and digits of CHECKSUM, already turned by the
    /// byte that the card's quote takes (FITS 4.0, appendix J).
    #[must_use]
    pub fn encode(self, complement: bool) -> [u8; 16] {
        let value = if complement { !self.0 } else { self.0 };
        let mut words = [[0_u8; 4]; 4];
        for (column, byte) in value.to_be_bytes().into_iter().enumerate() {
            for (word, letter) in words.iter_mut().zip(letters(byte)) {
                word.iter_mut()
                    .skip(column)
                    .take(1)
                    .for_each(|to| *to = letter);
            }
        }
        let mut text = [0; 16];
        text.iter_mut()
            .zip(words.as_flattened())
            .for_each(|(to, from)| *to = *from);
        text.rotate_right(1);
        text
    }

    /// The sum that 16 letters and digits of CHECKSUM stand for.
    #[must_use]
    pub fn decode(text: &[u8; 16], complement: bool) -> Self {
        let mut text = text.map(|letter| letter.wrapping_sub(b'0'));
        text.rotate_left(1);
        let Self(value) = Self::of(&text);
        Self(if complement { !value } else { value })
    }
}

/// Four letters or digits whose distances from `0` add up to `byte`: quarters, the remainder in the
/// first, then moved in pairs off the 13 signs between digits and letters.
fn letters(byte: u8) -> [u8; 4] {
    let quarter = (byte >> 2).wrapping_add(b'0');
    let (mut a, mut b, mut c, mut d) = (quarter.wrapping_add(byte & 3), quarter, quarter, quarter);
    while [a, b, c, d]
        .iter()
        .any(|letter| !letter.is_ascii_alphanumeric())
    {
        if !(a.is_ascii_alphanumeric() && b.is_ascii_alphanumeric()) {
            (a, b) = (a.wrapping_add(1), b.wrapping_sub(1));
        }
        if !(c.is_ascii_alphanumeric() && d.is_ascii_alphanumeric()) {
            (c, d) = (c.wrapping_add(1), d.wrapping_sub(1));
        }
    }
    [a, b, c, d]
}

/// 64 bits to 32 with the carries brought round.
fn fold(total: u64) -> u32 {
    let once = (total & 0xffff_ffff).wrapping_add(total >> 32);
    let twice = (once & 0xffff_ffff).wrapping_add(once >> 32);
    u32::try_from(twice).unwrap_or(u32::MAX)
}

impl Add for Sum {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        self.plus(other)
    }
}

impl AddAssign for Sum {
    fn add_assign(&mut self, other: Self) {
        *self = self.plus(other);
    }
}

impl std::iter::Sum for Sum {
    fn sum<I: Iterator<Item = Self>>(sums: I) -> Self {
        sums.fold(Self::default(), Self::plus)
    }
}

/// Sets DATASUM and CHECKSUM (FITS 4.0, 4.4.2.7) so that the header and data that sum up to `data`
/// (padding included) sum up to -0. Any later edit makes CHECKSUM wrong.
///
/// ```
/// use fits_layout::{Header, Sum, checksum};
///
/// let data = [7_u8; 2880];
/// let mut header = Header::new();
/// header.set("XTENSION", "IMAGE", None)?;
/// checksum::stamp(&mut header, Sum::of(&data))?;
/// assert!((Sum::of(&header.render()) + Sum::of(&data)).is_zero());
/// assert_eq!(checksum::data_sum(&header)?, Some(Sum::of(&data)));
/// # Ok::<(), fits_layout::LayoutError>(())
/// ```
///
/// # Errors
/// None for a header that can be rendered; the type is that of [`Header::set`].
pub fn stamp(header: &mut Header, data: Sum) -> Result<(), LayoutError> {
    header.set(
        "DATASUM",
        data.value().to_string(),
        Some("data unit checksum"),
    )?;
    header.set("CHECKSUM", "0".repeat(16), Some("HDU checksum"))?;
    let whole = Sum::of(&header.render()).plus(data);
    let text: String = whole.encode(true).iter().copied().map(char::from).collect();
    header.set("CHECKSUM", text, None)
}

/// What DATASUM says; `None` if absent, undefined or empty.
///
/// # Errors
/// [`LayoutError::BadValue`] for anything but an unsigned decimal number of 32 bits in quotes (or,
/// as some write it, without).
pub fn data_sum(header: &Header) -> Result<Option<Sum>, LayoutError> {
    let Some(card) = header.first("DATASUM") else {
        return Ok(None);
    };
    let bad = || header.bad_value("DATASUM", "an unsigned 32-bit number in quotes");
    let text = match card.value() {
        Ok(crate::Value::Integer(value)) => value.to_string(),
        Ok(crate::Value::Text(text)) => text.trim().to_owned(),
        Ok(crate::Value::Undefined) => return Ok(None),
        _ => return Err(bad()),
    };
    match text.parse() {
        Ok(value) => Ok(Some(Sum(value))),
        Err(_) if text.is_empty() => Ok(None),
        Err(_) => Err(bad()),
    }
}

/// Whether a header has a CHECKSUM or DATASUM card, which an edit would make wrong.
#[must_use]
pub fn is_present(header: &Header) -> bool {
    let has = |keyword: &str| header.first(keyword).is_some_and(Card::has_value);
    has("CHECKSUM") || has("DATASUM")
}
#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ascii_form_is_that_of_the_standard() {
        // FITS 4.0, appendix J: 868229149 is hcHjjc9ghcEghc9g when complemented
        let sum = Sum::from_value(868_229_149);
        assert_eq!(&sum.encode(true), b"hcHjjc9ghcEghc9g");
        assert_eq!(Sum::decode(b"hcHjjc9ghcEghc9g", true), sum);
    }

    #[test]
    fn every_byte_has_four_letters_that_add_up() {
        for byte in 0..=u8::MAX {
            let letters = letters(byte);
            assert!(
                letters.iter().all(u8::is_ascii_alphanumeric),
                "{byte}: {letters:?}"
            );
            assert_eq!(
                letters
                    .iter()
                    .map(|letter| u32::from(letter - b'0'))
                    .sum::<u32>(),
                u32::from(byte)
            );
        }
    }
}
