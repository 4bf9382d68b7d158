//! What a plane, a row or a slot can be refused for.

use std::fmt;
use std::io;

/// What a plane, a row or a slot can be refused for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PlaneError {
    /// The bytes are not as many as the samples need.
    Length {
        /// Samples in a row.
        nx: usize,
        /// Rows.
        ny: usize,
        /// BITPIX of the samples.
        bitpix: i64,
        /// Bytes that were given.
        found_bytes: usize,
    },
    /// The plane has no sample, or more bytes than memory has addresses.
    Size {
        /// Samples in a row.
        nx: usize,
        /// Rows.
        ny: usize,
    },
    /// There is no such row.
    Row {
        /// The row asked for, from 0.
        row: usize,
        /// Rows of the plane.
        ny: usize,
    },
    /// A row buffer has not one value for each sample of a row.
    RowLength {
        /// Values in the buffer.
        found: usize,
        /// Samples in a row.
        nx: usize,
    },
    /// Output samples are floating-point numbers.
    NotFloat {
        /// The BITPIX asked for.
        bitpix: i64,
    },
    /// Two planes that must have the same shape do not.
    Shape {
        /// Samples in a row and rows that were found.
        found: (usize, usize),
        /// Samples in a row and rows that would be right.
        expected: (usize, usize),
    },
    /// Rows of an input plane could not be read.
    Read {
        /// Where, in the plane.
        at_bytes: u64,
        /// What kind of failure it was.
        kind: io::ErrorKind,
        /// What the system called it.
        os_error: Option<i32>,
    },
    /// Rows of an output plane could not be stored.
    Store {
        /// Where, in the plane.
        at_bytes: u64,
        /// What kind of failure it was.
        kind: io::ErrorKind,
        /// What the system called it.
        os_error: Option<i32>,
    },
}

impl fmt::Display for PlaneError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Length {
                nx,
                ny,
                bitpix,
                found_bytes,
            } => write!(
                f,
                "a plane of {nx} x {ny} samples with BITPIX {bitpix} does not fit \
                 {found_bytes} bytes exactly"
            ),
            Self::Size { nx, ny } => {
                write!(
                    f,
                    "a plane of {nx} x {ny} samples is empty or larger than memory"
                )
            }
            Self::Row { row, ny } => write!(f, "row {row} asked of a plane with {ny} rows"),
            Self::RowLength { found, nx } => {
                write!(f, "a buffer of {found} values for rows of {nx} samples")
            }
            Self::NotFloat { bitpix } => {
                write!(
                    f,
                    "an output plane with BITPIX {bitpix}, where -32 or -64 is needed"
                )
            }
            Self::Shape { found, expected } => write!(
                f,
                "a plane of {} x {} samples where {} x {} were expected",
                found.0, found.1, expected.0, expected.1
            ),
            Self::Read {
                at_bytes,
                kind,
                os_error,
            } => {
                let error = os_error.map_or(io::Error::from(kind), io::Error::from_raw_os_error);
                write!(f, "cannot be read at byte {at_bytes} of the plane: {error}")
            }
            Self::Store {
                at_bytes,
                kind,
                os_error,
            } => {
                let error = os_error.map_or(io::Error::from(kind), io::Error::from_raw_os_error);
                write!(
                    f,
                    "cannot be stored at byte {at_bytes} of the plane: {error}"
                )
            }
        }
    }
}

impl std::error::Error for PlaneError {}
