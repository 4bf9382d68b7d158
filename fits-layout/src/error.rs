//! What can be wrong with a layout. Texts are made here; nothing is parsed.

use std::fmt;

/// Why bytes could not be read, or a card not written.
///
/// Offsets are bytes from the start of the file, or of the header where that was parsed alone.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum LayoutError {
    /// There are no bytes at all.
    Empty,
    /// The first bytes are not those of a FITS file.
    NotFits {
        /// The first bytes, made printable.
        found: String,
    },
    /// The file is compressed as a whole.
    Compressed {
        /// What it was compressed with.
        method: Compression,
    },
    /// A header has no END card.
    MissingEnd {
        /// Where the header begins.
        offset: u64,
        /// How far END was looked for.
        searched_bytes: u64,
    },
    /// The headers up to and with this one are longer than the caller has room for.
    HeadersTooLong {
        /// Where this one begins.
        offset: u64,
        /// How long they may be together.
        limit_bytes: u64,
    },
    /// A keyword that the layout or a caller cannot do without is absent.
    MissingKeyword {
        /// The keyword.
        keyword: String,
        /// Where the header begins.
        offset: u64,
    },
    /// A card that is needed does not say what it should.
    BadValue {
        /// The keyword.
        keyword: String,
        /// Where the card is; `None` for a card that stands alone.
        offset: Option<u64>,
        /// The text of its value field.
        found: String,
        /// What would have been right.
        expected: &'static str,
    },
    /// A size needs more than 64 bits.
    Overflow {
        /// Where the header begins.
        offset: u64,
        /// Which size.
        what: &'static str,
    },
    /// A file ends inside the data of an HDU.
    TruncatedData {
        /// Index of the HDU, the primary being 0.
        hdu: usize,
        /// Where its data begin.
        offset: u64,
        /// How many bytes its header says there are.
        expected_bytes: u64,
        /// How many there are.
        found_bytes: u64,
        /// For an image: how many planes are whole, and how many there should be.
        planes: Option<(u64, u64)>,
    },
    /// An HDU is not an image with at least two axes and a pixel.
    NotAnImage {
        /// Where its header begins.
        offset: u64,
        /// What it is.
        found: String,
    },
    /// An HDU is not a binary table.
    NotATable {
        /// Where its header begins.
        offset: u64,
        /// What it is.
        found: String,
    },
    /// The columns of a table do not fit its rows.
    BadTable {
        /// Where its header begins.
        offset: u64,
        /// What is wrong, with the numbers.
        found: String,
    },
    /// A row does not fit the columns of the table that it is added to.
    BadRow {
        /// Which row, from 0.
        row: u64,
        /// What is wrong, with the cell.
        found: String,
    },
    /// A keyword may not be written (FITS 4.0, 4.1.2.1).
    IllegalKeyword {
        /// The keyword.
        keyword: String,
    },
    /// A value or comment may not be written (FITS 4.0, 4.2.1): only printable ASCII may.
    IllegalText {
        /// The keyword.
        keyword: String,
        /// The text.
        found: String,
    },
    /// A value does not fit a card.
    TooLong {
        /// The keyword.
        keyword: String,
        /// Bytes that it would need.
        needed_bytes: usize,
    },
    /// A NaN or an infinity has no form in a header (FITS 4.0, 4.2.4).
    NotFinite {
        /// The keyword.
        keyword: String,
    },
}

/// What a whole file was compressed with, as its first bytes tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Compression {
    /// gzip, as in `.fits.gz`.
    Gzip,
    /// Unix compress, as in `.fits.Z`.
    Compress,
    /// bzip2, as in `.fits.bz2`.
    Bzip2,
    /// xz, as in `.fits.xz`.
    Xz,
    /// Zstandard, as in `.fits.zst`.
    Zstd,
    /// A zip archive.
    Zip,
}

impl Compression {
    /// The command that unpacks such a file.
    #[must_use]
    pub fn unpacker(self) -> &'static str {
        match self {
            Self::Gzip => "gunzip",
            Self::Compress => "uncompress",
            Self::Bzip2 => "bunzip2",
            Self::Xz => "unxz",
            Self::Zstd => "unzstd",
            Self::Zip => "unzip",
        }
    }

    /// Recognises a compressed file by its first bytes.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Option<Self> {
        const MAGIC: [(&[u8], Compression); 6] = [
            (b"\x1f\x8b", Compression::Gzip),
            (b"\x1f\x9d", Compression::Compress),
            (b"BZh", Compression::Bzip2),
            (b"\xfd7zXZ\0", Compression::Xz),
            (b"\x28\xb5\x2f\xfd", Compression::Zstd),
            (b"PK\x03\x04", Compression::Zip),
        ];
        MAGIC
            .into_iter()
            .find(|(magic, _)| bytes.starts_with(magic))
            .map(|(_, method)| method)
    }

    /// Its name, as a person would say it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Gzip => "gzip",
            Self::Compress => "compress",
            Self::Bzip2 => "bzip2",
            Self::Xz => "xz",
            Self::Zstd => "zstd",
            Self::Zip => "zip",
        }
    }
}

impl fmt::Display for LayoutError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BadRow { .. }
            | Self::IllegalKeyword { .. }
            | Self::IllegalText { .. }
            | Self::TooLong { .. }
            | Self::NotFinite { .. } => self.write_side(f),
            Self::Empty => write!(f, "not a FITS file: it is empty, expected SIMPLE  ="),
            Self::NotFits { found } => {
                write!(
                    f,
                    "not a FITS file: begins with {found}, expected SIMPLE  ="
                )
            }
            Self::Compressed { method } => {
                let (name, command) = (method.name(), method.unpacker());
                write!(f, "compressed with {name}; unpack it first: {command} FILE")
            }
            Self::MissingEnd {
                offset,
                searched_bytes,
            } => write!(
                f,
                "header at byte {offset} has no END card within {searched_bytes} bytes"
            ),
            Self::HeadersTooLong {
                offset,
                limit_bytes,
            } => write!(
                f,
                "the headers up to that at byte {offset} have more than {limit_bytes} bytes"
            ),
            Self::MissingKeyword { keyword, offset } => {
                write!(f, "header at byte {offset} has no {keyword}")
            }
            Self::BadValue {
                keyword,
                offset: Some(offset),
                found,
                expected,
            } => {
                write!(
                    f,
                    "{keyword} at byte {offset} is {found}, expected {expected}"
                )
            }
            Self::BadValue {
                keyword,
                offset: None,
                found,
                expected,
            } => {
                write!(f, "{keyword} is {found}, expected {expected}")
            }
            Self::Overflow { offset, what } => {
                write!(f, "header at byte {offset}: {what} is beyond 64 bits")
            }
            Self::TruncatedData { .. } => self.write_truncated(f),
            Self::NotAnImage { offset, found } => {
                write!(
                    f,
                    "HDU at byte {offset} is {found}, expected an image of 2 or more axes"
                )
            }
            Self::NotATable { offset, found } => {
                write!(
                    f,
                    "HDU at byte {offset} is {found}, expected a binary table"
                )
            }
            Self::BadTable { offset, found } => write!(f, "table at byte {offset}: {found}"),
        }
    }
}

impl LayoutError {
    /// The same error, now that the place of its card is known.
    pub(crate) fn at(mut self, place: Option<u64>) -> Self {
        if let Self::BadValue { offset, .. } = &mut self {
            *offset = place;
        }
        self
    }

    /// Text of the errors of writing.
    fn write_side(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BadRow { row, found } => write!(f, "table row {row}: {found}"),
            Self::IllegalKeyword { keyword } => write!(
                f,
                "keyword {keyword:?} cannot be written, expected 1 to 8 of A-Z 0-9 - _ and no \
                 commentary keyword"
            ),
            Self::IllegalText { keyword, found } => {
                write!(
                    f,
                    "{keyword} cannot hold {found:?}, expected printable ASCII"
                )
            }
            Self::TooLong {
                keyword,
                needed_bytes,
            } => {
                write!(
                    f,
                    "{keyword} needs a card of {needed_bytes} bytes, expected at most 80"
                )
            }
            Self::NotFinite { keyword } => {
                write!(f, "{keyword} cannot be NaN or infinite in a header")
            }
            _ => Ok(()),
        }
    }

    /// Text of a truncated HDU.
    fn write_truncated(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self::TruncatedData {
            hdu,
            offset,
            expected_bytes,
            found_bytes,
            planes,
        } = self
        else {
            return Ok(());
        };
        let missing = expected_bytes.saturating_sub(*found_bytes);
        write!(
            f,
            "HDU {hdu} is truncated: {missing} bytes missing of the {expected_bytes} data bytes \
             at byte {offset}"
        )?;
        match planes {
            Some((whole, planes)) => write!(f, " ({whole} of {planes} planes are whole)"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for LayoutError {}
