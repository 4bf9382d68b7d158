//! What decides the bytes of an output, in words that two runs can compare.

use std::fmt::{self, Write as _};
use std::ops::Range;

use xxhash_rust::xxh3::{Xxh3, xxh3_128};

use crate::beam::Beam;
use crate::convolve::OR_ANOTHER;
use crate::image::Image;
use crate::journal::{Job, MADE_BY};
use crate::map::FileStamp;
use crate::output::Existing;
use crate::plan::extents::Extents;
use crate::plan::target::Wanted;
use crate::plan::{Facts, FilePlan, Targets, Task};
use crate::run::choice::Begun;
use crate::run::prepare::Prepared;
use crate::run::{Request, history};

/// The command line of whoever began the work; it stands in HISTORY.
pub(super) const COMMAND: &str = "command";

pub(super) const INPUT: &str = "input";
pub(super) const REST: &str = "rest";
pub(super) const RULES: &str = "rules";
pub(super) const BEAMLOG: &str = "beamlog";
pub(super) const EXISTING: &str = "existing";
pub(super) const OVERWRITE: &str = "overwrite";
const HEADER_AT: &str = "header_at";
const HEADER_BYTES: &str = "header_bytes";
const DATASUM: &str = "datasum";
const INPUT_STAMP: &str = "input_file";
pub(super) const ASKED: &str = "asked";
const BLOCK_BYTES: &str = "block_bytes";

const ARITHMETIC: &str = "arithmetic";

/// The targets, exactly.
const SOLVED: &str = "solved";

/// Where the output's parts lie: they follow from all else and from the command line in HISTORY.
pub(super) const PLANES: &str = "planes";
pub(super) const OUTPUT_BYTES: &str = "output_bytes";
pub(super) const DATA_AT: &str = "data_at";
pub(super) const PLANE_BYTES: &str = "plane_bytes";

/// What is asked for as the target, with all that a common beam rests on: jobs that agree in it
/// have one target, which is solved once.
pub(super) fn asked(request: &Request, wanted: &Wanted, facts: &[Facts]) -> String {
    match wanted {
        Wanted::Given(targets) => solved(targets),
        Wanted::Common(mode) => {
            let mut text = format!("{mode:?} {}\n", common_beam(request));
            for facts in facts {
                // All digits of all beams of all files.
                text.push_str(&format!("{} {:?}\n", facts.stokes(), facts.beams));
            }
            format!(
                "the common beam of {} files, {}",
                facts.len(),
                hash(text.as_bytes())
            )
        }
    }
}

/// Describes the work on one file. `earlier` is the job that is gone on with.
pub(super) fn describe(
    request: &Request,
    image: &Image,
    plan: &FilePlan,
    (name, arithmetic): (&str, &str),
    (asked, earlier): (&str, Option<&Job>),
) -> Job {
    let facts = &plan.facts;
    let mut job = Job::default();
    job.set("version", env!("CARGO_PKG_VERSION"));
    job.set(
        ARITHMETIC,
        format!("{} {arithmetic}", std::env::consts::ARCH),
    );
    job.set(
        MADE_BY,
        if request.sharing.is_some() {
            "several"
        } else {
            "one process"
        },
    );
    let path = std::path::absolute(image.path());
    job.set(INPUT, path.as_deref().unwrap_or(image.path()).display());
    let command = match earlier {
        Some(earlier) => earlier.get(COMMAND),
        None => request.provenance.as_deref(),
    };
    job.set(COMMAND, command.unwrap_or_default());
    job.set(INPUT_STAMP, stamp_words(&image.source().stamp()));
    let header = image.header().render();
    job.set("input_header", hash(&header));
    job.set("image", format!("HDU {}", image.hdu_index()));
    let shape = format!("{} x {} x {}", facts.nx, facts.ny, facts.planes);
    job.set("size", shape);
    job.set("beams", &facts.beam_source);
    job.set("target", history::target(request, plan));
    job.set("common_beam", common_beam(request));
    job.set(ASKED, asked);
    job.set(RULES, history::rules(request, plan, name));
    job.set(SOLVED, solved(&plan.targets));
    job.set("tasks", hash_of_tasks(&plan.tasks));
    job
}

/// The backend that a job was begun on: the last word of its rules.
pub(super) fn begun(job: &Job) -> Option<Begun> {
    let (_, name) = job.get(RULES)?.rsplit_once("backend ")?;
    let words = job.get(ARITHMETIC).unwrap_or_default();
    Some(match name {
        "cpu" => Begun::OnCpu,
        _ => Begun::OnDevice {
            cpu_behind: words.contains(OR_ANOTHER),
        },
    })
}

/// A file's length and time of change in words.
pub(super) fn stamp_words(stamp: &FileStamp) -> String {
    let FileStamp {
        len_bytes,
        modified_ns,
    } = stamp;
    format!("{len_bytes} bytes, modified at {modified_ns} ns")
}

/// What the job says of its input in these words.
pub(super) fn input_stamp(job: &Job) -> Option<String> {
    job.get(INPUT_STAMP).map(str::to_owned)
}

/// Adds where things lie in the output.
pub(super) fn place(job: &mut Job, extents: &Extents, plane_bytes: u64, planes: u64) {
    job.set(PLANES, planes);
    job.set(OUTPUT_BYTES, extents.len_bytes());
    let data = extents.data().unwrap_or_default();
    job.set(DATA_AT, data.start);
    job.set(PLANE_BYTES, plane_bytes);
}

/// Adds what whoever finishes the output must know. `rest` has all but its planes.
pub(super) fn share(job: &mut Job, prepared: &Prepared, (rest, block_bytes): (&str, u64)) {
    let header = prepared.extents.header().unwrap_or_default();
    job.set(REST, rest);
    job.set(HEADER_AT, header.start);
    job.set(HEADER_BYTES, header.end - header.start);
    job.set(DATASUM, prepared.checksum);
    job.set(BLOCK_BYTES, block_bytes);
    let overwrites = prepared.existing == Existing::Overwrite;
    job.set(EXISTING, if overwrites { OVERWRITE } else { "refuse" });
}

/// Where things lie in a shared output, by its job.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    pub planes: u64,
    pub output_bytes: u64,
    pub data_at: u64,
    pub plane_bytes: u64,
    pub block_bytes: u64,
    pub header: Range<u64>,
    pub datasum: bool,
}

impl Layout {
    /// `None` if the job is one process's alone, or its numbers are none of ours.
    pub fn of(job: &Job) -> Option<Self> {
        let number = |key| job.number(key);
        let header_at = number(HEADER_AT)?;
        let layout = Self {
            planes: number(PLANES)?,
            output_bytes: number(OUTPUT_BYTES)?,
            data_at: number(DATA_AT)?,
            plane_bytes: number(PLANE_BYTES)?,
            block_bytes: number(BLOCK_BYTES).filter(|&bytes| bytes > 0)?,
            header: header_at..header_at.checked_add(number(HEADER_BYTES)?)?,
            datasum: job.get(DATASUM)? == "true",
        };
        let data = layout.planes.checked_mul(layout.plane_bytes)?;
        let end = layout.data_at.checked_add(data)?;
        let fits = end <= layout.output_bytes && layout.header.end <= layout.data_at;
        fits.then_some(layout)
    }
}

/// What shapes a common beam, whatever it comes to.
fn common_beam(request: &Request) -> String {
    let spec = &request.spec;
    let round = spec.rounding.map_or("none".to_owned(), |round| {
        format!(
            "{:?} arcsec {:?} deg",
            round.step_arcsec, round.bpa_step_deg
        )
    });
    let cutoff = spec
        .cutoff_arcsec
        .map_or("none".to_owned(), |cutoff| format!("{cutoff:?} arcsec"));
    let round_one = if spec.circularise {
        "circle"
    } else {
        "ellipse"
    };
    format!("{round_one}, rounding {round}, cutoff {cutoff}")
}

pub(super) fn hash(bytes: &[u8]) -> String {
    format!("{:032x}", xxh3_128(bytes))
}

/// Of all that there is in every task: no field can be forgotten here.
fn hash_of_tasks(tasks: &[Task]) -> String {
    struct Sink(Xxh3);
    impl fmt::Write for Sink {
        fn write_str(&mut self, text: &str) -> fmt::Result {
            self.0.update(text.as_bytes());
            Ok(())
        }
    }
    let mut sink = Sink(Xxh3::new());
    // The sink takes everything.
    let _ = write!(sink, "{tasks:?}");
    format!("{:032x}", sink.0.digest128())
}

/// The targets with all their digits.
fn solved(targets: &Targets) -> String {
    let one = |beam: &Beam| {
        let (bmaj, bmin) = (beam.bmaj_arcsec(), beam.bmin_arcsec());
        format!("{bmaj:?} {bmin:?} {:?}", beam.bpa_deg())
    };
    match targets {
        Targets::One(beam) => one(beam),
        Targets::PerChannel(beams) => {
            let beams = beams
                .iter()
                .map(|beam| beam.as_ref().map_or("-".to_owned(), one));
            let beams: Vec<String> = beams.collect();
            format!("each {}", beams.join(", "))
        }
    }
}

/// The targets that a job was begun with; `None` if its line is none of ours.
pub(super) fn targets(job: &Job) -> Option<Targets> {
    let text = job.get(SOLVED)?;
    match text.strip_prefix("each ") {
        None => Some(Targets::One(beam(text)?)),
        Some(beams) => {
            let beams = beams.split(", ").map(|text| match text {
                "-" => Some(None),
                text => beam(text).map(Some),
            });
            Some(Targets::PerChannel(beams.collect::<Option<Vec<_>>>()?))
        }
    }
}

fn beam(text: &str) -> Option<Beam> {
    let mut numbers = text.split(' ').map(str::parse::<f64>);
    let mut next = || numbers.next()?.ok();
    let (bmaj, bmin, bpa) = (next()?, next()?, next()?);
    Beam::new(bmaj, bmin, bpa).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_come_back_to_the_last_bit() {
        let beams = [
            (20.1, 17.3, -89.99999999),
            (1e-3, 1e-3, 0.0),
            (30.0, 0.1 + 0.2, 90.0),
        ];
        let beams = beams.map(|(a, b, pa)| Some(Beam::new(a, b, pa).unwrap()));
        let mut per_channel = beams.to_vec();
        per_channel.insert(1, None);
        let all = beams.map(|beam| Targets::One(beam.unwrap()));
        for target in all.into_iter().chain([Targets::PerChannel(per_channel)]) {
            let mut job = Job::default();
            job.set(SOLVED, solved(&target));
            assert_eq!(targets(&job), Some(target));
        }
        let mut job = Job::default();
        job.set(SOLVED, "20 17");
        assert_eq!(targets(&job), None);
    }
}
