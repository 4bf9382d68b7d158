//! The plan in words, printed before any work: beams, targets, kernels, what becomes blank, what
//! is passed through, notes, sizes.

use std::fmt::Write as _;

use mmfits::plan::note::ranges;
use mmfits::plan::{FilePlan, Precision, Targets, Task};
use mmfits::run::Job;

use crate::words::{self, Spread, plural};

/// The plan of all files; with `every_plane`, a line for each plane too.
pub fn plan(job: &Job, every_plane: bool) -> String {
    let mut text = String::new();
    for file in job.files() {
        file_plan(&mut text, file, every_plane);
    }
    let made = || job.files().filter(|file| !file.facts.skipped);
    let planes = made().map(|file| file.facts.planes).sum();
    let bytes = made().map(|file| file.bytes).sum();
    let memory = made().map(|file| file.memory_bytes).max().unwrap_or(0);
    let scratch = made().map(|file| file.scratch_bytes).max().unwrap_or(0);
    let _ = write!(
        text,
        "in all: {}, {}, {} of output{}, {} of memory; {} on {}",
        plural(made().count() as u64, "file"),
        plural(planes, "plane"),
        words::bytes(bytes),
        scratch_text(scratch),
        words::bytes(memory),
        plural(job.threads() as u64, "thread"),
        job.backend_text()
    );
    if let Some(because) = job.because() {
        let _ = write!(text, "\nbackend {}: {because}", job.backend());
    }
    text
}

/// Most planes need no file beside the output.
fn scratch_text(scratch_bytes: u64) -> String {
    match scratch_bytes {
        0 => String::new(),
        some => format!(", {} of scratch", words::bytes(some)),
    }
}

/// Planes in flight and what they take.
fn in_flight(file: &FilePlan) -> String {
    format!(
        "{} at once, {} each; {} of memory{}, {} of disk",
        plural(file.lanes as u64, "plane"),
        plural(file.threads_per_lane as u64, "thread"),
        words::bytes(file.memory_bytes),
        scratch_text(file.scratch_bytes),
        words::bytes(file.bytes)
    )
}

fn file_plan(text: &mut String, file: &FilePlan, every_plane: bool) {
    let facts = &file.facts;
    let _ = writeln!(
        text,
        "{} -> {}",
        facts.input.display(),
        facts.output.display()
    );
    if facts.skipped {
        line(text, "skipped", "the output exists");
        return;
    }
    line(text, "image", &image(file));
    line(text, "beams", &beams(file));
    line(text, "target", &target(&file.targets));
    pixels(text, file);
    line(text, "in flight", &in_flight(file));
    for note in &file.notes {
        line(text, "note", &note.to_string());
        if let Some(hint) = note.hint() {
            line(text, "", &format!("hint: {hint}"));
        }
    }
    if every_plane {
        planes(text, file);
    }
}

/// What becomes of the pixels: kernels, unit, blank planes, planes passed through.
fn pixels(text: &mut String, file: &FilePlan) {
    let kernels: Vec<_> = (0..file.facts.planes)
        .map(|plane| file.kernel(plane))
        .collect();
    if let Some(kernels) = words::beams(&kernels) {
        line(text, "kernel", &kernels);
    }
    line(text, "unit", &unit(file));
    let blank = file.blank_planes();
    if !blank.is_empty() {
        let count = plural(blank.len() as u64, "plane");
        line(text, "blank", &format!("{count}: {}", ranges(&blank)));
    }
    if file.passed_through() > 0 {
        let count = plural(file.passed_through(), "plane");
        line(
            text,
            "unchanged",
            &format!("{count} at the target already, passed through"),
        );
    }
}

fn line(text: &mut String, label: &str, value: &str) {
    let _ = writeln!(text, "  {label:<11}{value}");
}

fn image(file: &FilePlan) -> String {
    let facts = &file.facts;
    format!(
        "{} x {} pixels, {}, {} stokes; {}, {}",
        facts.nx,
        facts.ny,
        plural(facts.channels(), "channel"),
        facts.stokes(),
        match file.precision {
            Precision::F32 => "f32",
            Precision::F64 => "f64",
        },
        words::bytes(file.bytes)
    )
}

fn beams(file: &FilePlan) -> String {
    let source = &file.facts.beam_source;
    match words::beams(&file.facts.beams) {
        None => format!("{source}: no plane has a usable one"),
        Some(spread) => format!("{source}: {spread}"),
    }
}

fn target(targets: &Targets) -> String {
    match targets {
        Targets::One(beam) => words::beam(beam),
        Targets::PerChannel(beams) => match words::beams(beams) {
            None => "none".to_owned(),
            Some(spread) => format!("one per channel: {spread}"),
        },
    }
}

fn unit(file: &FilePlan) -> String {
    if !file.per_beam {
        return "surface brightness, pixels keep their scale".to_owned();
    }
    match Spread::of(file.convolutions().map(|convolution| convolution.gain)) {
        None => "per beam".to_owned(),
        Some(gains) => format!("per beam, pixels scale by {}", gains.text("")),
    }
}

fn planes(text: &mut String, file: &FilePlan) {
    for (plane, task) in (0u64..).zip(&file.tasks) {
        let index = file.facts.axes.plane(plane);
        let own = file.facts.plane_beam(plane);
        let own = own
            .as_ref()
            .map_or_else(|| "no beam".to_owned(), words::beam);
        let becomes = match (task, file.kernel(plane)) {
            (Task::Copy, _) => "passed through".to_owned(),
            (Task::Blank, _) => "blank".to_owned(),
            (Task::Convolve(_), None) => "convolved".to_owned(),
            (Task::Convolve(_), Some(kernel)) => format!("kernel {}", words::beam(&kernel)),
        };
        let _ = writeln!(
            text,
            "  plane {plane} (channel {}, stokes {}): {own}; {becomes}",
            index.channel, index.stokes
        );
    }
}
