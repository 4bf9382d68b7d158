//! The commands around an output that several processes make: `plan`, `status`, `finish`, `clean`.

use std::ffi::{OsStr, OsString};
use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::time::Duration;

use mmfits::plan::note::ranges;
use mmfits::plan::{FilePlan, Shard};
use mmfits::run::{self, Sharing, prepare};
use serde_json::json;

use crate::args::{Clean, Finish, Plan, Progress};
use crate::failure::{Failure, Status};
use crate::out::{Results, tell};
use crate::words::plural;
use crate::{json, report, request, retype};

/// `mmconv plan`: begins the outputs and prints who makes what, and by which command lines.
pub fn plan(args: &Plan, results: &Results) -> Result<Status, Failure> {
    let count = args.shards as u64;
    let mut request = request::build(&args.smooth)?;
    // As the shards are typed.
    let typed = smooth_words(std::env::args_os());
    request.provenance = Some(request::command_line(typed));
    request.sharing = Some(Sharing {
        shard: Shard { index: 0, count },
        finish: false,
    });
    let job = prepare(&request)?;
    let running = &args.smooth.running;
    if !running.quiet {
        tell(&report::plan(&job, running.verbose));
    }
    if !running.dry_run {
        job.offer()?;
    }
    for file in job.files() {
        shares(file, count, results);
    }
    let outputs = job.files().map(|file| quoted(&file.facts.output));
    let outputs: Vec<String> = outputs.collect();
    lines(count, &outputs.join(" "), results);
    Ok(Status::Done)
}

fn quoted(path: &Path) -> String {
    retype::quoted(path.as_os_str())
}

/// The planes of every shard.
fn shares(file: &FilePlan, count: u64, results: &Results) {
    let planes = file.facts.planes;
    let output = file.facts.output.display();
    results.line(format!("# {output}: {}", plural(planes, "plane")).as_bytes());
    for index in 0..count {
        let share = Shard { index, count }.planes(planes);
        let share: Vec<u64> = share.collect();
        let which = if share.is_empty() {
            "none".to_owned()
        } else {
            ranges(&share)
        };
        results.line(format!("# shard {index}/{count}: planes {which}").as_bytes());
    }
}

/// Command lines to paste: a job array of Slurm with the job that finishes, and GNU parallel.
fn lines(count: u64, outputs: &str, results: &Results) {
    let words = smooth_words(std::env::args_os());
    let command: Vec<String> = words.iter().map(|word| retype::quoted(word)).collect();
    let command = command.join(" ");
    let last = count.saturating_sub(1);
    let wrapped = format!("{command} --shard $SLURM_ARRAY_TASK_ID/{count} --no-finish");
    let wrapped = retype::quoted(OsStr::new(&wrapped));
    for line in [
        format!(
            "J=$(sbatch --parsable --array=0-{last} --requeue --open-mode=append --wrap {wrapped})"
        ),
        format!(
            "sbatch --dependency=afterany:$J --wrap {}",
            retype::quoted(OsStr::new(&format!("mmconv finish {outputs}")))
        ),
        format!("parallel --retries 2 {command} --shard {{}}/{count} ::: $(seq 0 {last})"),
        format!("mmconv finish {outputs}"),
    ] {
        results.line(line.as_bytes());
    }
}

/// The command line as it was typed, of `smooth` instead of `plan`.
fn smooth_words(words: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let mut typed = Vec::new();
    let mut words = words.into_iter().enumerate();
    while let Some((number, word)) = words.next() {
        if number == 1 {
            typed.push("smooth".into());
        } else if word == "--shards" {
            words.next();
        } else if !word.as_encoded_bytes().starts_with(b"--shards=") {
            typed.push(word);
        }
    }
    typed
}

/// `mmconv status`: how far each output is.
pub fn status(args: &Progress, results: &Results) -> Result<Status, Failure> {
    for output in &args.outputs {
        let status = run::status(output)?;
        let line = if args.json {
            status_json(output, status.as_ref()).to_string()
        } else {
            status_text(output, status.as_ref())
        };
        results.line(line.as_bytes());
    }
    Ok(Status::Done)
}

fn status_text(output: &Path, status: Option<&run::Status>) -> String {
    let name = output.display();
    let Some(status) = status else {
        let what = if output.exists() {
            "complete"
        } else {
            "nothing is under way"
        };
        return format!("{name}: {what}");
    };
    let stored = status.planes - status.missing.len() as u64;
    let mut text = format!("{name}: {stored} of {} planes are stored", status.planes);
    if !status.missing.is_empty() {
        text.push_str(&format!("; missing: {}", ranges(&status.missing)));
    }
    text.push_str(&format!(
        "\n  {}, {} torn; from {}",
        plural(status.journals as u64, "journal"),
        status.torn,
        status.input
    ));
    if !status.command.is_empty() {
        text.push_str(&format!("\n  begun by: {}", status.command));
    }
    text
}

fn status_json(output: &Path, status: Option<&run::Status>) -> serde_json::Value {
    let complete = status.is_none() && output.exists();
    let mut object = json!({ "output": json::path(output), "complete": complete });
    if let Some(status) = status {
        object["planes"] = json!(status.planes);
        object["stored"] = json!(status.planes - status.missing.len() as u64);
        object["missing"] = json!(status.missing);
        object["journals"] = json!(status.journals);
        object["torn"] = json!(status.torn);
        object["shared"] = json!(status.is_shared);
        object["input"] = json!(status.input);
        object["command"] = json!(status.command);
    }
    object
}

/// `mmconv finish`: the gate to the final name. Every output is tried; the worst answer counts.
pub fn run(args: &Finish, results: &Results) -> Result<Status, Failure> {
    let how = run::Finish {
        recheck: args.recheck,
        wait: Duration::try_from_secs_f64(args.wait).unwrap_or(Duration::MAX / 4),
    };
    let mut worst = Status::Done;
    for output in &args.outputs {
        match run::finish(output, &how) {
            Ok(finished) => {
                if finished.already {
                    tell(&format!("note: {} is complete already", output.display()));
                }
                results.line(output.as_os_str().as_encoded_bytes());
            }
            Err(error) => worst = worst.max(Failure::from(error).tell()),
        }
    }
    Ok(worst)
}

/// `mmconv clean`: removes what is unfinished, after asking.
pub fn clean(args: &Clean) -> Result<Status, Failure> {
    for output in &args.outputs {
        let name = output.display();
        if !args.yes
            && !agreed(&status_text(
                output,
                run::status(output).ok().flatten().as_ref(),
            ))?
        {
            tell(&format!("{name}: left as it is"));
            continue;
        }
        let removed = run::clean(output)?;
        let what = if removed {
            "what was unfinished is removed"
        } else {
            "nothing was unfinished"
        };
        tell(&format!("{name}: {what}"));
    }
    Ok(Status::Done)
}

/// Asks whoever sits at the terminal.
fn agreed(what: &str) -> Result<bool, Failure> {
    if !io::stdin().is_terminal() {
        return Err(Failure::request(
            "nobody can be asked whether to remove unfinished work: --yes says so",
        ));
    }
    let mut stderr = io::stderr();
    let _ = write!(stderr, "{what}\nremove what is unfinished? [y/N] ");
    let mut answer = String::new();
    io::stdin()
        .read_line(&mut answer)
        .map_err(|error| Failure::machine(format!("no answer could be read: {error}")))?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_of_a_plan_is_that_of_its_shards() {
        let words = "mmconv plan --shards 4 a.fits --output b.fits --shards=5";
        let typed = smooth_words(words.split(' ').map(OsString::from));
        assert_eq!(typed, ["mmconv", "smooth", "a.fits", "--output", "b.fits"]);
    }
}
