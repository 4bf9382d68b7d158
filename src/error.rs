//! The outer error: which file, which plane, whose fault, and the stage's own error below it.

use std::error::Error as StdError;
use std::fmt;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use fits_layout::{HduKind, LayoutError};

use crate::beam::BeamError;
use crate::convolve::BackendError;
use crate::journal::JournalError;
use crate::map::MapError;
use crate::output::OutputError;
use crate::plan::PlanError;
use crate::plane::PlaneError;
use crate::sky::SkyError;

/// Who can mend it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blame {
    /// The caller: flags, an unreachable target, an existing output.
    Request,
    /// The input: format, beams, units, missing bytes.
    Input,
    /// The machine: disk, memory, permissions.
    Machine,
    /// Ourselves.
    Bug,
    /// The other processes that make an output: planes are missing.
    Incomplete,
    /// Whatever changed what was stored.
    Mismatch,
    /// Whoever asked for a stop: nothing is wrong, and the same request goes on.
    Interrupted,
}

/// What failed, with the file and, where there is one, the plane.
#[derive(Debug)]
pub struct Error(Box<Context>);

/// Boxed, so that a `Result` with an [`Error`] is as small as a pointer.
#[derive(Debug)]
struct Context {
    path: Option<PathBuf>,
    plane: Option<u64>,
    unfinished: Option<Unfinished>,
    stage: Stage,
}

/// What is left of an output that could not be finished, for a run that goes on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unfinished {
    /// The output.
    pub output: PathBuf,
    /// Its planes that are stored.
    pub stored: u64,
    /// All its planes.
    pub planes: u64,
}

impl Error {
    pub(crate) fn new(path: &Path, stage: Stage) -> Self {
        Self(Box::new(Context {
            path: Some(path.to_owned()),
            plane: None,
            unfinished: None,
            stage,
        }))
    }

    pub(crate) fn general(stage: Stage) -> Self {
        Self(Box::new(Context {
            path: None,
            plane: None,
            unfinished: None,
            stage,
        }))
    }

    pub(crate) fn in_plane(mut self, plane: u64) -> Self {
        self.0.plane = Some(plane);
        self
    }

    pub(crate) fn is_incomplete(&self) -> bool {
        self.blame() == Blame::Incomplete
    }

    pub(crate) fn leaving(mut self, unfinished: Option<Unfinished>) -> Self {
        self.0.unfinished = unfinished;
        self
    }

    /// What is left of the output, if the work on it can go on.
    #[must_use]
    pub fn unfinished(&self) -> Option<&Unfinished> {
        self.0.unfinished.as_ref()
    }

    /// The file it is about.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        self.0.path.as_deref()
    }

    /// The plane it is about, from 0 in file order.
    #[must_use]
    pub fn plane(&self) -> Option<u64> {
        self.0.plane
    }

    /// The stage that failed.
    #[must_use]
    pub fn stage(&self) -> &Stage {
        &self.0.stage
    }

    /// Who can mend it.
    #[must_use]
    pub fn blame(&self) -> Blame {
        self.0.stage.blame()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.0.path, self.0.plane) {
            (Some(path), Some(plane)) => write!(f, "{}, plane {plane}", path.display()),
            (Some(path), None) => write!(f, "{}", path.display()),
            (None, Some(plane)) => write!(f, "plane {plane}"),
            (None, None) => write!(f, "{}", self.0.stage),
        }
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        match (&self.0.path, self.0.plane) {
            (None, None) => self.0.stage.inner().source(),
            _ => Some(self.0.stage.inner()),
        }
    }
}

/// The stages, each with an error type of its own.
#[derive(Debug)]
#[non_exhaustive]
pub enum Stage {
    /// Headers and byte ranges.
    Layout(LayoutError),
    /// Opening, reserving and mapping.
    Map(MapError),
    /// Which image of the file, and how its samples are stored.
    Input(InputError),
    /// One plane's bytes.
    Plane(PlaneError),
    /// Beams and where they come from.
    Beam(BeamError),
    /// Axes, pixel sizes and units.
    Sky(SkyError),
    /// What was to be computed.
    Plan(PlanError),
    /// The convolution.
    Backend(BackendError),
    /// The output file.
    Output(OutputError),
    /// The journal beside it.
    Journal(JournalError),
    /// Threads could not be started.
    Threads(ThreadError),
    /// It was asked to stop.
    Interrupted(Interrupted),
    /// A promise of ours that did not hold.
    Bug(Bug),
}

/// A broken promise of this program, in words.
#[derive(Debug)]
pub struct Bug(pub(crate) String);

impl fmt::Display for Bug {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; this is a bug of mmfits, please report it", self.0)
    }
}

impl StdError for Bug {}

/// Threads that the machine would not start.
#[derive(Debug)]
pub struct ThreadError {
    pub(crate) threads: usize,
    pub(crate) text: String,
}

impl ThreadError {
    /// Of a single thread that was to be started.
    pub(crate) fn of_one(error: &std::io::Error) -> Self {
        Self {
            threads: 1,
            text: error.to_string(),
        }
    }
}

impl fmt::Display for ThreadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} threads cannot be started: {}; try --threads",
            self.threads, self.text
        )
    }
}

impl StdError for ThreadError {}

/// Work that was stopped before its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interrupted {
    /// Planes of the file that are stored.
    pub stored: u64,
    /// Planes that it has.
    pub planes: u64,
}

impl fmt::Display for Interrupted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { stored, planes } = self;
        write!(f, "interrupted; {stored} of {planes} planes are stored")
    }
}

impl StdError for Interrupted {}

impl Stage {
    fn inner(&self) -> &(dyn StdError + 'static) {
        match self {
            Self::Layout(error) => error,
            Self::Map(error) => error,
            Self::Input(error) => error,
            Self::Plane(error) => error,
            Self::Beam(error) => error,
            Self::Sky(error) => error,
            Self::Plan(error) => error,
            Self::Backend(error) => error,
            Self::Output(error) => error,
            Self::Journal(error) => error,
            Self::Threads(error) => error,
            Self::Interrupted(error) => error,
            Self::Bug(error) => error,
        }
    }

    /// Whether it is the output that refused a plane.
    pub(crate) fn is_store(&self) -> bool {
        matches!(
            self,
            Self::Plane(PlaneError::Store { .. })
                | Self::Journal(_)
                | Self::Backend(BackendError::Plane(PlaneError::Store { .. }))
        )
    }

    /// Whether it is an input that is not what it was.
    pub(crate) fn is_changed_input(&self) -> bool {
        matches!(self, Self::Map(error) if error.is_changed_input())
    }

    /// Whether planes that counted as stored may be missing on the disk.
    pub(crate) fn is_lost(&self) -> bool {
        matches!(self, Self::Output(OutputError::Working { source, .. }) if source.is_lost())
    }

    /// Whether a plane was given up because that was asked for: only a store says so.
    pub(crate) fn is_given_up(&self) -> bool {
        let (Self::Plane(error) | Self::Backend(BackendError::Plane(error))) = self else {
            return false;
        };
        matches!(error, PlaneError::Store { kind, .. } if *kind == ErrorKind::Interrupted)
    }

    fn blame(&self) -> Blame {
        match self {
            Self::Interrupted(_) => Blame::Interrupted,
            Self::Layout(_) | Self::Input(_) | Self::Sky(_) => Blame::Input,
            Self::Beam(error) if error.is_request() => Blame::Request,
            Self::Beam(_) => Blame::Input,
            Self::Map(error) => map_blame(error),
            Self::Plan(error) if error.is_request() => Blame::Request,
            Self::Plan(
                PlanError::Memory { .. } | PlanError::Known { .. } | PlanError::Headers { .. },
            ) => Blame::Machine,
            Self::Plan(_) => Blame::Input,
            Self::Output(error) => error.blame(),
            Self::Journal(JournalError::Input { .. }) => Blame::Input,
            Self::Journal(JournalError::Incomplete { .. } | JournalError::Taken) => {
                Blame::Incomplete
            }
            Self::Journal(JournalError::Mismatch { .. }) => Blame::Mismatch,
            Self::Journal(error) if error.is_request() => Blame::Request,
            Self::Journal(_) => Blame::Machine,
            Self::Backend(_) | Self::Threads(_) | Self::Plane(PlaneError::Store { .. }) => {
                Blame::Machine
            }
            Self::Plane(_) | Self::Bug(_) => Blame::Bug,
        }
    }
}

/// A file that is not there is the input's fault; one that may not be read the machine's.
fn map_blame(error: &MapError) -> Blame {
    match error {
        MapError::Open { source } if source.kind() == ErrorKind::NotFound => Blame::Input,
        MapError::NotAFile | MapError::Read { .. } => Blame::Input,
        changed if changed.is_changed_input() => Blame::Input,
        MapError::Locked
        | MapError::Linked
        | MapError::NoScratch { .. }
        | MapError::ScratchNoFolder { .. } => Blame::Request,
        MapError::Range { .. } => Blame::Bug,
        _ => Blame::Machine,
    }
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self.inner(), f)
    }
}

macro_rules! stage_from {
    ($($error:ty => $stage:ident),+ $(,)?) => {$(
        impl From<$error> for Stage {
            fn from(error: $error) -> Self {
                Self::$stage(error)
            }
        }
    )+};
}

stage_from! {
    LayoutError => Layout,
    MapError => Map,
    InputError => Input,
    PlaneError => Plane,
    BeamError => Beam,
    SkyError => Sky,
    PlanError => Plan,
    BackendError => Backend,
    OutputError => Output,
    JournalError => Journal,
    ThreadError => Threads,
    Interrupted => Interrupted,
    Bug => Bug,
}

/// A file without the image that was asked for.
#[derive(Debug)]
#[non_exhaustive]
pub enum InputError {
    /// No HDU of that number or name.
    NoHdu {
        /// What was asked for.
        asked: String,
        /// How many HDUs there are.
        found: usize,
    },
    /// The HDU asked for is no image of two or more axes.
    NotAnImage {
        /// Its number.
        hdu: usize,
        /// What it is.
        kind: HduKind,
        /// Its NAXIS.
        naxis: usize,
    },
    /// No HDU holds an image of two or more axes.
    NoImage {
        /// How many HDUs there are.
        hdus: usize,
    },
    /// The image is tile-compressed, which is not read yet.
    TileCompressed {
        /// Its HDU.
        hdu: usize,
    },
    /// BSCALE or BZERO cannot be used.
    Scale {
        /// BSCALE.
        bscale: f64,
        /// BZERO.
        bzero: f64,
    },
    /// There is no such plane.
    NoPlane {
        /// What was asked for.
        plane: u64,
        /// How many there are.
        planes: u64,
    },
    /// A length that this machine cannot address.
    TooLarge {
        /// The length.
        number: u64,
    },
}

impl fmt::Display for InputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoHdu { asked, found } => {
                write!(
                    f,
                    "there is no HDU {asked} among its {found} HDUs; see `mmconv info`"
                )
            }
            Self::NotAnImage { hdu, kind, naxis } => write!(
                f,
                "HDU {hdu} is {kind} with NAXIS = {naxis}, not an image with two or more axes"
            ),
            Self::NoImage { hdus } => {
                write!(
                    f,
                    "none of its {hdus} HDUs holds an image with two or more axes"
                )
            }
            Self::TileCompressed { hdu } => write!(
                f,
                "the image in HDU {hdu} is tile-compressed, which is not read; unpack it first: \
                 funpack FILE"
            ),
            Self::Scale { bscale, bzero } => write!(
                f,
                "BSCALE = {bscale}, BZERO = {bzero}; finite numbers with BSCALE not 0 are needed"
            ),
            Self::NoPlane { plane, planes } => {
                write!(
                    f,
                    "there is no plane {plane}; planes are 0 to {}",
                    planes.saturating_sub(1)
                )
            }
            Self::TooLarge { number } => {
                write!(
                    f,
                    "a length of {number} is more than this machine can address"
                )
            }
        }
    }
}

impl StdError for InputError {}
