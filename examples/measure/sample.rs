//! One run of a program: its wall, its processor time, and the anonymous memory it had at most.
//! Linux only, from procfs. Prints nothing.

use std::fs;
use std::io;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// The unit of processor time in procfs (proc(5): `sysconf(_SC_CLK_TCK)`, 100 on every Linux).
const TICKS_PER_SECOND: f64 = 100.0;

/// Between two looks at the memory.
const LOOK_EVERY: Duration = Duration::from_millis(4);

/// What a run took.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sample {
    pub wall_s: f64,
    pub user_s: f64,
    pub sys_s: f64,
    /// The largest `RssAnon` seen.
    pub anonymous_bytes: u64,
}

impl Sample {
    /// Processor seconds.
    pub fn cpu_s(&self) -> f64 {
        self.user_s + self.sys_s
    }
}

/// Runs a program to its end. Not for several at a time: processor time is that of all children.
pub fn run(command: &mut Command) -> io::Result<Sample> {
    let before = children_s()?;
    let started = Instant::now();
    let mut child = command
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()?;
    let anonymous_bytes = watch(&mut child)?;
    let wall_s = started.elapsed().as_secs_f64();
    let output = child.wait_with_output()?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        return Err(io::Error::other(format!(
            "{command:?}: {}: {said}",
            output.status
        )));
    }
    let after = children_s()?;
    Ok(Sample {
        wall_s,
        user_s: after.0 - before.0,
        sys_s: after.1 - before.1,
        anonymous_bytes,
    })
}

/// Waits for its end, looking at its memory all the while.
fn watch(child: &mut Child) -> io::Result<u64> {
    let path = format!("/proc/{}/status", child.id());
    let ended = AtomicBool::new(false);
    thread::scope(|scope| {
        let looks = scope.spawn(|| {
            let mut most = 0;
            while !ended.load(Ordering::Relaxed) {
                most = anonymous_bytes(&path).unwrap_or(0).max(most);
                thread::sleep(LOOK_EVERY);
            }
            most
        });
        let status = child.wait();
        ended.store(true, Ordering::Relaxed);
        let most = looks.join().unwrap_or_default();
        status.map(|_| most)
    })
}

fn anonymous_bytes(status: &str) -> Option<u64> {
    let text = fs::read_to_string(status).ok()?;
    let line = text.lines().find(|line| line.starts_with("RssAnon:"))?;
    let kib: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    kib.checked_mul(1024)
}

/// User and system seconds of all children that have ended (proc(5), fields 16 and 17 of stat).
fn children_s() -> io::Result<(f64, f64)> {
    let text = fs::read_to_string("/proc/self/stat")?;
    let fields = text.rsplit(')').next().unwrap_or_default();
    let mut fields = fields.split_whitespace().skip(13);
    let mut next = || fields.next().and_then(|field| field.parse::<f64>().ok());
    match (next(), next()) {
        (Some(user), Some(sys)) => Ok((user / TICKS_PER_SECOND, sys / TICKS_PER_SECOND)),
        _ => Err(io::Error::other("no processor times in /proc/self/stat")),
    }
}

/// The median of each number.
pub fn median(samples: &[Sample]) -> Sample {
    let middle = |number: fn(&Sample) -> f64| {
        let mut numbers: Vec<f64> = samples.iter().map(number).collect();
        numbers.sort_by(f64::total_cmp);
        let (low, high) = (numbers.len().saturating_sub(1) / 2, numbers.len() / 2);
        let at = |k: usize| numbers.get(k).copied().unwrap_or(f64::NAN);
        (at(low) + at(high)) / 2.0
    };
    Sample {
        wall_s: middle(|sample| sample.wall_s),
        user_s: middle(|sample| sample.user_s),
        sys_s: middle(|sample| sample.sys_s),
        anonymous_bytes: samples.iter().map(|s| s.anonymous_bytes).max().unwrap_or(0),
    }
}
