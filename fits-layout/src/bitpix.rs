//! The six sample types of BITPIX. No samples are decoded here.

use std::fmt;

/// Sample type of an image, all big-endian (FITS 4.0, 4.4.1.1 table 8 and section 5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Bitpix {
    /// Unsigned bytes, BITPIX 8.
    U8,
    /// Two's-complement 16-bit integers, BITPIX 16.
    I16,
    /// Two's-complement 32-bit integers, BITPIX 32.
    I32,
    /// Two's-complement 64-bit integers, BITPIX 64.
    I64,
    /// IEEE single precision, BITPIX -32.
    F32,
    /// IEEE double precision, BITPIX -64.
    F64,
}

impl Bitpix {
    /// The sample type of a BITPIX value; `None` for a value the standard does not have.
    #[must_use]
    pub fn from_code(code: i64) -> Option<Self> {
        Some(match code {
            8 => Self::U8,
            16 => Self::I16,
            32 => Self::I32,
            64 => Self::I64,
            -32 => Self::F32,
            -64 => Self::F64,
            _ => return None,
        })
    }

    /// The value of BITPIX: bits in a sample, negative for floating point.
    #[must_use]
    pub fn code(self) -> i64 {
        match self {
            Self::U8 => 8,
            Self::I16 => 16,
            Self::I32 => 32,
            Self::I64 => 64,
            Self::F32 => -32,
            Self::F64 => -64,
        }
    }

    /// Bytes in a sample: 1, 2, 4 or 8.
    #[must_use]
    pub fn size_bytes(self) -> u64 {
        match self {
            Self::U8 => 1,
            Self::I16 => 2,
            Self::I32 | Self::F32 => 4,
            Self::I64 | Self::F64 => 8,
        }
    }

    /// Whether samples are IEEE floating point.
    #[must_use]
    pub fn is_float(self) -> bool {
        matches!(self, Self::F32 | Self::F64)
    }
}

impl fmt::Display for Bitpix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.code().fmt(f)
    }
}
