//! Columns of a binary table from TFORM and its companions. Cells are read in `mod`.

use crate::error::LayoutError;
use crate::header::Header;

/// What the cells of a column hold (FITS 4.0, 7.3.1, table 18), big-endian.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CellKind {
    /// L: T, F or a zero byte.
    Logical,
    /// X: bits, packed from the high end of a byte.
    Bit,
    /// B: unsigned bytes.
    U8,
    /// I: 16-bit integers.
    I16,
    /// J: 32-bit integers.
    I32,
    /// K: 64-bit integers.
    I64,
    /// A: ASCII text, one string of `repeat` bytes.
    Text,
    /// E: single precision.
    F32,
    /// D: double precision.
    F64,
    /// C: pairs of single precision.
    Complex32,
    /// M: pairs of double precision.
    Complex64,
    /// P: 32-bit length and offset of an array in the heap.
    Descriptor32,
    /// Q: 64-bit length and offset of an array in the heap.
    Descriptor64,
}

impl CellKind {
    const ALL: [(char, Self, u64); 13] = [
        ('L', Self::Logical, 1),
        ('X', Self::Bit, 1),
        ('B', Self::U8, 1),
        ('I', Self::I16, 2),
        ('J', Self::I32, 4),
        ('K', Self::I64, 8),
        ('A', Self::Text, 1),
        ('E', Self::F32, 4),
        ('D', Self::F64, 8),
        ('C', Self::Complex32, 8),
        ('M', Self::Complex64, 16),
        ('P', Self::Descriptor32, 8),
        ('Q', Self::Descriptor64, 16),
    ];

    /// The kind of a TFORM letter.
    #[must_use]
    pub fn from_code(code: char) -> Option<Self> {
        let code = code.to_ascii_uppercase();
        Self::ALL
            .into_iter()
            .find(|&(letter, _, _)| letter == code)
            .map(|(_, kind, _)| kind)
    }

    /// Its TFORM letter.
    #[must_use]
    pub fn code(self) -> char {
        Self::ALL
            .into_iter()
            .find(|&(_, kind, _)| kind == self)
            .map_or(' ', |(code, _, _)| code)
    }

    /// Bytes of an element; 1 for bits, of which a byte holds 8.
    #[must_use]
    pub fn size_bytes(self) -> u64 {
        Self::ALL
            .into_iter()
            .find(|&(_, kind, _)| kind == self)
            .map_or(0, |(_, _, size)| size)
    }

    /// Bytes of `repeat` elements; `None` beyond 64 bits.
    pub(super) fn width_bytes(self, repeat: u64) -> Option<u64> {
        match self {
            Self::Bit => Some(repeat.div_ceil(8)),
            _ => repeat.checked_mul(self.size_bytes()),
        }
    }

    /// Whether TNULL and an integer TZERO make sense.
    fn is_integer(self) -> bool {
        matches!(self, Self::U8 | Self::I16 | Self::I32 | Self::I64)
    }
}

/// One column of a binary table.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    pub(super) name: String,
    pub(super) unit: Option<String>,
    pub(super) kind: CellKind,
    pub(super) repeat: u64,
    pub(super) offset_bytes: u64,
    pub(super) width_bytes: u64,
    pub(super) null: Option<i64>,
    pub(super) scale: f64,
    pub(super) zero: f64,
}

impl Column {
    /// `TTYPEn`; empty if absent.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// `TUNITn`, as it is written; `None` if absent or empty.
    #[must_use]
    pub fn unit(&self) -> Option<&str> {
        self.unit.as_deref()
    }

    /// What its cells hold.
    #[must_use]
    pub fn kind(&self) -> CellKind {
        self.kind
    }

    /// Elements in a cell: the number before the letter in `TFORMn`.
    #[must_use]
    pub fn repeat(&self) -> u64 {
        self.repeat
    }

    /// Bytes from the start of a row to the cell.
    #[must_use]
    pub fn offset_bytes(&self) -> u64 {
        self.offset_bytes
    }

    /// Bytes of a cell.
    #[must_use]
    pub fn width_bytes(&self) -> u64 {
        self.width_bytes
    }

    /// `TNULLn`, the stored integer that means no value (FITS 4.0, 7.3.2).
    #[must_use]
    pub fn null(&self) -> Option<i64> {
        self.null
    }

    /// `TSCALn` and `TZEROn`: the value is scale · stored + zero (FITS 4.0, 7.3.2).
    #[must_use]
    pub fn scaling(&self) -> (f64, f64) {
        (self.scale, self.zero)
    }

    /// Column `n`, from 1, whose cells begin `offset_bytes` into a row.
    pub(super) fn read(header: &Header, n: i64, offset_bytes: u64) -> Result<Self, LayoutError> {
        let tform = format!("TFORM{n}");
        let text = header
            .text(&tform)?
            .ok_or_else(|| LayoutError::MissingKeyword {
                keyword: tform.clone(),
                offset: header.offset(),
            })?;
        let bad = || {
            header.bad_value(
                &tform,
                "a repeat count and one of L X B I J K A E D C M P Q",
            )
        };
        let (repeat, kind) = parse_form(&text).ok_or_else(bad)?;
        let null = if kind.is_integer() {
            header.integer(&format!("TNULL{n}"))?
        } else {
            None
        };
        Ok(Self {
            name: header
                .text(&format!("TTYPE{n}"))?
                .unwrap_or_default()
                .trim()
                .to_owned(),
            unit: header
                .text(&format!("TUNIT{n}"))?
                .filter(|unit| !unit.trim().is_empty()),
            kind,
            repeat,
            offset_bytes,
            width_bytes: kind.width_bytes(repeat).ok_or_else(bad)?,
            null,
            scale: header.real(&format!("TSCAL{n}"))?.unwrap_or(1.0),
            zero: header.real(&format!("TZERO{n}"))?.unwrap_or(0.0),
        })
    }
}

/// Repeat count, 1 if absent, and kind of a TFORM (FITS 4.0, 7.3.1); what follows the letter does
/// not change the layout.
fn parse_form(text: &str) -> Option<(u64, CellKind)> {
    let text = text.trim_start();
    let letter = text.find(|letter: char| !letter.is_ascii_digit())?;
    let (digits, rest) = text.split_at(letter);
    let repeat = if digits.is_empty() {
        1
    } else {
        digits.parse().ok()?
    };
    Some((repeat, CellKind::from_code(rest.chars().next()?)?))
}
