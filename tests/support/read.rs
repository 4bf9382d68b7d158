//! Reads FITS files back for tests: every HDU's cards, images as `f64`, table columns.
//! Strict where an output must be right (whole blocks, padding). Independent of the code under
//! test.

use std::path::Path;

use super::card::{RawCard, keyword};
use super::write::BLOCK;

/// One HDU as it was read.
#[derive(Clone, Debug)]
pub struct ReadHdu {
    pub cards: Vec<RawCard>,
    /// Header and data with their padding, as in the file.
    pub bytes: Vec<u8>,
    /// Data without padding.
    pub data: Vec<u8>,
}

/// A whole file.
#[derive(Clone, Debug)]
pub struct Fits {
    pub hdus: Vec<ReadHdu>,
    pub bytes: Vec<u8>,
}

impl Fits {
    /// Reads a complete, padded file.
    pub fn read(path: &Path) -> Self {
        let bytes = std::fs::read(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        assert!(!bytes.is_empty(), "{} is empty", path.display());
        assert_eq!(
            bytes.len() % BLOCK,
            0,
            "{} is not whole blocks",
            path.display()
        );
        let mut hdus = Vec::new();
        let mut at = 0;
        while at < bytes.len() {
            let hdu = ReadHdu::parse(&bytes[at..]);
            at += hdu.bytes.len();
            hdus.push(hdu);
        }
        assert_eq!(
            &bytes[..30],
            b"SIMPLE  =                    T",
            "{}",
            path.display()
        );
        Self { hdus, bytes }
    }

    pub fn primary(&self) -> &ReadHdu {
        &self.hdus[0]
    }

    /// The HDU of this EXTNAME.
    pub fn named(&self, name: &str) -> Option<&ReadHdu> {
        self.hdus
            .iter()
            .find(|h| h.text("EXTNAME").as_deref() == Some(name))
    }

    /// The EXTNAMEs of the extensions, empty where there is none.
    pub fn names(&self) -> Vec<String> {
        self.hdus[1..]
            .iter()
            .map(|h| h.text("EXTNAME").unwrap_or_default())
            .collect()
    }
}

impl ReadHdu {
    fn parse(bytes: &[u8]) -> Self {
        let (raw, _) = bytes.as_chunks::<80>();
        let end = raw
            .iter()
            .position(|c| keyword(c) == "END")
            .expect("no END card");
        let data_at = ((end + 1) * 80).next_multiple_of(BLOCK);
        assert!(
            bytes[(end + 1) * 80..data_at].iter().all(|b| *b == b' '),
            "header padding"
        );
        let mut hdu = Self {
            cards: raw[..end].to_vec(),
            bytes: Vec::new(),
            data: Vec::new(),
        };
        let data_end = data_at + hdu.data_bytes();
        let hdu_end = data_end.next_multiple_of(BLOCK);
        assert!(bytes.len() >= hdu_end, "file ends inside an HDU");
        assert!(
            bytes[data_end..hdu_end].iter().all(|b| *b == 0),
            "data padding is not zero"
        );
        hdu.data = bytes[data_at..data_end].to_vec();
        hdu.bytes = bytes[..hdu_end].to_vec();
        hdu
    }

    fn data_bytes(&self) -> usize {
        let axes = self.axes();
        if axes.is_empty() {
            return 0;
        }
        let count = axes.iter().product::<usize>() + self.size("PCOUNT").unwrap_or(0);
        let width = usize::try_from(self.bitpix().unsigned_abs()).unwrap() / 8;
        width * self.size("GCOUNT").unwrap_or(1) * count
    }

    /// The card of this keyword; a test may not meet duplicates.
    pub fn card(&self, key: &str) -> Option<&RawCard> {
        assert!(
            self.count(key) < 2,
            "{key} stands {} times",
            self.count(key)
        );
        self.cards.iter().find(|c| keyword(c) == key)
    }

    pub fn count(&self, key: &str) -> usize {
        self.cards.iter().filter(|c| keyword(c) == key).count()
    }

    pub fn has(&self, key: &str) -> bool {
        self.count(key) > 0
    }

    fn value(&self, key: &str) -> Option<String> {
        let text = String::from_utf8_lossy(&self.card(key)?[10..]).into_owned();
        let bare = text.split('/').next().unwrap().trim();
        if bare.starts_with('\'') {
            Some(text.trim().to_owned())
        } else {
            Some(bare.to_owned())
        }
    }

    /// A string value, without its quotes and trailing blanks.
    pub fn text(&self, key: &str) -> Option<String> {
        let v = self.value(key)?;
        let mut out = String::new();
        let mut rest = v.strip_prefix('\'')?.chars().peekable();
        while let Some(c) = rest.next() {
            if c == '\'' && rest.next_if_eq(&'\'').is_none() {
                return Some(out.trim_end().to_owned());
            }
            out.push(c);
        }
        panic!("{key}: string without an end: {v}")
    }

    pub fn real(&self, key: &str) -> Option<f64> {
        let v = self.value(key)?;
        Some(
            v.replace('D', "E")
                .parse()
                .unwrap_or_else(|_| panic!("{key}: {v} is no number")),
        )
    }

    pub fn integer(&self, key: &str) -> Option<i64> {
        let v = self.value(key)?;
        Some(
            v.parse()
                .unwrap_or_else(|_| panic!("{key}: {v} is no integer")),
        )
    }

    fn size(&self, key: &str) -> Option<usize> {
        self.integer(key).map(|v| usize::try_from(v).unwrap())
    }

    pub fn logical(&self, key: &str) -> Option<bool> {
        match self.value(key)?.as_str() {
            "T" => Some(true),
            "F" => Some(false),
            other => panic!("{key}: {other} is no logical"),
        }
    }

    pub fn bitpix(&self) -> i64 {
        self.integer("BITPIX").expect("BITPIX")
    }

    /// NAXIS1 first.
    pub fn axes(&self) -> Vec<usize> {
        let n = self.size("NAXIS").expect("NAXIS");
        (1..=n)
            .map(|i| self.size(&format!("NAXIS{i}")).expect("NAXISn"))
            .collect()
    }

    /// The bodies of the HISTORY cards.
    pub fn history(&self) -> Vec<String> {
        let body = |c: &RawCard| String::from_utf8_lossy(&c[8..]).trim_end().to_owned();
        self.cards
            .iter()
            .filter(|c| keyword(c) == "HISTORY")
            .map(body)
            .collect()
    }

    /// `(BMAJ, BMIN, BPA)` of the header in arcsec, arcsec, degrees.
    pub fn beam(&self) -> Option<[f64; 3]> {
        let (a, b, p) = (self.real("BMAJ")?, self.real("BMIN")?, self.real("BPA")?);
        Some([a * 3600.0, b * 3600.0, p])
    }

    /// Every pixel of a floating-point image.
    pub fn pixels(&self) -> Vec<f64> {
        match self.bitpix() {
            -32 => {
                let (words, _) = self.data.as_chunks::<4>();
                words
                    .iter()
                    .map(|b| f32::from_be_bytes(*b).into())
                    .collect()
            }
            -64 => {
                let (words, _) = self.data.as_chunks::<8>();
                words.iter().map(|b| f64::from_be_bytes(*b)).collect()
            }
            other => panic!("an output image of BITPIX {other}"),
        }
    }

    /// The pixels of each plane.
    pub fn planes(&self) -> Vec<Vec<f64>> {
        let axes = self.axes();
        let size = axes[0] * axes[1];
        self.pixels()
            .chunks_exact(size)
            .map(<[f64]>::to_vec)
            .collect()
    }

    /// A column of a table whose cells are single `E`, `D`, `I`, `J` or `K`.
    pub fn column(&self, name: &str) -> Option<Vec<f64>> {
        let n = self.size("TFIELDS")?;
        let mut at = 0;
        for i in 1..=n {
            let form = self.form(i);
            let width = if form == 'I' {
                2
            } else if "DK".contains(form) {
                8
            } else {
                4
            };
            if self.text(&format!("TTYPE{i}")).as_deref() == Some(name) {
                return Some(self.cells(form, at, width));
            }
            at += width;
        }
        None
    }

    /// The form letter of column `i` (from 1), which must be a scalar.
    pub fn form(&self, i: usize) -> char {
        let form = self.text(&format!("TFORM{i}")).expect("TFORM");
        let letter = form.trim_start_matches('1');
        assert_eq!(letter.len(), 1, "column {i} has form {form}");
        letter.chars().next().unwrap()
    }

    #[allow(clippy::cast_precision_loss)]
    fn cells(&self, form: char, at: usize, width: usize) -> Vec<f64> {
        let row_bytes = self.axes()[0];
        let cell = |row: &[u8]| -> f64 {
            let b = &row[at..at + width];
            match form {
                'E' => f32::from_be_bytes(b.try_into().unwrap()).into(),
                'D' => f64::from_be_bytes(b.try_into().unwrap()),
                'I' => i16::from_be_bytes(b.try_into().unwrap()).into(),
                'J' => i32::from_be_bytes(b.try_into().unwrap()).into(),
                'K' => i64::from_be_bytes(b.try_into().unwrap()) as f64,
                other => panic!("no cells of form {other} here"),
            }
        };
        self.data.chunks_exact(row_bytes).map(cell).collect()
    }
}
