//! What a user should know about where beams came from, as values.
//! Nothing is printed here; what is wrong enough to stop lives in `error`.

use std::fmt;

use super::source::BeamSource;

/// A remark on the beams of a file that does not stop the work.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum BeamNote {
    /// A column of a beam table, or of a beam log, has no unit.
    UnitAssumed {
        /// The column.
        column: String,
        /// The unit taken.
        unit: &'static str,
    },
    /// CHAN or POL (in a beam log: the channel column) is absent or unfilled, so the order of the
    /// rows counts.
    RowOrder {
        /// Where.
        source: BeamSource,
        /// The columns that say nothing.
        columns: &'static str,
    },
    /// BMIN is larger than BMAJ; the two were exchanged and the angle kept.
    AxesSwapped {
        /// Where.
        source: BeamSource,
        /// How many beams.
        beams: u64,
    },
    /// There is no BPA, and the beam is round.
    AngleAssumed,
    /// The beam was read from the text of a HISTORY card.
    FromHistory {
        /// The text.
        text: String,
        /// How many HISTORY texts hold a beam; the last one counts.
        found: u64,
    },
    /// Another source says something else and was not used.
    Disagreement {
        /// The source used.
        used: BeamSource,
        /// The other.
        other: BeamSource,
    },
    /// The file has several beam tables.
    SeveralTables {
        /// The one used.
        used: BeamSource,
        /// How many there are.
        tables: u64,
    },
}

impl BeamNote {
    /// What can be done about it, if anything.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::UnitAssumed { .. } => Some("write the unit into TUNITn, or use --beamlog FILE"),
            Self::RowOrder { .. } => Some("check the order, or give the beams with --beamlog FILE"),
            Self::AxesSwapped { .. } | Self::AngleAssumed => None,
            Self::FromHistory { .. } => Some("write BMAJ, BMIN and BPA cards if this is wrong"),
            Self::Disagreement { .. } | Self::SeveralTables { .. } => Some(
                "name the source with --beam-from table|log|cards|header|history, or use \
                 --beamlog FILE",
            ),
        }
    }
}

impl fmt::Display for BeamNote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnitAssumed { column, unit } => {
                write!(
                    f,
                    "column {column} of the beams has no unit: taken as {unit}"
                )
            }
            Self::RowOrder { source, columns } => {
                write!(
                    f,
                    "{source}: {columns} cannot be an index, so rows are taken in order"
                )
            }
            Self::AxesSwapped { source, beams: 1 } => {
                write!(
                    f,
                    "{source}: a beam with BMIN above BMAJ had them exchanged"
                )
            }
            Self::AxesSwapped { source, beams } => {
                write!(
                    f,
                    "{source}: {beams} beams with BMIN above BMAJ had them exchanged"
                )
            }
            Self::AngleAssumed => {
                f.write_str("the header has no BPA: taken as 0, since the beam is round")
            }
            Self::FromHistory { text, found: 1 } => {
                write!(f, "the beam was read from HISTORY: {text:?}")
            }
            Self::FromHistory { text, found } => {
                write!(
                    f,
                    "the beam was read from HISTORY, the last of {found}: {text:?}"
                )
            }
            Self::Disagreement { used, other } => {
                write!(
                    f,
                    "beams taken from {used}; {other} says otherwise and was not used"
                )
            }
            Self::SeveralTables { used, tables } => {
                write!(
                    f,
                    "the file has {tables} beam tables; beams taken from {used}"
                )
            }
        }
    }
}
