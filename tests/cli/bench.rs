//! `mmconv bench`: its lines, its object, its file of rates, and what it leaves. How fast anything
//! is is not asked here.

use std::fs;
use std::process::{Command, Stdio};
use std::time::Duration;

use mmfits::convolve::rates::{Rate, Rates};
use serde_json::Value;

use crate::harness::{Folder, Ran};

/// Small, and not square.
const SMALL: [&str; 9] = [
    "bench",
    "--nx",
    "48",
    "--ny",
    "40",
    "--planes",
    "3",
    "--backend",
    "cpu",
];

const DEVICE_LINES: [&str; 12] = [
    "host to device",
    "load",
    "forward transform",
    "filter",
    "inverse transform",
    "blank",
    "store",
    "device to host",
    "resident, no transfers",
    "resident, with a mask",
    "transfers in series",
    "transfers overlapped",
];

/// The bench in a folder of files that may not be left there, and a home without rates.
fn command(folder: &Folder, words: &[&str]) -> Command {
    fs::create_dir_all(folder.join("tmp")).unwrap();
    let mut command = folder.command(&SMALL);
    command
        .args(words)
        .env("TMPDIR", folder.join("tmp"))
        .env("HOME", folder.join("home"))
        .env_remove("MMCONV_RATES")
        .env_remove("MMCONV_BACKEND")
        .env_remove("XDG_CONFIG_HOME");
    command
}

fn bench(folder: &Folder, words: &[&str]) -> Ran {
    let ran = Ran::from(command(folder, words).output().unwrap());
    assert_eq!(fs::read_dir(folder.join("tmp")).unwrap().count(), 0);
    ran
}

#[test]
fn every_line_is_printed_and_a_verdict() {
    let folder = Folder::new();
    let ran = bench(&folder, &["--threads", "2"]).done();
    let quiet = ran.stderr.is_empty() || ran.stderr.starts_with("note: the load ");
    assert!(quiet, "nobody waits at a terminal: {}", ran.stderr);
    assert!(ran.stdout.starts_with("48 x 40 x 3 f32, no blanks; "));
    let others = [
        "one thread",
        "all 2 threads, 2 lanes of 1",
        "cpu ",
        "device ",
        "floor: read, swapped, stored",
        "the same, one thread",
        "floor: copied",
        "copied, and on the disk",
        "-: not measured: the CPU alone was asked for",
        "At this size this machine is bound by ",
        "A device would ",
        "estimated, not measured: an NVIDIA A30",
        "Its start of 1.5 s ",
    ];
    for words in DEVICE_LINES.into_iter().chain(others) {
        let words = words.trim_end();
        let found = ran.lines().iter().any(|line| line.contains(words));
        assert!(found, "no {words:?} in\n{}", ran.stdout);
    }
    assert_eq!(folder.names(), ["tmp"]);
}

#[test]
fn the_object_has_every_line_too() {
    let folder = Folder::new();
    let words = [
        "--json",
        "--precision",
        "f64",
        "--blank",
        "25",
        "--dir",
        ".",
    ];
    let ran = bench(&folder, &words).done();
    let objects = ran.objects();
    let [object] = objects.as_slice() else {
        panic!("{}", ran.stdout)
    };
    let lines = object["lines"].as_object().unwrap();
    assert_eq!(lines.len(), 2 + DEVICE_LINES.len() + 6);
    for (key, line) in lines {
        let measured = !key.contains("device");
        let seconds = line["seconds_per_plane"].as_f64();
        assert_eq!(seconds.is_some_and(|seconds| seconds > 0.0), measured);
        assert_eq!(
            line["not_measured"] == "the CPU alone was asked for",
            !measured,
            "{key}"
        );
    }
    for (key, value) in [("nx", 48), ("ny", 40), ("planes", 3), ("blank_percent", 25)] {
        assert_eq!(object[key].as_f64(), Some(f64::from(value)), "{key}");
    }
    assert_eq!(object["precision"], "f64");
    assert!(object["gain"].as_f64().is_some() && object["gain_is_estimate"] == true);
    assert!(
        ["fft", "io", "between"]
            .map(Value::from)
            .contains(&object["bound_by"])
    );
    assert!(object["verdict"].as_str().unwrap().contains("bound by"));
    assert_eq!(folder.names(), ["tmp"], "the folder was named with --dir");
}

#[test]
fn rates_are_kept_where_they_are_looked_for() {
    let folder = Folder::new();
    bench(&folder, &["--save", "--threads", "2"]).done();
    let text = fs::read_to_string(folder.join("home/.config/mmconv/rates")).unwrap();
    let rates = Rates::parse(&text).unwrap();
    let device = |rate: &Rate| rate.key().contains("device");
    for rate in Rate::ALL {
        // Of a share: two threads may be no faster than one on a busy machine.
        let may_lack = rate == Rate::ThreadShare;
        assert!(
            may_lack || rates.measured(rate).is_some() != device(&rate),
            "{rate:?}"
        );
    }
    assert_eq!(rates.get(Rate::Threads), 2.0);
    assert_eq!(Rates::parse(&rates.render()).unwrap(), rates);
}

#[test]
fn rates_are_kept_where_the_environment_or_the_flag_says() {
    let folder = Folder::new();
    let run = |variables: &[(&str, &str)], words: &[&str]| {
        let mut command = command(&folder, words);
        for (name, value) in variables {
            command.env(name, folder.join(value));
        }
        let ran = Ran::from(command.output().unwrap()).done();
        assert!(ran.stderr.contains("rates: "), "{}", ran.stderr);
    };
    run(
        &[("XDG_CONFIG_HOME", "xdg"), ("MMCONV_RATES", "own/r")],
        &["--save"],
    );
    run(
        &[("XDG_CONFIG_HOME", "xdg"), ("MMCONV_RATES", "own/r")],
        &["--save", "named"],
    );
    run(&[("XDG_CONFIG_HOME", "xdg")], &["--save", "--json"]);
    for path in ["own/r", "named", "xdg/mmconv/rates"] {
        let text = fs::read_to_string(folder.join(path)).unwrap();
        assert!(Rates::parse(&text).unwrap().measured(Rate::Disk).is_some());
    }
    assert_eq!(folder.names(), ["named", "own", "tmp", "xdg"]);
    assert_eq!(fs::read_dir(folder.join("own")).unwrap().count(), 1);
}

#[test]
fn a_file_of_rates_that_is_wrong_is_told() {
    let folder = Folder::new();
    folder.image("a.fits", [16.0, 9.0, 40.0]);
    fs::write(folder.join("rates"), "threads = 2\nspeed = 3\n").unwrap();
    let smooth = |words: &[&str]| {
        let mut command = folder.command(&["smooth", "--circularise", "a.fits"]);
        command
            .args(words)
            .env("MMCONV_RATES", folder.join("rates"));
        Ran::from(command.env_remove("MMCONV_BACKEND").output().unwrap())
    };
    smooth(&[]).refused(2, &["rates", "line 2", "\"speed\""]);
    smooth(&["--backend", "cpu"]).done();
    fs::write(folder.join("rates"), "threads = 2\n").unwrap();
    smooth(&["--overwrite"]).done();
}

#[test]
fn a_file_of_rates_that_nobody_has_named_stops_no_run() {
    let folder = Folder::new();
    folder.image("a.fits", [16.0, 9.0, 40.0]);
    let smooth = |home: &str| {
        let mut command = folder.command(&["smooth", "--circularise", "--overwrite", "a.fits"]);
        command.env("HOME", home).env_remove("XDG_CONFIG_HOME");
        command
            .env_remove("MMCONV_RATES")
            .env_remove("MMCONV_BACKEND");
        Ran::from(command.output().unwrap()).done()
    };
    // No folder can be there.
    smooth("/dev/null");
    fs::create_dir_all(folder.join("home/.config/mmconv")).unwrap();
    fs::write(folder.join("home/.config/mmconv/rates"), "speed = 3\n").unwrap();
    let ran = smooth(folder.join("home").to_str().unwrap());
    let note = "the usual rates are taken";
    assert!(ran.stderr.contains(note), "{}", ran.stderr);
}

#[test]
fn without_a_home_rates_need_a_file() {
    let folder = Folder::new();
    let mut command = command(&folder, &["--save"]);
    let ran = Ran::from(command.env_remove("HOME").output().unwrap());
    ran.refused(2, &["--save has no file", "MMCONV_RATES"]);
}

#[test]
fn a_device_that_is_asked_for_and_not_there_is_an_error() {
    let folder = Folder::new();
    // The last of a flag counts.
    let ran = bench(&folder, &["--backend", "cuda", "--device", "999"]);
    ran.refused(4, &["cuda cannot be measured", "--backend auto"]);
    let ran = bench(&folder, &["--backend", "auto", "--device", "999"]).done();
    assert!(ran.stdout.contains("-: not measured: "), "{}", ran.stdout);
}

#[test]
fn nothing_is_left_after_an_error() {
    let folder = Folder::new();
    // 4 PB: no disk that tests run on has that.
    let ran = bench(
        &folder,
        &["--nx", "1000000", "--ny", "1000000", "--planes", "1000"],
    );
    ran.refused(4, &["bench.fits"]);
    let ran = bench(&folder, &["--dir", "absent"]);
    ran.refused(4, &["absent"]);
    let ran = bench(&folder, &["--save", "tmp"]);
    assert_eq!(ran.status, 4, "a folder is no file: {}", ran.stderr);
    assert_eq!(folder.names(), ["tmp"]);
}

#[test]
fn nothing_is_left_after_a_signal() {
    let folder = Folder::new();
    let mut child = command(&folder, &["--nx", "1024", "--ny", "1000"])
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let files = || fs::read_dir(folder.join("tmp")).unwrap().count();
    while files() == 0 && child.try_wait().unwrap().is_none() {
        std::thread::sleep(Duration::from_millis(5));
    }
    let process = child.id().to_string();
    let kill = Command::new("kill").args(["-INT", &process]).status();
    assert!(kill.unwrap().success());
    assert_eq!(child.wait().unwrap().code(), Some(75));
    assert_eq!(files(), 0);
}

#[test]
fn what_cannot_be_measured_is_status_2() {
    let folder = Folder::new();
    for words in [
        &["--nx", "0"][..],
        &["--ny", "-1"],
        &["--ny", "1000001"],
        &["--planes", "many"],
        &["--precision", "f16"],
        &["--blank", "100"],
        &["--blank", "-1"],
        &["--blank", "nan"],
        &["--threads", "0"],
        &["--backend", "gpu"],
        &["--device", "-1"],
        &["cube.fits"],
    ] {
        bench(&folder, words).refused(2, &[]);
    }
}
