//! What can be wrong with a beam or with the place it is read from.
//! No messages are printed here, and no other stage's errors live here.

use std::fmt;
use std::io;
use std::path::PathBuf;

use fits_layout::LayoutError;

use super::source::BeamSource;

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
        /// The names looked for, beside it.
        looked_for: Vec<String>,
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
        /// The first channel without a row, and the line after which it was missed.
        missing: Option<(u64, usize)>,
    },
    /// A unit that is no angle.
    UnknownUnit {
        /// Column or keyword.
        name: String,
        /// The text found.
        unit: String,
        /// Where: a table or a beam log.
        place: String,
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
    /// An image so large that its planes cannot be counted.
    TooManyPlanes {
        /// Channels of the image.
        channels: u64,
        /// Stokes planes of the image.
        stokes: u64,
    },
    /// The beams belong to another source's file and cannot be used: wraps the reason.
    In {
        /// Where the beams were read.
        source: BeamSource,
        /// What is wrong there.
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
