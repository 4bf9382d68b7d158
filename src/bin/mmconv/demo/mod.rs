//! `mmconv demo`: a small synthetic cube, smoothed, and what became of it. The first thing that a
//! newcomer runs; done through the same calls as everything else.

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::Path;

use mmfits::image::Image;
use mmfits::plan::note::ranges;
use mmfits::plan::{FilePlan, HduChoice, Targets};
use mmfits::run::{Request, prepare};

use crate::failure::{Failure, Status, chain};
use crate::out::Results;
use crate::words::{self, plural};

mod synthetic;

/// What marks a folder as made by `demo`.
const MARKER: &str = ".mmconv-demo";

/// Makes the folder anew, writes a cube into it, smooths that, and says what happened.
pub fn run(folder: &Path, results: &Results) -> Result<Status, Failure> {
    make_folder(folder)?;
    let input = folder.join("demo.fits");
    synthetic::write(&input)?;
    let request = Request {
        inputs: vec![input],
        ..Request::default()
    };
    let job = prepare(&request)?;
    job.run(&())?;
    if let Some(file) = job.files().next() {
        results.write(story(file)?.as_bytes());
    }
    Ok(Status::Done)
}

/// An empty folder, or one that an earlier demo made. Only what a demo writes is removed from it.
fn make_folder(folder: &Path) -> Result<(), Failure> {
    let failed = |error: io::Error| {
        Failure::machine(format!(
            "the folder {} cannot be made: {error}",
            folder.display()
        ))
    };
    let names = match fs::read_dir(folder) {
        Ok(entries) => entries.collect::<Result<Vec<_>, _>>().map_err(failed)?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        Err(error) => return Err(failed(error)),
    };
    let own = names.is_empty() || names.iter().any(|entry| entry.file_name() == MARKER);
    if !own {
        return Err(Failure::request(format!(
            "{} is not empty and was not made by mmconv demo; name another folder",
            folder.display()
        )));
    }
    for entry in names
        .iter()
        .filter(|entry| is_ours(&entry.file_name().to_string_lossy()))
    {
        fs::remove_file(entry.path()).map_err(failed)?;
    }
    fs::create_dir_all(folder).map_err(failed)?;
    fs::write(
        folder.join(MARKER),
        "made by mmconv demo, and made anew each time\n",
    )
    .map_err(failed)
}

/// The cube, its outputs under whatever suffix, and their beam logs.
fn is_ours(name: &str) -> bool {
    let fits = name.starts_with("demo.") && name.ends_with(".fits");
    let log = name.starts_with("beamlog.demo.") && name.ends_with(".txt");
    fits || log
}

/// What was made, what became of it, and what to try next.
fn story(file: &FilePlan) -> Result<String, Failure> {
    let mut text = String::new();
    let (input, output) = (file.facts.input.display(), file.facts.output.display());
    let _ = writeln!(
        text,
        "Made      {input}: {} of {} x {} pixels, each with a beam of its own",
        plural(file.facts.planes, "channel"),
        file.facts.nx,
        file.facts.ny
    );
    let _ = writeln!(text, "Beams     {}", file.facts.beam_source);
    if let Targets::One(target) = &file.targets {
        let _ = writeln!(
            text,
            "Target    {}: the smallest beam that all can share",
            words::beam(target)
        );
    }
    let _ = writeln!(
        text,
        "Blank     channel {}, which has no beam",
        ranges(&file.blank_planes())
    );
    let _ = writeln!(text, "Smoothed  {output}\n");
    channels(&mut text, file)?;
    let program = program();
    let _ = write!(
        text,
        "
Point sources keep their peak in Jy/beam, and all channels now have one resolution; the noise falls.

Try next:
  {program} info {input}
  {program} beams {input}
  {program} smooth --dry-run --verbose --bmaj 20 --bmin 20 --bpa 0 -s round {input}
  {program} smooth --circularise -s circle {input}
  {program} smooth --help
"
    );
    Ok(text)
}

/// Own beam, peak and noise of every channel, before and after.
fn channels(text: &mut String, file: &FilePlan) -> Result<(), Failure> {
    let before = Image::open(&file.facts.input, &HduChoice::FirstImage)?;
    let after = Image::open(&file.facts.output, &HduChoice::FirstImage)?;
    text.push_str(
        "channel  own beam [arcsec, deg]      peak before  after   noise before   after\n",
    );
    for (channel, own) in (0u64..).zip(&file.facts.beams) {
        let Some(own) = own else {
            let _ = writeln!(text, "{channel:7}  blank");
            continue;
        };
        let (old, new) = (Levels::of(&before, channel)?, Levels::of(&after, channel)?);
        let beam = words::beam(own).replace(" arcsec", "").replace(" deg", "");
        let _ = writeln!(
            text,
            "{channel:7}  {beam:<27} {:12.3} {:6.3} {:14.4} {:7.4}",
            old.peak, new.peak, old.noise, new.noise
        );
    }
    Ok(())
}

/// How bright a plane is.
struct Levels {
    peak: f32,
    noise: f32,
}

impl Levels {
    /// The brightest pixel, and the noise from the median absolute deviation (times 1.4826, its
    /// ratio to the standard deviation of a normal distribution), which sources hardly move.
    fn of(image: &Image, plane: u64) -> Result<Self, Failure> {
        let plane = image.plane(plane)?;
        let mut row = vec![0_f32; plane.nx()];
        let mut pixels = Vec::new();
        for y in 0..plane.ny() {
            plane
                .read_row(y, &mut row)
                .map_err(|error| Failure::bug(chain(&error)))?;
            pixels.extend(row.iter().copied().filter(|pixel| pixel.is_finite()));
        }
        let middle = median(&mut pixels);
        let peak = pixels.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let mut deviations: Vec<f32> = pixels.iter().map(|pixel| (pixel - middle).abs()).collect();
        Ok(Self {
            peak,
            noise: 1.4826 * median(&mut deviations),
        })
    }
}

fn median(numbers: &mut [f32]) -> f32 {
    numbers.sort_by(f32::total_cmp);
    numbers.get(numbers.len() / 2).copied().unwrap_or(f32::NAN)
}

/// The name this program was called by, so that the commands shown can be copied.
fn program() -> String {
    std::env::args_os().next().map_or_else(
        || "mmconv".to_owned(),
        |name| name.to_string_lossy().into_owned(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_foreign_folder_is_refused_and_kept() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("demo.fits"), "precious").unwrap();
        let failure = make_folder(folder.path()).unwrap_err();
        assert_eq!(failure.status, Status::Request);
        assert_eq!(
            fs::read(folder.path().join("demo.fits")).unwrap(),
            b"precious"
        );
    }

    #[test]
    fn only_its_own_files_are_removed_from_an_earlier_demo() {
        let folder = tempfile::tempdir().unwrap();
        make_folder(folder.path()).unwrap();
        for name in [
            "demo.fits",
            "demo.sm.fits",
            "beamlog.demo.sm.txt",
            "notes.txt",
        ] {
            fs::write(folder.path().join(name), "x").unwrap();
        }
        make_folder(folder.path()).unwrap();
        let mut names: Vec<_> = fs::read_dir(folder.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        names.sort();
        assert_eq!(names, [MARKER, "notes.txt"]);
    }
}
