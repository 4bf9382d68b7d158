//! Planes convolved by the CPU backend in memory, with no file: by one thread, and by all. Nothing
//! is printed here.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use fits_layout::Bitpix;
use mmfits::convolve::{Backend, BackendError, Cpu, Lane, Workload};
use mmfits::image::Image;
use mmfits::plan::{Convolution, FilePlan, HduChoice, Precision};
use mmfits::plane::{Codec, PlaneMut, PlaneRef};
use mmfits::run::Resources;

use super::copy::{self, pool};
use super::{RUNS, median};

/// How long a measurement lasts at least; one plane is always done.
const LASTS: Duration = Duration::from_millis(250);

/// The planes of a plan, all with the samples of its middle one.
pub struct Planes {
    samples: Vec<u8>,
    shape: (usize, usize),
    precision: Precision,
    convolutions: Vec<Convolution>,
}

impl Planes {
    /// Those that this plan convolves.
    pub fn of(plan: &FilePlan) -> Result<Self, copy::Failure> {
        let facts = &plan.facts;
        let image = Image::open(&facts.input, &HduChoice::FirstImage)?;
        Ok(Self {
            samples: image.plane(facts.planes / 2)?.bytes().to_vec(),
            shape: (facts.nx, facts.ny),
            precision: plan.precision,
            convolutions: plan.convolutions().copied().collect(),
        })
    }

    /// Seconds a plane takes one thread.
    pub fn one_thread(&self) -> Result<f64, copy::Failure> {
        let backend = Cpu::new();
        let mut lane = self.lane(&backend, 1)?;
        lane.plane(self)?;
        measured(|| {
            let (started, mut planes) = (Instant::now(), 0);
            while planes == 0 || started.elapsed() < LASTS {
                lane.plane(self)?;
                planes += 1;
            }
            Ok(started.elapsed().as_secs_f64() / f64::from(planes))
        })
    }

    /// Seconds a plane takes all threads, in so many lanes; fewer where their planes do not fit
    /// into the memory.
    pub fn all_threads(&self, threads: usize, lanes: usize) -> Result<f64, copy::Failure> {
        let budget = Resources::default().memory_bytes();
        let fit = usize::try_from(budget / self.samples.len().max(1) as u64);
        let lanes = lanes.min(fit.unwrap_or(usize::MAX)).max(1);
        let backend = Cpu::new();
        let each = threads.div_ceil(lanes);
        let made: Result<Vec<_>, _> = (0..lanes)
            .map(|_| self.lane(&backend, each).map(Mutex::new))
            .collect();
        let made = made?;
        let pool = pool(threads)?;
        let in_lanes = |lasts: Duration| {
            let started = Instant::now();
            let planes = pool.broadcast(|context| {
                let Some(lane) = made.get(context.index()) else {
                    return Ok(0);
                };
                let mut lane = lane.lock().unwrap_or_else(PoisonError::into_inner);
                let mut planes = 0_u32;
                while planes == 0 || started.elapsed() < lasts {
                    lane.plane(self)?;
                    planes += 1;
                }
                Ok(planes)
            });
            let planes: u32 = planes.into_iter().sum::<Result<_, BackendError>>()?;
            Ok(started.elapsed().as_secs_f64() / f64::from(planes))
        };
        in_lanes(Duration::ZERO)?;
        measured(|| in_lanes(LASTS))
    }

    fn lane(&self, backend: &Cpu, threads: usize) -> Result<Working, BackendError> {
        let mut workload = Workload::new(self.precision).with_threads_per_lane(threads);
        for convolution in &self.convolutions {
            workload.add(self.shape.0, self.shape.1, *convolution);
        }
        Ok(Working {
            lane: backend.lane(&workload)?,
            out: vec![0; self.samples.len()],
            next: 0,
        })
    }

    fn bitpix(&self) -> Bitpix {
        match self.precision {
            Precision::F32 => Bitpix::F32,
            Precision::F64 => Bitpix::F64,
        }
    }
}

/// A lane, its slot, and which plane it takes next.
struct Working {
    lane: Box<dyn Lane>,
    out: Vec<u8>,
    next: usize,
}

impl Working {
    fn plane(&mut self, planes: &Planes) -> Result<(), BackendError> {
        let ((nx, ny), bitpix) = (planes.shape, planes.bitpix());
        let source = PlaneRef::new(&planes.samples, nx, ny, Codec::plain(bitpix))?;
        let slot = PlaneMut::new(&mut self.out, nx, ny, bitpix)?;
        let turn = self.next.checked_rem(planes.convolutions.len());
        self.next = self.next.wrapping_add(1);
        match turn.and_then(|turn| planes.convolutions.get(turn)) {
            Some(convolution) => self.lane.convolve(convolution, source, slot),
            None => Ok(()),
        }
    }
}

fn measured(mut run: impl FnMut() -> Result<f64, copy::Failure>) -> Result<f64, copy::Failure> {
    let runs: Result<Vec<f64>, _> = (0..RUNS).map(|_| run()).collect();
    Ok(median(&runs?))
}
