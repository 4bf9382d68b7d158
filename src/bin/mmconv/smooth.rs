//! `mmconv smooth`: plan, tell, smooth, and name the outputs.

use std::time::Duration;

use mmfits::plan::{FilePlan, Shard};
use mmfits::run::{Sharing, prepare};

use crate::args::{Running, Smooth, Target};
use crate::bar::Watch;
use crate::failure::{Failure, Status};
use crate::out::{Results, tell};
use crate::{json, rank, report, request, retype, signals, words};

/// Ten seconds below the time that Slurm lets pass between SIGTERM and SIGKILL (its `KillWait`).
const GRACE_SECONDS: f64 = 20.0;

/// Smooths what was asked for.
///
/// The plan goes to standard error before any work, the outputs to standard output as each is
/// finished.
pub fn run(args: &Smooth, results: &Results) -> Result<Status, Failure> {
    let running = &args.running;
    let shard = rank::shard(&args.sharing)?;
    let resume = retype::resumed(std::env::args_os());
    let interruption = signals::listen(grace(running), resume.clone())?;
    let mut request = request::build(args)?;
    request.stop = interruption.stop.clone();
    if let Some(shard) = &shard {
        request.sharing = Some(share(shard, args)?);
    }
    let job = prepare(&request)?;
    if !running.quiet {
        tell(&report::plan(&job, running.verbose));
        if let Some(note) = unused(&args.target) {
            tell(note);
        }
        if let Some(because) = shard.as_ref().and_then(|shard| shard.because.as_ref()) {
            tell(&format!("note: --shard auto: {because}"));
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
    interruption.begin();
    let reports = job.run(&watch);
    watch.close();
    let reports = reports.map_err(|error| failure(error, &resume))?;
    if !running.quiet {
        let made = reports.iter().filter(|report| !report.skipped);
        let seconds = reports.iter().map(|report| report.seconds).sum();
        let files = words::plural(made.count() as u64, "file");
        tell(&format!("done: {files} in {}", words::seconds(seconds)));
    }
    Ok(Status::Done)
}

/// This process's share, and the flags that are nobody's alone.
fn share(shard: &rank::Shard, args: &Smooth) -> Result<Sharing, Failure> {
    let recovery = &args.running.recovery;
    let flags = [
        ("--restart", recovery.restart),
        ("--discard", recovery.discard),
    ];
    if let Some((flag, _)) = flags.iter().find(|(_, given)| *given) {
        return Err(Failure::request(format!(
            "{flag} would take away what other shards have made; mmconv clean OUTPUT does it for all"
        )));
    }
    Ok(Sharing {
        shard: Shard {
            index: shard.index,
            count: shard.count,
        },
        finish: !args.sharing.no_finish,
    })
}

/// As a time; what is longer than can be waited for is a year.
fn grace(running: &Running) -> Duration {
    const YEAR: Duration = Duration::from_secs(366 * 24 * 3600);
    let seconds = running.grace.unwrap_or(GRACE_SECONDS);
    Duration::try_from_secs_f64(seconds).map_or(YEAR, |grace| grace.min(YEAR))
}

/// What failed, and where nothing did, how to go on.
fn failure(error: mmfits::Error, resume: &str) -> Failure {
    let mut failure = Failure::from(error);
    if failure.status == Status::Interrupted {
        failure.text.push_str("; go on with:\n  ");
        failure.text.push_str(resume);
    }
    failure
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
