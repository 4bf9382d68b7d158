//! What decides the bytes of an output, in words that two runs can compare.

use std::fmt::{self, Write as _};

use xxhash_rust::xxh3::{Xxh3, xxh3_128};

use crate::beam::Beam;
use crate::image::Image;
use crate::journal::Job;
use crate::plan::extents::Extents;
use crate::plan::{FilePlan, Targets, Task};
use crate::run::{Request, history};

/// The command line of whoever began the work; it stands in HISTORY.
pub(super) const COMMAND: &str = "command";

/// The targets, exactly.
const SOLVED: &str = "solved";

/// Where the output's parts lie: they follow from all else and from the command line in HISTORY.
pub(super) const PLANES: &str = "planes";
pub(super) const OUTPUT_BYTES: &str = "output_bytes";
pub(super) const DATA_AT: &str = "data_at";
pub(super) const PLANE_BYTES: &str = "plane_bytes";

/// Describes the work on one file. `earlier` is the job that is gone on with.
pub(super) fn describe(
    request: &Request,
    image: &Image,
    plan: &FilePlan,
    (name, arithmetic): (&str, &str),
    earlier: Option<&Job>,
) -> Job {
    let facts = &plan.facts;
    let mut job = Job::default();
    job.set("version", env!("CARGO_PKG_VERSION"));
    job.set(
        "arithmetic",
        format!("{} {arithmetic}", std::env::consts::ARCH),
    );
    job.set("input", image.path().display());
    let command = match earlier {
        Some(earlier) => earlier.get(COMMAND),
        None => request.provenance.as_deref(),
    };
    job.set(COMMAND, command.unwrap_or_default());
    let stamp = image.source().stamp();
    job.set("input_length", format!("{} bytes", stamp.len_bytes));
    job.set("input_modified", format!("{} ns", stamp.modified_ns));
    let header = image.header().render();
    job.set("input_header", hash(&header));
    job.set("image", format!("HDU {}", image.hdu_index()));
    let shape = format!("{} x {} x {}", facts.nx, facts.ny, facts.planes);
    job.set("size", shape);
    job.set("beams", &facts.beam_source);
    job.set("target", history::target(request, plan));
    job.set("rules", history::rules(request, plan, name));
    job.set(SOLVED, solved(&plan.targets));
    job.set("tasks", hash_of_tasks(&plan.tasks));
    job
}

/// Adds where things lie in the output.
pub(super) fn place(job: &mut Job, extents: &Extents, plane_bytes: u64, planes: u64) {
    job.set(PLANES, planes);
    job.set(OUTPUT_BYTES, extents.len_bytes());
    let data = extents.data().unwrap_or_default();
    job.set(DATA_AT, data.start);
    job.set(PLANE_BYTES, plane_bytes);
}

fn hash(bytes: &[u8]) -> String {
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
