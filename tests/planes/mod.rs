//! Planes made from seeds, run through a backend, and compared. Shared by the tests of
//! `convolve`; nothing here knows how a backend works.
#![allow(dead_code, reason = "each test file uses its own part")]

use mmfits::convolve::{Backend, BackendError, Lane, Workload};
use mmfits::kernel::PixelCovariance;
use mmfits::plan::{ColumnMethod, Convolution, Edge, NanRule, Precision, Strips, padded_grid};
use mmfits::plane::{Codec, PlaneMut, PlaneRef};

use fits_layout::Bitpix;

/// A rectangular image as rows of `nx` values.
#[derive(Clone, Debug)]
pub struct Image {
    pub nx: usize,
    pub ny: usize,
    pub pixels: Vec<f64>,
}

impl Image {
    pub fn from_fn(nx: usize, ny: usize, mut pixel: impl FnMut(usize, usize) -> f64) -> Self {
        let pixels = (0..nx * ny).map(|i| pixel(i % nx, i / nx)).collect();
        Self { nx, ny, pixels }
    }

    /// White noise in [-1, 1], exact in `f32`, the same for a seed.
    pub fn noise(nx: usize, ny: usize, seed: u64) -> Self {
        let mut state = seed.wrapping_mul(2) + 1;
        Self::from_fn(nx, ny, |_, _| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            f64::from((state >> 40) as u32) / f64::from(1_u32 << 23) - 1.0
        })
    }

    /// The image with a blank block on the left edge, an isolated blank and an infinity.
    pub fn with_blanks(mut self) -> Self {
        let (nx, ny) = (self.nx, self.ny);
        for (i, pixel) in self.pixels.iter_mut().enumerate() {
            let (x, y) = (i % nx, i / nx);
            if x < nx / 3 && y < ny / 2 {
                *pixel = f64::NAN;
            }
        }
        self.pixels[nx * ny - 1] = f64::INFINITY;
        self.pixels[nx * (ny - 1) + nx / 2] = f64::NAN;
        self
    }

    pub fn at(&self, x: usize, y: usize) -> f64 {
        self.pixels[y * self.nx + x]
    }

    pub fn mirrored_x(&self) -> Self {
        Self::from_fn(self.nx, self.ny, |x, y| self.at(self.nx - 1 - x, y))
    }

    pub fn mirrored_y(&self) -> Self {
        Self::from_fn(self.nx, self.ny, |x, y| self.at(x, self.ny - 1 - y))
    }

    /// Big-endian samples.
    pub fn bytes(&self, precision: Precision) -> Vec<u8> {
        match precision {
            Precision::F32 => self
                .pixels
                .iter()
                .flat_map(|&v| (v as f32).to_be_bytes())
                .collect(),
            Precision::F64 => self.pixels.iter().flat_map(|&v| v.to_be_bytes()).collect(),
        }
    }
}

pub fn bitpix(precision: Precision) -> Bitpix {
    match precision {
        Precision::F32 => Bitpix::F32,
        Precision::F64 => Bitpix::F64,
    }
}

pub fn sample_bytes(precision: Precision) -> usize {
    match precision {
        Precision::F32 => 4,
        Precision::F64 => 8,
    }
}

/// A convolution of an image of this size with gain 1.7, its columns over the full height.
pub fn convolution(
    (nx, ny): (usize, usize),
    kernel: PixelCovariance,
    edge: Edge,
    nan: NanRule,
) -> Convolution {
    let grid = padded_grid(edge, nx, ny, &kernel).expect("a grid");
    Convolution {
        kernel,
        gain: 1.7,
        racs_gain: 1.7_f64.sqrt(),
        edge,
        nan,
        grid,
        halo_x: 0,
        columns: ColumnMethod::Full,
    }
}

/// The same in strips of this length and halo.
pub fn in_strips(convolution: Convolution, (length, halo): (usize, usize)) -> Convolution {
    Convolution {
        columns: ColumnMethod::Strips(Strips { length, halo }),
        ..convolution
    }
}

pub fn workload(
    (nx, ny): (usize, usize),
    precision: Precision,
    convolution: &Convolution,
) -> Workload {
    let mut workload = Workload::new(precision);
    workload.add(nx, ny, *convolution);
    workload
}

/// The stored result of a lane for an image.
pub fn run_lane(
    lane: &mut dyn Lane,
    image: &Image,
    precision: Precision,
    convolution: &Convolution,
) -> Result<Vec<u8>, BackendError> {
    let (input, codec) = (image.bytes(precision), Codec::plain(bitpix(precision)));
    let mut output = vec![0x55; input.len()];
    let source = PlaneRef::new(&input, image.nx, image.ny, codec).expect("a plane");
    let slot = PlaneMut::new(&mut output, image.nx, image.ny, bitpix(precision)).expect("a slot");
    lane.convolve(convolution, source, slot)?;
    Ok(output)
}

/// The stored result of a new lane of `backend` for an image.
pub fn run(
    backend: &dyn Backend,
    image: &Image,
    precision: Precision,
    convolution: &Convolution,
) -> Vec<u8> {
    let workload = workload((image.nx, image.ny), precision, convolution);
    let mut lane = backend.lane(&workload).expect("a lane");
    run_lane(&mut *lane, image, precision, convolution).expect("a convolved plane")
}

/// Stored samples as values.
pub fn values(bytes: &[u8], precision: Precision) -> Vec<f64> {
    match precision {
        Precision::F32 => bytes
            .as_chunks()
            .0
            .iter()
            .map(|&b| f64::from(f32::from_be_bytes(b)))
            .collect(),
        Precision::F64 => bytes
            .as_chunks()
            .0
            .iter()
            .map(|&b| f64::from_be_bytes(b))
            .collect(),
    }
}

/// The smoothed image.
pub fn smooth(
    backend: &dyn Backend,
    image: &Image,
    precision: Precision,
    convolution: &Convolution,
) -> Image {
    let pixels = values(&run(backend, image, precision, convolution), precision);
    Image {
        nx: image.nx,
        ny: image.ny,
        pixels,
    }
}

/// The same blanks, and all else within `tolerance` of the largest expected value.
pub fn assert_close(found: &[f64], expected: &[f64], tolerance: f64, what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}: number of pixels");
    let finite = expected.iter().filter(|v| v.is_finite());
    let peak = finite.fold(1e-30_f64, |peak, v| peak.max(v.abs()));
    for (i, (f, e)) in found.iter().zip(expected).enumerate() {
        assert_eq!(
            f.is_nan(),
            e.is_nan(),
            "{what}: pixel {i} is {f:e}, expected {e:e}"
        );
        let off = (f - e).abs() / peak;
        assert!(
            f.is_nan() || off <= tolerance,
            "{what}: pixel {i} is {f:e}, not {e:e}: {off:.1e}"
        );
    }
}
