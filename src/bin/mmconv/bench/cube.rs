//! A synthetic spectral cube: noise, a beam of its own for each channel, and blank pixels around
//! it where that is wanted. The same bits each time. Prints nothing; `examples/measure` makes its
//! cubes with it too, so it knows nothing of this program.

use std::error::Error;
use std::fs;
use std::path::Path;

use fits_layout::Header;
use mmfits::beam::{Beam, log};
use mmfits::output::{Existing, NewImage};

/// Pixel size, arcsec.
const CELL_ARCSEC: f64 = 2.5;

/// What goes wrong, whatever it is.
type Failure = Box<dyn Error + Send + Sync>;

/// What is made.
#[derive(Clone, Copy, Debug)]
pub struct Cube {
    /// Pixels in a row.
    pub nx: usize,
    /// Rows.
    pub ny: usize,
    /// Planes.
    pub channels: usize,
    /// Samples of 8 bytes, not 4.
    pub double: bool,
    /// Of the pixels, from 0 to below 100. They lie around the image, as outside a field of view.
    pub blank_percent: f64,
}

impl Cube {
    /// `f32` or `f64`.
    pub fn dtype(&self) -> &'static str {
        if self.double { "f64" } else { "f32" }
    }

    /// Writes it to `path`, and its beam log beside it: BMAJ from 18 down to 12 arcsec.
    pub fn write(&self, path: &Path) -> Result<(), Failure> {
        let mut image = NewImage::create(path, &self.header()?, Existing::Overwrite)?;
        let mut noise = noise();
        let mut row = vec![0.0_f32; self.nx];
        for mut plane in image.planes_mut()? {
            for y in 0..self.ny {
                self.fill(y, &mut row, &mut noise);
                plane.write_row(y, &row)?;
            }
        }
        image.finish()?;
        let log_path = log::beside(path).into_iter().next();
        let log_path = log_path.ok_or("a cube's path has no name")?;
        fs::write(log_path, log::render(&self.beams()?))?;
        Ok(())
    }

    fn fill(&self, y: usize, row: &mut [f32], noise: &mut impl FnMut() -> f32) {
        // Inside this share of either length: as many pixels are outside as wanted.
        let valid = (1.0 - self.blank_percent / 100.0).sqrt();
        let outside = |at: usize, length: usize| {
            ((at as f64 + 0.5) / length as f64 - 0.5).abs() > valid / 2.0
        };
        let row_is_blank = outside(y, self.ny);
        for (x, value) in row.iter_mut().enumerate() {
            *value = if row_is_blank || outside(x, self.nx) {
                f32::NAN
            } else {
                noise()
            };
        }
    }

    fn beams(&self) -> Result<Vec<Option<Beam>>, Failure> {
        let last = self.channels.saturating_sub(1).max(1) as f64;
        let beam = |channel: usize| {
            let bmaj = 18.0 - 6.0 * channel as f64 / last;
            Beam::new(bmaj, 0.8 * bmaj, 20.0 + 10.0 * (channel as f64).sin())
        };
        let beams: Result<Vec<_>, _> = (0..self.channels).map(|k| beam(k).map(Some)).collect();
        Ok(beams?)
    }

    fn header(&self) -> Result<Header, Failure> {
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
