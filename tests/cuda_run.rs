//! `mmconv` with a device, which is the mock: the bytes of any way of writing, of shards and of runs
//! that were ended or whose device failed; and what is said where the CPU goes on.
#![cfg(all(feature = "cuda", feature = "cli", target_os = "linux"))]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    dead_code,
    reason = "a test fails by panicking, and helpers are shared"
)]

mod cuda {
    pub mod child;
    pub mod cube;
}
mod planes;

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use cuda::child::{for_each, mock};
use cuda::cube::{PLANES, Scene, assert_same_planes, history, planes as samples};

const ON_DEVICE: [&str; 2] = ["--backend", "cuda"];

/// A fault `function:when:code` whose calls are counted from behind the self-test, as one that the
/// mock knows.
fn behind_the_test(mock: &Path, fault: &str) -> String {
    static CALLS: OnceLock<String> = OnceLock::new();
    let calls = CALLS.get_or_init(|| {
        let scene = Scene::new();
        let flags = [&ON_DEVICE[..], &["--dry-run"]].concat();
        let run = scene.smooth(Some(mock), &flags);
        run.env("MOCK_CUDA_CALLS", scene.path("calls")).run().done();
        fs::read_to_string(scene.path("calls")).unwrap()
    });
    let words: Vec<&str> = fault.split(':').collect();
    let &[function, when, code] = words.as_slice() else {
        return fault.to_owned();
    };
    let (number, on) = match when.strip_suffix('+') {
        Some(number) => (number, "+"),
        None => (when, ""),
    };
    let Ok(number) = number.parse::<usize>() else {
        return fault.to_owned();
    };
    let named = |name: &str| name.strip_suffix("_v2").unwrap_or(name) == function;
    let counts = calls.lines().filter_map(|line| line.split_once(' '));
    let before: usize = counts
        .filter(|(name, _)| named(name))
        .map(|(_, count)| count.parse::<usize>().unwrap())
        .sum();
    format!("{function}:{}{on}:{code}", before + number)
}

/// What the CPU makes of the cube.
fn by_cpu(scene: &Scene, flags: &[&str]) -> Vec<u8> {
    let flags = [&["--backend", "cpu"], flags].concat();
    scene.smooth(None, &flags).run().done();
    scene.taken()
}

/// What the mock makes of it.
fn by_device(scene: &Scene, mock: &Path, flags: &[&str]) -> Vec<u8> {
    let flags = [&ON_DEVICE, flags].concat();
    scene.smooth(Some(mock), &flags).run().done();
    scene.taken()
}

#[test]
fn a_device_makes_what_the_cpu_makes_in_every_way_of_writing() {
    let Some(mock) = mock() else { return };
    let scene = Scene::new();
    for rule in ["keep", "racs", "interpolate"] {
        let expected = by_cpu(&scene, &["--nan", rule]);
        let ways = [
            &["--io", "map"][..],
            &["--io", "write"],
            &["--threads", "7"],
        ];
        let mut first = None;
        for way in ways {
            let found = by_device(&scene, mock, &[&["--nan", rule], way].concat());
            assert_same_planes(&found, &expected, rule);
            let said = history(&found);
            assert!(
                said.contains("backend cuda") && said.contains("Mock GPU 0"),
                "{said}"
            );
            let bits = |value: &f64| value.to_bits();
            let bits: Vec<_> = samples(&found).concat().iter().map(bits).collect();
            assert!(*first.get_or_insert(bits.clone()) == bits, "{rule} {way:?}");
        }
    }
}

/// The device fails somewhere; what is stored is right, and the same command ends the work.
#[test]
fn a_device_that_fails_ends_the_run_and_the_same_command_goes_on() {
    let Some(mock) = mock() else { return };
    let expected = by_device(&Scene::new(), mock, &[]);
    let faults = [
        "cuLaunchKernel:2:1",
        "cuLaunchKernel:6:700",
        "cuLaunchKernel:10:late719",
        "cuMemcpyHtoDAsync:5:1",
        "cuMemcpyDtoHAsync:2:700",
        "cuEventSynchronize:2:1",
        "cuEventSynchronize:4:700",
        "cuStreamWaitEvent:12:2",
        "cuEventRecord:15:1",
        "cuEventCreate:3:1",
        "cufftExecR2C:2:5",
        "cufftExecC2R:4:18",
        "cufftMakePlanMany64:1+:5",
    ];
    for_each(faults.to_vec(), |fault| {
        let scene = Scene::new();
        let knob = if fault.starts_with("cufft") {
            "MOCK_CUFFT_FAIL"
        } else {
            "MOCK_CUDA_FAIL"
        };
        let fault = &behind_the_test(mock, fault);
        let run = scene.smooth(Some(mock), &ON_DEVICE).env(knob, fault).run();
        let run = run.fails(4, &["CUDA device"]);
        assert!(!scene.path("o.fits").exists(), "{}", run.told());
        scene.smooth(Some(mock), &ON_DEVICE).run().done();
        // The input's place and time stand in the outputs of all scenes alike but for these words.
        let found = scene.taken();
        let planes = (samples(&found).concat(), samples(&expected).concat());
        let same = planes
            .0
            .iter()
            .zip(&planes.1)
            .all(|(a, b)| a.to_bits() == b.to_bits());
        assert!(same, "{fault}");
    });
}

/// The same where the choice was the program's: the CPU goes on in the same run.
#[test]
fn where_the_program_chose_the_device_the_cpu_goes_on() {
    let Some(mock) = mock() else { return };
    let expected = by_cpu(&Scene::new(), &[]);
    let faults = [
        ("", false),
        ("cuLaunchKernel:2:1", true),
        ("cuLaunchKernel:6:700", true),
        ("cuLaunchKernel:10:late700", true),
        ("cuMemcpyDtoHAsync:3:1", true),
        ("cuEventSynchronize:4:719", true),
        ("cuEventRecord:15:1", true),
        ("cuMemAlloc:2+:2", true),
        ("cuMemHostRegister:*:1", false),
    ];
    for_each(faults.to_vec(), |(fault, is_told)| {
        let scene = Scene::new();
        let run = scene.smooth(Some(mock), &["--backend", "auto"]);
        let run = run.env("MMCONV_RATES", scene.rates_for_a_device());
        let ran = run.env("MOCK_CUDA_FAIL", behind_the_test(mock, fault));
        let ran = ran.run().done();
        let goes_on = ran.stderr.contains("the CPU goes on");
        assert_eq!(goes_on, is_told, "{fault}: {}", ran.told());
        let counted = ran.stderr.contains("by the CPU");
        assert_eq!(counted, is_told, "{fault}: {}", ran.told());
        let found = scene.taken();
        assert_same_planes(&found, &expected, fault);
        assert!(history(&found).contains("backend cuda"), "{fault}");
    });
}

/// Waits until so many bytes of journals are there.
fn wait_for_planes(scene: &Scene) {
    let start = Instant::now();
    loop {
        let entries = fs::read_dir(scene.path("o.fits.mmconv/j"))
            .into_iter()
            .flatten();
        let lengths = entries.map(|entry| entry.unwrap().metadata().unwrap().len());
        if lengths
            .map(|length| length.saturating_sub(100) / 48)
            .sum::<u64>()
            > 0
        {
            return;
        }
        assert!(
            start.elapsed() < Duration::from_secs(60),
            "no plane is stored"
        );
        std::thread::sleep(Duration::from_millis(2));
    }
}

#[test]
fn a_run_that_was_ended_goes_on_on_the_device() {
    let Some(mock) = mock() else { return };
    let scene = Scene::new();
    let flags = [&ON_DEVICE[..], &["--resume"]].concat();
    scene.smooth(Some(mock), &flags).run().done();
    let expected = scene.taken();
    for signal in ["TERM", "KILL"] {
        let slow = scene.smooth(Some(mock), &flags);
        let mut running = slow.env("MOCK_CUDA_SLOW", "d2h:60000").start();
        wait_for_planes(&scene);
        let process = running.child.id().to_string();
        let kill = Command::new("kill").args(["-s", signal, &process]).status();
        assert!(kill.unwrap().success());
        let status = running.child.wait().unwrap();
        let code = if signal == "TERM" { Some(75) } else { None };
        assert_eq!(status.code(), code, "{}", running.end().told());
        assert!(!scene.path("o.fits").exists());
        let ran = scene.smooth(Some(mock), &flags).run().done();
        assert!(
            ran.stderr.contains("an interrupted run has stored"),
            "{}",
            ran.told()
        );
        assert!(scene.taken() == expected, "after SIG{signal}");
    }
}

/// Work that was begun on one backend is gone on with on it, and on no other.
#[test]
fn unfinished_work_stays_where_it_was_begun() {
    let Some(mock) = mock() else { return };
    let scene = Scene::new();
    let expected = by_cpu(&scene, &[]);
    let fault = behind_the_test(mock, "cuEventSynchronize:3:1");
    let begun = scene.smooth(Some(mock), &ON_DEVICE);
    let begun = begun.env("MOCK_CUDA_FAIL", fault);
    begun.run().fails(4, &["CUDA device"]);
    let cpu = ["--backend", "cpu"];
    let refused = scene.smooth(Some(mock), &cpu).run();
    refused.fails(2, &["backend cuda", "backend cpu"]);
    // The program's own choice follows it, whatever pays.
    let ran = scene
        .smooth(Some(mock), &["--backend", "auto"])
        .run()
        .done();
    assert!(
        ran.stderr.contains("an interrupted run has stored"),
        "{}",
        ran.told()
    );
    let found = scene.taken();
    assert!(history(&found).contains("backend cuda"));
    assert_same_planes(&found, &expected, "begun on the device");
}

/// Whoever goes on with work of a device that is gone hears of the device, not of the work.
#[test]
fn work_of_a_device_that_is_gone_waits_for_it() {
    let Some(mock) = mock() else { return };
    let scene = Scene::new();
    let fault = behind_the_test(mock, "cuEventSynchronize:3:1");
    let begun = scene.smooth(Some(mock), &ON_DEVICE);
    begun
        .env("MOCK_CUDA_FAIL", fault)
        .run()
        .fails(4, &["CUDA device"]);
    let auto = ["--backend", "auto"];
    let gone = scene
        .smooth(Some(mock), &auto)
        .env("CUDA_VISIBLE_DEVICES", "");
    gone.run().fails(4, &["no CUDA device"]);
    scene.smooth(Some(mock), &auto).run().done();
    assert!(history(&scene.taken()).contains("backend cuda"));
}

/// What a device has completed is complete, whatever would be chosen now.
#[test]
fn an_output_of_a_device_is_known_again() {
    let Some(mock) = mock() else { return };
    let scene = Scene::new();
    let run = scene.smooth(Some(mock), &["--backend", "auto"]);
    let run = run.env("MMCONV_RATES", scene.rates_for_a_device());
    let ran = run.run().done();
    assert!(ran.stderr.contains("\nbackend cuda: "), "{}", ran.told());
    let made = fs::read(scene.path("o.fits")).unwrap();
    let again = scene.smooth(Some(mock), &["--backend", "auto", "--resume"]);
    let ran = again.run().done();
    assert!(!ran.stderr.contains("exists already"), "{}", ran.told());
    assert!(fs::read(scene.path("o.fits")).unwrap() == made);
}

/// A file at the target already needs no device, and keeps none from the others.
#[test]
fn a_file_that_is_only_copied_keeps_no_device_from_the_others() {
    let Some(mock) = mock() else { return };
    let scene = Scene::new();
    by_cpu(&scene, &[]);
    scene.smooth(None, &["--backend", "cpu"]).run().done();
    fs::rename(scene.path("o.fits"), scene.path("there.fits")).unwrap();
    let words = [
        "smooth",
        "c.fits",
        "there.fits",
        "--bmaj",
        "30",
        "--bmin",
        "27",
        "--bpa",
        "20",
        "--dry-run",
    ];
    let run = scene.mmconv(Some(mock), &words);
    let ran = run
        .env("MMCONV_RATES", scene.rates_for_a_device())
        .run()
        .done();
    assert!(ran.stderr.contains("\nbackend cuda: "), "{}", ran.told());
}

#[test]
fn shards_on_the_device_make_the_bytes_of_one_process() {
    let Some(mock) = mock() else { return };
    let scene = Scene::new();
    let whole = by_device(&scene, mock, &[]);
    let shards = ["2/3", "0/3", "1/3"];
    for shard in &shards[..2] {
        let flags = [&ON_DEVICE[..], &["--shard", shard]].concat();
        scene.smooth(Some(mock), &flags).run().done();
        assert!(!scene.path("o.fits").exists());
    }
    // The last one's device fails at first.
    let flags = [&ON_DEVICE[..], &["--shard", shards[2]]].concat();
    let failing = scene.smooth(Some(mock), &flags);
    let fault = behind_the_test(mock, "cuMemcpyDtoHAsync:2:700");
    let failing = failing.env("MOCK_CUDA_FAIL", fault);
    failing.run().fails(4, &["CUDA device"]);
    scene.smooth(Some(mock), &flags).run().done();
    let found = scene.taken();
    let planes = (samples(&found), samples(&whole));
    let bits = |planes: Vec<Vec<f64>>| -> Vec<u64> {
        planes.concat().into_iter().map(f64::to_bits).collect()
    };
    assert_eq!(planes.0.len(), PLANES);
    assert!(bits(planes.0) == bits(planes.1));
}

/// Two files in one run, and the device is lost in the first: what comes after is the CPU's.
#[test]
fn a_device_that_is_lost_is_lost_for_the_files_that_follow() {
    let Some(mock) = mock() else { return };
    let scene = Scene::new();
    let expected = by_cpu(&scene, &[]);
    fs::copy(scene.path("c.fits"), scene.path("d.fits")).unwrap();
    let words = [
        "smooth", "c.fits", "d.fits", "--bmaj", "30", "--bmin", "27", "--bpa", "20",
    ];
    let run = scene.mmconv(Some(mock), &words);
    let run = run.env("MMCONV_RATES", scene.rates_for_a_device());
    let ran = run
        .env(
            "MOCK_CUDA_FAIL",
            behind_the_test(mock, "cuLaunchKernel:6:late700"),
        )
        .run()
        .done();
    assert!(ran.stderr.contains("the CPU goes on"), "{}", ran.told());
    for name in ["c.sm.fits", "d.sm.fits"] {
        let found = fs::read(scene.path(name)).unwrap();
        assert_same_planes(&found, &expected, name);
    }
}
