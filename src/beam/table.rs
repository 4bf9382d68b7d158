//! The BEAMS table: one beam a channel, or a channel and Stokes, as CASA keeps them beside an
//! image. Reading one, placing its rows, writing one; which source counts is told in `source`.
//!
//! The convention is CASA's (casacore, `ImageFITSConverter`): a binary table whose EXTNAME holds
//! `BEAMS`, columns BMAJ, BMIN, BPA (float32, with TUNITs), CHAN and POL (int32, from 0), and the
//! keywords NCHAN and NPOL. The image header announces it by `CASAMBM = T`, which is not relied on.

use std::collections::HashMap;

use fits_layout::{CellKind, Column, Hdu, HduKind, Layout, Table, TableBuilder};

use super::entry::{Entries, Reader};
use super::error::IndexFault;
use super::source::{BeamSource, Question, Resolved};
use super::units::{arcsec_in, degrees_in};
use super::{Beam, BeamError, BeamNote};

/// What stands in a table where there is no beam, in all three columns: the smallest normal
/// float32. CASA rejects a NaN there, and RACS-tools and fitscube write this number.
const BLANK: f32 = f32::MIN_POSITIVE;

/// The beams of the file's beam table, or `None` if it has none.
///
/// A beam table is a binary table whose EXTNAME contains `BEAMS`, in any case, with columns BMAJ,
/// BMIN and BPA. Of several the first after the image counts. It has one row a channel, which then
/// serves all Stokes, or one a channel and Stokes; rows are placed by CHAN and POL. One row for
/// several channels is refused, like any other number that is not theirs.
///
/// # Errors
/// [`BeamError::TableRows`], [`BeamError::TableIndex`] or [`BeamError::TableUnordered`] for rows
/// that cannot be placed, [`BeamError::UnknownUnit`] for a TUNIT that is no angle.
pub fn read(question: &Question<'_>) -> Result<Option<Resolved>, BeamError> {
    let found = find(question.layout, question.hdu)?;
    let Some(Found {
        index,
        hdu,
        table,
        tables,
    }) = found
    else {
        return Ok(None);
    };
    let name = hdu.name().unwrap_or("BEAMS").to_owned();
    let source = BeamSource::Table { hdu: index, name };
    let span = hdu.data_range();
    let bounds = usize::try_from(span.start)
        .ok()
        .zip(usize::try_from(span.end).ok());
    let data = bounds
        .and_then(|(start, end)| question.bytes.get(start..end))
        .unwrap_or_default();
    let rows = Rows {
        table: &table,
        data,
        source: &source,
    };
    let mut entries = rows.placed(question)?;
    if tables > 1 {
        entries.notes.push(BeamNote::SeveralTables {
            used: source.clone(),
            tables,
        });
    }
    Ok(Some(Resolved {
        beams: entries.beams,
        source,
        notes: entries.notes,
    }))
}

/// A beam table of a file.
struct Found<'a> {
    index: usize,
    hdu: &'a Hdu,
    table: Table,
    /// How many there are in the file.
    tables: u64,
}

/// The HDUs of the beam tables that belong to the image in HDU `image`, and go stale with its
/// beams.
///
/// A table belongs to the nearest image before it that says `CASAMBM = T`; if none does, to the
/// nearest before it whose planes its rows can count; else to the nearest before it, or to the
/// first image of the file.
///
/// # Errors
/// [`BeamError::Header`] for a beam table that cannot be read.
pub fn belonging(layout: &Layout, image: usize) -> Result<Vec<usize>, BeamError> {
    Ok(tables_of(layout, image)?
        .into_iter()
        .map(|(index, ..)| index)
        .collect())
}

type Numbered<'a> = (usize, &'a Hdu, Table);

fn tables_of(layout: &Layout, image: usize) -> Result<Vec<Numbered<'_>>, BeamError> {
    let mut tables = Vec::new();
    for (index, hdu) in layout.hdus.iter().enumerate() {
        if let Some(table) = beam_table(hdu)?
            && owner(layout, index, table.rows()).is_none_or(|owner| owner == image)
        {
            tables.push((index, hdu, table));
        }
    }
    Ok(tables)
}

/// The image that the beam table of `rows` rows in HDU `table` belongs to.
fn owner(layout: &Layout, table: usize, rows: u64) -> Option<usize> {
    let is_image = |hdu: &Hdu| {
        matches!(hdu.kind(), HduKind::Primary | HduKind::Image)
            && hdu.axes().len() >= 2
            && !hdu.axes().contains(&0)
    };
    let images = || {
        layout
            .hdus
            .iter()
            .enumerate()
            .filter(|(_, hdu)| is_image(hdu))
    };
    let before = || images().filter(|(index, _)| *index < table);
    let says_so = |hdu: &Hdu| super::source::is_flagged(hdu.header());
    let counted = |hdu: &Hdu| {
        let outer = hdu.axes().get(2..).unwrap_or_default();
        let planes = outer
            .iter()
            .try_fold(1_u64, |product, axis| product.checked_mul(*axis));
        rows == 1 || outer.contains(&rows) || planes == Some(rows)
    };
    let nearest = |wanted: &dyn Fn(&Hdu) -> bool| {
        before()
            .filter(|(_, hdu)| wanted(hdu))
            .last()
            .map(|(index, _)| index)
    };
    nearest(&says_so)
        .or_else(|| nearest(&counted))
        .or_else(|| nearest(&|_| true))
        .or_else(|| images().next().map(|(index, _)| index))
}

/// The table of an HDU that is a beam table.
fn beam_table(hdu: &Hdu) -> Result<Option<Table>, BeamError> {
    let named = hdu
        .name()
        .is_some_and(|name| name.to_ascii_uppercase().contains("BEAMS"));
    if hdu.kind() != HduKind::BinTable || !named {
        return Ok(None);
    }
    let table = Table::of(hdu).map_err(BeamError::Header)?;
    let has_beams = ["BMAJ", "BMIN", "BPA"]
        .iter()
        .all(|name| table.column(name).is_some_and(holds_a_number));
    Ok(has_beams.then_some(table))
}

/// Whether a cell of the column is one number: text, or several numbers, are no axis of a beam.
fn holds_a_number(column: &Column) -> bool {
    use CellKind::{F32, F64, I16, I32, I64, U8};
    column.repeat() == 1 && matches!(column.kind(), U8 | I16 | I32 | I64 | F32 | F64)
}

/// The first beam table that belongs to the image in HDU `image`.
fn find(layout: &Layout, image: usize) -> Result<Option<Found<'_>>, BeamError> {
    let all = tables_of(layout, image)?;
    let tables = all.len() as u64;
    let first = all.into_iter().next();
    Ok(first.map(|(index, hdu, table)| Found {
        index,
        hdu,
        table,
        tables,
    }))
}

/// The rows of a beam table.
struct Rows<'a> {
    table: &'a Table,
    data: &'a [u8],
    source: &'a BeamSource,
}

impl Rows<'_> {
    /// A beam for each plane, at channel · stokes + stokes.
    fn placed(&self, question: &Question<'_>) -> Result<Entries, BeamError> {
        let Question {
            channels,
            stokes,
            floor_arcsec,
            ..
        } = *question;
        let rows = self.table.rows();
        let pols = match (channels.checked_mul(stokes), channels) {
            (Some(both), _) if both == rows => stokes,
            (_, channels) if channels == rows => 1,
            _ => {
                let table = self.name();
                return Err(BeamError::TableRows {
                    table,
                    rows,
                    channels,
                    stokes,
                });
            }
        };
        let mut notes = Vec::new();
        let beams = self.beams(floor_arcsec, &mut notes)?;
        let places = self.places(channels, pols, &mut notes)?;
        let mut by_place: Vec<Option<Beam>> = vec![None; beams.len()];
        for (beam, place) in beams.iter().zip(places) {
            if let Some(slot) = by_place.get_mut(place) {
                *slot = *beam;
            }
        }
        let copies = if pols == stokes { 1 } else { stokes };
        let beams = by_place
            .iter()
            .flat_map(|beam| (0..copies).map(|_| *beam))
            .collect();
        Ok(Entries { beams, notes })
    }

    fn name(&self) -> String {
        match self.source {
            BeamSource::Table { name, .. } => name.clone(),
            _ => String::from("BEAMS"),
        }
    }

    /// The beams in the order of the rows.
    fn beams(
        &self,
        floor_arcsec: f64,
        notes: &mut Vec<BeamNote>,
    ) -> Result<Vec<Option<Beam>>, BeamError> {
        let bmaj = self.column("BMAJ", "arcsec", arcsec_in, notes)?;
        let bmin = self.column("BMIN", "arcsec", arcsec_in, notes)?;
        let bpa = self.column("BPA", "deg", degrees_in, notes)?;
        let mut reader = Reader::new(floor_arcsec);
        let value = |row, (column, factor): (&Column, f64)| {
            self.table
                .real(self.data, row, column)
                .map_or(f64::NAN, |value| value * factor)
        };
        let beams = (0..self.table.rows())
            .map(|row| reader.beam(value(row, bmaj), value(row, bmin), value(row, bpa)))
            .collect();
        notes.extend(reader.note(self.source));
        Ok(beams)
    }

    /// A column and what its numbers are multiplied by; without a unit they are in `usual`.
    fn column(
        &self,
        name: &str,
        usual: &'static str,
        factor: fn(&str) -> Option<f64>,
        notes: &mut Vec<BeamNote>,
    ) -> Result<(&Column, f64), BeamError> {
        let column = self
            .table
            .column(name)
            .ok_or_else(|| BeamError::CardMissing {
                keyword: name.to_owned(),
                present: self.name(),
            })?;
        let unit = column.unit().map(str::trim).filter(|unit| !unit.is_empty());
        let Some(unit) = unit else {
            notes.push(BeamNote::UnitAssumed {
                column: name.to_owned(),
                unit: usual,
            });
            return Ok((column, 1.0));
        };
        let unknown = || BeamError::UnknownUnit {
            name: name.to_owned(),
            unit: unit.to_owned(),
        };
        Ok((column, factor(unit).ok_or_else(unknown)?))
    }

    /// Where each row goes, channel · pols + pol; no two to the same place.
    fn places(
        &self,
        channels: u64,
        pols: u64,
        notes: &mut Vec<BeamNote>,
    ) -> Result<Vec<usize>, BeamError> {
        let (chan, pol) = self.indices(channels, pols, notes)?;
        let mut taken = HashMap::new();
        let mut places = Vec::new();
        for ((row, &chan), &pol) in (1_u64..).zip(&chan).zip(&pol) {
            let fault = |fault| BeamError::TableIndex {
                table: self.name(),
                row,
                chan,
                pol,
                fault,
            };
            let within = |index: i64, count| u64::try_from(index).ok().filter(|i| *i < count);
            let channel = within(chan, channels)
                .ok_or_else(|| fault(IndexFault::ChanOutOfRange { channels }))?;
            let pol = within(pol, pols).ok_or_else(|| fault(IndexFault::PolOutOfRange { pols }))?;
            // Both are below the number of rows, which are in memory.
            let place = channel.saturating_mul(pols).saturating_add(pol);
            if let Some(earlier_row) = taken.insert(place, row) {
                return Err(fault(IndexFault::Duplicate { earlier_row }));
            }
            places.push(usize::try_from(place).unwrap_or(usize::MAX));
        }
        Ok(places)
    }

    /// CHAN and POL of each row. A column that is absent, or the same in all rows though they
    /// belong to different planes, says nothing; then the order of the rows counts, and a note
    /// says so.
    fn indices(
        &self,
        channels: u64,
        pols: u64,
        notes: &mut Vec<BeamNote>,
    ) -> Result<(Vec<i64>, Vec<i64>), BeamError> {
        let rows = self.table.rows();
        let (chan, pol) = (self.integers("CHAN"), self.integers("POL"));
        let chan =
            chan.filter(|chan| !is_constant(chan) || (channels, chan.first()) == (1, Some(&0)));
        let pol = pol.filter(|pol| !is_constant(pol));
        let zeros = || (0..rows).map(|_| 0).collect::<Vec<i64>>();
        let in_order = || {
            (0..)
                .zip(0..rows)
                .map(|(order, _)| order)
                .collect::<Vec<i64>>()
        };
        let note = |columns| BeamNote::RowOrder {
            source: self.source.clone(),
            columns,
        };
        Ok(match (chan, pol, channels, pols) {
            (Some(chan), Some(pol), ..) => (chan, pol),
            (Some(chan), None, _, 1) => (chan, zeros()),
            (None, None, _, 1) => {
                notes.push(note("CHAN"));
                (in_order(), zeros())
            }
            (Some(_) | None, None, 1, _) => {
                notes.push(note("POL"));
                (zeros(), in_order())
            }
            (Some(chan), None, ..) => {
                notes.push(note("POL"));
                let pol = occurrence(&chan);
                (chan, pol)
            }
            (None, Some(pol), ..) => {
                notes.push(note("CHAN"));
                (occurrence(&pol), pol)
            }
            (None, None, ..) => {
                let table = self.name();
                return Err(BeamError::TableUnordered {
                    table,
                    channels,
                    stokes: pols,
                });
            }
        })
    }

    /// The integers of a column; `None` without it. A cell without a value is −2⁶³, no index.
    fn integers(&self, name: &str) -> Option<Vec<i64>> {
        let column = self.table.column(name)?;
        let cell = |row| {
            self.table
                .integer(self.data, row, column)
                .unwrap_or(i64::MIN)
        };
        Some((0..self.table.rows()).map(cell).collect())
    }
}

fn is_constant(values: &[i64]) -> bool {
    values.windows(2).all(|pair| pair.first() == pair.last())
}

/// For each value, how often it occurred before.
fn occurrence(values: &[i64]) -> Vec<i64> {
    let mut seen = HashMap::new();
    let count = |value: &i64| {
        let next = seen.entry(*value).or_insert(0);
        *next += 1;
        *next - 1
    };
    values.iter().map(count).collect()
}

/// A BEAMS extension in whole blocks, for the beams of an image at channel · stokes + stokes:
/// float32 BMAJ and BMIN in arcsec and BPA in degrees, int32 CHAN and POL from 0, NCHAN and NPOL,
/// big-endian. A blank beam is 1.1754944e-38 in all three columns.
///
/// # Errors
/// [`BeamError::Shape`] unless the beams are whole channels of `stokes` planes.
pub fn write(beams: &[Option<Beam>], stokes: u64) -> Result<Vec<u8>, BeamError> {
    let shape = || BeamError::Shape {
        beams: beams.len() as u64,
        stokes,
    };
    let pols = usize::try_from(stokes)
        .ok()
        .filter(|pols| *pols > 0)
        .ok_or_else(shape)?;
    if !beams.len().is_multiple_of(pols) {
        return Err(shape());
    }
    let mut table = TableBuilder::new("BEAMS")
        .column("BMAJ", CellKind::F32, Some("arcsec"))
        .column("BMIN", CellKind::F32, Some("arcsec"))
        .column("BPA", CellKind::F32, Some("deg"))
        .column("CHAN", CellKind::I32, None)
        .column("POL", CellKind::I32, None);
    let number = |count: usize| i64::try_from(count).map_err(|_| shape());
    let channels = number(beams.len() / pols)?;
    table
        .set("NCHAN", channels, Some("number of channels"))
        .map_err(BeamError::Header)?;
    table
        .set("NPOL", number(pols)?, Some("number of polarisations"))
        .map_err(BeamError::Header)?;
    for (chan, channel) in (0_i64..).zip(beams.chunks(pols)) {
        for (pol, beam) in (0_i64..).zip(channel) {
            let [bmaj, bmin, bpa] = beam.map_or([f64::from(BLANK); 3], |beam| {
                [beam.bmaj_arcsec(), beam.bmin_arcsec(), beam.bpa_deg()]
            });
            let cells = [
                bmaj.into(),
                bmin.into(),
                bpa.into(),
                chan.into(),
                pol.into(),
            ];
            table.row(&cells).map_err(BeamError::Header)?;
        }
    }
    table.hdu_bytes().map_err(BeamError::Header)
}
