//! Measures the command end to end on cubes that it makes, beside the floors under it, and says
//! what bounds this machine. `scripts/bench.sh` is the way to call it:
//!
//! ```sh
//! measure compare NX NY NCHAN f32|f64 keep|racs|interpolate|wrap
//! measure record DATE COMMIT
//! measure make NX NY NCHAN f32|f64 keep|racs|interpolate|wrap FILE
//! ```
//!
//! From the environment: `MMCONV` (the command), `MMCONV_BENCH_DIR` (a folder for cubes, there
//! already), `MMCONV_BENCH_RUNS` (5), `MMCONV_BENCH_THREADS` (as the machine has),
//! `MMCONV_BENCH_TARGET` (`20,17,20`: arcsec, arcsec, degrees).
#![allow(clippy::print_stdout, reason = "an example speaks to a person")]

mod case;
mod compare;
#[path = "../../src/bin/mmconv/bench/copy.rs"]
mod copy;
#[path = "../../src/bin/mmconv/bench/cube.rs"]
mod cube;
mod floors;
mod report;
mod sample;

use std::env;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::thread::available_parallelism;

use case::{Case, Mode};
use compare::Bench;
use mmfits::beam::Beam;
use mmfits::map::Io;
use mmfits::plan::{Edge, NanRule, Spec, TargetChoice};
use mmfits::run::{Request, prepare};

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args.as_slice() {
        ["compare", nx, ny, channels, dtype, mode] => {
            let bench = bench()?;
            let found = bench.compare(case(nx, ny, channels, dtype, mode)?)?;
            print!("{}", report::in_words(&bench, &found));
        }
        ["make", nx, ny, channels, dtype, mode, path] => {
            case(nx, ny, channels, dtype, mode)?
                .cube
                .write(Path::new(path))
                .map_err(|error| -> Box<dyn Error> { error })?;
        }
        ["record", date, commit] => print!("{}", record(date, commit)?),
        ["copy", input, output, io, threads] => {
            let io = if *io == "map" { Io::Map } else { Io::Write };
            copy::copy(Path::new(input), Path::new(output), io, threads.parse()?)
                .map_err(|error| -> Box<dyn Error> { error })?;
        }
        ["transforms", input, mode, threads, bmaj, bmin, bpa] => {
            let target = Beam::new(bmaj.parse()?, bmin.parse()?, bpa.parse()?)?;
            transforms(
                Path::new(input),
                Mode::parse(mode)?,
                threads.parse()?,
                target,
            )?;
        }
        _ => return Err("see the head of examples/measure/main.rs for its arguments".into()),
    }
    Ok(())
}

/// The standard set: sizes by precision by edge.
fn record(date: &str, commit: &str) -> Result<String, Box<dyn Error>> {
    let bench = bench()?;
    let mut rows = Vec::new();
    for (size, channels, double) in [
        (1024, 64, false),
        (2048, 32, false),
        (4096, 8, false),
        (2048, 16, true),
    ] {
        for mode in [Mode::Wrap, Mode::Keep] {
            let shape = [size, size, channels];
            rows.push(bench.compare(Case::new(shape, double, mode))?);
        }
    }
    Ok(report::record(&bench, &rows, date, commit))
}

fn bench() -> Result<Bench, Box<dyn Error>> {
    let or = |name: &str, other: &str| env::var(name).unwrap_or_else(|_| other.to_owned());
    let cores = available_parallelism()?.get().to_string();
    let target = or("MMCONV_BENCH_TARGET", "20,17,20");
    let target: Vec<String> = target.split(',').map(str::to_owned).collect();
    let target = target.try_into();
    Ok(Bench {
        mmconv: PathBuf::from(or("MMCONV", "mmconv")),
        folder: PathBuf::from(env::var("MMCONV_BENCH_DIR")?),
        runs: or("MMCONV_BENCH_RUNS", "5").parse()?,
        threads: or("MMCONV_BENCH_THREADS", &cores).parse()?,
        target: target.map_err(|_| "MMCONV_BENCH_TARGET is BMAJ,BMIN,BPA")?,
    })
}

fn case(
    nx: &str,
    ny: &str,
    channels: &str,
    dtype: &str,
    mode: &str,
) -> Result<Case, Box<dyn Error>> {
    let double = match dtype {
        "f32" => false,
        "f64" => true,
        other => return Err(format!("{other:?} is neither f32 nor f64").into()),
    };
    Ok(Case::new(
        [nx.parse()?, ny.parse()?, channels.parse()?],
        double,
        Mode::parse(mode)?,
    ))
}

fn transforms(
    input: &Path,
    mode: Mode,
    threads: usize,
    target: Beam,
) -> Result<(), Box<dyn Error>> {
    let spec = Spec {
        target: TargetChoice::Beam(target),
        edge: match mode {
            Mode::Wrap => Edge::Wrap,
            _ => Edge::Zero,
        },
        nan: match mode {
            Mode::Racs => NanRule::Racs,
            Mode::Interpolate => NanRule::Interpolate,
            Mode::Keep | Mode::Wrap => NanRule::Keep,
        },
        ..Spec::default()
    };
    let request = Request {
        inputs: vec![input.to_owned()],
        spec,
        ..Request::default()
    };
    let job = prepare(&request)?;
    for plan in job.files() {
        floors::transforms(plan, mode.has_blanks(), threads)
            .map_err(|error| -> Box<dyn Error> { error })?;
    }
    Ok(())
}
