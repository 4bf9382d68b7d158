//! Beam logs: text files of one beam a channel, as RACS-tools, ASKAP and convolvers keep them
//! beside a cube. Which log belongs to which file is told here; whether it is used, in `source`.
//!
//! The common form is a line `# Channel BMAJ[arcsec] BMIN[arcsec] BPA[deg]` and one row a
//! channel, `0 20.1 10.2 30.3`. Also read: fields parted by commas, other columns in between
//! (found by name, `Target BMAJ` of a RACS-tools convolution log standing for `BMAJ`), units in a
//! comment line of their own, rows in any order, and no header line at all.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, BufReader, Read as _};
use std::path::{Path, PathBuf};

use super::entry::{Entries, Reader};
use super::source::BeamSource;
use super::units::{arcsec_in, degrees_in};
use super::{Beam, BeamError, BeamNote};

mod columns;

use columns::{Columns, fields};

/// The first line of a log that [`render`] writes.
const HEADER: &str = "# Channel BMAJ[arcsec] BMIN[arcsec] BPA[deg]\n";

/// A log has some fifty bytes a channel; a longer file is not read into memory.
const LONGEST_BYTES: u64 = 16 << 20;

/// So many rows more than channels are kept to say which of them is wrong.
const TOO_MANY_ROWS: u64 = 1000;

/// The beams of a log, one a channel, with remarks.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LogBeams {
    /// By channel, from 0; `None` where the row is blank.
    pub beams: Vec<Option<Beam>>,
    /// What a user should know.
    pub notes: Vec<BeamNote>,
}

/// Reads the log at `path`; see [`parse`].
///
/// # Errors
/// [`BeamError::InLog`] round whatever is wrong with it, [`BeamError::LogUnreadable`] where the
/// file cannot be read as text.
pub fn read(path: &Path, channels: Option<u64>, floor_arcsec: f64) -> Result<LogBeams, BeamError> {
    let text = text_of(path).map_err(|source| BeamError::LogUnreadable {
        path: path.to_owned(),
        source,
    })?;
    let source = BeamSource::Log(path.to_owned());
    parse_as(&text, channels, floor_arcsec, &source).map_err(|error| BeamError::InLog {
        path: path.to_owned(),
        error: Box::new(error),
    })
}

/// The text of a file that is not too long to be a log.
fn text_of(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    let file = File::open(path)?.take(LONGEST_BYTES + 1);
    BufReader::new(file).read_to_string(&mut text)?;
    if text.len() as u64 > LONGEST_BYTES {
        let told = format!("it has more than {LONGEST_BYTES} bytes, which no beam log has");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, told));
    }
    Ok(text)
}

/// The beams of the text of a log, placed by its channel column, which counts from 0.
///
/// With `channels` there must be a row for each of them, without it the number of rows is that of
/// channels. A row that is not finite, or has an axis under `floor_arcsec`, is blank.
///
/// # Errors
/// A line that is not a beam, an unknown unit, a channel that is out of range or stands twice, or
/// a wrong number of rows: each with the line or the numbers.
pub fn parse(text: &str, channels: Option<u64>, floor_arcsec: f64) -> Result<LogBeams, BeamError> {
    parse_as(
        text,
        channels,
        floor_arcsec,
        &BeamSource::Log(PathBuf::from("beam log")),
    )
}

fn parse_as(
    text: &str,
    channels: Option<u64>,
    floor_arcsec: f64,
    source: &BeamSource,
) -> Result<LogBeams, BeamError> {
    let columns = Columns::of(text)?;
    let mut reader = Reader::new(floor_arcsec);
    let mut rows = Vec::new();
    for (line, row_text) in columns::rows(text) {
        if let Some(channels) =
            channels.filter(|count| rows.len() as u64 > count.saturating_add(TOO_MANY_ROWS))
        {
            return Err(BeamError::LogRows {
                rows: columns::rows(text).count() as u64,
                channels,
                missing: channels,
            });
        }
        rows.push(row(line, row_text, &columns, &mut reader)?);
    }
    let mut notes = Vec::from_iter(reader.note(source));
    if columns.channel.is_none() {
        notes.push(BeamNote::RowOrder {
            source: source.clone(),
            columns: "a missing Channel",
        });
        for (row, number) in rows.iter_mut().zip(0..) {
            row.channel = number;
        }
    }
    let channels = channels.unwrap_or(rows.len() as u64);
    Ok(LogBeams {
        beams: placed(&rows, channels)?,
        notes,
    })
}

/// One row of a log.
#[derive(Clone, Copy, Debug)]
struct Row {
    line: usize,
    channel: i64,
    beam: Option<Beam>,
}

fn row(line: usize, text: &str, columns: &Columns, reader: &mut Reader) -> Result<Row, BeamError> {
    let fields = fields(text);
    let wrong = |found: &str, expected| BeamError::LogLine {
        line,
        found: found.chars().take(60).collect(),
        expected,
    };
    let number = |column: usize| {
        let field = fields.get(column).ok_or_else(|| {
            wrong(
                text,
                "as many fields as the header line has: channel, BMAJ, BMIN, BPA",
            )
        })?;
        real(field).ok_or_else(|| wrong(field, "a number, or nan for no beam"))
    };
    let channel = match columns.channel {
        None => 0,
        Some(column) => {
            let value = number(column)?;
            let whole = value.fract() == 0.0 && value.abs() < 1e15;
            let field = fields.get(column).map_or("", String::as_str);
            if !whole {
                return Err(wrong(field, "a channel number, from 0"));
            }
            value as i64
        }
    };
    let bmaj = number(columns.bmaj.index)? * columns.bmaj.factor;
    let bmin = number(columns.bmin.index)? * columns.bmin.factor;
    let bpa = number(columns.bpa.index)? * columns.bpa.factor;
    Ok(Row {
        line,
        channel,
        beam: reader.beam(bmaj, bmin, bpa),
    })
}

/// A number as programs write it: `nan` in any case, `--` for a masked cell, D exponents.
fn real(field: &str) -> Option<f64> {
    if matches!(field, "--" | "masked") {
        return Some(f64::NAN);
    }
    field
        .parse()
        .ok()
        .or_else(|| field.replace(['d', 'D'], "e").parse().ok())
}

/// The beams by channel, each channel having exactly one row.
fn placed(rows: &[Row], channels: u64) -> Result<Vec<Option<Beam>>, BeamError> {
    let mut by_channel: Vec<Option<&Row>> = vec![None; rows.len()];
    for row in rows {
        let Row { line, channel, .. } = *row;
        let out = || BeamError::LogOutOfRange {
            channel,
            line,
            channels,
        };
        let index = u64::try_from(channel).map_err(|_| out())?;
        if index >= channels {
            return Err(out());
        }
        // More channels than rows: some channel has none, which is told below.
        let place = usize::try_from(index)
            .ok()
            .and_then(|place| by_channel.get_mut(place));
        let Some(place) = place else { continue };
        if let Some(first) = place {
            return Err(BeamError::LogDuplicate {
                channel: index,
                first_line: first.line,
                second_line: line,
            });
        }
        *place = Some(row);
    }
    let missing = by_channel
        .iter()
        .position(Option::is_none)
        .map(|channel| channel as u64);
    let wanted = usize::try_from(channels).unwrap_or(usize::MAX);
    if missing.is_some() || rows.len() != wanted || rows.is_empty() {
        let rows_found = rows.len() as u64;
        let missing = missing.unwrap_or(rows_found);
        return Err(BeamError::LogRows {
            rows: rows_found,
            channels,
            missing,
        });
    }
    Ok(by_channel
        .into_iter()
        .map(|row| row.and_then(|row| row.beam))
        .collect())
}

/// A log of these beams, by channel from 0; `None` is written `nan nan nan`. Numbers have as many
/// digits as it takes to read back the same.
///
/// ```
/// use mmfits::beam::{Beam, log};
///
/// let beams = [Some(Beam::new(20.0, 10.5, 30.0)?), None];
/// let text = log::render(&beams);
/// assert_eq!(text.lines().nth(1), Some("0 20 10.5 30"));
/// assert_eq!(log::parse(&text, Some(2), 1e-3)?.beams, beams);
/// # Ok::<(), mmfits::beam::BeamError>(())
/// ```
pub fn render(beams: &[Option<Beam>]) -> String {
    let mut text = String::from(HEADER);
    for (channel, beam) in beams.iter().enumerate() {
        // Writing to a string does not fail.
        let _ = match beam {
            Some(Beam {
                bmaj_arcsec,
                bmin_arcsec,
                bpa_deg,
            }) => {
                writeln!(text, "{channel} {bmaj_arcsec} {bmin_arcsec} {bpa_deg}")
            }
            None => writeln!(text, "{channel} nan nan nan"),
        };
    }
    text
}

/// The logs that may belong to `image`, beside it: `beamlog.STEM.txt`, where STEM is its name
/// without `.fits`, `.fit` or `.fts` (and `.gz`, `.fz`, `.Z`); for a name without those, also
/// without whatever stands after its last dot.
pub fn beside(image: &Path) -> Vec<PathBuf> {
    let mut stem = PathBuf::from(image.file_name().unwrap_or_default());
    for endings in [&["gz", "fz", "z"][..], &["fits", "fit", "fts"][..]] {
        let ending = stem
            .extension()
            .map(|ending| ending.to_string_lossy().to_lowercase());
        if ending.is_some_and(|ending| endings.contains(&ending.as_str())) {
            stem.set_extension("");
        }
    }
    let shorter = image.file_stem().map(PathBuf::from);
    let mut names = vec![stem];
    names.extend(shorter.filter(|shorter| !names.contains(shorter)));
    let log = |name: &PathBuf| {
        let mut log = OsString::from("beamlog.");
        log.push(name);
        log.push(".txt");
        image.with_file_name(log)
    };
    names.iter().map(log).collect()
}

impl From<LogBeams> for Entries {
    fn from(LogBeams { beams, notes }: LogBeams) -> Self {
        Self { beams, notes }
    }
}

#[cfg(test)]
mod tests;
