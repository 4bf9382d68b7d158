//! Making a binary table: columns, then rows, then the bytes of an HDU. Nothing is read here.

use super::CellKind;
use crate::block::padded_bytes;
use crate::card::Value;
use crate::error::LayoutError;
use crate::header::Header;

/// The widest column that rows are made for.
const MAX_WIDTH: u64 = 1 << 31;

/// What is put into a cell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Cell<'a> {
    /// A number for any numeric column; rounded for integer columns.
    Real(f64),
    /// An integer for any numeric column.
    Integer(i64),
    /// For a logical column.
    Logical(bool),
    /// For a text column, padded with blanks.
    Text(&'a str),
}

impl From<f64> for Cell<'_> {
    fn from(value: f64) -> Self {
        Self::Real(value)
    }
}

impl From<f32> for Cell<'_> {
    fn from(value: f32) -> Self {
        Self::Real(f64::from(value))
    }
}

impl From<i64> for Cell<'_> {
    fn from(value: i64) -> Self {
        Self::Integer(value)
    }
}

impl From<i32> for Cell<'_> {
    fn from(value: i32) -> Self {
        Self::Integer(i64::from(value))
    }
}

impl From<bool> for Cell<'_> {
    fn from(value: bool) -> Self {
        Self::Logical(value)
    }
}

impl<'a> From<&'a str> for Cell<'a> {
    fn from(value: &'a str) -> Self {
        Self::Text(value)
    }
}

/// A column to be.
#[derive(Clone, Debug)]
struct Field {
    name: String,
    kind: CellKind,
    repeat: u64,
    unit: Option<String>,
}

/// Builds a BINTABLE HDU (FITS 4.0, 7.3): name the columns, then push rows. See
/// [`Table`](super::Table) for an example.
#[derive(Clone, Debug)]
pub struct TableBuilder {
    extname: String,
    fields: Vec<Field>,
    more: Header,
    rows: u64,
    data: Vec<u8>,
}

impl TableBuilder {
    /// A table of this EXTNAME, without columns.
    #[must_use]
    pub fn new(extname: &str) -> Self {
        Self {
            extname: extname.to_owned(),
            fields: Vec::new(),
            more: Header::new(),
            rows: 0,
            data: Vec::new(),
        }
    }

    /// Adds a column of one element a cell. Columns come before rows.
    #[must_use]
    pub fn column(self, name: &str, kind: CellKind, unit: Option<&str>) -> Self {
        self.wide_column(name, kind, 1, unit)
    }

    /// Adds a column of `repeat` elements a cell: letters of a string, or numbers.
    #[must_use]
    pub fn wide_column(
        mut self,
        name: &str,
        kind: CellKind,
        repeat: u64,
        unit: Option<&str>,
    ) -> Self {
        let (name, unit) = (name.to_owned(), unit.map(str::to_owned));
        self.fields.push(Field {
            name,
            kind,
            repeat,
            unit,
        });
        self
    }

    /// Sets a further keyword, written after those of the columns.
    ///
    /// # Errors
    /// As [`Header::set`].
    pub fn set(
        &mut self,
        keyword: &str,
        value: impl Into<Value>,
        comment: Option<&str>,
    ) -> Result<(), LayoutError> {
        self.more.set(keyword, value, comment)
    }

    /// Adds a row: a cell for each element of each column, but one string for a text column.
    ///
    /// # Errors
    /// [`LayoutError::BadRow`] if their number, kind, size or length does not fit the columns;
    /// the table is then as it was.
    pub fn row(&mut self, cells: &[Cell]) -> Result<(), LayoutError> {
        let mut row = Vec::new();
        let mut cells = cells.iter();
        for field in &self.fields {
            let count = if field.kind == CellKind::Text {
                1
            } else {
                field.repeat
            };
            let width = field
                .kind
                .width_bytes(field.repeat)
                .filter(|&width| width <= MAX_WIDTH);
            let width = width.ok_or_else(|| self.bad("a column wider than 2 GiB"))?;
            let start = row.len() as u64;
            for _ in 0..count {
                let cell = cells.next().ok_or_else(|| self.bad("too few cells"))?;
                let bytes = encode(field.kind, *cell).filter(|bytes| bytes.len() as u64 <= width);
                row.extend(bytes.ok_or_else(|| self.unfit(field, cell))?);
            }
            // only text may be shorter than its column
            let end = usize::try_from(start.saturating_add(width)).unwrap_or(usize::MAX);
            row.resize(end, b' ');
        }
        if cells.next().is_some() {
            return Err(self.bad("too many cells"));
        }
        self.data.append(&mut row);
        self.rows = self.rows.saturating_add(1);
        Ok(())
    }

    /// The error of a cell that its column cannot hold.
    fn unfit(&self, field: &Field, cell: &Cell) -> LayoutError {
        let Field {
            name, kind, repeat, ..
        } = field;
        self.bad(&format!(
            "column {name} of {repeat}{} cannot hold {cell:?}",
            kind.code()
        ))
    }

    /// The error of a row that does not fit.
    fn bad(&self, what: &str) -> LayoutError {
        LayoutError::BadRow {
            row: self.rows,
            found: what.to_owned(),
        }
    }

    /// The rows' bytes, without padding.
    #[must_use]
    pub fn data(&self) -> &[u8] {
        &self.data
    }

    /// The header: mandatory keywords, EXTNAME, columns, then what [`TableBuilder::set`] set.
    ///
    /// # Errors
    /// As [`Header::set`] for names and units; [`LayoutError::Overflow`] for a row beyond 64 bits.
    pub fn header(&self) -> Result<Header, LayoutError> {
        let overflow = || LayoutError::Overflow {
            offset: 0,
            what: "the size of a row",
        };
        let width =
            |sum: u64, field: &Field| sum.checked_add(field.kind.width_bytes(field.repeat)?);
        let row_bytes = self.fields.iter().try_fold(0, width).ok_or_else(overflow)?;
        let row_bytes = i64::try_from(row_bytes).map_err(|_| overflow())?;
        let rows = i64::try_from(self.rows).map_err(|_| overflow())?;
        let fields = i64::try_from(self.fields.len()).map_err(|_| overflow())?;
        let mut header = Header::new();
        header.set("XTENSION", "BINTABLE", Some("binary table extension"))?;
        header.set("BITPIX", 8, Some("array data type"))?;
        header.set("NAXIS", 2, Some("number of array dimensions"))?;
        header.set("NAXIS1", row_bytes, Some("bytes in a row"))?;
        header.set("NAXIS2", rows, Some("number of rows"))?;
        header.set("PCOUNT", 0, Some("no heap"))?;
        header.set("GCOUNT", 1, Some("one group"))?;
        header.set("TFIELDS", fields, Some("number of columns"))?;
        header.set("EXTNAME", self.extname.as_str(), None)?;
        for (n, field) in (1_u64..).zip(&self.fields) {
            header.set(&format!("TTYPE{n}"), field.name.as_str(), None)?;
            let form = format!("{}{}", field.repeat, field.kind.code());
            header.set(&format!("TFORM{n}"), form, None)?;
            if let Some(unit) = &field.unit {
                header.set(&format!("TUNIT{n}"), unit.as_str(), None)?;
            }
        }
        self.more.cards().iter().for_each(|card| header.push(*card));
        Ok(header)
    }

    /// The whole HDU in blocks: header, then rows padded with zeros (FITS 4.0, 7.3.2).
    ///
    /// # Errors
    /// As [`TableBuilder::header`].
    pub fn hdu_bytes(&self) -> Result<Vec<u8>, LayoutError> {
        let mut bytes = self.header()?.render();
        bytes.extend_from_slice(&self.data);
        let whole = padded_bytes(bytes.len() as u64).and_then(|whole| usize::try_from(whole).ok());
        bytes.resize(whole.unwrap_or(bytes.len()), 0);
        Ok(bytes)
    }
}

/// One element as the big-endian bytes of its column; `None` if the column cannot hold it.
pub(super) fn encode(kind: CellKind, cell: Cell) -> Option<Vec<u8>> {
    Some(match (kind, cell) {
        (CellKind::Text, Cell::Text(text)) => text.is_ascii().then(|| text.into())?,
        (CellKind::Logical, Cell::Logical(value)) => vec![if value { b'T' } else { b'F' }],
        (CellKind::F32, _) => (real(cell)? as f32).to_be_bytes().to_vec(),
        (CellKind::F64, _) => real(cell)?.to_be_bytes().to_vec(),
        (CellKind::U8, _) => u8::try_from(integer(cell)?).ok()?.to_be_bytes().to_vec(),
        (CellKind::I16, _) => i16::try_from(integer(cell)?).ok()?.to_be_bytes().to_vec(),
        (CellKind::I32, _) => i32::try_from(integer(cell)?).ok()?.to_be_bytes().to_vec(),
        (CellKind::I64, _) => integer(cell)?.to_be_bytes().to_vec(),
        _ => return None,
    })
}

/// The number of a cell as a real.
fn real(cell: Cell) -> Option<f64> {
    match cell {
        Cell::Real(real) => Some(real),
        Cell::Integer(integer) => Some(integer as f64),
        Cell::Logical(_) | Cell::Text(_) => None,
    }
}

/// The number of a cell as an integer, rounded; `None` if it is not finite or beyond 64 bits.
fn integer(cell: Cell) -> Option<i64> {
    match cell {
        Cell::Integer(integer) => Some(integer),
        Cell::Real(real) => {
            let whole = real.round();
            // i64::MAX as a real is 2^63, which is one too many
            (whole >= i64::MIN as f64 && whole < i64::MAX as f64).then_some(whole as i64)
        }
        Cell::Logical(_) | Cell::Text(_) => None,
    }
}
