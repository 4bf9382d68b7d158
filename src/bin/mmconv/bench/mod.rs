//! `mmconv bench`: how fast this machine is at one kind of plane, what bounds it, and what a device
//! gains. Makes a cube, measures, removes it, and says what was found.

mod copy;
mod cube;
mod device;
mod files;
mod folder;
mod memory;
mod table;
mod verdict;

use std::env;
use std::fs;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};

use mmfits::beam::Beam;
use mmfits::convolve::device::DeviceParts;
use mmfits::convolve::rates::{Rate, Rates, Work};
use mmfits::plan::{FilePlan, NanRule, Precision, Spec, TargetChoice};
use mmfits::run::{BackendKind, Choice, Request, Resources, prepare};

use crate::args::Bench;
use crate::failure::{Failure, Status, chain};
use crate::out::{Results, tell};
use crate::words::Spread;
use crate::{rates, request};
use cube::Cube;
use device::Device;
use files::{Files, Walls};
use folder::Folder;
use memory::Planes;
use verdict::{Seen, Verdict};

/// The beam that all planes are brought to: arcsec, arcsec, degrees.
const TARGET: [f64; 3] = [20.0, 17.0, 20.0];

/// Of each number, whose median is taken.
const RUNS: usize = 5;

/// Others are at work where the load is above this share of the threads before anything begins.
const BUSY: f64 = 0.5;

/// Of the small cubes that only the rates are taken from.
const PLANES_FOR_RATES: usize = 4;
const BLANKS_FOR_RATES: f64 = 25.0;

/// What is measured.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    pub cube: Cube,
    pub threads: usize,
}

/// What was found. Seconds are those of a plane.
#[derive(Debug)]
struct Found {
    case: Case,
    /// Where the files lay.
    folder: PathBuf,
    /// Planes in flight, and threads that share one.
    lanes: (usize, usize),
    /// In memory, by one thread.
    one_thread: f64,
    /// In memory, by all threads.
    all_threads: f64,
    /// The device, or why there is none.
    device: Result<String, String>,
    /// Its parts, or why they are not known.
    parts: Result<DeviceParts, String>,
    /// From file to file.
    files: Walls,
    /// One plane.
    work: Work,
}

/// Measures, prints, and keeps the rates where that is asked for.
pub fn run(args: &Bench, results: &Results) -> Result<Status, Failure> {
    let save = args.save.as_ref().map(|named| rates_file(named.as_deref()));
    let save = save.transpose()?;
    let choice = request::choice(&args.backend)?;
    let load = load();
    let device = device(&choice)?;
    let case = case(args);
    let parent = args.dir.clone().unwrap_or_else(env::temp_dir);
    let folder = Folder::create(&parent)?;
    let found = measure((&case, &choice), &folder, (parent, &device))?;
    let mut rates = found.rates();
    if save.is_some() {
        other_rates(&case, &folder, &mut rates)?;
        if let Ok(device) = &device {
            device_rates(&found, device, &mut rates);
        }
    }
    drop(folder);
    let seen = found.seen(&rates);
    let verdict = Verdict::of(&seen);
    let sentences = verdict::in_words(&seen, &verdict);
    if args.json {
        let object = table::json(&found, &verdict, &sentences);
        results.line(object.to_string().as_bytes());
    } else {
        results.write(table::text(&found, &sentences).as_bytes());
    }
    let threads = case.threads as f64;
    if let Some(load) = load.filter(|load| *load > BUSY * threads) {
        tell(&format!(
            "note: the load of this machine was {load} before, for {threads} threads: others are at \
             work, and what was measured is slower than it would be alone"
        ));
    }
    if let Some(path) = save {
        rates::write(&path, &rates)?;
        tell(&format!("rates: {}", path.display()));
    }
    Ok(Status::Done)
}

/// Processes that wanted to run, in the mean over the last minute (proc(5)).
fn load() -> Option<f64> {
    let text = fs::read_to_string("/proc/loadavg").ok()?;
    text.split_whitespace().next()?.parse().ok()
}

/// The file that is named, or the one that the choice of a backend reads.
fn rates_file(named: Option<&Path>) -> Result<PathBuf, Failure> {
    let file = named.map(Path::to_owned).or_else(rates::path);
    file.ok_or_else(|| {
        Failure::request(
            "--save has no file: none is named, and MMCONV_RATES, XDG_CONFIG_HOME and HOME are not \
             set",
        )
    })
}

/// The device, or why there is none, which is an error where one was asked for.
fn device(choice: &Choice) -> Result<Result<Device, String>, Failure> {
    if choice.backend == BackendKind::Cpu {
        return Ok(Err("the CPU alone was asked for".to_owned()));
    }
    match device::open(choice) {
        Err(why) if choice.backend == BackendKind::Cuda => Err(Failure::machine(format!(
            "the backend cuda cannot be measured: {why}; --backend auto measures the rest"
        ))),
        device => Ok(device),
    }
}

fn case(args: &Bench) -> Case {
    let resources = Resources {
        threads: args.threads,
        ..Resources::default()
    };
    Case {
        cube: Cube {
            nx: args.nx,
            ny: args.ny,
            channels: args.planes,
            double: args.precision == Precision::F64,
            blank_percent: args.blank,
        },
        threads: resources.threads(),
    }
}

fn measure(
    (case, choice): (&Case, &Choice),
    folder: &Folder,
    (parent, device): (PathBuf, &Result<Device, String>),
) -> Result<Found, Failure> {
    progress("making a cube");
    let request = made(case, folder)?;
    let job = prepare(&request)?;
    let plan = job.files().next().ok_or_else(|| failed("no plan"))?;
    progress("in memory");
    let planes = Planes::of(plan).map_err(failed)?;
    let one_thread = planes.one_thread().map_err(failed)?;
    let all_threads = planes
        .all_threads(case.threads, plan.lanes)
        .map_err(failed)?;
    drop(planes);
    progress("the device");
    let device = device.as_ref().map_err(Clone::clone);
    let name = device.clone().map(|device| device.name.clone());
    let parts = device.and_then(|device| case.parts(device));
    progress("from file to file");
    let files = Files {
        folder,
        request: &request,
        on_device: name.is_ok().then(|| device::request(&request, choice)),
        threads: case.threads,
    };
    let files = files.measure().map_err(failed)?;
    for input in &request.inputs {
        files::remove(input);
    }
    Ok(Found {
        case: *case,
        folder: parent,
        lanes: (plan.lanes, plan.threads_per_lane),
        one_thread,
        all_threads,
        device: name,
        parts,
        files: files.of_a_plane(case.cube.channels),
        work: work(plan, case),
    })
}

/// Writes the cube; what is returned smooths it.
fn made(case: &Case, folder: &Folder) -> Result<Request, Failure> {
    let input = folder.join("bench.fits");
    case.cube.write(&input).map_err(failed)?;
    let [bmaj, bmin, bpa] = TARGET;
    let target = Beam::new(bmaj, bmin, bpa).map_err(failed)?;
    let mut request = Request {
        inputs: vec![input],
        spec: Spec {
            target: TargetChoice::Beam(target),
            nan: case.rule(),
            ..Spec::default()
        },
        ..Request::default()
    };
    request.choice.backend = BackendKind::Cpu;
    request.resources.threads = Some(case.threads);
    request.recovery.discard = true;
    Ok(request)
}

impl Case {
    fn precision(&self) -> Precision {
        if self.cube.double {
            Precision::F64
        } else {
            Precision::F32
        }
    }

    /// With blanks the rule that smooths their mask too, which is the dearer one.
    fn rule(&self) -> NanRule {
        if self.masked() {
            NanRule::Racs
        } else {
            NanRule::Keep
        }
    }

    fn parts(&self, device: &Device) -> Result<DeviceParts, String> {
        let Cube {
            nx, ny, channels, ..
        } = self.cube;
        device.parts((nx, ny), self.precision(), channels)
    }

    fn masked(&self) -> bool {
        self.cube.blank_percent > 0.0
    }
}

/// The mean plane of a plan.
fn work(plan: &FilePlan, case: &Case) -> Work {
    let all = Work::of(plan, case.threads);
    let planes = plan.convolutions().count().max(1) as u64;
    Work {
        clean_pixels: all.clean_pixels / planes,
        masked_pixels: all.masked_pixels / planes,
        bytes_in: all.bytes_in / planes,
        bytes_out: all.bytes_out / planes,
        ..all
    }
}

impl Found {
    /// What was found, as rates.
    fn rates(&self) -> Rates {
        let (case, bytes) = (&self.case, self.work.bytes_in as f64);
        let mut rates = Rates::default();
        rates.set(Rate::Threads, case.threads as f64);
        if case.threads > 1 {
            let more = self.one_thread / self.all_threads - 1.0;
            // Beyond these it is chance.
            let share = (more / (case.threads - 1) as f64).clamp(0.01, 1.0);
            rates.set(Rate::ThreadShare, share);
        }
        let rate = Rate::cpu(case.precision(), case.masked());
        rates.set(rate, self.one_thread / self.gpixels());
        rates.set(Rate::HostCopy, bytes / self.files.swapped_alone);
        let slower = self.files.swapped.max(self.files.on_disk);
        rates.set(Rate::Disk, bytes / slower);
        if let Ok(parts) = &self.parts {
            parts_rates(parts, case.precision(), (self.gpixels(), &mut rates));
            rates.set(Rate::HostToDevice, bytes / parts.h2d);
            rates.set(Rate::DeviceToHost, self.work.bytes_out as f64 / parts.d2h);
            rates.set(Rate::DeviceStart, parts.start);
        }
        rates
    }

    /// Of a plane's padded grid.
    fn gpixels(&self) -> f64 {
        (self.work.clean_pixels + self.work.masked_pixels) as f64 / 1e9
    }

    fn seen<'a>(&self, rates: &'a Rates) -> Seen<'a> {
        Seen {
            job: self.files.cpu,
            memory: self.all_threads,
            copied: self.files.swapped,
            on_disk: self.files.on_disk,
            device: self.files.device.clone().and_then(Result::ok),
            work: self.work,
            rates,
        }
    }
}

/// The rates of one thread for the kinds of planes that were not measured.
fn other_rates(case: &Case, folder: &Folder, rates: &mut Rates) -> Result<(), Failure> {
    for (double, blank_percent) in [
        (false, 0.0),
        (false, BLANKS_FOR_RATES),
        (true, 0.0),
        (true, BLANKS_FOR_RATES),
    ] {
        let cube = Cube {
            double,
            blank_percent,
            channels: PLANES_FOR_RATES,
            ..case.cube
        };
        let other = Case { cube, ..*case };
        let rate = Rate::cpu(other.precision(), other.masked());
        if rates.measured(rate).is_some() {
            continue;
        }
        progress("other kinds of planes");
        let request = made(&other, folder)?;
        let job = prepare(&request)?;
        let plan = job.files().next().ok_or_else(|| failed("no plan"))?;
        let planes = Planes::of(plan).map_err(failed)?;
        let seconds = planes.one_thread().map_err(failed)?;
        let work = work(plan, &other);
        let gpixels = (work.clean_pixels + work.masked_pixels) as f64 / 1e9;
        rates.set(rate, seconds / gpixels);
    }
    Ok(())
}

/// What a device takes of a plane with so many gpixels, as rates.
fn parts_rates(parts: &DeviceParts, precision: Precision, (gpixels, rates): (f64, &mut Rates)) {
    let seconds = [(false, parts.resident), (true, parts.resident_masked)];
    for (masked, seconds) in seconds {
        rates.set(Rate::device(precision, masked), seconds / gpixels);
    }
}

/// The rates of a device in the precision that was not measured. A device that fails then keeps
/// the usual ones.
fn device_rates(found: &Found, device: &Device, rates: &mut Rates) {
    let mut other = found.case;
    other.cube.double = !other.cube.double;
    if let Ok(parts) = other.parts(device) {
        parts_rates(&parts, other.precision(), (found.gpixels(), rates));
    }
}

/// Says where it is, to a person who waits.
fn progress(what: &str) {
    if std::io::stderr().is_terminal() {
        tell(&format!("mmconv bench: {what}"));
    }
}

fn failed(error: impl Into<copy::Failure>) -> Failure {
    match error.into().downcast::<mmfits::Error>() {
        Ok(error) => Failure::from(*error),
        Err(error) => Failure::machine(format!("the bench failed: {}", chain(&*error))),
    }
}

/// The middle of some numbers; not a number if there are none.
fn median(numbers: &[f64]) -> f64 {
    Spread::of(numbers.iter().copied()).map_or(f64::NAN, |spread| spread.median)
}
