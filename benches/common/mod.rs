//! Planes and convolutions that the benches have in common. Nothing is measured here.
#![allow(dead_code, reason = "each bench uses a part of it")]
#![allow(clippy::unwrap_used, reason = "a bench that cannot go on fails")]

use fits_layout::Bitpix;
use mmfits::convolve::Workload;
use mmfits::kernel::PixelCovariance;
use mmfits::plan::{ColumnMethod, Convolution, Edge, NanRule, Precision, padded_grid};
use mmfits::plane::{Codec, PlaneMut, PlaneRef};

/// What a plane is and what becomes of it.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    /// Pixels in a row, and rows.
    pub size: usize,
    pub precision: Precision,
    pub nan: NanRule,
    pub edge: Edge,
    /// Whether a quarter of the pixels, those outside a disc, are blank.
    pub blanks: bool,
    /// FWHM of the kernel along x, pixels; it is 1.2 times as wide along y.
    pub fwhm_px: f64,
}

impl Case {
    /// A square plane of this precision without blanks, edges zero, a kernel of 6 pixels.
    pub fn new(size: usize, precision: Precision) -> Self {
        Self {
            size,
            precision,
            nan: NanRule::Keep,
            edge: Edge::Zero,
            blanks: false,
            fwhm_px: 6.0,
        }
    }

    /// The convolution, as a plan would make it.
    pub fn convolution(&self) -> Convolution {
        let kernel = PixelCovariance {
            xx: self.fwhm_px.powi(2),
            xy: 0.2 * self.fwhm_px.powi(2),
            yy: 1.44 * self.fwhm_px.powi(2),
        };
        let convolution = Convolution {
            kernel,
            gain: 1.5,
            racs_gain: 1.2,
            edge: self.edge,
            nan: self.nan,
            grid: padded_grid(self.edge, self.size, self.size, &kernel).unwrap(),
            halo_x: 0,
            columns: ColumnMethod::Full,
        };
        let precision = self.nan.transform_precision(self.precision);
        convolution.made_fast((self.size, self.size), precision)
    }

    /// Everything that a lane for it has to know.
    pub fn workload(&self, convolution: Convolution) -> Workload {
        let mut workload = Workload::new(self.precision);
        workload.add(self.size, self.size, convolution);
        workload
    }

    /// Pixels.
    pub fn pixels(&self) -> u64 {
        (self.size * self.size) as u64
    }

    /// The stored samples of such a plane.
    pub fn samples(&self) -> Vec<u8> {
        let radius = if self.blanks { 0.4886 } else { 1.0 };
        let middle = self.size as f64 / 2.0;
        let mut noise = noise();
        let mut bytes = vec![0; self.size * self.size * self.sample_bytes()];
        let mut slot = self.slot(&mut bytes);
        let mut row = vec![0.0; self.size];
        for y in 0..self.size {
            for (x, value) in row.iter_mut().enumerate() {
                let from_middle = (x as f64 - middle).hypot(y as f64 - middle);
                let blank = from_middle > radius * self.size as f64;
                *value = if blank { f64::NAN } else { noise() };
            }
            slot.write_row(y, &row).unwrap();
        }
        bytes
    }

    /// Those samples as a plane.
    pub fn plane<'a>(&self, bytes: &'a [u8]) -> PlaneRef<'a> {
        PlaneRef::new(bytes, self.size, self.size, Codec::plain(self.bitpix())).unwrap()
    }

    /// Bytes of the same number as a plane to be filled.
    pub fn slot<'a>(&self, bytes: &'a mut [u8]) -> PlaneMut<'a> {
        PlaneMut::new(bytes, self.size, self.size, self.bitpix()).unwrap()
    }

    /// `1024x1024 f32`.
    pub fn name(&self) -> String {
        format!("{0}x{0} {1}", self.size, word(self.precision))
    }

    fn bitpix(&self) -> Bitpix {
        match self.precision {
            Precision::F32 => Bitpix::F32,
            Precision::F64 => Bitpix::F64,
        }
    }

    fn sample_bytes(&self) -> usize {
        match self.precision {
            Precision::F32 => 4,
            Precision::F64 => 8,
        }
    }
}

/// `f32` or `f64`.
pub fn word(precision: Precision) -> &'static str {
    match precision {
        Precision::F32 => "f32",
        Precision::F64 => "f64",
    }
}

/// Numbers between -0.5 and 0.5, the same in every run.
pub fn noise() -> impl FnMut() -> f64 {
    let mut state = 1_u64;
    move || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1_u64 << 53) as f64 - 0.5
    }
}
