//! What is measured: a cube, and what is done with it. Prints nothing.

use super::cube::Cube;

/// Of the pixels, where there are blank ones.
const BLANK_PERCENT: f64 = 25.0;

/// A cube and what is done with it.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    pub cube: Cube,
    pub mode: Mode,
}

impl Case {
    /// A cube of this many columns, rows and planes, `double` or not, with the blank pixels that
    /// the mode wants.
    pub fn new([nx, ny, channels]: [usize; 3], double: bool, mode: Mode) -> Self {
        let blank_percent = if mode.has_blanks() {
            BLANK_PERCENT
        } else {
            0.0
        };
        let cube = Cube {
            nx,
            ny,
            channels,
            double,
            blank_percent,
        };
        Self { cube, mode }
    }

    /// Bytes of all samples.
    pub fn data_bytes(&self) -> u64 {
        let sample = if self.cube.double { 8 } else { 4 };
        (self.cube.nx * self.cube.ny * self.cube.channels * sample) as u64
    }
}

/// What is done with edges and blank pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    Keep,
    Racs,
    Interpolate,
    Wrap,
}

impl Mode {
    pub fn parse(word: &str) -> Result<Self, String> {
        Ok(match word {
            "keep" => Self::Keep,
            "racs" => Self::Racs,
            "interpolate" => Self::Interpolate,
            "wrap" => Self::Wrap,
            other => {
                return Err(format!(
                    "mode {other:?} is none of keep, racs, interpolate, wrap"
                ));
            }
        })
    }

    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Keep => "keep",
            Self::Racs => "racs",
            Self::Interpolate => "interpolate",
            Self::Wrap => "wrap",
        }
    }

    /// Whether a quarter of the pixels is blank, and the rule smooths the mask.
    pub fn has_blanks(self) -> bool {
        matches!(self, Self::Racs | Self::Interpolate)
    }

    /// The command's flags for it.
    pub fn flags(self) -> [&'static str; 4] {
        match self {
            Self::Keep => ["--edge", "zero", "--nan", "keep"],
            Self::Racs => ["--edge", "zero", "--nan", "racs"],
            Self::Interpolate => ["--edge", "zero", "--nan", "interpolate"],
            Self::Wrap => ["--edge", "wrap", "--nan", "keep"],
        }
    }
}
