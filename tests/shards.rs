//! Several processes make one output: any number of shards, in any order, killed and begun again,
//! twice at once, with or without a plan. The bytes are those of one process.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use fits_layout::{Header, Sum, checksum};
use mmfits::output::{Existing, NewImage};
use tempfile::TempDir;

const PLANES: usize = 37;

struct Scene {
    folder: TempDir,
    reference: Vec<u8>,
    log: Vec<u8>,
}

impl Scene {
    /// Planes of 29 988 bytes, which are no whole number of anything.
    fn new() -> Self {
        Self::of(119, 63)
    }

    fn of(nx: usize, ny: usize) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("c.fits");
        let mut image = NewImage::create(&path, &header(nx, ny), Existing::Refuse).unwrap();
        for (k, mut plane) in image.planes_mut().unwrap().into_iter().enumerate() {
            for y in 0..ny {
                let row: Vec<f32> = (0..nx)
                    .map(|x| ((x * 7 + y * 13 + k * 5) % 101) as f32)
                    .collect();
                plane.write_row(y, &row).unwrap();
            }
        }
        image.finish().unwrap();
        let mut scene = Self {
            folder,
            reference: Vec::new(),
            log: Vec::new(),
        };
        scene.smooth(&[]);
        scene.reference = fs::read(scene.path("o.fits")).unwrap();
        scene.log = fs::read(scene.path("beamlog.o.txt")).unwrap();
        scene.remove();
        scene
    }

    fn remove(&self) {
        fs::remove_file(self.path("o.fits")).unwrap();
        fs::remove_file(self.path("beamlog.o.txt")).unwrap();
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_mmconv"));
        command
            .args(words)
            .current_dir(self.folder.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    fn share(&self, flags: &[&str]) -> Command {
        let target = ["--bmaj", "30", "--bmin", "27", "--bpa", "20"];
        let mut command = self.command(&["smooth", "c.fits", "--output", "o.fits"]);
        command.args(target).args(flags);
        command
    }

    fn smooth(&self, flags: &[&str]) -> String {
        done(&self.share(flags).output().unwrap())
    }

    fn mmconv(&self, words: &[&str]) -> Output {
        self.command(words).output().unwrap()
    }

    /// The output is complete and nothing else is there.
    fn check(&self) {
        assert!(fs::read(self.path("o.fits")).unwrap() == self.reference);
        assert!(fs::read(self.path("beamlog.o.txt")).unwrap() == self.log);
        let mut names: Vec<_> = fs::read_dir(self.folder.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        assert_eq!(names, ["beamlog.o.txt", "c.fits", "o.fits"]);
    }
}

fn text(ran: &Output) -> String {
    String::from_utf8(ran.stderr.clone()).unwrap()
}

/// What it printed on standard output, after exit status 0.
fn done(ran: &Output) -> String {
    assert!(ran.status.success(), "{}: {}", ran.status, text(ran));
    String::from_utf8(ran.stdout.clone()).unwrap()
}

fn fails(ran: &Output, status: i32, words: &str) {
    assert_eq!(ran.status.code(), Some(status), "{}", text(ran));
    assert!(text(ran).contains(words), "{}", text(ran));
}

fn header(nx: usize, ny: usize) -> Header {
    let mut header = Header::new();
    header.set("SIMPLE", true, None).unwrap();
    for (keyword, value) in [
        ("BITPIX", -32),
        ("NAXIS", 3),
        ("NAXIS1", nx as i64),
        ("NAXIS2", ny as i64),
        ("NAXIS3", PLANES as i64),
    ] {
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
    for plane in 1..=PLANES {
        let bmaj = 10.0 + (plane % 11) as f64;
        for (keyword, value) in [("BMAJ", bmaj), ("BMIN", bmaj - 1.0)] {
            header
                .set(&format!("{keyword}{plane}"), value / 3600.0, None)
                .unwrap();
        }
        header.set(&format!("BPA{plane}"), 20.0, None).unwrap();
    }
    checksum::stamp(&mut header, Sum::default()).unwrap();
    header
}

#[test]
fn shards_in_any_order_make_the_bytes_of_one_process() {
    for (nx, ny) in [(119, 63), (5, 3), (301, 257)] {
        let scene = Scene::of(nx, ny);
        for order in [&[0, 1, 2][..], &[4, 0, 3, 1, 2], &[0]] {
            for (number, index) in order.iter().enumerate() {
                assert!(!scene.path("o.fits").exists());
                let printed = scene.smooth(&["--shard", &format!("{index}/{}", order.len())]);
                let is_last = number + 1 == order.len();
                assert_eq!(printed, if is_last { "o.fits\n" } else { "" });
            }
            scene.check();
            scene.remove();
        }
    }
}

#[test]
fn all_shards_at_once() {
    let scene = Scene::new();
    for _ in 0..5 {
        let shares: Vec<Child> = (0..8)
            .map(|index| {
                let shard = format!("{index}/8");
                scene.share(&["--shard", &shard]).spawn().unwrap()
            })
            .collect();
        for share in shares {
            done(&share.wait_with_output().unwrap());
        }
        done(&scene.mmconv(&["finish", "o.fits"]));
        scene.check();
        scene.remove();
    }
}

#[test]
fn finish_is_the_gate_and_names_what_is_missing() {
    let scene = Scene::new();
    scene.smooth(&["--shard", "0/4", "--no-finish"]);
    scene.smooth(&["--shard", "3/4", "--no-finish"]);
    let ran = scene.mmconv(&["finish", "o.fits", "--wait", "0"]);
    fails(&ran, 5, "18 of 37 planes are missing: 9-26");
    let status = done(&scene.mmconv(&["status", "o.fits"]));
    assert!(
        status.contains("19 of 37 planes are stored; missing: 9-26"),
        "{status}"
    );
    scene.smooth(&["--shard", "1/2", "--no-finish"]);
    scene.smooth(&["--shard", "1/4", "--no-finish"]);
    assert!(!scene.path("o.fits").exists());
    for _ in 0..2 {
        assert_eq!(
            done(&scene.mmconv(&["finish", "o.fits", "--recheck"])),
            "o.fits\n"
        );
        scene.check();
    }
    // Late shards have nothing to do.
    assert_eq!(scene.smooth(&["--shard", "2/4"]), "o.fits\n");
    scene.check();
}

#[test]
fn a_plan_begins_what_the_shards_then_make() {
    let scene = Scene::new();
    let target = ["--bmaj", "30", "--bmin", "27", "--bpa", "20"];
    let words = [
        &["plan", "c.fits", "--output", "o.fits"][..],
        &target,
        &["--shards", "3"],
    ]
    .concat();
    let printed = done(&scene.mmconv(&words));
    assert!(printed.contains("shard 1/3: planes 12-23"), "{printed}");
    assert!(
        printed.contains("--shard $SLURM_ARRAY_TASK_ID/3 --no-finish"),
        "{printed}"
    );
    fails(
        &scene.mmconv(&["finish", "o.fits", "--wait", "0"]),
        5,
        "37 of 37",
    );
    for index in 0..3 {
        scene.smooth(&["--shard", &format!("{index}/3")]);
    }
    scene.check();
}

#[test]
fn killed_shards_are_begun_again_and_the_rest_by_other_shares() {
    let scene = Scene::of(301, 257);
    let mut wait = Duration::from_millis(5);
    for round in 0..12 {
        let shard = format!("{}/2", round % 2);
        let mut share = scene.share(&["--shard", &shard]).spawn().unwrap();
        std::thread::sleep(wait);
        share.kill().unwrap();
        share.wait().unwrap();
        wait += wait / 3;
        if scene.path("o.fits").exists() {
            break;
        }
    }
    if !scene.path("o.fits").exists() {
        for index in 0..3 {
            scene.smooth(&["--shard", &format!("{index}/3")]);
        }
    }
    scene.check();
}

#[test]
fn changed_planes_are_seen_and_made_again() {
    let scene = Scene::new();
    scene.smooth(&["--shard", "0/1", "--no-finish"]);
    let part = scene.path("o.fits.part");
    let mut bytes = fs::read(&part).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&part, bytes).unwrap();
    let ran = scene.mmconv(&["finish", "o.fits", "--recheck"]);
    fails(&ran, 6, "do not match their checksums");
    assert!(!scene.path("o.fits").exists());
    scene.smooth(&["--shard", "0/1", "--no-finish", "--recheck"]);
    done(&scene.mmconv(&["finish", "o.fits", "--recheck"]));
    scene.check();
}

#[test]
fn one_process_and_several_do_not_go_on_with_each_other() {
    let scene = Scene::new();
    scene.smooth(&["--shard", "0/2"]);
    let ran = scene.share(&[]).output().unwrap();
    fails(&ran, 2, "several processes share");
    let ran = scene.share(&["--restart"]).output().unwrap();
    fails(&ran, 2, "several processes share");
    for other in [["--bmaj", "31"], ["--nan", "racs"]] {
        let ran = scene
            .share(&[&["--shard", "1/2"][..], &other].concat())
            .output()
            .unwrap();
        fails(&ran, 2, "there, ");
    }
    let ran = scene
        .share(&["--shard", "1/2", "--edge", "wrap"])
        .output()
        .unwrap();
    fails(&ran, 2, "edge wrap");
    let ran = scene
        .share(&["--shard", "1/2", "--restart"])
        .output()
        .unwrap();
    fails(&ran, 2, "mmconv clean");
    fails(&scene.mmconv(&["clean", "o.fits"]), 2, "--yes");
    done(&scene.mmconv(&["clean", "o.fits", "--yes"]));
    scene.smooth(&[]);
    scene.check();
    fails(&scene.mmconv(&["finish", "x.fits"]), 2, "no such output");
}

#[test]
fn what_is_gone_is_not_begun_anew_by_those_who_come_late() {
    let scene = Scene::new();
    scene.smooth(&["--shard", "0/2", "--no-finish"]);
    fs::remove_file(scene.path("o.fits.part")).unwrap();
    let ran = scene.share(&["--shard", "1/2"]).output().unwrap();
    fails(&ran, 4, "o.fits.part");
    fails(
        &scene.mmconv(&["finish", "o.fits", "--wait", "0"]),
        5,
        "missing",
    );
}

#[test]
fn an_output_of_another_job_is_not_replaced_unless_that_is_said() {
    let scene = Scene::new();
    fs::write(scene.path("o.fits"), "precious").unwrap();
    let ran = scene.share(&["--shard", "0/2"]).output().unwrap();
    fails(&ran, 2, "exists already");
    for index in 0..2 {
        scene.smooth(&["--shard", &format!("{index}/2"), "--overwrite"]);
    }
    let made = fs::read(scene.path("o.fits")).unwrap();
    assert_eq!(made.len(), scene.reference.len());
    // Done is done, with or without the flag.
    scene.smooth(&["--shard", "0/2", "--overwrite"]);
    assert!(fs::read(scene.path("o.fits")).unwrap() == made);
}

#[test]
fn an_input_that_was_changed_is_not_published() {
    let scene = Scene::new();
    for index in 0..2 {
        scene.smooth(&["--shard", &format!("{index}/2"), "--no-finish"]);
    }
    let bytes = fs::read(scene.path("c.fits")).unwrap();
    fs::write(scene.path("c.fits"), bytes).unwrap();
    fails(&scene.mmconv(&["finish", "o.fits"]), 3, "was changed");
    assert!(!scene.path("o.fits").exists());
}

#[test]
fn many_that_do_the_same_at_once_replace_an_old_output_by_the_right_one() {
    let scene = Scene::of(5, 3);
    // HISTORY tells of the flag.
    scene.smooth(&["--overwrite"]);
    let reference = fs::read(scene.path("o.fits")).unwrap();
    for round in 0..15 {
        fs::write(scene.path("o.fits"), "old").unwrap();
        let shares: Vec<Child> = (0..9)
            .map(|number| {
                std::thread::sleep(Duration::from_millis(round % 5 * 4));
                let shard = format!("{}/3", number % 3);
                scene
                    .share(&["--shard", &shard, "--overwrite"])
                    .spawn()
                    .unwrap()
            })
            .collect();
        for share in shares {
            done(&share.wait_with_output().unwrap());
        }
        assert!(
            fs::read(scene.path("o.fits")).unwrap() == reference,
            "round {round}"
        );
        assert!(!scene.path("o.fits.part").exists(), "round {round}");
    }
}
