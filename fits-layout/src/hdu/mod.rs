//! The HDUs of a file: what each is and where it lies. Planes are in `cube`, columns in `table`.

mod sizes;

pub(crate) use sizes::product;

use crate::bitpix::Bitpix;
use crate::block::padded_bytes;
use crate::error::{Compression, LayoutError};
use crate::header::Header;
use sizes::Sizes;
use std::fmt;
use std::ops::Range;

/// What an HDU is (FITS 4.0, 3.3, 6 and 7).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum HduKind {
    /// The primary HDU, an image or nothing.
    Primary,
    /// An IMAGE extension.
    Image,
    /// A BINTABLE extension.
    BinTable,
    /// A TABLE extension, of ASCII text.
    AsciiTable,
    /// A primary HDU of random groups.
    RandomGroups,
    /// An extension of another name.
    Other,
}

impl fmt::Display for HduKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Primary => "primary image",
            Self::Image => "image",
            Self::BinTable => "binary table",
            Self::AsciiTable => "ASCII table",
            Self::RandomGroups => "random groups",
            Self::Other => "unknown extension",
        })
    }
}

/// One HDU: its header, what it is, and its bytes in the file.
#[derive(Clone, Debug)]
pub struct Hdu {
    kind: HduKind,
    name: Option<String>,
    version: i64,
    header: Header,
    header_range: Range<u64>,
    data_range: Range<u64>,
    padded_end: u64,
    bitpix: Bitpix,
    axes: Vec<u64>,
    pcount: u64,
    gcount: u64,
}

impl Hdu {
    /// What it is.
    #[must_use]
    pub fn kind(&self) -> HduKind {
        self.kind
    }

    /// EXTNAME (FITS 4.0, 4.4.2.6); `None` if absent or malformed.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// EXTVER (FITS 4.0, 4.4.2.6); 1 if absent or malformed.
    #[must_use]
    pub fn version(&self) -> i64 {
        self.version
    }

    /// Its cards.
    #[must_use]
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Bytes of the header in the file, padding included.
    #[must_use]
    pub fn header_range(&self) -> Range<u64> {
        self.header_range.clone()
    }

    /// Bytes of the data in the file, padding excluded.
    #[must_use]
    pub fn data_range(&self) -> Range<u64> {
        self.data_range.clone()
    }

    /// Where the HDU ends in the file: after its padding, or at the end of a file that lacks some
    /// of it.
    #[must_use]
    pub fn padded_end(&self) -> u64 {
        self.padded_end
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

    /// PCOUNT (FITS 4.0, 4.4.1.2): bytes of a table's heap, or parameters of a group; 0 if absent.
    #[must_use]
    pub fn pcount(&self) -> u64 {
        self.pcount
    }

    /// GCOUNT (FITS 4.0, 4.4.1.2): how many groups; 1 if absent.
    #[must_use]
    pub fn gcount(&self) -> u64 {
        self.gcount
    }

    /// Whether this is a tile-compressed image: a binary table with ZIMAGE = T (FITS 4.0, 10.1).
    #[must_use]
    pub fn is_compressed_image(&self) -> bool {
        self.kind == HduKind::BinTable && self.header.logical("ZIMAGE") == Ok(Some(true))
    }

    /// Reads the HDU that begins at `start` and must end within `bytes`.
    fn parse(
        bytes: &[u8],
        start: u64,
        index: usize,
        limit_bytes: u64,
    ) -> Result<Self, LayoutError> {
        let from = usize::try_from(start).ok();
        let rest = from.and_then(|from| bytes.get(from..)).unwrap_or_default();
        let (header, span_bytes) = Header::parse_within(rest, start, limit_bytes)?;
        let sizes = Sizes::of(&header, index == 0)?;
        let file_bytes = bytes.len() as u64;
        let data_range = sizes.data_range(start, span_bytes, file_bytes)?;
        if data_range.end > file_bytes {
            return Err(sizes.truncated(index, data_range.start, file_bytes));
        }
        let padded_end = padded_bytes(data_range.end).unwrap_or(file_bytes);
        let Sizes {
            kind,
            bitpix,
            axes,
            pcount,
            gcount,
        } = sizes;
        Ok(Self {
            kind,
            name: header.text("EXTNAME").ok().flatten(),
            version: header.integer("EXTVER").ok().flatten().unwrap_or(1),
            header,
            header_range: start..data_range.start,
            data_range,
            padded_end: padded_end.min(file_bytes),
            bitpix,
            axes,
            pcount,
            gcount,
        })
    }
}

/// The HDUs of a file.
///
/// ```
/// use fits_layout::{Layout, LayoutError};
/// let error = Layout::parse(b"hello").unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "not a FITS file: begins with \"hello\", expected SIMPLE  ="
/// );
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Layout {
    /// The primary HDU and the extensions, in file order; at least one.
    pub hdus: Vec<Hdu>,
    trailing: Range<u64>,
}

impl Layout {
    /// Finds the HDUs in the bytes of a whole file. Reads headers only; costs their length.
    ///
    /// # Errors
    /// [`LayoutError::Empty`], [`LayoutError::NotFits`] or [`LayoutError::Compressed`] by the first
    /// bytes; [`LayoutError::MissingEnd`], [`LayoutError::MissingKeyword`],
    /// [`LayoutError::BadValue`] or [`LayoutError::Overflow`] for a header that does not say where
    /// its HDU ends; [`LayoutError::TruncatedData`] if the file ends before its data. A last data
    /// unit without its padding is accepted, and so is anything after the last HDU.
    pub fn parse(bytes: &[u8]) -> Result<Self, LayoutError> {
        Self::parse_within(bytes, u64::MAX)
    }

    /// The same for headers of up to `limit_bytes` together: what is known of them takes up to
    /// three times as much memory, and a hostile file may hold nothing but headers.
    ///
    /// # Errors
    /// As [`parse`](Self::parse), and [`LayoutError::HeadersTooLong`].
    pub fn parse_within(bytes: &[u8], limit_bytes: u64) -> Result<Self, LayoutError> {
        check_start(bytes)?;
        let mut hdus = Vec::new();
        let mut start = 0_u64;
        let mut left_bytes = limit_bytes;
        loop {
            let hdu =
                Hdu::parse(bytes, start, hdus.len(), left_bytes).map_err(|error| match error {
                    LayoutError::HeadersTooLong { offset, .. } => LayoutError::HeadersTooLong {
                        offset,
                        limit_bytes,
                    },
                    error => error,
                })?;
            left_bytes = left_bytes.saturating_sub(hdu.header_range.end.saturating_sub(start));
            start = hdu.padded_end();
            hdus.push(hdu);
            let rest = usize::try_from(start)
                .ok()
                .and_then(|start| bytes.get(start..));
            if !rest.is_some_and(begins_extension) {
                return Ok(Self {
                    hdus,
                    trailing: start..bytes.len() as u64,
                });
            }
        }
    }

    /// Bytes after the last HDU: special records or junk (FITS 4.0, 3.5); mostly empty.
    #[must_use]
    pub fn trailing(&self) -> Range<u64> {
        self.trailing.clone()
    }
}

/// Whether an extension begins here, even if the file ends within its first keyword.
fn begins_extension(rest: &[u8]) -> bool {
    const XTENSION: &[u8] = b"XTENSION";
    rest.starts_with(XTENSION) || (!rest.is_empty() && XTENSION.starts_with(rest))
}

/// Checks that a file begins as a FITS file must (FITS 4.0, 4.4.1.1).
fn check_start(bytes: &[u8]) -> Result<(), LayoutError> {
    const SIMPLE: &[u8] = b"SIMPLE  =";
    if bytes.is_empty() {
        return Err(LayoutError::Empty);
    }
    if bytes.starts_with(SIMPLE) || SIMPLE.starts_with(bytes) {
        return Ok(());
    }
    if let Some(method) = Compression::of(bytes) {
        return Err(LayoutError::Compressed { method });
    }
    let front = bytes.get(..SIMPLE.len()).unwrap_or(bytes);
    Err(LayoutError::NotFits {
        found: format!("\"{}\"", front.escape_ascii()),
    })
}
