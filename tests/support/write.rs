//! Writes FITS files for tests: images of every BITPIX, binary tables, extensions.
//! Independent of the code under test.

use std::path::Path;

use super::card::{Cards, RawCard, raw};

pub const BLOCK: usize = 2880;

/// Native samples of an image, before they are made big-endian.
#[derive(Clone, Debug)]
pub enum Samples {
    U8(Vec<u8>),
    I16(Vec<i16>),
    I32(Vec<i32>),
    I64(Vec<i64>),
    F32(Vec<f32>),
    F64(Vec<f64>),
}

impl Samples {
    /// Single-precision samples, as most radio images are.
    pub fn f32(values: &[f64]) -> Self {
        #[allow(clippy::cast_possible_truncation)]
        Self::F32(values.iter().map(|v| *v as f32).collect())
    }

    pub fn bitpix(&self) -> i64 {
        match self {
            Self::U8(_) => 8,
            Self::I16(_) => 16,
            Self::I32(_) => 32,
            Self::I64(_) => 64,
            Self::F32(_) => -32,
            Self::F64(_) => -64,
        }
    }

    pub fn bytes(&self) -> Vec<u8> {
        match self {
            Self::U8(v) => v.clone(),
            Self::I16(v) => v.iter().flat_map(|x| x.to_be_bytes()).collect(),
            Self::I32(v) => v.iter().flat_map(|x| x.to_be_bytes()).collect(),
            Self::I64(v) => v.iter().flat_map(|x| x.to_be_bytes()).collect(),
            Self::F32(v) => v.iter().flat_map(|x| x.to_be_bytes()).collect(),
            Self::F64(v) => v.iter().flat_map(|x| x.to_be_bytes()).collect(),
        }
    }
}

/// A column of a binary table: `form` is one of `E`, `D` (reals) and `I`, `J`, `K` (integers).
#[derive(Clone, Debug)]
pub struct Column {
    pub name: String,
    pub form: char,
    pub unit: Option<String>,
    pub cells: Vec<f64>,
}

impl Column {
    pub fn new(name: &str, form: char, unit: Option<&str>, cells: Vec<f64>) -> Self {
        Self {
            name: name.to_owned(),
            form,
            unit: unit.map(str::to_owned),
            cells,
        }
    }

    #[allow(clippy::cast_possible_truncation)]
    fn cell(&self, row: usize) -> Vec<u8> {
        let v = self.cells[row];
        match self.form {
            'E' => (v as f32).to_be_bytes().to_vec(),
            'D' => v.to_be_bytes().to_vec(),
            'I' => (v as i16).to_be_bytes().to_vec(),
            'J' => (v as i32).to_be_bytes().to_vec(),
            'K' => (v as i64).to_be_bytes().to_vec(),
            // One letter, by its code.
            'A' | 'L' => vec![v as u8],
            other => panic!("no cells of form {other} here"),
        }
    }

    fn width(&self) -> usize {
        match self.form {
            'A' | 'L' => 1,
            'I' => 2,
            'D' | 'K' => 8,
            _ => 4,
        }
    }
}

/// One header and data unit.
#[derive(Clone, Debug)]
pub struct Hdu {
    pub cards: Vec<RawCard>,
    pub data: Vec<u8>,
}

fn structure(first: &RawCard, bitpix: i64, axes: &[usize]) -> Cards {
    let mut cards = Cards(vec![*first])
        .set("BITPIX", bitpix)
        .set("NAXIS", axes.len());
    for (i, n) in axes.iter().enumerate() {
        cards = cards.set(&format!("NAXIS{}", i + 1), *n);
    }
    cards
}

impl Hdu {
    /// The primary HDU with an image; `axes` with NAXIS1 first.
    pub fn primary(axes: &[usize], samples: &Samples, cards: &Cards) -> Self {
        assert_eq!(
            axes.iter().product::<usize>(),
            count(samples),
            "axes {axes:?}"
        );
        let first = raw("SIMPLE  =                    T / conforms to FITS");
        let all = structure(&first, samples.bitpix(), axes)
            .set("EXTEND", true)
            .and(cards);
        Self {
            cards: all.0,
            data: samples.bytes(),
        }
    }

    /// A primary HDU without data.
    pub fn empty_primary(cards: &Cards) -> Self {
        let first = raw("SIMPLE  =                    T / conforms to FITS");
        let all = structure(&first, 8, &[]).set("EXTEND", true).and(cards);
        Self {
            cards: all.0,
            data: Vec::new(),
        }
    }

    /// An IMAGE extension.
    pub fn extension(name: &str, axes: &[usize], samples: &Samples, cards: &Cards) -> Self {
        assert_eq!(
            axes.iter().product::<usize>(),
            count(samples),
            "axes {axes:?}"
        );
        let first = raw("XTENSION= 'IMAGE   '           / an image");
        let mut all = structure(&first, samples.bitpix(), axes)
            .set("PCOUNT", 0)
            .set("GCOUNT", 1);
        if !name.is_empty() {
            all = all.set("EXTNAME", name);
        }
        Self {
            cards: all.and(cards).0,
            data: samples.bytes(),
        }
    }

    /// A binary table; an empty name writes no EXTNAME.
    pub fn table(name: &str, columns: &[Column], cards: &Cards) -> Self {
        let rows = columns.first().map_or(0, |c| c.cells.len());
        let width: usize = columns.iter().map(Column::width).sum();
        let first = raw("XTENSION= 'BINTABLE'           / a table");
        let mut all = structure(&first, 8, &[width, rows])
            .set("PCOUNT", 0)
            .set("GCOUNT", 1)
            .set("TFIELDS", columns.len());
        for (i, c) in columns.iter().enumerate() {
            let i = i + 1;
            all = all.set(&format!("TTYPE{i}"), c.name.as_str());
            all = all.set(&format!("TFORM{i}"), c.form.to_string().as_str());
            if let Some(unit) = &c.unit {
                all = all.set(&format!("TUNIT{i}"), unit.as_str());
            }
        }
        if !name.is_empty() {
            all = all.set("EXTNAME", name);
        }
        let data = (0..rows)
            .flat_map(|r| columns.iter().flat_map(move |c| c.cell(r)))
            .collect();
        Self {
            cards: all.and(cards).0,
            data,
        }
    }

    /// The padded header alone.
    pub fn header_bytes(&self) -> Vec<u8> {
        let mut out: Vec<u8> = self.cards.iter().flatten().copied().collect();
        out.extend_from_slice(&raw("END"));
        out.resize(out.len().next_multiple_of(BLOCK), b' ');
        out
    }

    /// Header and data, both padded.
    pub fn bytes(&self) -> Vec<u8> {
        let mut out = self.header_bytes();
        out.extend_from_slice(&self.data);
        out.resize(out.len().next_multiple_of(BLOCK), 0);
        out
    }
}

fn count(samples: &Samples) -> usize {
    let bytes = samples.bytes().len();
    bytes * 8 / usize::try_from(samples.bitpix().abs()).unwrap()
}

/// Writes the HDUs as one file.
pub fn write(path: &Path, hdus: &[Hdu]) {
    let bytes: Vec<u8> = hdus.iter().flat_map(Hdu::bytes).collect();
    std::fs::write(path, bytes).unwrap();
}
