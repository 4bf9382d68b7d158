//! What a user may ask for: the choices that decide the pixels, as plain values.
//! No paths are opened here and no defaults depend on the machine.

use std::path::PathBuf;

use fits_layout::Bitpix;

use crate::beam::Beam;
use crate::beam::source::BeamFrom;

/// How one common beam is shared over planes and files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// One beam per channel, common over files and Stokes.
    Natural,
    /// One beam over every plane of every file.
    #[default]
    Total,
}

/// Where the target beams come from.
#[derive(Clone, Debug, PartialEq)]
pub enum TargetChoice {
    /// The smallest common beam of the inputs.
    Common(Mode),
    /// This beam, for every plane of every file.
    Beam(Beam),
    /// The beams of another FITS file or of a beam log.
    From(PathBuf),
}

impl Default for TargetChoice {
    fn default() -> Self {
        Self::Common(Mode::default())
    }
}

/// What lies outside the image.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Edge {
    /// Zero: each axis is padded, so nothing wraps around.
    #[default]
    Zero,
    /// The image repeats, as in the programs that do not pad.
    Wrap,
}

/// What happens at blank (non-finite) pixels. Before the transform they are zero in every rule.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NanRule {
    /// Blank in, blank out; nothing else is blank.
    #[default]
    Keep,
    /// Blank where √(Ω_new/Ω_old) times the smoothed mask is at least 0.99, as RACS-tools does.
    Racs,
    /// Divided by the smoothed weight; blank where that is below 1e-3.
    Interpolate,
}

impl NanRule {
    /// The precision of the transform where pixels have this one. Interpolation divides by weights
    /// down to 1e-3, which would bring the error of a transform in `f32`, 1e-7 of the peak, up to
    /// 1e-4.
    #[must_use]
    pub fn transform_precision(self, pixels: Precision) -> Precision {
        match self {
            Self::Keep | Self::Racs => pixels,
            Self::Interpolate => Precision::F64,
        }
    }
}

/// The floating-point type of the transform and of the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Precision {
    /// IEEE single, BITPIX -32.
    F32,
    /// IEEE double, BITPIX -64.
    F64,
}

impl Precision {
    /// The sample format of an output of this precision.
    #[must_use]
    pub fn bitpix(self) -> Bitpix {
        match self {
            Self::F32 => Bitpix::F32,
            Self::F64 => Bitpix::F64,
        }
    }
}

/// How a plane's brightness unit reacts to a larger beam, where BUNIT must be overruled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnitChoice {
    /// Per beam: pixels scale by Ω_new/Ω_old.
    PerBeam,
    /// Surface brightness: pixels keep their scale.
    Surface,
}

/// The channel whose beam stands in the image header when beams differ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RefChannel {
    /// The spectral axis' CRPIX channel, else the first with a beam.
    #[default]
    Auto,
    /// The first channel.
    First,
    /// The middle channel.
    Mid,
    /// The last channel.
    Last,
    /// This channel, counted from 0.
    Index(u64),
}

/// Which HDU holds the image.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum HduChoice {
    /// The first one with an image of two or more axes.
    #[default]
    FirstImage,
    /// The HDU of this number, the primary being 0.
    Index(usize),
    /// The HDU of this EXTNAME (`PRIMARY` is the first), in any case.
    Name(String),
}

/// How a common beam is rounded up.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rounding {
    /// Both axes become multiples of this, arcsec.
    pub step_arcsec: f64,
    /// The position angle becomes a multiple of this, degrees.
    pub bpa_step_deg: Option<f64>,
}

/// Everything that decides the pixels of the outputs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Spec {
    /// The target beams.
    pub target: TargetChoice,
    /// Make the common beam round: BMIN = BMAJ, PA 0, the smallest reachable circle.
    pub circularise: bool,
    /// Round the common beam up.
    pub rounding: Option<Rounding>,
    /// Planes whose BMAJ is larger than this, arcsec, are blanked before anything else.
    pub cutoff_arcsec: Option<f64>,
    /// Which beam source to take.
    pub beam_from: BeamFrom,
    /// A beam log that comes before every other source.
    pub beamlog: Option<PathBuf>,
    /// Which HDU is smoothed.
    pub hdu: HduChoice,
    /// What lies outside the image.
    pub edge: Edge,
    /// What happens at blank pixels.
    pub nan: NanRule,
    /// Overrules BUNIT.
    pub unit: Option<UnitChoice>,
    /// Overrules the precision of the input.
    pub precision: Option<Precision>,
    /// Whose beam stands in the header when beams differ.
    pub ref_channel: RefChannel,
}
