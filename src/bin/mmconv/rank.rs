//! Which shard this process makes: the flag, or what the launcher says. The environment and
//! `/proc` are read here; what follows from them is decided in `rank/detect.rs`.

mod detect;
#[cfg(test)]
mod tests;

use std::fs;

use crate::args::Sharing;
use crate::failure::{Failure, Status};
use crate::out::Results;
use crate::rank::detect::{Detected, Refusal, Surroundings};
use crate::values::ShardWord;

/// One share of the planes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shard {
    /// From 0, below `count`.
    pub index: u64,
    /// How many share.
    pub count: u64,
    /// Where the two come from, if not from the command line.
    pub because: Option<String>,
}

/// `mmconv rank`: what `--shard auto` takes here.
pub fn run(results: &Results) -> Result<Status, Failure> {
    let found = with_surroundings(detect::detect);
    let Detected {
        index,
        count,
        because,
    } = found?;
    results.line(format!("{index}/{count} from {because}").as_bytes());
    Ok(Status::Done)
}

/// The share that was asked for; `None` for all planes.
///
/// Without the flag a launcher is looked for all the same: several tasks that each make the whole
/// output are never what was meant.
pub fn shard(sharing: &Sharing) -> Result<Option<Shard>, Failure> {
    with_surroundings(|seen| choose(sharing.shard, seen))
}

fn choose(word: Option<ShardWord>, seen: &Surroundings<'_>) -> Result<Option<Shard>, Failure> {
    match word {
        Some(ShardWord::Off) => Ok(None),
        Some(ShardWord::Part { index, count }) => Ok(Some(Shard {
            index,
            count,
            because: None,
        })),
        Some(ShardWord::Auto) => {
            let Detected {
                index,
                count,
                because,
            } = detect::detect(seen)?;
            Ok(Some(Shard {
                index,
                count,
                because: Some(because),
            }))
        }
        None => match detect::tasks(seen) {
            0 | 1 => Ok(None),
            tasks => Err(Failure::request(format!(
                "{tasks} tasks would each make the whole file; add --shard auto (or --shard off, \
                 if each is given a file of its own)"
            ))),
        },
    }
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        Self::request(format!("--shard auto: {}", refusal.text))
    }
}

/// What is to be said of a process that may use one processor of many, as Open MPI binds its ranks
/// unless told otherwise.
pub fn bound_note() -> Option<String> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let allowed = status
        .lines()
        .find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?;
    let online = fs::read_to_string("/sys/devices/system/cpu/online").ok()?;
    note_of_bound(count(allowed)?, count(&online)?)
}

fn note_of_bound(allowed: u64, online: u64) -> Option<String> {
    (allowed == 1 && online > 1).then(|| {
        format!(
            "note: this process may use 1 of {online} processors. Where that is not meant: mpirun \
             --bind-to none or --map-by ppr:1:node:PE={online} with Open MPI, srun -c {online} with \
             Slurm"
        )
    })
}

/// The length of a list of processors such as `0-3,8`.
fn count(list: &str) -> Option<u64> {
    list.trim().split(',').try_fold(0u64, |total, part| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (u64, u64) = (first.parse().ok()?, last.parse().ok()?);
        total.checked_add(last.checked_sub(first)?.checked_add(1)?)
    })
}

fn with_surroundings<T>(ask: impl FnOnce(&Surroundings<'_>) -> T) -> T {
    ask(&Surroundings {
        variable: &|name| std::env::var(name).ok(),
        ancestors: &ancestors(),
    })
}

/// The command lines of the ancestors, the parent first, as far up as they can be seen.
fn ancestors() -> Vec<String> {
    const DEEPEST: usize = 64;
    let mut lines = Vec::new();
    let mut process = "self".to_owned();
    while let Some(parent) = parent(&process).filter(|_| lines.len() < DEEPEST) {
        let Ok(line) = fs::read(format!("/proc/{parent}/cmdline")) else {
            break;
        };
        lines.push(String::from_utf8_lossy(&line).into_owned());
        process = parent;
    }
    lines
}

/// The id of a process's parent; the first process has none (proc(5): the name, in parentheses, may
/// hold anything; the state and the parent follow its last parenthesis).
fn parent(process: &str) -> Option<String> {
    let stat = fs::read(format!("/proc/{process}/stat")).ok()?;
    let stat = String::from_utf8_lossy(&stat);
    let id = stat.rsplit_once(')')?.1.split_whitespace().nth(1)?;
    (id != "0").then(|| id.to_owned())
}
