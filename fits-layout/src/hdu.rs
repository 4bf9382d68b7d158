//! The HDUs of a file: what each is and where it lies. Planes are in `cube`, columns in `table`.

use crate::bitpix::Bitpix;
use crate::block::padded_bytes;
use crate::error::{Compression, LayoutError};
use crate::header::Header;
use std::fmt;
use std::ops::Range;

/// The most axes there may be (FITS 4.0, 4.4.1.1).
const MAX_AXES: i64 = 999;

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
    fn parse(bytes: &[u8], start: u64, index: usize) -> Result<Self, LayoutError> {
        let from = usize::try_from(start).ok();
        let rest = from.and_then(|from| bytes.get(from..)).unwrap_or_default();
        let (header, span_bytes) = Header::parse(rest, start)?;
        let sizes = Sizes::of(&header, index == 0)?;
        let overflow = LayoutError::Overflow {
            offset: start,
            what: "the size of the data",
        };
        let (Some(data_start), Some(data_bytes)) =
            (start.checked_add(span_bytes), sizes.data_bytes())
        else {
            return Err(overflow);
        };
        let Some(data_end) = data_start.checked_add(data_bytes) else {
            return Err(overflow);
        };
        let file_bytes = bytes.len() as u64;
        if data_end > file_bytes {
            return Err(sizes.truncated(index, data_start, file_bytes));
        }
        let padded = padded_bytes(data_bytes).and_then(|padded| data_start.checked_add(padded));
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
            header_range: start..data_start,
            data_range: data_start..data_end,
            padded_end: padded.map_or(file_bytes, |padded| padded.min(file_bytes)),
            bitpix,
            axes,
            pcount,
            gcount,
        })
    }
}

/// What the mandatory keywords say (FITS 4.0, 4.4.1).
#[derive(Debug)]
struct Sizes {
    kind: HduKind,
    bitpix: Bitpix,
    axes: Vec<u64>,
    pcount: u64,
    gcount: u64,
}

impl Sizes {
    fn of(header: &Header, primary: bool) -> Result<Self, LayoutError> {
        let code = required(header, "BITPIX")?;
        let bitpix = Bitpix::from_code(code)
            .ok_or_else(|| header.bad_value("BITPIX", "8, 16, 32, 64, -32 or -64"))?;
        let axes = axes(header)?;
        let kind = if primary {
            primary_kind(header, &axes)?
        } else {
            extension_kind(header)?
        };
        let (pcount, gcount) = match kind {
            HduKind::Primary => (0, 1),
            _ => (count(header, "PCOUNT", 0)?, count(header, "GCOUNT", 1)?),
        };
        Ok(Self {
            kind,
            bitpix,
            axes,
            pcount,
            gcount,
        })
    }

    /// Size of the data: |BITPIX|/8 · GCOUNT · (PCOUNT + product of the axes) (FITS 4.0,
    /// equations 1, 2 and 4); random groups leave out NAXIS1, which is 0.
    fn data_bytes(&self) -> Option<u64> {
        let groups = self.kind == HduKind::RandomGroups;
        let axes = self.axes.get(usize::from(groups)..)?;
        let samples = match axes {
            [] => 0,
            axes => product(axes)?,
        };
        let group = self.pcount.checked_add(samples)?;
        self.bitpix
            .size_bytes()
            .checked_mul(self.gcount)?
            .checked_mul(group)
    }

    /// The error of a file that ends within the data.
    fn truncated(&self, hdu: usize, offset: u64, file_bytes: u64) -> LayoutError {
        let found_bytes = file_bytes.saturating_sub(offset);
        let plane = match (self.kind, self.axes.as_slice()) {
            (HduKind::Primary | HduKind::Image, [nx, ny, ..]) => {
                product(&[*nx, *ny, self.bitpix.size_bytes()])
            }
            _ => None,
        };
        let expected_bytes = self.data_bytes().unwrap_or(u64::MAX);
        let planes = plane.and_then(|plane| {
            Some((
                found_bytes.checked_div(plane)?,
                expected_bytes.checked_div(plane)?,
            ))
        });
        LayoutError::TruncatedData {
            hdu,
            offset,
            expected_bytes,
            found_bytes,
            planes,
        }
    }
}

/// Product of lengths; 0 wins over an overflow, as the data are then empty.
pub(crate) fn product(lengths: &[u64]) -> Option<u64> {
    if lengths.contains(&0) {
        return Some(0);
    }
    lengths
        .iter()
        .try_fold(1_u64, |product, &length| product.checked_mul(length))
}

/// An integer that must be there.
fn required(header: &Header, keyword: &str) -> Result<i64, LayoutError> {
    header
        .integer(keyword)?
        .ok_or_else(|| LayoutError::MissingKeyword {
            keyword: keyword.to_owned(),
            offset: header.offset(),
        })
}

/// `NAXIS1` to `NAXISn`.
fn axes(header: &Header) -> Result<Vec<u64>, LayoutError> {
    let naxis = required(header, "NAXIS")?;
    if !(0..=MAX_AXES).contains(&naxis) {
        return Err(header.bad_value("NAXIS", "0 to 999"));
    }
    let axis = |n: i64| {
        let keyword = format!("NAXIS{n}");
        let length = required(header, &keyword)?;
        u64::try_from(length).map_err(|_| header.bad_value(&keyword, "0 or more"))
    };
    (1..=naxis).map(axis).collect()
}

/// PCOUNT or GCOUNT.
fn count(header: &Header, keyword: &str, absent: u64) -> Result<u64, LayoutError> {
    match header.integer(keyword)? {
        None => Ok(absent),
        Some(count) => u64::try_from(count).map_err(|_| header.bad_value(keyword, "0 or more")),
    }
}

/// A primary HDU: random groups have GROUPS = T and NAXIS1 = 0 (FITS 4.0, 6.1.1).
fn primary_kind(header: &Header, axes: &[u64]) -> Result<HduKind, LayoutError> {
    let groups = axes.first() == Some(&0) && header.logical("GROUPS")? == Some(true);
    Ok(if groups {
        HduKind::RandomGroups
    } else {
        HduKind::Primary
    })
}

/// An extension by its XTENSION (FITS 4.0, 4.4.1.2).
fn extension_kind(header: &Header) -> Result<HduKind, LayoutError> {
    let name = header.text("XTENSION")?.unwrap_or_default();
    Ok(match name.trim() {
        "IMAGE" | "IUEIMAGE" => HduKind::Image,
        "BINTABLE" | "A3DTABLE" => HduKind::BinTable,
        "TABLE" => HduKind::AsciiTable,
        _ => HduKind::Other,
    })
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
        check_start(bytes)?;
        let mut hdus = Vec::new();
        let mut start = 0_u64;
        loop {
            let hdu = Hdu::parse(bytes, start, hdus.len())?;
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
