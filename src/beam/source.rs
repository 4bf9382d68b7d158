//! Which beam belongs to which plane of a file, and where that was written.
//! The formats themselves are read in `table`, `log`, `cards` and `history`.
//!
//! The sources, in the order in which [`BeamFrom::Auto`] takes the first that is there:
//! 1. the beam log that was named;
//! 2. the BEAMS table, whether or not the header announces it;
//! 3. a beam log beside the file;
//! 4. the cards BMAJn, BMINn, BPAn (or PAn), n from 1, one beam a channel;
//! 5. the cards BMAJ, BMIN, BPA;
//! 6. HISTORY, the last beam in it.
//!
//! A header that says `CASAMBM = T` promises a table. Where there is none, the file is refused
//! rather than another source guessed; naming a source overrules that.

use std::fmt;
use std::path::{Path, PathBuf};

use fits_layout::{Card, Hdu, Header, Layout, Value};

use super::entry::Entries;
use super::{Beam, BeamError, BeamNote, Relation, cards, history, log, table};

/// Which source of beams to take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BeamFrom {
    /// The first that is there, in the order at the head of this module.
    #[default]
    Auto,
    /// The BEAMS table.
    Table,
    /// A beam log: the one named, else one beside the file.
    Log,
    /// The numbered cards BMAJn, BMINn, BPAn.
    Cards,
    /// The cards BMAJ, BMIN, BPA.
    Header,
    /// HISTORY.
    History,
}

/// Where the beams of a file were found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BeamSource {
    /// A beam log.
    Log(PathBuf),
    /// A beam table of the file.
    Table {
        /// Index of its HDU, the primary being 0.
        hdu: usize,
        /// Its EXTNAME.
        name: String,
    },
    /// The numbered cards BMAJn, BMINn, BPAn.
    Cards,
    /// The cards BMAJ, BMIN, BPA.
    Header,
    /// HISTORY.
    History,
}

impl fmt::Display for BeamSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Log(path) => write!(f, "beam log {}", path.display()),
            Self::Table { hdu, name } => write!(f, "table {name} in HDU {hdu}"),
            Self::Cards => f.write_str("cards BMAJn, BMINn, BPAn"),
            Self::Header => f.write_str("cards BMAJ, BMIN, BPA"),
            Self::History => f.write_str("HISTORY"),
        }
    }
}

/// Whose beams are wanted, and what is known of the file.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    /// The image file; beam logs are looked for beside it.
    pub path: &'a Path,
    /// Its HDUs.
    pub layout: &'a Layout,
    /// The whole file.
    pub bytes: &'a [u8],
    /// Index of the image's HDU, the primary being 0.
    pub hdu: usize,
    /// Channels of the image, at least 1.
    pub channels: u64,
    /// Stokes planes a channel, at least 1.
    pub stokes: u64,
    /// The beam log that was named, if any.
    pub beamlog: Option<&'a Path>,
    /// Which source to take.
    pub from: BeamFrom,
    /// An axis below this, arcsec, is no beam: 1e-3 of a pixel.
    pub floor_arcsec: f64,
}

/// The beams of a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Resolved {
    /// The beam of each plane, at channel · stokes count + stokes; `None` where it has none.
    pub beams: Vec<Option<Beam>>,
    /// Where they were found.
    pub source: BeamSource,
    /// What a user should know.
    pub notes: Vec<BeamNote>,
}

/// The beams of a file, a beam or a blank for each plane.
///
/// # Errors
/// [`BeamError::Nowhere`] or [`BeamError::SourceAbsent`] where there are none,
/// [`BeamError::FlagWithoutTable`] where the header announces a table that is not there,
/// [`BeamError::SourceConflict`] for a log named together with another source, and whatever is
/// wrong with the source that was taken. No other source is then tried.
pub fn resolve(question: &Question<'_>) -> Result<Resolved, BeamError> {
    let file = File::new(question)?;
    let (wanted, found) = match (question.from, question.beamlog) {
        (BeamFrom::Auto | BeamFrom::Log, Some(log)) => ("a beam log", Some(file.log(log)?)),
        (BeamFrom::Auto, None) => ("a beam", file.first()?),
        (from, named) => {
            let wanted = wanted(from);
            if let Some(beamlog) = named {
                let beamlog = beamlog.to_owned();
                return Err(BeamError::SourceConflict { beamlog, wanted });
            }
            (wanted, file.only(from)?)
        }
    };
    let path = question.path.to_owned();
    let Some(mut found) = found else {
        return Err(BeamError::SourceAbsent { path, wanted });
    };
    found.notes.extend(file.disagreements(&found));
    Ok(found)
}

fn wanted(from: BeamFrom) -> &'static str {
    match from {
        BeamFrom::Auto => "a beam",
        BeamFrom::Table => "a BEAMS table with columns BMAJ, BMIN and BPA",
        BeamFrom::Log => "a beam log",
        BeamFrom::Cards => "cards BMAJn, BMINn, BPAn",
        BeamFrom::Header => "cards BMAJ, BMIN, BPA",
        BeamFrom::History => "a beam in HISTORY",
    }
}

/// A question with its image's header at hand.
struct File<'a> {
    question: &'a Question<'a>,
    header: &'a Header,
}

impl<'a> File<'a> {
    fn new(question: &'a Question<'a>) -> Result<Self, BeamError> {
        let Question {
            channels, stokes, ..
        } = *question;
        let path = || question.path.to_owned();
        let header = question.layout.hdus.get(question.hdu).map(Hdu::header);
        let header = header.ok_or_else(|| BeamError::Nowhere { path: path() })?;
        let planes = channels
            .checked_mul(stokes)
            .and_then(|planes| usize::try_from(planes).ok());
        match planes {
            Some(1..) => Ok(Self { question, header }),
            _ => Err(BeamError::Planes { channels, stokes }),
        }
    }

    /// The first source that is there.
    fn first(&self) -> Result<Option<Resolved>, BeamError> {
        if let Some(found) = table::read(self.question)? {
            return Ok(Some(found));
        }
        let path = || self.question.path.to_owned();
        if is_flagged(self.header) {
            return Err(BeamError::FlagWithoutTable { path: path() });
        }
        if let Some(log) = self.log_beside() {
            return Ok(Some(self.log(&log)?));
        }
        for from in [BeamFrom::Cards, BeamFrom::Header, BeamFrom::History] {
            if let Some(found) = self.only(from)? {
                return Ok(Some(found));
            }
        }
        Err(BeamError::Nowhere { path: path() })
    }

    /// The beams of one source; `None` if it is not there.
    fn only(&self, from: BeamFrom) -> Result<Option<Resolved>, BeamError> {
        let Question {
            channels,
            floor_arcsec,
            ..
        } = *self.question;
        let header = self.header;
        Ok(match from {
            BeamFrom::Auto => self.first()?,
            BeamFrom::Table => table::read(self.question)?,
            BeamFrom::Log => {
                let path = self.question.path;
                let log = self.log_beside().ok_or_else(|| BeamError::LogAbsent {
                    path: path.to_owned(),
                    looked_for: log::beside(path),
                })?;
                Some(self.log(&log)?)
            }
            BeamFrom::Cards => cards::numbered_beams(header, channels, floor_arcsec)?
                .map(|found| self.per_channel(found, BeamSource::Cards)),
            BeamFrom::Header => cards::header_beam(header, floor_arcsec)?
                .map(|found| self.per_channel(found, BeamSource::Header)),
            BeamFrom::History => history::history_beam(header, floor_arcsec)
                .map(|found| self.per_channel(found, BeamSource::History)),
        })
    }

    fn log_beside(&self) -> Option<PathBuf> {
        log::beside(self.question.path)
            .into_iter()
            .find(|log| log.is_file())
    }

    fn log(&self, path: &Path) -> Result<Resolved, BeamError> {
        let Question {
            channels,
            floor_arcsec,
            ..
        } = *self.question;
        let found = log::read(path, Some(channels), floor_arcsec)?;
        Ok(self.per_channel(found.into(), BeamSource::Log(path.to_owned())))
    }

    /// The beams of planes from those of channels, or from the one of all.
    fn per_channel(&self, found: Entries, source: BeamSource) -> Resolved {
        let Question {
            channels, stokes, ..
        } = *self.question;
        let one = match found.beams.as_slice() {
            [one] => Some(*one),
            _ => None,
        };
        let of_channel: Vec<Option<Beam>> = match one {
            Some(one) => (0..channels).map(|_| one).collect(),
            None => found.beams,
        };
        let beams = of_channel
            .iter()
            .flat_map(|beam| (0..stokes).map(|_| *beam))
            .collect();
        Resolved {
            beams,
            source,
            notes: found.notes,
        }
    }

    /// A note for each other source that says something else. A source that cannot be read is
    /// passed over, and so is HISTORY, which tells what once was.
    fn disagreements(&self, used: &Resolved) -> Vec<BeamNote> {
        let later = [
            BeamFrom::Table,
            BeamFrom::Log,
            BeamFrom::Cards,
            BeamFrom::Header,
        ];
        let others = later
            .into_iter()
            .filter_map(|from| self.only(from).ok().flatten());
        others
            .filter(|other| other.source != used.source && differ(used, other))
            .map(|other| BeamNote::Disagreement {
                used: used.source.clone(),
                other: other.source,
            })
            .collect()
    }
}

/// Whether two sources contradict each other. The header's one beam stands for many (CASA and
/// others write that of some channel, or a common one), so there it must only be among them.
fn differ(used: &Resolved, other: &Resolved) -> bool {
    let same = |one: &Option<Beam>, two: &Option<Beam>| match (one, two) {
        (Some(one), Some(two)) => Relation::between(one, two) == Relation::Equal,
        (None, None) => true,
        _ => false,
    };
    match (&other.source, other.beams.first()) {
        (BeamSource::Header, Some(beam)) => {
            beam.is_some() && !used.beams.iter().any(|mine| same(mine, beam))
        }
        _ => !used
            .beams
            .iter()
            .zip(&other.beams)
            .all(|(mine, theirs)| same(mine, theirs)),
    }
}

/// Whether the header says `CASAMBM = T`, as a logical or, as some write it, as a string.
pub(super) fn is_flagged(header: &Header) -> bool {
    match header.first("CASAMBM").map(Card::value) {
        Some(Ok(Value::Logical(flag))) => flag,
        Some(Ok(Value::Text(text))) => {
            matches!(text.trim().to_ascii_uppercase().as_str(), "T" | "TRUE")
        }
        _ => false,
    }
}
