//! The image's new header: every card kept as it was, but for those the smoothing changes.

use std::collections::HashSet;

use fits_layout::{Card, Header, LayoutError, Sum, checksum};

use crate::beam::Beam;
use crate::output::OutputError;
use crate::plan::Precision;

/// What the smoothing changes in an image's header.
#[derive(Clone, Debug)]
pub struct HeaderEdit<'a> {
    /// The samples of the output.
    pub precision: Precision,
    /// The beam for BMAJ, BMIN, BPA; `None` where every plane is blank.
    pub reference: Option<Beam>,
    /// The channel it belongs to, where a beam table follows.
    pub table_channel: Option<u64>,
    /// Lines for HISTORY.
    pub history: &'a [String],
}

impl HeaderEdit<'_> {
    /// The edited header. CHECKSUM and DATASUM are still those of no data.
    ///
    /// # Errors
    /// A card cannot be written.
    pub fn apply(&self, input: &Header) -> Result<Header, LayoutError> {
        let mut header = input.clone();
        keep_first_mandatory(&mut header);
        self.samples(&mut header)?;
        self.beams(&mut header)?;
        // Stale limits mislead whatever scales its display by them.
        for keyword in ["DATAMIN", "DATAMAX"] {
            header.remove(keyword);
        }
        for line in self.history {
            header.push_commentary("HISTORY", &printable(line));
        }
        if checksum::is_present(&header) {
            checksum::stamp(&mut header, Sum::default())?;
        }
        Ok(header)
    }

    /// Floating-point samples have no BLANK, and their scaling has been applied
    /// (FITS 4.0, 4.4.2.5).
    fn samples(&self, header: &mut Header) -> Result<(), LayoutError> {
        let bitpix = self.precision.bitpix().code();
        if header.integer("BITPIX")? != Some(bitpix) {
            header.set("BITPIX", bitpix, None)?;
        }
        for keyword in ["BSCALE", "BZERO", "BLANK"] {
            header.remove(keyword);
        }
        Ok(())
    }

    fn beams(&self, header: &mut Header) -> Result<(), LayoutError> {
        remove_numbered_beams(header);
        self.reference_beam(header)?;
        let has_table = self.table_channel.is_some();
        if has_table {
            header.set(
                "CASAMBM",
                true,
                Some("beams per channel are in the BEAMS table"),
            )?;
            if header.first("SIMPLE").is_some() && header.logical("EXTEND")? != Some(true) {
                header.set("EXTEND", true, None)?;
            }
        } else if header.first("CASAMBM").is_some() {
            header.set("CASAMBM", false, Some("one beam for all planes"))?;
        }
        Ok(())
    }

    fn reference_beam(&self, header: &mut Header) -> Result<(), LayoutError> {
        let Some(beam) = self.reference else {
            for keyword in ["BMAJ", "BMIN", "BPA"] {
                header.remove(keyword);
            }
            return Ok(());
        };
        let comment = self
            .table_channel
            .map(|channel| format!("[deg] beam of channel {channel}"));
        let comment = comment.as_deref();
        header.set("BMAJ", beam.bmaj_arcsec() / 3600.0, comment)?;
        header.set("BMIN", beam.bmin_arcsec() / 3600.0, comment)?;
        header.set("BPA", beam.bpa_deg(), comment)
    }
}

/// Of cards that say what the data are, the first one holds, and no reader must find another
/// (FITS 4.0, 4.4.1.1).
fn keep_first_mandatory(header: &mut Header) {
    let mut seen = HashSet::new();
    header.remove_where(|card| {
        let keyword = card.keyword();
        let names = ["SIMPLE", "XTENSION", "BITPIX", "NAXIS", "PCOUNT", "GCOUNT"];
        let is_mandatory = names.contains(&&*keyword) || number_after(&keyword, "NAXIS").is_some();
        is_mandatory && !seen.insert(keyword.to_string())
    });
}

/// Makes CHECKSUM and DATASUM for data of this sum.
pub(crate) fn stamp(header: &mut Header, data: Sum) -> Result<(), OutputError> {
    checksum::stamp(header, data).map_err(|source| OutputError::Header { source })
}

/// HISTORY holds printable ASCII only (FITS 4.0, 4.4.2.4).
fn printable(line: &str) -> String {
    line.chars()
        .map(|c| if matches!(c, ' '..='~') { c } else { '?' })
        .collect()
}

/// Removes BMAJn, BMINn, BPAn, and PAn where it stands beside a BMAJn, in one pass: a cube may
/// have thousands.
fn remove_numbered_beams(header: &mut Header) {
    let keywords = header.cards().iter().map(Card::keyword);
    let numbers: HashSet<String> = keywords
        .filter_map(|keyword| number_after(&keyword, "BMAJ").map(str::to_owned))
        .collect();
    header.remove_where(|card| {
        let keyword = card.keyword();
        let angle = number_after(&keyword, "PA").is_some_and(|number| numbers.contains(number));
        angle || is_beam_card(&keyword)
    });
}

/// Whether this keyword is a numbered beam card.
fn is_beam_card(keyword: &str) -> bool {
    ["BMAJ", "BMIN", "BPA"]
        .iter()
        .any(|name| number_after(keyword, name).is_some())
}

fn number_after<'k>(keyword: &'k str, name: &str) -> Option<&'k str> {
    let number = keyword.strip_prefix(name)?;
    let digits = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    digits.then_some(number)
}
