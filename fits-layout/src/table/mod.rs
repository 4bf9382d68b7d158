//! Binary tables: where a cell lies and what it says. ASCII tables and the heap are not read.

mod build;
mod column;

pub use build::{Cell, TableBuilder};
pub use column::{CellKind, Column};

use crate::bitpix::Bitpix;
use crate::error::LayoutError;
use crate::hdu::{Hdu, HduKind};

/// The most columns there may be (FITS 4.0, 7.3.1).
const MAX_COLUMNS: i64 = 999;

/// The rows and columns of a BINTABLE HDU (FITS 4.0, 7.3).
///
/// Cells are read from the HDU's data bytes, which the caller hands in; nothing is copied but the
/// value. Any cell beyond the table, or beyond those bytes, is `None`.
///
/// ```
/// use fits_layout::{CellKind, Header, Layout, Table, TableBuilder};
///
/// let mut table = TableBuilder::new("BEAMS")
///     .column("BMAJ", CellKind::F32, Some("arcsec"))
///     .column("CHAN", CellKind::I32, None);
/// table.row(&[16.5.into(), 0.into()])?;
/// table.row(&[17.5.into(), 1.into()])?;
///
/// let mut file = Header::new();
/// file.set("SIMPLE", true, None)?;
/// file.set("BITPIX", 8, None)?;
/// file.set("NAXIS", 0, None)?;
/// let mut bytes = file.render();
/// bytes.extend(table.hdu_bytes()?);
///
/// let layout = Layout::parse(&bytes)?;
/// let hdu = &layout.hdus[1];
/// let table = Table::of(hdu)?;
/// let data = &bytes[5760..];
/// let bmaj = table.column("bmaj").expect("it is there");
/// assert_eq!(table.real(data, 1, bmaj), Some(17.5));
/// assert_eq!(table.real(data, 2, bmaj), None);
/// # Ok::<(), fits_layout::LayoutError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Table {
    rows: u64,
    row_bytes: u64,
    columns: Vec<Column>,
}

impl Table {
    /// The table of a BINTABLE HDU. A row may be longer than its columns.
    ///
    /// # Errors
    /// [`LayoutError::NotATable`] for another kind of HDU; [`LayoutError::BadTable`] unless there
    /// are two axes of bytes that hold all columns; [`LayoutError::MissingKeyword`] or
    /// [`LayoutError::BadValue`] for the keywords of its columns.
    pub fn of(hdu: &Hdu) -> Result<Self, LayoutError> {
        let offset = hdu.header_range().start;
        if hdu.kind() != HduKind::BinTable {
            return Err(LayoutError::NotATable {
                offset,
                found: hdu.kind().to_string(),
            });
        }
        let bad = |found: String| LayoutError::BadTable { offset, found };
        let (&[row_bytes, rows], Bitpix::U8, 1) = (hdu.axes(), hdu.bitpix(), hdu.gcount()) else {
            let axes = hdu.axes().len();
            return Err(bad(format!(
                "{axes} axes of BITPIX {}, expected 2 of 8",
                hdu.bitpix()
            )));
        };
        let header = hdu.header();
        let fields = header
            .integer("TFIELDS")?
            .ok_or_else(|| LayoutError::MissingKeyword {
                keyword: "TFIELDS".to_owned(),
                offset,
            })?;
        if !(0..=MAX_COLUMNS).contains(&fields) {
            return Err(header.bad_value("TFIELDS", "0 to 999"));
        }
        let mut columns = Vec::new();
        let mut end = 0_u64;
        for n in 1..=fields {
            let column = Column::read(header, n, end)?;
            end = end.saturating_add(column.width_bytes);
            columns.push(column);
        }
        if end > row_bytes {
            return Err(bad(format!(
                "columns take {end} bytes, a row has {row_bytes}"
            )));
        }
        Ok(Self {
            rows,
            row_bytes,
            columns,
        })
    }

    /// How many rows: NAXIS2.
    #[must_use]
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Bytes of a row: NAXIS1.
    #[must_use]
    pub fn row_bytes(&self) -> u64 {
        self.row_bytes
    }

    /// The columns in order.
    #[must_use]
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// The first column of this name, upper and lower case alike (FITS 4.0, 7.3.2).
    #[must_use]
    pub fn column(&self, name: &str) -> Option<&Column> {
        self.columns
            .iter()
            .find(|column| column.name.eq_ignore_ascii_case(name))
    }

    /// The bytes of a cell.
    #[must_use]
    pub fn cell<'a>(&self, data: &'a [u8], row: u64, column: &Column) -> Option<&'a [u8]> {
        let range = self.cell_range(row, column)?;
        data.get(range)
    }

    /// Where a cell lies in the data.
    fn cell_range(&self, row: u64, column: &Column) -> Option<std::ops::Range<usize>> {
        if row >= self.rows {
            return None;
        }
        let start = row
            .checked_mul(self.row_bytes)?
            .checked_add(column.offset_bytes)?;
        let end = start.checked_add(column.width_bytes)?;
        Some(usize::try_from(start).ok()?..usize::try_from(end).ok()?)
    }

    /// The number in a cell, its first if there are several: scale · stored + zero. `None` beyond
    /// the table, for TNULL, or for a column without numbers; NaN is a number.
    #[must_use]
    pub fn real(&self, data: &[u8], row: u64, column: &Column) -> Option<f64> {
        self.real_at(data, row, column, 0)
    }

    /// The same for element `index` of the cell.
    #[must_use]
    pub fn real_at(&self, data: &[u8], row: u64, column: &Column, index: u64) -> Option<f64> {
        let stored = match self.stored(data, row, column, index)? {
            Stored::Real(real) => real,
            Stored::Integer(integer) if column.null == Some(integer) => return None,
            Stored::Integer(integer) => integer as f64,
        };
        if (column.scale, column.zero) == (1.0, 0.0) {
            return Some(stored);
        }
        Some(column.scale * stored + column.zero)
    }

    /// The integer in a cell, its first if there are several; TZERO as unsigned integers have it is
    /// added exactly. `None` beyond the table, for TNULL, for a number that is not whole or beyond
    /// 64 bits, or for a column without numbers.
    #[must_use]
    pub fn integer(&self, data: &[u8], row: u64, column: &Column) -> Option<i64> {
        self.integer_at(data, row, column, 0)
    }

    /// The same for element `index` of the cell.
    #[must_use]
    pub fn integer_at(&self, data: &[u8], row: u64, column: &Column, index: u64) -> Option<i64> {
        if let Stored::Integer(stored) = self.stored(data, row, column, index)?
            && column.scale == 1.0
            && let Some(zero) = whole(column.zero)
        {
            let value = i128::from(stored).checked_add(zero)?;
            return i64::try_from(value)
                .ok()
                .filter(|_| column.null != Some(stored));
        }
        i64::try_from(whole(self.real_at(data, row, column, index)?)?).ok()
    }

    /// The text of a cell, to its first zero byte and without trailing blanks (FITS 4.0, 7.3.3.1).
    #[must_use]
    pub fn text(&self, data: &[u8], row: u64, column: &Column) -> Option<String> {
        let cell = self
            .cell(data, row, column)
            .filter(|_| column.kind == CellKind::Text)?;
        let text = cell.split(|&byte| byte == 0).next()?;
        Some(
            String::from_utf8_lossy(text)
                .trim_end_matches(' ')
                .to_owned(),
        )
    }

    /// The logical in a cell; `None` also for the zero byte that means no value.
    #[must_use]
    pub fn logical(&self, data: &[u8], row: u64, column: &Column) -> Option<bool> {
        let cell = self
            .cell(data, row, column)
            .filter(|_| column.kind == CellKind::Logical)?;
        match cell.first()? {
            b'T' => Some(true),
            b'F' => Some(false),
            _ => None,
        }
    }

    /// Bit `index` of an X cell, the high bit of a byte first (FITS 4.0, 7.3.3.2).
    #[must_use]
    pub fn bit(&self, data: &[u8], row: u64, column: &Column, index: u64) -> Option<bool> {
        if column.kind != CellKind::Bit || index >= column.repeat {
            return None;
        }
        let byte = self
            .cell(data, row, column)?
            .get(usize::try_from(index >> 3).ok()?)?;
        Some(byte & (0x80 >> (index & 7)) != 0)
    }

    /// Real and imaginary part in a C or M cell, its first if there are several; not scaled.
    #[must_use]
    pub fn complex(&self, data: &[u8], row: u64, column: &Column) -> Option<(f64, f64)> {
        match pair(column.kind, self.cell(data, row, column)?)? {
            (Stored::Real(re), Stored::Real(im)) => Some((re, im)),
            _ => None,
        }
    }

    /// Number of elements and heap offset in bytes of a P or Q cell (FITS 4.0, 7.3.5).
    #[must_use]
    pub fn descriptor(&self, data: &[u8], row: u64, column: &Column) -> Option<(u64, u64)> {
        match pair(column.kind, self.cell(data, row, column)?)? {
            (Stored::Integer(count), Stored::Integer(offset)) => {
                Some((u64::try_from(count).ok()?, u64::try_from(offset).ok()?))
            }
            _ => None,
        }
    }

    /// Writes a number into a cell, its first if there are several, undoing scale and zero;
    /// integers are rounded. `None`, and nothing written, beyond the table or if the column cannot
    /// hold it.
    #[must_use]
    pub fn put_real(&self, data: &mut [u8], row: u64, column: &Column, value: f64) -> Option<()> {
        let range = self.cell_range(row, column)?;
        let stored = match (column.scale, column.zero) {
            (1.0, 0.0) => value,
            (scale, zero) => (value - zero) / scale,
        };
        let cell = data.get_mut(range)?;
        let bytes = build::encode(column.kind, Cell::Real(stored))?;
        cell.get_mut(..bytes.len())?.copy_from_slice(&bytes);
        Some(())
    }

    /// What is stored for element `index` of a cell.
    fn stored(&self, data: &[u8], row: u64, column: &Column, index: u64) -> Option<Stored> {
        let at = usize::try_from(index.checked_mul(column.kind.size_bytes())?).ok()?;
        let cell = self
            .cell(data, row, column)
            .filter(|_| index < column.repeat)?;
        number(column.kind, cell.get(at..)?)
    }
}

/// The big-endian number that `bytes` begin with; `None` for a kind that is no number.
fn number(kind: CellKind, bytes: &[u8]) -> Option<Stored> {
    Some(match kind {
        CellKind::U8 => Stored::Integer(i64::from(*bytes.first()?)),
        CellKind::I16 => Stored::Integer(i64::from(i16::from_be_bytes(*bytes.first_chunk()?))),
        CellKind::I32 => Stored::Integer(i64::from(i32::from_be_bytes(*bytes.first_chunk()?))),
        CellKind::I64 => Stored::Integer(i64::from_be_bytes(*bytes.first_chunk()?)),
        CellKind::F32 => Stored::Real(f64::from(f32::from_be_bytes(*bytes.first_chunk()?))),
        CellKind::F64 => Stored::Real(f64::from_be_bytes(*bytes.first_chunk()?)),
        _ => return None,
    })
}

/// The two numbers that a complex number or a descriptor is made of.
fn pair(kind: CellKind, bytes: &[u8]) -> Option<(Stored, Stored)> {
    let part = match kind {
        CellKind::Complex32 => CellKind::F32,
        CellKind::Complex64 => CellKind::F64,
        CellKind::Descriptor32 => CellKind::I32,
        CellKind::Descriptor64 => CellKind::I64,
        _ => return None,
    };
    let half = usize::try_from(part.size_bytes()).ok()?;
    let (first, second) = bytes.split_at_checked(half)?;
    Some((number(part, first)?, number(part, second)?))
}

/// A number as it is stored.
enum Stored {
    Integer(i64),
    Real(f64),
}

/// A real as an integer if it is one, up to 2¹⁰⁰, which no cell exceeds.
fn whole(real: f64) -> Option<i128> {
    (real.fract() == 0.0 && real.abs() < 1e30).then_some(real as i128)
}
