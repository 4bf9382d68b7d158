//! Hostile bytes: real headers spoiled from a seed, and the whole command run on them. Whatever a
//! file says, `mmconv smooth` ends with exit status 0 or 3 (or 2 where the request itself cannot be
//! met), never by a signal, never late, never above its memory, and leaves nothing after an error.
//!
//! `scripts/hostile.sh 10000` runs as many; the variables that it sets are read here.
#![cfg(feature = "cli")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]
#![allow(
    clippy::print_stdout,
    reason = "how many cases ended how is worth reading"
)]

mod command;
mod file;
mod limits;
mod mutate;
mod mutated;
mod random;
mod readers;
mod seeds;
#[path = "../support/mod.rs"]
mod support;
mod words;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use command::{Run, smooth};
use file::HostileFile;
use random::Random;
use seeds::Seeds;

/// How many cases without `MMFITS_HOSTILE_CASES`.
const CASES: u64 = 300;

/// A larger input is only planned: its output would take too long.
const PLANNED_BYTES: u64 = 4 << 20;

/// What follows from one number.
struct Case {
    number: u64,
    file: HostileFile,
    flags: Vec<&'static str>,
    log: Option<&'static str>,
    /// Another, right file beside it.
    other: Option<HostileFile>,
    what: String,
}

impl Case {
    fn new(number: u64, seeds: &Seeds) -> Self {
        let mut random = Random::new(number);
        let made = random.one_in(2) || seeds.found.is_empty();
        let seed = random.of(if made { &seeds.made } else { &seeds.found });
        let mut file = seed.clone();
        let what = mutate::mutate(&mut file, &mut random);
        let mut flags = random.of(words::FLAGS).to_vec();
        if file.length.unwrap_or(0) > PLANNED_BYTES {
            flags.push("--dry-run");
        }
        let log = random.one_in(12).then(|| *random.of(words::LOGS));
        let other = random.one_in(10).then(|| random.of(&seeds.made).clone());
        Self {
            number,
            file,
            flags,
            log,
            other,
            what,
        }
    }

    fn run(&self, folder: &Path) -> Result<Run, String> {
        let mut inputs = vec![put(folder, "hostile.fits", &self.file)];
        inputs.extend(
            self.other
                .as_ref()
                .map(|other| put(folder, "other.fits", other)),
        );
        if let Some(log) = self.log {
            fs::write(folder.join("beamlog.hostile.txt"), log).unwrap();
        }
        let run = smooth(folder, &inputs, &self.flags);
        let Self {
            number,
            flags,
            what,
            ..
        } = self;
        run.map_err(|fault| format!("case {number} ({what}) with {flags:?}: {fault}"))
    }
}

fn put(folder: &Path, name: &str, file: &HostileFile) -> PathBuf {
    let path = folder.join(name);
    fs::write(&path, file.bytes()).unwrap();
    if let Some(length) = file.length {
        fs::OpenOptions::new()
            .write(true)
            .open(&path)
            .unwrap()
            .set_len(length)
            .unwrap();
    }
    path
}

/// What all cases came to.
#[derive(Default)]
struct Tally {
    codes: BTreeMap<i32, u64>,
    written: u64,
    peak_bytes: u64,
    busy: Duration,
    seconds: Duration,
    faults: Vec<String>,
}

impl Tally {
    fn add(&mut self, run: Result<Run, String>) {
        match run {
            Ok(run) => {
                *self.codes.entry(run.code).or_default() += 1;
                self.written += u64::from(!run.outputs.is_empty());
                self.peak_bytes = self.peak_bytes.max(run.peak_bytes);
                self.busy = self.busy.max(run.busy);
                self.seconds = self.seconds.max(run.seconds);
            }
            Err(fault) => {
                println!("{fault}");
                self.faults.push(fault);
            }
        }
    }
}

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

/// Keeps some of the outputs with their inputs for another reader to look at, and every input that
/// showed a fault.
fn keep(case: &Case, run: &Result<Run, String>, from: &Path) {
    let folder = |variable| std::env::var_os(variable).map(PathBuf::from);
    let (kept, faults) = (
        folder("MMFITS_HOSTILE_KEEP"),
        folder("MMFITS_HOSTILE_FAULTS"),
    );
    let output = from.join("out/hostile.sm.fits");
    let folder = match run {
        Ok(_) if case.number.is_multiple_of(5) && output.exists() => kept,
        Ok(_) => None,
        Err(_) => faults,
    };
    let Some(folder) = folder else { return };
    fs::create_dir_all(&folder).unwrap();
    let copy =
        |from: &Path, ending| fs::copy(from, folder.join(format!("{}{ending}", case.number)));
    copy(&from.join("hostile.fits"), ".in.fits").unwrap();
    if run.is_ok() {
        copy(&output, ".out.fits").unwrap();
    }
}

/// Runs cases until there are no more numbers.
fn work(seeds: &Seeds, next: &AtomicU64, end: u64, tally: &Mutex<Tally>) {
    loop {
        let number = next.fetch_add(1, Ordering::Relaxed);
        if number >= end {
            return;
        }
        let folder = tempfile::Builder::new()
            .prefix("mmconv-hostile")
            .tempdir()
            .unwrap();
        let case = Case::new(number, seeds);
        let run = case.run(folder.path());
        keep(&case, &run, folder.path());
        tally.lock().unwrap().add(run);
    }
}

#[test]
fn whatever_a_file_says_the_command_ends_well() {
    let first = number("MMFITS_HOSTILE_FIRST").unwrap_or(0);
    let cases = number("MMFITS_HOSTILE_CASES").unwrap_or(CASES);
    let folder = tempfile::tempdir().unwrap();
    let seeds = Seeds::new(folder.path());
    let (next, tally) = (AtomicU64::new(first), Mutex::new(Tally::default()));
    std::thread::scope(|scope| {
        for _ in 0..number("MMFITS_HOSTILE_THREADS").unwrap_or(2) {
            scope.spawn(|| work(&seeds, &next, first + cases, &tally));
        }
    });
    let tally = tally.into_inner().unwrap();
    println!(
        "{cases} cases: exit status {:?}, {} wrote an output, {:.1} MiB of memory at most, \
         {:.2} s of the processor and {:.2} s of the clock at most",
        tally.codes,
        tally.written,
        tally.peak_bytes as f64 / 1048576.0,
        tally.busy.as_secs_f64(),
        tally.seconds.as_secs_f64()
    );
    assert!(
        tally.faults.is_empty(),
        "{} faults: {:#?}",
        tally.faults.len(),
        tally.faults
    );
    // Neither all refused nor all let pass.
    let some = cases / 10;
    assert!(tally.written > some && tally.codes.get(&3).is_some_and(|&refused| refused > some));
}
