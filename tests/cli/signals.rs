//! Real signals to the real program, while it works, before it does, and where they are ignored.

use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::harness::{Folder, Ran};

/// Nothing here takes so long, unless it hangs.
const LIMIT: Duration = Duration::from_secs(100);

/// Planes that take a while even for a fast machine: 4 of them in one file.
const LARGE: [usize; 2] = [1500, 1400];

/// Many that take little.
const SMALL: [usize; 2] = [120, 110];

const TARGET: [&str; 7] = ["--bmaj", "30", "--bmin", "28", "--bpa", "20", "--threads=1"];

/// A folder with the cube `c.fits`.
fn folder(shape: [usize; 2], planes: usize) -> Folder {
    let folder = Folder::new();
    folder.large_cube("c.fits", shape, planes, [16.0, 9.0, 40.0]);
    folder
}

/// A run of the program that has stored the first rows of a plane.
struct Working {
    child: Option<Child>,
    pid: u32,
}

impl Working {
    /// `launcher` stands before the program, and becomes it or starts it.
    fn start(folder: &Folder, launcher: &[&str], words: &[&str]) -> Self {
        let program = env!("CARGO_BIN_EXE_mmconv");
        let line: Vec<&str> = launcher
            .iter()
            .copied()
            .chain([program, "smooth"])
            .collect();
        let mut command = Command::new(line[0]);
        command
            .args(&line[1..])
            .args(TARGET)
            .args(words)
            .arg("c.fits");
        command.current_dir(folder.path()).stdin(Stdio::null());
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = child.spawn().unwrap();
        let working = Self {
            pid: child.id(),
            child: Some(child),
        };
        let part = folder.join("c.sm.fits.part");
        wait_for(|| File::open(&part).is_ok_and(has_samples));
        working
    }

    fn send(&self, signal: &str) {
        kill(signal, self.pid);
    }

    /// Its end, and how long it took to come.
    fn end(mut self) -> (Output, Duration) {
        let started = Instant::now();
        let mut child = self.child.take().unwrap();
        let mut ended = || child.try_wait().unwrap().is_some();
        wait_for(&mut ended);
        (child.wait_with_output().unwrap(), started.elapsed())
    }
}

impl Drop for Working {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Whether there is anything but zeros behind the header.
fn has_samples(mut file: File) -> bool {
    let mut bytes = vec![0; 64 << 10];
    if file.read_exact(&mut bytes).is_err() {
        return false;
    }
    let end = bytes.chunks(80).position(|card| card.starts_with(b"END "));
    let data = end.map(|card| (80 * card + 1).next_multiple_of(2880));
    data.is_some_and(|start| bytes[start..].iter().any(|&byte| byte != 0))
}

fn wait_for(mut condition: impl FnMut() -> bool) {
    let started = Instant::now();
    while !condition() {
        assert!(started.elapsed() < LIMIT, "it hangs");
        sleep(Duration::from_millis(5));
    }
}

fn kill(signal: &str, pid: u32) {
    let status = Command::new("kill")
        .args(["-s", signal, &pid.to_string()])
        .status();
    assert!(status.unwrap().success());
}

/// The planes that are told to be stored, of how many.
fn stored(stderr: &str) -> (u64, u64) {
    let (before, after) = stderr.split_once(" planes are stored").unwrap();
    let words: Vec<&str> = before.rsplit(' ').take(3).collect();
    assert!(
        words[1] == "of" && after.starts_with("; go on with:\n"),
        "{stderr}"
    );
    (words[2].parse().unwrap(), words[0].parse().unwrap())
}

fn assert_interrupted(folder: &Folder, output: Output) -> (u64, u64) {
    let ran = Ran::from(output);
    assert_eq!(
        (ran.status, ran.stdout.as_str()),
        (75, ""),
        "{}",
        ran.stderr
    );
    assert!(!folder.join("c.sm.fits").exists());
    stored(&ran.stderr)
}

#[test]
fn each_signal_lets_the_plane_in_hand_be_finished() {
    for signal in ["INT", "TERM", "HUP", "XCPU", "USR1"] {
        let folder = folder(SMALL, 1500);
        let run = Working::start(&folder, &[], &["--grace", "60"]);
        run.send(signal);
        let (output, _) = run.end();
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        let first = format!("mmconv: SIG{signal}: stopping; planes in hand have 60 s");
        assert!(stderr.contains(&first), "{stderr}");
        let (stored, planes) = assert_interrupted(&folder, output);
        assert!(stored >= 1 && stored < planes && planes == 1500, "{stderr}");
    }
}

/// The line is what was typed, as a shell reads it.
#[test]
fn the_line_to_go_on_with_is_the_one_that_was_typed() {
    let folder = folder(SMALL, 1500);
    let run = Working::start(&folder, &[], &["--prefix", "", "--suffix=sm"]);
    run.send("TERM");
    let (output, _) = run.end();
    let stderr = String::from_utf8(output.stderr).unwrap();
    let program = env!("CARGO_BIN_EXE_mmconv");
    let typed = format!(
        "\n  {program} smooth {} --prefix '' --suffix=sm c.fits --resume\n",
        TARGET.join(" ")
    );
    assert!(stderr.ends_with(&typed), "{stderr}");
}

#[test]
fn without_grace_the_plane_in_hand_is_given_up() {
    let folder = folder(LARGE, 4);
    let run = Working::start(&folder, &[], &["--grace", "0"]);
    run.send("INT");
    let (output, _) = run.end();
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        stderr.contains("mmconv: SIGINT: stopping; planes in hand are given up"),
        "{stderr}"
    );
    assert_eq!(output.status.code(), Some(75), "{stderr}");
    assert!(stderr.contains("go on with:\n"), "{stderr}");
    assert!(!folder.join("c.sm.fits").exists());
}

#[test]
fn the_grace_has_an_end() {
    let folder = folder([3000, 2800], 2);
    let run = Working::start(&folder, &[], &["--grace", "0.1"]);
    run.send("TERM");
    let (output, took) = run.end();
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(75), "{stderr}");
    // Two seconds for what is given up, and as many for a busy machine.
    assert!(took < Duration::from_secs(6), "{took:?}");
}

#[test]
fn a_second_signal_stops_at_once() {
    let folder = folder([3000, 2800], 2);
    let run = Working::start(&folder, &[], &["--grace", "1000"]);
    run.send("TERM");
    sleep(Duration::from_millis(600));
    run.send("INT");
    let (output, took) = run.end();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(75), "{stderr}");
    assert!(
        stderr.contains("mmconv: SIGINT again: stopped at once; go on with:\n"),
        "{stderr}"
    );
    assert!(took < Duration::from_secs(3), "{took:?}");
    assert!(!folder.join("c.sm.fits").exists());
}

/// Launchers pass on what the terminal has sent to everybody.
#[test]
fn an_echo_is_no_second_signal() {
    let mut tries = 0;
    let (folder, run) = loop {
        let folder = folder(LARGE, 4);
        let run = Working::start(&folder, &[], &[]);
        let started = Instant::now();
        run.send("INT");
        sleep(Duration::from_millis(30));
        run.send("TERM");
        if started.elapsed() < Duration::from_millis(200) {
            break (folder, run);
        }
        tries += 1;
        assert!(
            tries < 20,
            "this machine is too busy to send two signals at once"
        );
    };
    let (output, _) = run.end();
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!stderr.contains("again: stopped"), "{stderr}");
    let (stored, planes) = assert_interrupted(&folder, output);
    assert!(stored >= 1 && stored < planes, "{stderr}");
}

/// timeout(1) sends its signal to the program, and then to the group that the program is in.
#[test]
fn under_timeout_the_plane_in_hand_is_finished() {
    let folder = folder(SMALL, 1500);
    let launcher = ["timeout", "--preserve-status", "1000"];
    let run = Working::start(&folder, &launcher, &[]);
    run.send("TERM");
    let (output, _) = run.end();
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!stderr.contains("again: stopped"), "{stderr}");
    let (stored, planes) = assert_interrupted(&folder, output);
    assert!(stored >= 1 && stored < planes, "{stderr}");
}

#[test]
fn ignored_signals_stay_ignored() {
    let in_background = ["sh", "-c", "trap '' INT; exec \"$@\"", "sh"];
    for (launcher, signal) in [(&["nohup"][..], "HUP"), (&in_background, "INT")] {
        let folder = folder(SMALL, 1500);
        let run = Working::start(&folder, launcher, &[]);
        run.send(signal);
        sleep(Duration::from_millis(300));
        run.send("TERM");
        let (output, _) = run.end();
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(
            !stderr.contains(signal) && stderr.contains("mmconv: SIGTERM"),
            "{stderr}"
        );
        assert_interrupted(&folder, output);
    }
}

/// It waits for the names of its files.
#[test]
fn before_the_work_a_signal_ends_it_and_nothing_is_left() {
    let folder = folder(SMALL, 2);
    let mut command = folder.command(&["smooth", "--files-from", "-"]);
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut names = child.stdin.take().unwrap();
    names.write_all(b"c.fi").unwrap();
    let status = PathBuf::from(format!("/proc/{}/status", child.id()));
    wait_for(|| catches_term(&status));
    kill("TERM", child.id());
    wait_for(|| child.try_wait().unwrap().is_some());
    let ran = Ran::from(child.wait_with_output().unwrap());
    ran.refused(75, &["mmconv: SIGTERM: nothing was begun"]);
    assert_eq!(folder.names(), ["c.fits"]);
    drop(names);
}

/// Whether a process has a handler for SIGTERM (proc(5), `SigCgt`).
fn catches_term(status: &Path) -> bool {
    let text = std::fs::read_to_string(status).unwrap();
    let mask = text.lines().find_map(|line| line.strip_prefix("SigCgt:"));
    let mask = u64::from_str_radix(mask.unwrap().trim(), 16).unwrap();
    mask & (1 << 14) != 0
}

/// The input is cut while it is read: a line with the file, the byte and the plane, and no signal.
#[test]
fn an_input_that_is_cut_short_is_told_with_its_plane() {
    let folder = folder(SMALL, 1500);
    let run = Working::start(&folder, &[], &["--io", "map"]);
    run.send("STOP");
    let kept = 2880 + 150 * 4 * (SMALL[0] * SMALL[1]) as u64;
    let file = std::fs::OpenOptions::new()
        .write(true)
        .open(folder.join("c.fits"));
    file.unwrap().set_len(kept).unwrap();
    run.send("CONT");
    let (output, _) = run.end();
    assert_eq!(output.status.signal(), None);
    let ran = Ran::from(output);
    ran.refused(
        3,
        &[
            "mmconv: c.fits: byte ",
            "(plane 150): the file was cut short",
        ],
    );
    let (_, after) = ran.stderr.split_once("c.fits: byte ").unwrap();
    let byte: u64 = after.split(' ').next().unwrap().parse().unwrap();
    // The page that holds the new end reads as zeros.
    assert_eq!(byte, kept.next_multiple_of(4096), "{}", ran.stderr);
    assert!(!folder.join("c.sm.fits").exists());
}
