//! `mmconv smooth`: plan, tell, smooth, and name the outputs.

use mmfits::plan::FilePlan;
use mmfits::run::prepare;

use crate::args::{Running, Smooth, Target};
use crate::bar::Watch;
use crate::failure::{Failure, Status};
use crate::out::{Results, tell};
use crate::{json, rank, report, request, words};

/// Smooths what was asked for.
///
/// The plan goes to standard error before any work, the outputs to standard output as each is
/// finished.
pub fn run(args: &Smooth, results: &Results) -> Result<Status, Failure> {
    let running = &args.running;
    if let Some(shard) = rank::shard(&args.sharing)? {
        return Err(Failure::request(format!(
            "--shard {}/{}: no share of the planes can be made yet",
            shard.index, shard.count
        )));
    }
    let job = prepare(&request::build(args)?)?;
    if !running.quiet {
        tell(&report::plan(&job, running.verbose));
        if let Some(note) = unused(&args.target) {
            tell(note);
        }
        if let Some(note) = running.threads.is_none().then(rank::bound_note).flatten() {
            tell(&note);
        }
    }
    if running.dry_run {
        for file in job.files() {
            results.line(&result(file, None, running));
        }
        return Ok(Status::Done);
    }
    let watch = Watch::new(&job, running, results);
    let reports = job.run(&watch);
    watch.close();
    let reports = reports?;
    if !running.quiet {
        let made = reports.iter().filter(|report| !report.skipped);
        let seconds = reports.iter().map(|report| report.seconds).sum();
        let files = words::plural(made.count() as u64, "file");
        tell(&format!("done: {files} in {}", words::seconds(seconds)));
    }
    Ok(Status::Done)
}

/// What stands on standard output for one file.
pub fn result(file: &FilePlan, seconds: Option<f64>, running: &Running) -> Vec<u8> {
    if running.json {
        json::file(file, seconds).to_string().into_bytes()
    } else {
        file.facts.output.as_os_str().as_encoded_bytes().to_vec()
    }
}

/// What is to be said of flags that change nothing.
fn unused(target: &Target) -> Option<&'static str> {
    let given = target.bmaj.is_some() || target.target_from.is_some();
    let shaped = target.circularise || target.round.is_some();
    (given && shaped).then_some(
        "note: --circularise and --round shape the common beam; a given target is taken as it is",
    )
}
