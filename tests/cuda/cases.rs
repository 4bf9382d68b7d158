//! Planes to be convolved, several of one shape, and ways of having them convolved: one after
//! another or several at once, by one lane or many.

use std::io;
use std::sync::Mutex;
use std::thread;

use fits_layout::Bitpix;
use mmfits::convolve::reference::Reference;
use mmfits::convolve::{Backend, BackendError, Batches, Cpu, Workload};
use mmfits::kernel::{Grid, PixelCovariance};
use mmfits::plan::{ColumnMethod, Convolution, Edge, NanRule, Precision, padded_grid};
use mmfits::plane::{Codec, Fetch, PlaneMut, PlaneRef};

use crate::planes::{Image, assert_close, sample_bytes, values};

/// How samples are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stored {
    F32,
    F64,
    /// 16-bit integers with BSCALE, BZERO and BLANK.
    I16,
    /// `f32` that are no memory, but read row by row.
    FetchedF32,
    FetchedF64,
}

const BLANK: i16 = -32768;

impl Stored {
    pub const ALL: [Self; 5] = [
        Self::F32,
        Self::F64,
        Self::I16,
        Self::FetchedF32,
        Self::FetchedF64,
    ];

    fn codec(self) -> Codec {
        match self {
            Self::F32 | Self::FetchedF32 => Codec::plain(Bitpix::F32),
            Self::F64 | Self::FetchedF64 => Codec::plain(Bitpix::F64),
            Self::I16 => Codec {
                bitpix: Bitpix::I16,
                bscale: 3e-5,
                bzero: 0.125,
                blank: Some(BLANK.into()),
            },
        }
    }

    fn bytes(self, image: &Image) -> Vec<u8> {
        match self {
            Self::F32 | Self::FetchedF32 => image.bytes(Precision::F32),
            Self::F64 | Self::FetchedF64 => image.bytes(Precision::F64),
            Self::I16 => {
                let stored = image.pixels.iter().map(|&value| {
                    if value.is_finite() {
                        (value * 30000.0) as i16
                    } else {
                        BLANK
                    }
                });
                stored.flat_map(i16::to_be_bytes).collect()
            }
        }
    }
}

/// Bytes that are read as from a file.
#[derive(Debug)]
struct Elsewhere(Vec<u8>);

impl Fetch for Elsewhere {
    fn fetch(&self, at: u64, bytes: &mut [u8]) -> io::Result<()> {
        let from = self.0.get(at as usize..).unwrap_or_default();
        let from = from
            .get(..bytes.len())
            .ok_or(io::ErrorKind::UnexpectedEof)?;
        bytes.copy_from_slice(from);
        Ok(())
    }
}

/// One plane.
#[derive(Debug)]
pub struct Plane {
    pub convolution: Convolution,
    stored: Stored,
    bytes: Elsewhere,
}

/// Planes of one shape for one workload.
#[derive(Debug)]
pub struct Case {
    pub name: String,
    pub nx: usize,
    pub ny: usize,
    pub precision: Precision,
    pub planes: Vec<Plane>,
}

/// What is blank in a plane.
#[derive(Clone, Copy, Debug)]
pub enum Blanks {
    None,
    All,
    /// One pixel, an infinity.
    One,
    /// A block, an edge, and an infinity.
    Some,
    /// About half of the pixels.
    Half,
    /// All but one pixel.
    AllButOne,
}

impl Blanks {
    pub const ALL: [Self; 6] = [
        Self::None,
        Self::Some,
        Self::All,
        Self::One,
        Self::Half,
        Self::AllButOne,
    ];

    pub fn put(self, mut image: Image) -> Image {
        let last = image.pixels.len() - 1;
        match self {
            Self::None => {}
            Self::All => image.pixels.fill(f64::NAN),
            Self::One => image.pixels[last / 2] = f64::NEG_INFINITY,
            Self::Some => return image.with_blanks(),
            Self::Half => {
                for (i, pixel) in image.pixels.iter_mut().enumerate() {
                    if (i / 3 * 7 + i) % 5 < 2 {
                        *pixel = f64::NAN;
                    }
                }
            }
            Self::AllButOne => {
                let kept = image.pixels[last / 3];
                image.pixels.fill(f64::NAN);
                image.pixels[last / 3] = kept;
            }
        }
        image
    }
}

/// Round, and narrow and rotated so that the Nyquist bins matter; a line; wide.
pub const KERNELS: [PixelCovariance; 6] = [
    kernel(1.3, 0.9, 1.1),
    kernel(0.5, -0.3, 2.0),
    kernel(9.0, 0.0, 7.0),
    kernel(4.0, -6.0, 9.0),
    kernel(0.7, 0.45, 0.6),
    kernel(60.0, -20.0, 30.0),
];

pub const fn kernel(xx: f64, xy: f64, yy: f64) -> PixelCovariance {
    PixelCovariance { xx, xy, yy }
}

impl Case {
    /// No planes yet.
    pub fn new((nx, ny): (usize, usize), precision: Precision) -> Self {
        Self {
            name: String::new(),
            nx,
            ny,
            precision,
            planes: Vec::new(),
        }
    }

    /// One more plane, its noise being that of its number.
    pub fn add(&mut self, convolution: Convolution, stored: Stored, blanks: Blanks) {
        let seed = 11 + self.planes.len() as u64 + 7 * (self.nx + 3 * self.ny) as u64;
        let image = blanks.put(Image::noise(self.nx, self.ny, seed));
        self.planes.push(Plane {
            convolution,
            stored,
            bytes: Elsewhere(stored.bytes(&image)),
        });
    }

    /// A convolution of such planes on a grid for all of [`KERNELS`], or with wrapped edges, which
    /// lie in a halo of so many pixels.
    pub fn convolution(
        &self,
        number: usize,
        nan: NanRule,
        edge: Edge,
        halo_x: usize,
    ) -> Convolution {
        let kernel = KERNELS[number % KERNELS.len()];
        let wide = KERNELS[KERNELS.len() - 1];
        let mut grid = padded_grid(edge, self.nx, self.ny, &wide).unwrap();
        if edge == Edge::Wrap && halo_x > 0 {
            // One more behind than before.
            grid.nx = self.nx + 2 * halo_x + 1;
        }
        Convolution {
            kernel,
            gain: 1.7 - 0.1 * number as f64,
            racs_gain: 1.3 + 0.05 * number as f64,
            edge,
            nan,
            grid: Grid { ..grid },
            halo_x,
            columns: ColumnMethod::Full,
        }
    }

    pub fn workload(&self) -> Workload {
        let mut workload = Workload::new(self.precision).with_planes(self.planes.len());
        for plane in &self.planes {
            workload.add(self.nx, self.ny, plane.convolution);
        }
        workload
    }

    fn source(&self, number: usize) -> PlaneRef<'_> {
        let plane = &self.planes[number];
        let (shape, codec) = ((self.nx, self.ny), plane.stored.codec());
        match plane.stored {
            Stored::FetchedF32 | Stored::FetchedF64 => {
                PlaneRef::fetched(&plane.bytes, shape, codec).unwrap()
            }
            _ => PlaneRef::new(&plane.bytes.0, self.nx, self.ny, codec).unwrap(),
        }
    }

    fn room(&self) -> Vec<u8> {
        vec![0x33; self.nx * self.ny * sample_bytes(self.precision)]
    }

    /// One plane after another, in one lane.
    pub fn one_by_one(&self, backend: &dyn Backend) -> Result<Vec<Vec<u8>>, BackendError> {
        let mut lane = backend.lane(&self.workload())?;
        let planes = self.planes.iter().enumerate().map(|(number, plane)| {
            let mut bytes = self.room();
            let bitpix = self.precision.bitpix();
            let slot = PlaneMut::new(&mut bytes, self.nx, self.ny, bitpix).unwrap();
            lane.convolve(&plane.convolution, self.source(number), slot)?;
            Ok(bytes)
        });
        planes.collect()
    }

    /// By so many lanes, each a thread, as many planes together as they take.
    pub fn together(
        &self,
        backend: &dyn Backend,
        lanes: usize,
    ) -> Result<Vec<Vec<u8>>, BackendError> {
        let mut order: Vec<usize> = (0..self.planes.len()).collect();
        order.sort_by_key(|&k| {
            let convolution = &self.planes[k].convolution;
            (convolution.grid.nx, convolution.nan as u8)
        });
        let queue = Mutex::new(order);
        let made = Mutex::new(vec![None; self.planes.len()]);
        let workload = self.workload();
        let life = || {
            let mut lane = backend.lane(&workload)?;
            let batches = lane.batches().expect("a lane of batches");
            loop {
                let numbers = self.take(&queue, batches.most());
                if numbers.is_empty() {
                    return Ok::<(), BackendError>(());
                }
                for (number, bytes) in self.batch(batches, &numbers)? {
                    made.lock().unwrap()[number] = Some(bytes);
                }
            }
        };
        thread::scope(|scope| {
            let threads: Vec<_> = (0..lanes).map(|_| scope.spawn(life)).collect();
            let ends: Vec<_> = threads
                .into_iter()
                .map(thread::ScopedJoinHandle::join)
                .collect();
            ends.into_iter()
                .try_for_each(|end| end.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
        })?;
        let made = made.into_inner().unwrap().into_iter();
        Ok(made.map(|bytes| bytes.expect("a plane")).collect())
    }

    /// The next planes that go together.
    fn take(&self, queue: &Mutex<Vec<usize>>, most: usize) -> Vec<usize> {
        let mut queue = queue.lock().unwrap();
        let first = queue.first().map(|&k| self.planes[k].convolution);
        let goes = |&&k: &&usize| first.is_some_and(|f| self.planes[k].convolution.goes_with(&f));
        let count = queue.iter().take(most).take_while(goes).count();
        queue.drain(..count).collect()
    }

    fn batch(
        &self,
        batches: &mut dyn Batches,
        numbers: &[usize],
    ) -> Result<Vec<(usize, Vec<u8>)>, BackendError> {
        let plane = |&k: &usize| (&self.planes[k].convolution, self.source(k));
        let planes: Vec<_> = numbers.iter().map(plane).collect();
        batches.compute(&planes, self.precision.bitpix())?;
        let stored = planes.iter().zip(numbers).enumerate();
        let stored = stored.map(|(at, (&plane, &number))| {
            let mut bytes = self.room();
            let bitpix = self.precision.bitpix();
            let slot = PlaneMut::new(&mut bytes, self.nx, self.ny, bitpix).unwrap();
            batches.store(at, plane, slot)?;
            Ok((number, bytes))
        });
        stored.collect()
    }

    /// What the CPU makes of it.
    pub fn expected(&self) -> Vec<Vec<u8>> {
        self.one_by_one(&Cpu::new()).unwrap()
    }

    /// Within the tolerance of `expected`, blanks being the same.
    pub fn check(&self, found: &[Vec<u8>], expected: &[Vec<u8>], who: &str) {
        assert_eq!(found.len(), expected.len());
        for (number, (found, expected)) in found.iter().zip(expected).enumerate() {
            let tolerance = match (self.precision, self.planes[number].convolution.nan) {
                (Precision::F32, _) => 2e-6,
                // Divided by weights down to 1e-3.
                (Precision::F64, NanRule::Interpolate) => 1e-11,
                (Precision::F64, _) => 1e-12,
            };
            let (found, expected) = (
                values(found, self.precision),
                values(expected, self.precision),
            );
            let what = format!("{}, plane {number}, {who}", self.name);
            assert_close(&found, &expected, tolerance, &what);
        }
    }

    /// Holds the first planes against the naive sums, where they are small and not approximated.
    pub fn check_by_reference(&self, found: &[Vec<u8>]) {
        if self.nx * self.ny > 720 || self.planes.iter().any(|p| p.convolution.halo_x > 0) {
            return;
        }
        let some = self.planes.len().min(2);
        let mut lane = Reference.lane(&self.workload()).unwrap();
        let planes = self.planes.iter().take(some).enumerate();
        let expected = planes.map(|(number, plane)| {
            let mut bytes = self.room();
            let bitpix = self.precision.bitpix();
            let slot = PlaneMut::new(&mut bytes, self.nx, self.ny, bitpix).unwrap();
            let source = self.source(number);
            lane.convolve(&plane.convolution, source, slot).unwrap();
            bytes
        });
        let expected: Vec<_> = expected.collect();
        self.check(&found[..some], &expected, "by the reference");
    }
}
