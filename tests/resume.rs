//! Interrupted runs: killed at any moment, they go on where they were, and the bytes come out as
//! those of an undisturbed run. Nothing has the final name before.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(
    clippy::print_stdout,
    reason = "how many kills there were is of interest"
)]

use std::fs;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use fits_layout::{Header, Sum, checksum};
use mmfits::output::{Existing, NewImage};
use tempfile::TempDir;

/// A cube in a folder of its own.
struct Scene {
    folder: TempDir,
}

impl Scene {
    /// Planes of `nx` by `ny` pixels; kernels narrow and wide, some planes blank or at their target.
    fn new(nx: usize, ny: usize, planes: usize) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut image = NewImage::create(
            &folder.path().join("c.fits"),
            &header(nx, ny, planes),
            Existing::Refuse,
        )
        .unwrap();
        for (k, mut plane) in image.planes_mut().unwrap().into_iter().enumerate() {
            let mut state = 7 + k as u64;
            for y in 0..ny {
                let row: Vec<f32> = (0..nx).map(|_| pixel(&mut state)).collect();
                plane.write_row(y, &row).unwrap();
            }
        }
        image.finish().unwrap();
        Self { folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The program, that makes `NAME` of the cube.
    fn command(&self, output: &str, flags: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_mmconv"));
        command
            .args(["smooth", "c.fits", "--output", output, "--threads", "2"])
            .args(["--bmaj", "30", "--bmin", "27", "--bpa", "20"])
            .args(flags)
            .current_dir(self.folder.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        command
    }

    fn run(&self, output: &str, flags: &[&str]) -> Output {
        self.command(output, flags).output().unwrap()
    }

    fn done(&self, output: &str, flags: &[&str]) -> String {
        let ran = self.run(output, flags);
        let text = String::from_utf8(ran.stderr).unwrap();
        assert!(ran.status.success(), "{}: {text}", ran.status);
        text
    }

    fn refused(&self, output: &str, flags: &[&str], status: i32) -> String {
        let ran = self.run(output, flags);
        let text = String::from_utf8(ran.stderr).unwrap();
        assert_eq!(ran.status.code(), Some(status), "{text}");
        text
    }

    /// Kills a run that makes `NAME` after this time; whether it was still at work.
    fn kill_after(&self, output: &str, flags: &[&str], wait: Duration) -> bool {
        let mut child = self.command(output, flags).spawn().unwrap();
        std::thread::sleep(wait);
        child.kill().unwrap();
        let status = child.wait().unwrap();
        assert!(status.success() || status.signal() == Some(9), "{status}");
        !status.success()
    }

    /// Kills runs until one leaves work that can be gone on with.
    fn interrupt(&self, output: &str, flags: &[&str]) {
        let mut wait = Duration::from_millis(20);
        while stored(&self.path(output)) == 0 {
            assert!(self.kill_after(output, flags, wait), "it was too fast");
            wait += wait / 4;
        }
    }

    /// The bytes of an undisturbed run. HISTORY has the command line, so the name and the flags must
    /// be those of the others.
    fn undisturbed(&self, output: &str, flags: &[&str]) -> Vec<u8> {
        self.done(output, flags);
        let bytes = fs::read(self.path(output)).unwrap();
        fs::remove_file(self.path(output)).unwrap();
        self.no_log();
        bytes
    }

    fn no_log(&self) {
        let _ = fs::remove_file(self.path("beamlog.o.txt"));
    }
}

/// How many records of planes there are, by the length of the journals.
fn stored(output: &Path) -> u64 {
    let mut folder = output.as_os_str().to_owned();
    folder.push(".mmconv/j");
    let Ok(entries) = fs::read_dir(folder) else {
        return 0;
    };
    let lengths = entries.map(|entry| entry.unwrap().metadata().unwrap().len());
    lengths.map(|length| length.saturating_sub(100) / 48).sum()
}

fn header(nx: usize, ny: usize, planes: usize) -> Header {
    let mut header = Header::new();
    header.set("SIMPLE", true, None).unwrap();
    let lengths = [("BITPIX", -32), ("NAXIS", 3)];
    let axes = [("NAXIS1", nx), ("NAXIS2", ny), ("NAXIS3", planes)];
    let axes = axes.map(|(keyword, length)| (keyword, length as i64));
    for (keyword, value) in lengths.into_iter().chain(axes) {
        header.set(keyword, value, None).unwrap();
    }
    for (axis, ctype, step) in [
        (1, "RA---SIN", -1.0 / 1200.0),
        (2, "DEC--SIN", 1.0 / 1200.0),
        (3, "FREQ", 1e6),
    ] {
        header.set(&format!("CTYPE{axis}"), ctype, None).unwrap();
        header.set(&format!("CDELT{axis}"), step, None).unwrap();
    }
    header.set("BUNIT", "Jy/beam", None).unwrap();
    for plane in 1..=planes {
        let (bmaj, bmin) = match plane % 7 {
            0 => (30.0, 27.0),
            3 => (0.0, 0.0),
            n => (10.0 + 2.0 * n as f64, 9.0 + n as f64),
        };
        for (keyword, value) in [
            ("BMAJ", bmaj / 3600.0),
            ("BMIN", bmin / 3600.0),
            ("BPA", 20.0),
        ] {
            header
                .set(&format!("{keyword}{plane}"), value, None)
                .unwrap();
        }
    }
    checksum::stamp(&mut header, Sum::default()).unwrap();
    header
}

fn pixel(state: &mut u64) -> f32 {
    *state = state
        .wrapping_mul(6_364_136_223_846_793_005)
        .wrapping_add(1);
    if *state >> 58 == 0 {
        return f32::NAN;
    }
    ((*state >> 33) as f32) / (1u64 << 31) as f32 - 0.5
}

/// Between nothing and `most`.
fn any(most: Duration) -> Duration {
    let random = RandomState::new().build_hasher().finish();
    most.mul_f64(random as f64 / u64::MAX as f64)
}

/// 200 together, or as many as the environment says.
fn kills() -> usize {
    let asked = std::env::var("MMFITS_KILLS").ok();
    asked.and_then(|text| text.parse().ok()).unwrap_or(200) / 4
}

/// Kills runs at random moments and lets others go on, again and again.
fn survives(scene: &Scene, flags: &[&str]) {
    let reference = scene.undisturbed("o.fits", flags);
    let begun = Instant::now();
    scene.undisturbed("o.fits", flags);
    let whole = begun.elapsed();
    let output = scene.path("o.fits");
    let (mut killed, mut continued, mut completed) = (0, 0, 0);
    while killed < kills() || completed == 0 {
        if killed < kills() && scene.kill_after("o.fits", flags, any(whole)) {
            killed += 1;
            continued += usize::from(stored(&output) > 0);
            if !output.exists() {
                continue;
            }
        } else if !output.exists() {
            scene.done("o.fits", flags);
        }
        completed += 1;
        assert!(
            fs::read(&output).unwrap() == reference,
            "after {killed} kills"
        );
        scene.done("o.fits", &["--resume"]);
        fs::remove_file(&output).unwrap();
        scene.no_log();
    }
    println!("{killed} kills, {continued} with stored planes, {completed} outputs");
    // Durable planes are recorded once a second, and so fast is the whole run.
    let least = if flags.contains(&"--durable") {
        0
    } else {
        kills() / 10
    };
    assert!(continued >= least, "{continued} of {killed}");
}

#[test]
fn many_small_planes_survive_kills_at_any_moment() {
    survives(&Scene::new(40, 31, 300), &["--resume"]);
}

#[test]
fn few_larger_planes_survive_kills_at_any_moment() {
    survives(&Scene::new(301, 257, 24), &["--resume"]);
}

#[test]
fn planes_that_are_written_by_position_survive_kills_at_any_moment() {
    survives(&Scene::new(301, 257, 24), &["--resume", "--io", "write"]);
}

#[test]
fn durable_planes_survive_kills_at_any_moment() {
    survives(
        &Scene::new(301, 257, 24),
        &["--resume", "--durable", "--write-behind", "always"],
    );
}

#[test]
fn only_what_is_missing_is_made_again() {
    let scene = Scene::new(301, 257, 40);
    let reference = scene.undisturbed("o.fits", &[]);
    scene.interrupt("o.fits", &[]);
    let text = scene.done("o.fits", &[]);
    assert!(text.contains("an interrupted run has stored"), "{text}");
    assert!(fs::read(scene.path("o.fits")).unwrap() == reference);
    let mut names: Vec<_> = fs::read_dir(scene.folder.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(names, ["beamlog.o.txt", "c.fits", "o.fits"]);
}

#[test]
fn work_of_another_kind_is_refused_with_the_difference() {
    let scene = Scene::new(301, 257, 40);
    scene.interrupt("o.fits", &[]);
    let before = fs::read(scene.path("o.fits.part")).unwrap();
    let text = scene.refused("o.fits", &["--edge", "wrap"], 2);
    assert!(
        text.contains("edge zero") && text.contains("edge wrap"),
        "{text}"
    );
    let text = scene.refused("o.fits", &["--bmaj", "31"], 2);
    assert!(text.contains("target: ") && text.contains("31"), "{text}");
    assert!(fs::read(scene.path("o.fits.part")).unwrap() == before);
    // An input that is not the same any more.
    let bytes = fs::read(scene.path("c.fits")).unwrap();
    fs::write(scene.path("c.fits"), bytes).unwrap();
    let text = scene.refused("o.fits", &[], 2);
    assert!(text.contains("input file"), "{text}");
    let text = scene.done("o.fits", &["--restart", "--edge", "wrap"]);
    assert!(!text.contains("interrupted"), "{text}");
}

#[test]
fn what_was_changed_is_made_again_after_a_recheck() {
    let scene = Scene::new(301, 257, 40);
    let reference = scene.undisturbed("o.fits", &[]);
    scene.interrupt("o.fits", &[]);
    let part = scene.path("o.fits.part");
    let mut bytes = fs::read(&part).unwrap();
    let header_end = reference.len() - reference.len() % 2880 - 40 * 301 * 257 * 4;
    for byte in &mut bytes[header_end..] {
        *byte ^= 1;
    }
    fs::write(&part, bytes).unwrap();
    scene.done("o.fits", &["--recheck"]);
    assert!(fs::read(scene.path("o.fits")).unwrap() == reference);
}

#[test]
fn records_from_before_a_restart_of_the_machine_are_held_against_the_bytes() {
    let scene = Scene::new(301, 257, 40);
    let reference = scene.undisturbed("o.fits", &[]);
    scene.interrupt("o.fits", &[]);
    // As after a power cut: the journals are there, and the pages they tell of are not.
    for entry in fs::read_dir(scene.path("o.fits.mmconv/j")).unwrap() {
        let path = entry.unwrap().path();
        let bytes = fs::read(&path).unwrap();
        let line = bytes.iter().position(|&byte| byte == b'\n').unwrap();
        let opening = b"mmconv journal 1 boot=another durable=false work=".to_vec();
        fs::write(&path, [&opening, &bytes[line..]].concat()).unwrap();
    }
    let part = scene.path("o.fits.part");
    let length = fs::metadata(&part).unwrap().len() as usize;
    fs::write(&part, vec![0; length]).unwrap();
    scene.done("o.fits", &[]);
    assert!(fs::read(scene.path("o.fits")).unwrap() == reference);
}

#[test]
fn a_complete_output_of_the_same_request_is_left_and_no_other() {
    let scene = Scene::new(40, 31, 5);
    scene.done("o.fits", &[]);
    let modified = || {
        fs::metadata(scene.path("o.fits"))
            .unwrap()
            .modified()
            .unwrap()
    };
    let before = modified();
    scene.done("o.fits", &["--resume"]);
    assert_eq!(modified(), before);
    let text = scene.refused("o.fits", &["--resume", "--edge", "wrap"], 2);
    assert!(text.contains("exists already"), "{text}");
    scene.refused("o.fits", &[], 2);
}

#[test]
fn a_second_run_is_refused_while_the_first_lives() {
    let scene = Scene::new(301, 257, 60);
    let mut first = scene
        .command("o.fits", &["--threads", "1"])
        .spawn()
        .unwrap();
    while stored(&scene.path("o.fits")) == 0 {
        assert!(first.try_wait().unwrap().is_none(), "it was too fast");
        std::thread::sleep(Duration::from_millis(2));
    }
    for flags in [&[][..], &["--resume"], &["--restart"]] {
        let text = scene.refused("o.fits", flags, 2);
        assert!(text.contains("is being written by another run"), "{text}");
    }
    assert!(first.wait().unwrap().success());
}

#[test]
fn a_backup_by_hard_links_is_left_alone() {
    let scene = Scene::new(301, 257, 40);
    let reference = scene.undisturbed("o.fits", &[]);
    scene.interrupt("o.fits", &[]);
    fs::hard_link(scene.path("o.fits.part"), scene.path("backup")).unwrap();
    let before = fs::read(scene.path("backup")).unwrap();
    let text = scene.refused("o.fits", &[], 2);
    assert!(text.contains("second name"), "{text}");
    assert!(fs::read(scene.path("backup")).unwrap() == before);
    fs::remove_file(scene.path("backup")).unwrap();
    scene.done("o.fits", &[]);
    assert!(fs::read(scene.path("o.fits")).unwrap() == reference);
}

#[test]
fn a_name_taken_meanwhile_keeps_its_own_log() {
    let scene = Scene::new(301, 257, 40);
    scene.interrupt("o.fits", &[]);
    fs::write(scene.path("o.fits"), "precious").unwrap();
    fs::write(scene.path("beamlog.o.txt"), "precious").unwrap();
    scene.refused("o.fits", &[], 2);
    scene.refused("o.fits", &["--resume"], 2);
    for name in ["o.fits", "beamlog.o.txt"] {
        assert_eq!(fs::read_to_string(scene.path(name)).unwrap(), "precious");
    }
}

#[test]
fn what_is_not_ours_in_the_place_of_the_journals_is_not_removed() {
    let scene = Scene::new(40, 31, 5);
    fs::create_dir(scene.path("o.fits.mmconv")).unwrap();
    fs::write(scene.path("o.fits.mmconv/notes"), "precious").unwrap();
    let text = scene.refused("o.fits", &[], 2);
    assert!(text.contains("not touched"), "{text}");
    let notes = fs::read_to_string(scene.path("o.fits.mmconv/notes")).unwrap();
    assert_eq!(notes, "precious");
}

#[test]
fn a_header_of_another_reference_channel_is_another_request() {
    let scene = Scene::new(40, 31, 5);
    let run = |channel: &str, flags: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_mmconv"));
        command
            .args([
                "smooth", "c.fits", "--output", "o.fits", "--mode", "natural",
            ])
            .args(["--ref-chan", channel])
            .args(flags)
            .current_dir(scene.folder.path());
        command.output().unwrap().status.code()
    };
    assert_eq!(run("first", &[]), Some(0));
    assert_eq!(run("first", &["--resume"]), Some(0));
    assert_eq!(run("last", &["--resume"]), Some(2));
}
