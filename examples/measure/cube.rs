//! A synthetic spectral cube: noise, a beam of its own for each channel, and a quarter of the
//! pixels blank where that is wanted. Prints nothing.

use std::error::Error;
use std::path::Path;

use fits_layout::Header;
use mmfits::beam::{Beam, log};
use mmfits::output::{Existing, NewImage};
use mmfits::plane::PlaneMut;

/// Pixel size of the cubes, arcsec.
const CELL_ARCSEC: f64 = 2.5;

/// Radius of the disc outside of which pixels are blank, in image sizes: π r² = 0.75.
const DISC: f64 = 0.4886;

/// What is made and measured.
#[derive(Clone, Copy, Debug)]
pub struct Cube {
    pub nx: usize,
    pub ny: usize,
    pub channels: usize,
    /// Samples of 8 bytes, not 4.
    pub double: bool,
    pub mode: Mode,
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

impl Cube {
    /// Bytes of all samples.
    pub fn data_bytes(&self) -> u64 {
        let sample = if self.double { 8 } else { 4 };
        (self.nx * self.ny * self.channels * sample) as u64
    }

    /// `f32` or `f64`.
    pub fn dtype(&self) -> &'static str {
        if self.double { "f64" } else { "f32" }
    }

    /// Writes it to `path`, and its beam log beside it: BMAJ from 18 down to 12 arcsec.
    pub fn write(&self, path: &Path) -> Result<(), Box<dyn Error>> {
        let mut image = NewImage::create(path, &self.header()?, Existing::Overwrite)?;
        let mut noise = noise();
        let mut row = vec![0.0_f32; self.nx];
        for mut plane in image.planes_mut()? {
            for y in 0..self.ny {
                self.fill(y, &mut row, &mut noise);
                store(&mut plane, y, &row)?;
            }
        }
        image.finish()?;
        let log_path = log::beside(path).into_iter().next();
        let log_path = log_path.ok_or("a cube's path has no name")?;
        std::fs::write(log_path, log::render(&self.beams()?))?;
        Ok(())
    }

    fn fill(&self, y: usize, row: &mut [f32], noise: &mut impl FnMut() -> f32) {
        let from_middle = |at: usize, length: usize| at as f64 / length as f64 - 0.5;
        let dy = from_middle(y, self.ny);
        for (x, value) in row.iter_mut().enumerate() {
            let outside = dy.hypot(from_middle(x, self.nx)) > DISC;
            *value = if outside && self.mode.has_blanks() {
                f32::NAN
            } else {
                noise()
            };
        }
    }

    fn beams(&self) -> Result<Vec<Option<Beam>>, Box<dyn Error>> {
        let last = self.channels.saturating_sub(1).max(1) as f64;
        let beam = |channel: usize| {
            let bmaj = 18.0 - 6.0 * channel as f64 / last;
            Beam::new(bmaj, 0.8 * bmaj, 20.0 + 10.0 * (channel as f64).sin())
        };
        let beams: Result<Vec<_>, _> = (0..self.channels).map(|k| beam(k).map(Some)).collect();
        Ok(beams?)
    }

    fn header(&self) -> Result<Header, Box<dyn Error>> {
        let mut header = Header::new();
        header.set("SIMPLE", true, None)?;
        header.set("BITPIX", if self.double { -64_i64 } else { -32 }, None)?;
        header.set("NAXIS", 3_i64, None)?;
        for (keyword, length) in [
            ("NAXIS1", self.nx),
            ("NAXIS2", self.ny),
            ("NAXIS3", self.channels),
        ] {
            header.set(keyword, i64::try_from(length)?, None)?;
        }
        header.set("BUNIT", "Jy/beam", None)?;
        let step = CELL_ARCSEC / 3600.0;
        for (axis, ctype, value, step) in [
            (1, "RA---SIN", 180.0, -step),
            (2, "DEC--SIN", -30.0, step),
            (3, "FREQ", 8e8, 1e6),
        ] {
            header.set(&format!("CTYPE{axis}"), ctype, None)?;
            header.set(&format!("CRPIX{axis}"), 1.0, None)?;
            header.set(&format!("CRVAL{axis}"), value, None)?;
            header.set(&format!("CDELT{axis}"), step, None)?;
        }
        Ok(header)
    }
}

fn store(plane: &mut PlaneMut<'_>, y: usize, row: &[f32]) -> Result<(), Box<dyn Error>> {
    Ok(plane.write_row(y, row)?)
}

/// Numbers between -0.5 and 0.5, the same in every run.
fn noise() -> impl FnMut() -> f32 {
    let mut state = 1_u64;
    move || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f32 / (1_u64 << 24) as f32 - 0.5
    }
}
