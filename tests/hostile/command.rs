//! Runs `mmconv smooth` on a hostile file and judges what every run must keep: its exit status, its
//! time, its memory, and what it leaves behind.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use fits_layout::Layout;

/// What `--memory` says.
const MEMORY_BYTES: u64 = 32 << 20;

/// Beyond `--memory`: memory that is reserved and not touched (the stacks of threads, what the
/// allocator keeps ready), which the limit of the system counts and `--memory` does not.
const RESERVED_BYTES: u64 = 24 << 20;

/// A run that takes more processor time has hung; the clock is not asked, as the machine may be
/// busy with others. Without an end it is stopped by the clock.
const HUNG: Duration = Duration::from_secs(5);
const STOPPED: Duration = Duration::from_secs(60);

/// How a run ended.
#[derive(Debug)]
pub struct Run {
    pub code: i32,
    pub stderr: String,
    /// The most anonymous memory that was seen, bytes.
    pub peak_bytes: u64,
    /// By the processor, and by the clock.
    pub busy: Duration,
    pub seconds: Duration,
    pub outputs: Vec<PathBuf>,
}

/// Runs and judges; the error says what was not kept.
pub fn smooth(folder: &Path, inputs: &[PathBuf], flags: &[&str]) -> Result<Run, String> {
    let out = folder.join("out");
    fs::create_dir_all(&out).unwrap();
    let run = run(folder, inputs, flags)?;
    judge(&run, flags).map_err(|fault| format!("{fault}; it said: {}", run.stderr))?;
    Ok(run)
}

/// The command: `MMFITS_HOSTILE_COMMAND`, or that of the tests.
fn mmconv() -> PathBuf {
    let other = std::env::var_os("MMFITS_HOSTILE_COMMAND").map(PathBuf::from);
    other.unwrap_or_else(|| env!("CARGO_BIN_EXE_mmconv").into())
}

/// Below the limits of the system, which a process that takes too much memory does not survive.
fn command(folder: &Path, inputs: &[PathBuf], flags: &[&str]) -> Command {
    let limit_kib = (MEMORY_BYTES + RESERVED_BYTES) / 1024;
    let mut command = Command::new("sh");
    command
        .args([
            "-c",
            "ulimit -c 0 && ulimit -d \"$1\" && shift && exec \"$@\"",
            "sh",
        ])
        .arg(limit_kib.to_string())
        .arg(mmconv())
        .args(["smooth", "--threads", "2", "--memory"])
        .arg(MEMORY_BYTES.to_string())
        .args(["--outdir", "out"])
        .args(flags)
        .args(inputs)
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(fs::File::create(folder.join("stdout")).unwrap())
        .stderr(fs::File::create(folder.join("stderr")).unwrap());
    command
}

fn run(folder: &Path, inputs: &[PathBuf], flags: &[&str]) -> Result<Run, String> {
    let started = Instant::now();
    let mut child = command(folder, inputs, flags).spawn().unwrap();
    let (mut peak_bytes, mut busy) = (0, Duration::ZERO);
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        peak_bytes = anonymous_bytes(child.id()).unwrap_or(0).max(peak_bytes);
        busy = processor_time(child.id()).unwrap_or_default().max(busy);
        if busy > HUNG || started.elapsed() > STOPPED {
            return Err(stop(child, busy));
        }
        std::thread::sleep(Duration::from_micros(500));
    };
    let stderr = String::from_utf8_lossy(&fs::read(folder.join("stderr")).unwrap()).into_owned();
    let outputs = fs::read_dir(folder.join("out")).unwrap();
    let mut outputs: Vec<PathBuf> = outputs.map(|entry| entry.unwrap().path()).collect();
    outputs.sort();
    Ok(Run {
        code: status.code().ok_or_else(|| by_signal(status, &stderr))?,
        stderr,
        peak_bytes,
        busy,
        seconds: started.elapsed(),
        outputs,
    })
}

fn stop(mut child: Child, busy: Duration) -> String {
    child.kill().unwrap();
    child.wait().unwrap();
    format!("still running after {busy:?} of the processor")
}

fn by_signal(status: ExitStatus, stderr: &str) -> String {
    format!("ended by {status}; it said: {stderr}")
}

fn judge(run: &Run, flags: &[&str]) -> Result<(), String> {
    let asked = |flag: &str| flags.contains(&flag);
    match run.code {
        0 | 3 => {}
        // What the request itself cannot have: more memory, or a target below the file's beams.
        2 if run.stderr.contains("--memory") => {}
        2 if asked("--bmaj") && run.stderr.contains("no kernel turns") => {}
        2 if asked("--ref-chan") && run.stderr.contains("there is no channel") => {}
        2 if asked("--bmaj") && run.stderr.contains("wider than any transform") => {}
        code => return Err(format!("exit status {code}")),
    }
    if run.stderr.contains("panicked") {
        return Err("it panicked".to_owned());
    }
    if run.peak_bytes > MEMORY_BYTES {
        return Err(format!("{} bytes of memory", run.peak_bytes));
    }
    if run.code != 0 && run.stderr.trim().is_empty() {
        return Err(format!("nothing said of exit status {}", run.code));
    }
    if (run.code != 0 || asked("--dry-run")) && !run.outputs.is_empty() {
        return Err(format!("exit status {} and {:?}", run.code, run.outputs));
    }
    run.outputs.iter().try_for_each(|path| judge_output(path))
}

/// An output is a FITS file from end to end, or a beam log.
fn judge_output(path: &Path) -> Result<(), String> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    if name.starts_with("beamlog.") && name.ends_with(".txt") {
        return Ok(());
    }
    if !name.ends_with(".sm.fits") {
        return Err(format!("{name} is left behind"));
    }
    let bytes = fs::read(path).unwrap();
    let layout =
        Layout::parse(&bytes).map_err(|error| format!("{name} is no FITS file: {error}"))?;
    // What followed the last HDU of the input is copied; a file ends with a whole block otherwise.
    let whole = bytes.len().is_multiple_of(2880) || !layout.trailing().is_empty();
    whole
        .then_some(())
        .ok_or_else(|| format!("{name} has {} bytes", bytes.len()))
}

/// `RssAnon` of a process (proc_pid_status(5)). Until it is the command it may still be seen with
/// the memory of this one, which it was started from.
fn anonymous_bytes(process: u32) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    text.lines().find(|line| *line == "Name:\tmmconv")?;
    let line = text.lines().find(|line| line.starts_with("RssAnon:"))?;
    let kib: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kib * 1024)
}

/// User and system time of a process (proc_pid_stat(5)), in ticks of which there are 100 a second.
fn processor_time(process: u32) -> Option<Duration> {
    let text = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    let (_, after_name) = text.rsplit_once(')')?;
    let ticks = after_name.split_whitespace().skip(11).take(2);
    let ticks: u64 = ticks.map(|ticks| ticks.parse().unwrap_or(0)).sum();
    Some(Duration::from_millis(10 * ticks))
}
