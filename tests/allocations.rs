//! Nothing is allocated for a plane: jobs of 2N planes allocate as often as jobs of N. What is
//! counted are calls of the allocator, by whatever thread.

#![allow(
    unsafe_code,
    reason = "an allocator that counts has to be an allocator, which is an unsafe trait"
)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "what was measured is worth reading"
)]

mod planes;
mod support;

use std::alloc::{GlobalAlloc, Layout, System};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Barrier, Mutex};
use std::thread::ThreadId;

use mmfits::beam::Beam as TargetBeam;
use mmfits::convolve::{Backend, Cpu, Workload};
use mmfits::kernel::PixelCovariance;
use mmfits::plan::{Edge, FilePlan, NanRule, Precision, Spec, TargetChoice, Task};
use mmfits::plane::{Codec, PlaneMut, PlaneRef};
use mmfits::progress::Observer;
use mmfits::run::{Io, Request, Resources, Storage, prepare};

use support::*;

/// The system's allocator, counting.
struct Counting;

static CALLS: AtomicU64 = AtomicU64::new(0);
static BYTES: AtomicU64 = AtomicU64::new(0);

#[global_allocator]
static ALLOCATOR: Counting = Counting;

// SAFETY: every call goes to the system's allocator as it came; counting touches no memory but two
// atomic numbers.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        CALLS.fetch_add(1, Ordering::Relaxed);
        BYTES.fetch_add(layout.size() as u64, Ordering::Relaxed);
        // SAFETY: the caller's promises about `layout` are handed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        BYTES.fetch_sub(layout.size() as u64, Ordering::Relaxed);
        // SAFETY: the caller's promises about `pointer` and `layout` are handed on; it came from
        // `alloc` above, that is, from the system.
        unsafe { System.dealloc(pointer, layout) }
    }
}

fn calls() -> u64 {
    CALLS.load(Ordering::Relaxed)
}

/// One test at a time: the counters are the process's.
static ALONE: Mutex<()> = Mutex::new(());

/// What the planes of a job are like.
#[derive(Clone, Copy, Debug)]
struct Kind {
    name: &'static str,
    size: (usize, usize),
    target: [f64; 3],
    /// The beam of the first channels; half of them, a third and so on.
    own: [Beam; 2],
    blanks: bool,
    double: bool,
    nan: NanRule,
}

const STRIPS: Kind = Kind {
    name: "strips",
    size: (24, 520),
    target: [40.0, 38.0, 20.0],
    own: [[12.0, 9.0, 40.0], [13.0, 9.0, 30.0]],
    blanks: false,
    double: false,
    nan: NanRule::Keep,
};

const KINDS: [Kind; 7] = [
    STRIPS,
    Kind {
        name: "full height",
        size: (50, 40),
        ..STRIPS
    },
    Kind {
        name: "racs with blanks, strips",
        blanks: true,
        nan: NanRule::Racs,
        ..STRIPS
    },
    Kind {
        name: "racs with blanks, full height",
        size: (50, 40),
        blanks: true,
        nan: NanRule::Racs,
        ..STRIPS
    },
    Kind {
        name: "interpolated f64",
        size: (50, 40),
        blanks: true,
        double: true,
        nan: NanRule::Interpolate,
        ..STRIPS
    },
    Kind {
        name: "passed through, and convolved",
        size: (50, 40),
        own: [[40.0, 38.0, 20.0], [13.0, 9.0, 30.0]],
        ..STRIPS
    },
    Kind {
        name: "without a beam, and convolved",
        size: (50, 40),
        own: [[0.0, 0.0, 0.0], [13.0, 9.0, 30.0]],
        double: true,
        ..STRIPS
    },
];

/// How often the allocator is called for a lane, at most.
const LANE_CALLS: u64 = 16;

/// Writes a cube of planes of this kind, the two beams by turns.
fn write_cube(folder: &Path, kind: &Kind, planes: usize) -> PathBuf {
    let (nx, ny) = kind.size;
    let mut pixels = Vec::new();
    for plane in 0..planes {
        let image = planes::Image::noise(nx, ny, plane as u64);
        let image = if kind.blanks {
            image.with_blanks()
        } else {
            image
        };
        pixels.extend(image.pixels);
    }
    let samples = if kind.double {
        Samples::F64(pixels)
    } else {
        Samples::f32(&pixels)
    };
    let beams: Vec<Beam> = (0..planes).map(|plane| kind.own[plane % 2]).collect();
    let cards = cube_cards(Order::Plain).and(&casambm());
    let path = folder.join(format!("{planes}.fits"));
    let hdu = Hdu::primary(&[nx, ny, planes], &samples, &cards);
    write::write(&path, &[hdu, BeamTable::new(&beams).hdu()]);
    path
}

/// Holds every lane after its first plane until all lanes have one.
struct Together {
    barrier: Barrier,
    seen: Mutex<Vec<ThreadId>>,
    last: AtomicU64,
    first: AtomicU64,
}

impl Together {
    fn new(lanes: usize) -> Self {
        let seen = Mutex::new(Vec::with_capacity(lanes));
        Self {
            barrier: Barrier::new(lanes),
            seen,
            last: AtomicU64::new(0),
            first: AtomicU64::new(0),
        }
    }
}

impl Observer for Together {
    fn plane_stored(&self, _: &FilePlan, _: u64, _: u64) {
        let me = std::thread::current().id();
        let mut seen = self.seen.lock().unwrap();
        let new = !seen.contains(&me);
        if new {
            seen.push(me);
        }
        drop(seen);
        if new && self.barrier.wait().is_leader() {
            self.first.store(calls(), Ordering::Relaxed);
        }
        self.last.store(calls(), Ordering::Relaxed);
    }
}

fn request(input: PathBuf, kind: &Kind, (threads, io): (usize, Io)) -> Request {
    let [bmaj, bmin, bpa] = kind.target;
    let target = TargetBeam::new(bmaj, bmin, bpa).unwrap();
    Request {
        inputs: vec![input],
        spec: Spec {
            target: TargetChoice::Beam(target),
            nan: kind.nan,
            ..Spec::default()
        },
        resources: Resources {
            threads: Some(threads),
            ..Resources::default()
        },
        storage: Storage {
            io,
            ..Storage::default()
        },
        ..Request::default()
    }
}

/// Calls of the allocator between the moment when every lane had stored a plane and the last one.
fn calls_for_planes(kind: &Kind, planes: usize, (threads, io): (usize, Io)) -> (u64, u64) {
    let folder = tempfile::tempdir().unwrap();
    let cube = write_cube(folder.path(), kind, planes);
    let request = request(cube, kind, (threads, io));
    let job = prepare(&request).unwrap();
    let lanes = job.files().next().unwrap().lanes;
    assert_eq!(lanes, threads, "{}", kind.name);
    let observer = Together::new(lanes);
    let before = calls();
    job.run(&observer).unwrap();
    let whole = calls() - before;
    let first = observer.first.load(Ordering::Relaxed);
    (observer.last.load(Ordering::Relaxed) - first, whole)
}

#[test]
fn planes_of_a_job_allocate_nothing() {
    let _alone = ALONE.lock().unwrap();
    // Mapped, and read and written by position.
    for (threads, io) in [(1, Io::Map), (3, Io::Map), (1, Io::Write), (3, Io::Write)] {
        for kind in &KINDS {
            let (some, whole) = calls_for_planes(kind, 10, (threads, io));
            let (more, twice) = calls_for_planes(kind, 40, (threads, io));
            println!(
                "{}, {threads} threads: {some} and {more} while at work, {whole} and {twice} in all",
                kind.name
            );
            // A lane's memory comes with its first convolution, which is not its first plane where
            // every other plane is copied or blank.
            let lanes = if kind.name.ends_with("and convolved") {
                threads as u64 * LANE_CALLS
            } else {
                0
            };
            assert!(
                some <= lanes && more <= lanes,
                "{}, {threads} threads: {some}, {more}",
                kind.name
            );
            // Lists of planes may be longer, but not more in number; threads that wait and a name
            // or a text that differs by a digit make a difference now and then.
            assert!(
                twice.abs_diff(whole) <= 16 + lanes,
                "{}: {whole}, {twice}",
                kind.name
            );
        }
    }
}

/// A job whose memory allows one lane only, which all threads share.
#[test]
fn planes_of_one_lane_of_three_threads_allocate_next_to_nothing() {
    let _alone = ALONE.lock().unwrap();
    for kind in KINDS.iter().take(5) {
        let folder = tempfile::tempdir().unwrap();
        let mut request = request(write_cube(folder.path(), kind, 40), kind, (3, Io::Auto));
        let least = (1..)
            .map(|step| step << 14)
            .find(|&bytes| {
                request.resources.memory_bytes = Some(bytes);
                prepare(&request).is_ok_and(|job| {
                    let plan = job.files().next().unwrap();
                    (plan.lanes, plan.threads_per_lane) == (1, 3)
                })
            })
            .unwrap();
        let job = prepare(&request).unwrap();
        let observer = Together::new(1);
        job.run(&observer).unwrap();
        let while_at_work = observer.last.into_inner() - observer.first.into_inner();
        println!(
            "{}, {least} bytes: {while_at_work} for 39 planes",
            kind.name
        );
        // A thread that helps for the first time is noted down by rayon, once.
        assert!(while_at_work <= 8, "{}: {while_at_work}", kind.name);
    }
}

/// The planes of one lane whose threads share each plane: what rayon takes for handing work to
/// its threads is bounded, and none of it is ours.
#[test]
fn planes_shared_by_threads_allocate_next_to_nothing() {
    let _alone = ALONE.lock().unwrap();
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(3)
        .build()
        .unwrap();
    let kernel = PixelCovariance {
        xx: 100.0,
        xy: 10.0,
        yy: 81.0,
    };
    for (size, strips, nan) in [
        ((30, 40), None, NanRule::Keep),
        ((30, 40), None, NanRule::Racs),
        ((30, 600), Some((256, 32)), NanRule::Keep),
        ((30, 600), Some((256, 32)), NanRule::Interpolate),
    ] {
        let mut convolution = planes::convolution(size, kernel, Edge::Zero, nan);
        if let Some(lengths) = strips {
            convolution = planes::in_strips(convolution, lengths);
        }
        let image = planes::Image::noise(size.0, size.1, 3).with_blanks();
        let input = image.bytes(Precision::F32);
        let mut output = vec![0; input.len()];
        let workload = planes::workload(size, Precision::F32, &convolution);
        let mut lane = Cpu::new().lane(&workload.with_threads_per_lane(3)).unwrap();
        let bitpix = planes::bitpix(Precision::F32);
        let mut plane = || {
            let source = PlaneRef::new(&input, size.0, size.1, Codec::plain(bitpix)).unwrap();
            let slot = PlaneMut::new(&mut output, size.0, size.1, bitpix).unwrap();
            pool.install(|| lane.convolve(&convolution, source, slot))
                .unwrap();
        };
        plane();
        let before = calls();
        (0..64).for_each(|_| plane());
        let each = (calls() - before) as f64 / 64.0;
        println!("{size:?} {nan:?}: {each} calls a plane");
        assert!(each < 0.1, "{size:?} {nan:?}: {each} calls a plane");
    }
}

/// What a backend says of its tables is what making a lane allocates beside the lane.
#[test]
fn tables_are_as_large_as_was_said() {
    let _alone = ALONE.lock().unwrap();
    for (nx, ny) in [
        (1024, 700),
        (10_290, 10_290),
        (5000, 5103),
        (2600, 3003),
        (37 * 64, 41 * 100),
        (2187 * 2, 2401 * 2),
        (4099, 65_537),
        (6 * 1021, 12_289),
        (2 * 13 * 17 * 19, 29 * 31 * 8),
        (5039, 5039),
        (10_007, 1009),
        (2 * 5039, 2 * 1019),
        (30_000, 250),
        (1 << 16, 1),
    ] {
        tables((nx, ny), Precision::F32);
        tables((nx, ny), Precision::F64);
    }
}

fn tables((nx, ny): (usize, usize), precision: Precision) {
    // So wide that little of the spectrum is kept.
    let kernel = PixelCovariance {
        xx: 1e4,
        xy: 0.0,
        yy: 1e4,
    };
    let convolution = planes::convolution((nx, ny), kernel, Edge::Wrap, NanRule::Keep);
    let mut workload = Workload::new(precision);
    workload.add(nx, ny, convolution);
    let cpu = Cpu::new();
    let said = cpu.table_bytes(&workload);
    let before = BYTES.load(Ordering::Relaxed);
    let lane = cpu.lane(&workload).unwrap();
    let taken = BYTES.load(Ordering::Relaxed) - before - lane.bytes();
    println!("{nx} x {ny} {precision:?}: {taken} of {said} said");
    // Planners keep a few small things beside the tables.
    assert!(
        taken <= said + said / 20 + (64 << 10),
        "{nx} x {ny}: {taken}, said {said}"
    );
    assert!(
        said <= 3 * taken + (64 << 10),
        "{nx} x {ny}: {taken}, said {said}"
    );
}

/// That every kind above is what its name says.
#[test]
fn the_kinds_are_what_they_are_called() {
    let _alone = ALONE.lock().unwrap();
    let folder = tempfile::tempdir().unwrap();
    for kind in &KINDS {
        let request = request(write_cube(folder.path(), kind, 2), kind, (1, Io::Auto));
        let job = prepare(&request).unwrap();
        let plan = job.files().next().unwrap();
        let expected = match kind.name {
            "passed through, and convolved" => matches!(plan.tasks[0], Task::Copy),
            "without a beam, and convolved" => matches!(plan.tasks[0], Task::Blank),
            name => matches!(plan.tasks[0], Task::Convolve(c)
                if (c.columns != mmfits::plan::ColumnMethod::Full) == name.contains("strips")),
        };
        assert!(expected, "{}: {:?}", kind.name, plan.tasks[0]);
    }
}
