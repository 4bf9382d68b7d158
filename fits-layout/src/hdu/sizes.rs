//! What the mandatory keywords say of an HDU: its kind and how many bytes of data it has.

use super::HduKind;
use crate::bitpix::Bitpix;
use crate::block::padded_bytes;
use crate::error::LayoutError;
use crate::header::Header;
use std::ops::Range;

/// The most axes there may be (FITS 4.0, 4.4.1.1).
const MAX_AXES: i64 = 999;

/// What the mandatory keywords say (FITS 4.0, 4.4.1).
#[derive(Debug)]
pub(super) struct Sizes {
    pub(super) kind: HduKind,
    pub(super) bitpix: Bitpix,
    pub(super) axes: Vec<u64>,
    pub(super) pcount: u64,
    pub(super) gcount: u64,
}

impl Sizes {
    pub(super) fn of(header: &Header, primary: bool) -> Result<Self, LayoutError> {
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

    /// Where the data lie after a header that spans `span_bytes` at `start`. A file may end in the
    /// padding of a header without data.
    pub(super) fn data_range(
        &self,
        start: u64,
        span_bytes: u64,
        file_bytes: u64,
    ) -> Result<Range<u64>, LayoutError> {
        let overflow = || LayoutError::Overflow {
            offset: start,
            what: "the size of the data",
        };
        let data_bytes = self.data_bytes().ok_or_else(overflow)?;
        let span = padded_bytes(span_bytes).ok_or_else(overflow)?;
        let data_start = start.checked_add(span).ok_or_else(overflow)?;
        if data_bytes == 0 {
            let end = data_start.min(file_bytes);
            return Ok(end..end);
        }
        Ok(data_start..data_start.checked_add(data_bytes).ok_or_else(overflow)?)
    }

    /// The error of a file that ends within the data.
    pub(super) fn truncated(&self, hdu: usize, offset: u64, file_bytes: u64) -> LayoutError {
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
