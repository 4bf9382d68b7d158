//! What was found, in words for a person and as a record to be kept. Only text is made here.

use std::fmt::Write as _;
use std::fs;

use super::compare::{Bench, Found, OfStore, STORES};

/// How far over the floors a job may be.
const GOAL: f64 = 1.6;

/// One cube in words.
pub fn in_words(bench: &Bench, found: &Found) -> String {
    let mut text = String::new();
    let (cube, mode) = (&found.case.cube, found.case.mode);
    let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
    // Writing to a string does not fail.
    let _ = writeln!(
        text,
        "{} x {} x {} {}, {}, to {} arcsec; {} threads, median of {} runs in turn",
        cube.nx,
        cube.ny,
        cube.channels,
        cube.dtype(),
        mode.word(),
        bench.target.join(","),
        bench.threads,
        bench.runs,
    );
    for (name, store) in STORES.iter().zip(&found.stores) {
        let (megabytes, planes) = found.rates(store);
        let job = &store.job;
        let _ = writeln!(text, "\n--io {name}");
        let _ = writeln!(text, "  wall                  {:8.3} s", job.wall_s);
        let _ = writeln!(text, "  planes                {planes:8.1} a second");
        let _ = writeln!(text, "  input and output      {megabytes:8.0} MB/s");
        let _ = writeln!(
            text,
            "  CPU, user and system  {:8.2} + {:.2} s",
            job.user_s, job.sys_s
        );
        let _ = writeln!(
            text,
            "  anonymous memory      {:8.1} MiB",
            mib(job.anonymous_bytes)
        );
        let _ = writeln!(
            text,
            "  copy floor            {:8.3} s wall, {:.2} s CPU",
            store.copy.wall_s,
            store.copy.cpu_s()
        );
        let _ = writeln!(
            text,
            "  FFT floor             {:8.3} s wall, {:.2} s CPU",
            found.transforms.wall_s,
            found.transforms.cpu_s()
        );
        let over = found.over_floor(store);
        let word = if over <= GOAL { "reached" } else { "missed" };
        let _ = writeln!(
            text,
            "  our CPU / floors      {over:8.2}   (goal {GOAL}: {word})"
        );
        let _ = writeln!(text, "  {}", verdict(found, store));
    }
    text
}

/// What bounds the job, and what the fastest of all transforms could gain (Amdahl's law).
fn verdict(found: &Found, store: &OfStore) -> String {
    let (job, transforms, copy) = (store.job.wall_s, found.transforms.wall_s, store.copy.wall_s);
    let percent = |part: f64| (100.0 * part / job).round();
    let bound = bound(found, store);
    let rest = (job - transforms - copy).max(0.0);
    let left = found.without_transforms_s(store);
    format!(
        "verdict: bound by {bound}. Bare transforms are {:.0} % of the wall, copying {:.0} %, \
         all between {:.0} %.\n  Transforms that took no time would leave {left:.3} s: {:.2} times \
         faster. If all but copying took no time: {:.2} times.",
        percent(transforms),
        percent(copy),
        percent(rest),
        job / left,
        job / copy,
    )
}

/// The larger of the two floors; or neither, where what lies between them is more.
fn bound(found: &Found, store: &OfStore) -> &'static str {
    let (transforms, copy) = (found.transforms.wall_s, store.copy.wall_s);
    let rest = store.job.wall_s - transforms - copy;
    if rest > transforms.max(copy) {
        "neither FFT nor I/O, but what lies between them"
    } else if transforms > copy {
        "FFT"
    } else {
        "I/O"
    }
}

/// A record of the standard set, as Markdown.
pub fn record(bench: &Bench, rows: &[Found], date: &str, commit: &str) -> String {
    let mut text = String::new();
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load: Vec<&str> = load.split_whitespace().take(3).collect();
    let _ = writeln!(
        text,
        "# {date}, {}\n\nCommit {commit}; {} threads; target {}; median of {} runs in turn. Load \
         averages at the end (1, 5, 15 minutes): {}.\n",
        cpu_name(),
        bench.threads,
        bench.target.join(","),
        bench.runs,
        load.join(", "),
    );
    text.push_str(
        "| cube | edge | store | wall s | planes/s | MB/s | user s | sys s | anon MiB | copy wall s \
         | copy CPU s | FFT wall s | FFT CPU s | CPU / floors | bound by | no FFT, at most |\n",
    );
    text.push_str("|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n");
    for found in rows {
        for (name, store) in STORES.iter().zip(&found.stores) {
            text.push_str(&row(found, name, store));
        }
    }
    text
}

fn row(found: &Found, name: &str, store: &OfStore) -> String {
    let (cube, job) = (&found.case.cube, &store.job);
    let (megabytes, planes) = found.rates(store);
    let edge = found.case.mode.flags()[1];
    let bound = match bound(found, store) {
        word @ ("FFT" | "I/O") => word,
        _ => "between",
    };
    format!(
        "| {}² × {} {} | {edge} | {name} | {:.3} | {planes:.1} | {megabytes:.0} | {:.2} | {:.2} | {:.1} \
         | {:.3} | {:.2} | {:.3} | {:.2} | {:.2} | {bound} | {:.2}× |\n",
        cube.nx,
        cube.channels,
        cube.dtype(),
        job.wall_s,
        job.user_s,
        job.sys_s,
        job.anonymous_bytes as f64 / f64::from(1 << 20),
        store.copy.wall_s,
        store.copy.cpu_s(),
        found.transforms.wall_s,
        found.transforms.cpu_s(),
        found.over_floor(store),
        job.wall_s / found.without_transforms_s(store),
    )
}

/// What the processor calls itself, with the number of cores.
fn cpu_name() -> String {
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let value = |key: &str| {
        let line = text.lines().find(|line| line.starts_with(key));
        line.and_then(|line| line.split(": ").nth(1)).unwrap_or("?")
    };
    let cores = text.lines().filter(|l| l.starts_with("processor")).count();
    format!(
        "{} (family {}, model {}), {cores} cores",
        value("model name"),
        value("cpu family"),
        value("model\t"),
    )
}
