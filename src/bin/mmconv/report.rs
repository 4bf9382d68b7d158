//! The plan in words, printed before any work: beams, targets, kernels, what becomes blank, what
//! is passed through, notes, sizes.

use std::fmt::Write as _;

use mmfits::beam::Beam;
use mmfits::run::{FilePlan, Targets};

use crate::words::{self, Spread, plural, ranges};

/// The plan of all files; with `every_plane`, a line for each plane too.
pub fn plan(files: &[FilePlan], every_plane: bool) -> String {
    let mut text = String::new();
    for file in files {
        file_plan(&mut text, file, every_plane);
    }
    let planes: u64 = files.iter().map(|file| file.planes).sum();
    let bytes = files.iter().filter(|file| !file.skipped).map(|file| file.bytes).sum();
    let memory = files.iter().map(|file| file.memory_bytes).max().unwrap_or(0);
    let _ = write!(
        text,
        "in all: {}, {}, {} of output, {} of memory",
        plural(files.len() as u64, "file"),
        plural(planes, "plane"),
        words::bytes(bytes),
        words::bytes(memory)
    );
    text
}

fn file_plan(text: &mut String, file: &FilePlan, every_plane: bool) {
    let _ = writeln!(text, "{} -> {}", file.input.display(), file.output.display());
    if file.skipped {
        line(text, "skipped", "the output exists");
        return;
    }
    line(text, "image", &image(file));
    line(text, "beams", &beams(file));
    line(text, "target", &target(&file.targets));
    if let Some(kernels) = axes_spread(&file.kernels) {
        line(text, "kernel", &kernels);
    }
    if !file.blank_planes.is_empty() {
        let count = plural(file.blank_planes.len() as u64, "plane");
        line(text, "blank", &format!("{count}: {}", ranges(&file.blank_planes)));
    }
    if file.passed_through > 0 {
        let count = plural(file.passed_through, "plane");
        line(text, "unchanged", &format!("{count} at the target already, passed through"));
    }
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

fn line(text: &mut String, label: &str, value: &str) {
    let _ = writeln!(text, "  {label:<10}{value}");
}

fn image(file: &FilePlan) -> String {
    format!(
        "{} x {} pixels, {}, {} stokes, {:?}, {} of output",
        file.nx,
        file.ny,
        plural(file.channels, "channel"),
        file.stokes,
        file.precision,
        words::bytes(file.bytes)
    )
}

fn beams(file: &FilePlan) -> String {
    match axes_spread(&file.own_beams) {
        None => format!("{}: no plane has a usable one", file.beam_source),
        Some(spread) => format!("{}: {spread}", file.beam_source),
    }
}

fn target(targets: &Targets) -> String {
    match targets {
        Targets::None => "none".to_owned(),
        Targets::One(beam) => words::beam(beam),
        Targets::PerChannel(beams) => match axes_spread(beams) {
            None => "none".to_owned(),
            Some(spread) => format!("one per channel: {spread}"),
        },
    }
}

/// One beam, or the least, middle and greatest of each axis.
fn axes_spread(beams: &[Option<Beam>]) -> Option<String> {
    let valid = || beams.iter().flatten();
    let first = valid().next()?;
    if valid().all(|beam| beam == first) {
        return Some(words::beam(first));
    }
    let bmaj = Spread::of(valid().map(|beam| beam.bmaj_arcsec))?;
    let bmin = Spread::of(valid().map(|beam| beam.bmin_arcsec))?;
    Some(format!(
        "BMAJ {}, BMIN {} (min / median / max)",
        bmaj.text(" arcsec"),
        bmin.text(" arcsec")
    ))
}

fn planes(text: &mut String, file: &FilePlan) {
    for (number, own) in file.own_beams.iter().enumerate() {
        let kernel = file.kernels.get(number).copied().flatten();
        let own_text = own.as_ref().map_or_else(|| "no beam".to_owned(), words::beam);
        let becomes = match kernel {
            Some(kernel) => format!("kernel {}", words::beam(&kernel)),
            None if file.blank_planes.binary_search(&(number as u64)).is_ok() => {
                "blank".to_owned()
            }
            None => "passed through".to_owned(),
        };
        let _ = writeln!(text, "  plane {number}: {own_text}; {becomes}");
    }
}
