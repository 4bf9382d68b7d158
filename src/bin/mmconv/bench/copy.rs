//! The floor under everything that goes from file to file: the planes of an image read, swapped to
//! native numbers and back, and stored as a run stores them, by as many threads, with the code
//! that lanes read and store with. Prints nothing; `examples/measure` has its floor from here too,
//! so it knows nothing of this program.

use std::error::Error;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use mmfits::convolve::cpu::parts::{Part, Parts};
use mmfits::convolve::{Cpu, Workload};
use mmfits::image::Image;
use mmfits::kernel::{Grid, PixelCovariance};
use mmfits::map::{Io, Place, Slot, Target, Touch};
use mmfits::plan::{ColumnMethod, Convolution, Edge, HduChoice, NanRule, Precision, Strips};
use mmfits::plane::{PlaneMut, Store};

/// What goes wrong, whatever it is.
pub type Failure = Box<dyn Error + Send + Sync>;

/// Copies the planes of an image into a new file.
pub fn copy(input: &Path, output: &Path, io: Io, threads: usize) -> Result<(), Failure> {
    let image = Image::open(input, &HduChoice::FirstImage)?;
    let cube = image.cube();
    let ranges = (0..cube.planes()).filter_map(|plane| cube.plane_range(plane));
    let mut target = Target::create(output, image.bytes().len() as u64, io)?;
    let (slots, _) = target.slots(ranges)?;
    let lanes = threads.min(slots.len()).max(1);
    let copier = Copier {
        image: &image,
        queue: Mutex::new((0..).zip(slots)),
        convolution: smallest(usize::try_from(cube.nx())?, usize::try_from(cube.ny())?),
        backend: Cpu::new(),
        threads_per_lane: threads.div_ceil(lanes),
        touch: Touch::by_threads(threads),
    };
    in_threads(threads, lanes, || copier.lane())
}

struct Copier<'a, I> {
    image: &'a Image,
    queue: Mutex<I>,
    convolution: Convolution,
    backend: Cpu,
    threads_per_lane: usize,
    touch: Touch,
}

impl<'s, I: Iterator<Item = (u64, Slot<'s>)>> Copier<'_, I> {
    fn lane(&self) -> Result<(), Failure> {
        let shape = (self.convolution.grid.nx, self.convolution.grid.ny);
        let bitpix = self.image.cube().bitpix();
        let precision = match bitpix.size_bytes() {
            8 => Precision::F64,
            _ => Precision::F32,
        };
        let mut workload = Workload::new(precision).with_threads_per_lane(self.threads_per_lane);
        workload.add(shape.0, shape.1, self.convolution);
        let mut parts = Parts::new(&self.backend, &workload)?;
        let next = || {
            let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
            queue.next()
        };
        while let Some((plane, slot)) = next() {
            let length = usize::try_from(slot.len_bytes())?;
            let (place, memory) = slot.into_parts();
            let store = Stored {
                place,
                touch: self.touch,
            };
            let output = match memory {
                Some(bytes) => PlaneMut::mapped(bytes, &store, shape, bitpix)?,
                None => PlaneMut::written(&store, length, shape, bitpix)?,
            };
            let input = self.image.plane(plane)?;
            parts.run(Part::Copy, &self.convolution, input, output)?;
        }
        Ok(())
    }
}

/// A plane's place in the file.
#[derive(Debug)]
struct Stored<'a> {
    place: Place<'a>,
    touch: Touch,
}

impl Store for Stored<'_> {
    fn origin(&self) -> u64 {
        self.place.start()
    }

    fn expect(&self, at: u64, room: &mut [u8]) -> std::io::Result<()> {
        self.place.make_ready(at, room, self.touch)
    }

    fn write(&self, at: u64, bytes: &[u8]) -> std::io::Result<()> {
        self.place.write(at, bytes)
    }

    fn filled(&self, _: u64, _: &[u8]) -> std::io::Result<()> {
        Ok(())
    }
}

/// A convolution whose lane has next to no memory, for copying alone.
fn smallest(nx: usize, ny: usize) -> Convolution {
    let wide = (nx * nx) as f64;
    Convolution {
        kernel: PixelCovariance {
            xx: wide,
            xy: 0.0,
            yy: wide,
        },
        gain: 1.0,
        racs_gain: 1.0,
        edge: Edge::Wrap,
        nan: NanRule::Keep,
        grid: Grid { nx, ny },
        halo_x: 0,
        columns: ColumnMethod::Strips(Strips {
            length: 16,
            halo: 0,
        }),
    }
}

/// Runs `work` on the first `lanes` threads of a pool.
pub fn in_threads(
    threads: usize,
    lanes: usize,
    work: impl Fn() -> Result<(), Failure> + Sync,
) -> Result<(), Failure> {
    let results = pool(threads)?.broadcast(|context| {
        if context.index() < lanes {
            work()
        } else {
            Ok(())
        }
    });
    results.into_iter().collect()
}

/// Threads of our own, as a run has them.
pub fn pool(threads: usize) -> Result<rayon::ThreadPool, Failure> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
    Ok(pool.build()?)
}
