//! What can be wrong with a beam or with the place it is read from.
//! No messages are printed here, and no other stage's errors live here.

use std::fmt;
use std::io;
use std::path::PathBuf;

use fits_layout::LayoutError;

/// Why a beam, or the beams of a file, cannot be had. Lengths in arcsec, angles in degrees.
#[derive(Debug)]
#[non_exhaustive]
pub enum BeamError {
    /// A beam that is no ellipse: a value that is not finite, a negative axis, or BMIN above BMAJ.
    NotABeam {
        /// Major axis, arcsec.
        bmaj_arcsec: f64,
        /// Minor axis, arcsec.
        bmin_arcsec: f64,
        /// Position angle, degrees.
        bpa_deg: f64,
    },
    /// A common beam was asked of beams one of which has no width.
    NoWidth {
        /// Major axis, arcsec.
        bmaj_arcsec: f64,
        /// Minor axis, arcsec: zero.
        bmin_arcsec: f64,
    },
    /// A common beam of no beams at all.
    NoBeams,
    /// Rounding to a step that is not a positive number.
    BadStep {
        /// The step, arcsec or degrees.
        step: f64,
    },
    /// The header cannot be read where a beam stands.
    Header(LayoutError),
    /// The beam log cannot be read.
    LogUnreadable {
        /// The beam log.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A beam log was asked for and none stands beside the file.
    LogAbsent {
        /// The image file.
        path: PathBuf,
        /// The logs looked for.
        looked_for: Vec<PathBuf>,
    },
    /// A line of a beam log that is not a beam.
    LogLine {
        /// Line number, from 1.
        line: usize,
        /// What was found.
        found: String,
        /// What would have been right.
        expected: &'static str,
    },
    /// A channel that stands twice in a beam log.
    LogDuplicate {
        /// The channel, from 0.
        channel: u64,
        /// Line of the first, from 1.
        first_line: usize,
        /// Line of the second.
        second_line: usize,
    },
    /// A channel number outside the image.
    LogOutOfRange {
        /// What the channel column holds.
        channel: i64,
        /// Line number, from 1.
        line: usize,
        /// Number of channels there are.
        channels: u64,
    },
    /// Fewer or more rows in a beam log than channels.
    LogRows {
        /// Rows of the log.
        rows: u64,
        /// Channels of the image.
        channels: u64,
        /// The first channel without a row.
        missing: u64,
    },
    /// A beam log whose header line does not name a column that is needed.
    LogColumn {
        /// The column.
        column: String,
        /// The columns named.
        columns: String,
    },
    /// A unit that is no angle.
    UnknownUnit {
        /// Column or keyword.
        name: String,
        /// The text found.
        unit: String,
    },
    /// The beam table does not have one row a channel, or one a channel and Stokes.
    TableRows {
        /// EXTNAME of the table.
        table: String,
        /// Rows it has.
        rows: u64,
        /// Channels of the image.
        channels: u64,
        /// Stokes planes of the image.
        stokes: u64,
    },
    /// Rows of the beam table that cannot be placed by CHAN and POL.
    TableIndex {
        /// EXTNAME of the table.
        table: String,
        /// Row, from 1.
        row: u64,
        /// CHAN of the row.
        chan: i64,
        /// POL of the row.
        pol: i64,
        /// What is wrong with it.
        fault: IndexFault,
    },
    /// CHAN and POL are both unfilled and the order of the rows says nothing.
    TableUnordered {
        /// EXTNAME of the table.
        table: String,
        /// Channels of the image.
        channels: u64,
        /// Stokes planes of the image.
        stokes: u64,
    },
    /// The header says `CASAMBM = T` and the file has no beam table.
    FlagWithoutTable {
        /// The image file.
        path: PathBuf,
    },
    /// Some of the cards of a beam are there and others are not.
    CardMissing {
        /// The keyword that is missing.
        keyword: String,
        /// The keyword that is there.
        present: String,
    },
    /// Fewer or more numbered beam cards than channels.
    CardCount {
        /// The largest number met, BMAJn.
        cards: u64,
        /// Channels of the image.
        channels: u64,
    },
    /// The only source the user allowed has no beam.
    SourceAbsent {
        /// The image file.
        path: PathBuf,
        /// What was looked for.
        wanted: &'static str,
    },
    /// A beam log was given together with another source that was asked for by name.
    SourceConflict {
        /// The beam log given.
        beamlog: PathBuf,
        /// The source asked for.
        wanted: &'static str,
    },
    /// No beam anywhere.
    Nowhere {
        /// The image file.
        path: PathBuf,
    },
    /// An image without planes, or with more than can be counted.
    Planes {
        /// Channels of the image.
        channels: u64,
        /// Stokes planes of the image.
        stokes: u64,
    },
    /// Beams that are not whole channels of so many Stokes planes.
    Shape {
        /// How many beams.
        beams: u64,
        /// Stokes planes a channel.
        stokes: u64,
    },
    /// Something is wrong in a beam log.
    InLog {
        /// The beam log.
        path: PathBuf,
        /// What.
        error: Box<BeamError>,
    },
}

/// Why a row of a beam table cannot be placed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum IndexFault {
    /// CHAN is not one of the channels.
    ChanOutOfRange {
        /// Number of channels.
        channels: u64,
    },
    /// POL is not one of the Stokes planes.
    PolOutOfRange {
        /// Number of polarisations in the table.
        pols: u64,
    },
    /// Another row has the same CHAN and POL.
    Duplicate {
        /// The earlier row, from 1.
        earlier_row: u64,
    },
}

impl fmt::Display for IndexFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ChanOutOfRange { channels } => {
                write!(f, "the image has {channels} channels, counted from 0")
            }
            Self::PolOutOfRange { pols: 1 } => {
                f.write_str("there is one row a channel, so POL should be the same in all")
            }
            Self::PolOutOfRange { pols } => {
                write!(f, "the image has {pols} Stokes planes, counted from 0")
            }
            Self::Duplicate { earlier_row } => write!(f, "row {earlier_row} has the same"),
        }
    }
}

/// What to do where a table cannot be used.
const USE_A_LOG: &str = "give the beams with --beamlog FILE";

impl BeamError {
    /// Those about numbers and about beam logs.
    fn write_log_fault(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LogUnreadable { path, .. } => {
                write!(f, "beam log {} cannot be read as text", path.display())
            }
            Self::LogAbsent { path, looked_for } => {
                let names: Vec<_> = looked_for
                    .iter()
                    .map(|log| log.display().to_string())
                    .collect();
                write!(
                    f,
                    "no beam log for {}: there is no {}",
                    path.display(),
                    names.join(" or ")
                )
            }
            Self::LogLine {
                line,
                found,
                expected,
            } => {
                write!(f, "line {line}: found {found:?}, expected {expected}")
            }
            Self::LogDuplicate {
                channel,
                first_line,
                second_line,
            } => {
                write!(
                    f,
                    "channel {channel} stands on line {first_line} and on line {second_line}"
                )
            }
            Self::LogOutOfRange {
                channel,
                line,
                channels,
            } => {
                let last = channels.saturating_sub(1);
                write!(
                    f,
                    "line {line}: channel {channel} is not one of 0 to {last}"
                )
            }
            Self::LogRows {
                rows,
                channels,
                missing,
            } if rows > channels => write!(
                f,
                "{rows} rows for {channels} channels; one for each channel is needed"
            ),
            Self::LogRows {
                rows,
                channels,
                missing,
            } => write!(
                f,
                "{rows} rows for {channels} channels, counted from 0: channel {missing} has none"
            ),
            Self::LogColumn { column, columns } => {
                write!(f, "no column {column} among {columns}")
            }
            Self::InLog { path, .. } => write!(f, "in beam log {}", path.display()),
            _ => Ok(()),
        }
    }

    /// Those about beam tables.
    fn write_table_fault(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TableRows {
                table,
                rows,
                channels,
                stokes,
            } => {
                let plural = if *rows == 1 { "row" } else { "rows" };
                write!(
                    f,
                    "beam table {table} has {rows} {plural} for {channels} channels"
                )?;
                if *stokes > 1 {
                    write!(f, " of {stokes} Stokes planes")?;
                }
                write!(f, ": {USE_A_LOG}")
            }
            Self::TableIndex {
                table,
                row,
                chan,
                pol,
                fault,
            } => {
                write!(
                    f,
                    "beam table {table}, row {row} (CHAN {chan}, POL {pol}): {fault}; "
                )?;
                f.write_str(USE_A_LOG)
            }
            Self::TableUnordered {
                table,
                channels,
                stokes,
            } => write!(
                f,
                "beam table {table}: CHAN and POL are the same in all rows, so the rows of \
                 {channels} channels and {stokes} Stokes planes cannot be told apart; {USE_A_LOG}"
            ),
            Self::FlagWithoutTable { path } => write!(
                f,
                "{} says CASAMBM = T and has no BEAMS table with its beams: {USE_A_LOG}, or name \
                 another source with --beam-from log|cards|header|history",
                path.display()
            ),
            _ => Ok(()),
        }
    }

    /// Those about cards, and about sources that are not there.
    fn write_source_fault(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownUnit { name, unit } => {
                write!(
                    f,
                    "the unit {unit:?} of {name} is no angle: expected deg or arcsec"
                )
            }
            Self::CardMissing { keyword, present } => {
                write!(
                    f,
                    "no {keyword}, though there is {present}: a beam needs both"
                )
            }
            Self::CardCount { cards, channels } => {
                write!(
                    f,
                    "cards BMAJ1 to BMAJ{cards} for {channels} channels: {USE_A_LOG}"
                )
            }
            Self::SourceAbsent { path, wanted } => {
                write!(f, "no beam for {}: it has not {wanted}", path.display())
            }
            Self::SourceConflict { beamlog, wanted } => write!(
                f,
                "beam log {} was named, and {wanted} asked for: one of them",
                beamlog.display()
            ),
            Self::Nowhere { path } => write!(
                f,
                "no beam for {}: looked for a BEAMS table, a beam log beside it, cards BMAJn, \
                 cards BMAJ, BMIN, BPA, and AIPS or CASA HISTORY; {USE_A_LOG}",
                path.display()
            ),
            _ => Ok(()),
        }
    }
}

impl BeamError {
    /// Whether another request would mend it, rather than another input.
    #[must_use]
    pub fn is_request(&self) -> bool {
        matches!(self, Self::SourceConflict { .. } | Self::BadStep { .. })
    }
}

impl fmt::Display for BeamError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotABeam {
                bmaj_arcsec,
                bmin_arcsec,
                bpa_deg,
            } => write!(
                f,
                "{bmaj_arcsec}\" x {bmin_arcsec}\" at {bpa_deg} deg is no beam: expected finite \
                 numbers with BMAJ >= BMIN >= 0"
            ),
            Self::NoWidth {
                bmaj_arcsec,
                bmin_arcsec,
            } => write!(
                f,
                "no common beam with one of {bmaj_arcsec}\" x {bmin_arcsec}\": expected a width"
            ),
            Self::NoBeams => f.write_str("no beam to find a common beam of"),
            Self::BadStep { step } => {
                write!(
                    f,
                    "cannot round up to multiples of {step}: expected a positive number"
                )
            }
            Self::Header(_) => f.write_str("the beam cannot be read from the header"),
            Self::Planes { channels, stokes } => write!(
                f,
                "{channels} channels of {stokes} Stokes planes: expected at least one plane, and \
                 no more than fit in memory"
            ),
            Self::Shape { beams, stokes } => {
                write!(
                    f,
                    "{beams} beams are not whole channels of {stokes} Stokes planes"
                )
            }
            _ => {
                self.write_log_fault(f)?;
                self.write_table_fault(f)?;
                self.write_source_fault(f)
            }
        }
    }
}

impl std::error::Error for BeamError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Header(error) => Some(error),
            Self::LogUnreadable { source, .. } => Some(source),
            Self::InLog { error, .. } => Some(error.as_ref()),
            _ => None,
        }
    }
}
