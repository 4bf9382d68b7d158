//! What is promised of the choice of a backend, on three machines: with devices, which are the
//! mock's, without any, and with a build that knows none. Names, reasons, exit statuses and what
//! stands in outputs.
#![cfg(feature = "cli")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    dead_code,
    reason = "a test fails by panicking, and helpers are shared"
)]

mod cuda {
    #[cfg(all(feature = "cuda", target_os = "linux"))]
    pub mod cases;
    pub mod child;
    pub mod cube;
}
mod planes;

use std::path::{Path, PathBuf};

use cuda::child::mock;
use cuda::cube::{Scene, assert_same_planes, history};
use mmfits::convolve::availability;

/// Whether this build has the backend.
const BUILT: bool = cfg!(all(feature = "cuda", target_os = "linux"));
const NOT_BUILT: &str = "this build has no CUDA backend";

/// Flags that choose, none of which changes what there is.
const CHOICES: [(&str, &str); 4] = [
    ("MMCONV_BACKEND", ""),
    ("MMCONV_BACKEND", "cpu"),
    ("MMCONV_BACKEND", "cuda"),
    ("MMCONV_BACKEND", "nonsense"),
];

/// A folder with nothing but the libraries of these names, as links.
fn only(mock: &Path, folder: &Path, libraries: &[&str]) -> PathBuf {
    std::fs::create_dir_all(folder).unwrap();
    for library in libraries {
        let name = Path::new(library).file_name().unwrap();
        std::os::unix::fs::symlink(mock.join(library), folder.join(name)).unwrap();
    }
    folder.to_owned()
}

/// Whether this machine has a driver of its own, which tests without any would find.
fn has_a_driver() -> bool {
    let has = availability().cuda.is_ok();
    if has {
        cuda::child::skipped("this machine has a driver of its own");
    }
    has
}

#[test]
fn without_a_driver_there_is_a_cpu_and_a_reason() {
    if has_a_driver() {
        return;
    }
    let scene = Scene::new();
    let reason = if BUILT { "no NVIDIA driver" } else { NOT_BUILT };
    let mut seen = Vec::new();
    for (name, value) in CHOICES {
        let ran = scene
            .mmconv(None, &["devices"])
            .env(name, value)
            .run()
            .done();
        assert!(ran.stdout.contains(reason), "{}", ran.told());
        let json = scene.mmconv(None, &["devices", "--json"]).env(name, value);
        let json: serde_json::Value = serde_json::from_str(&json.run().done().stdout).unwrap();
        assert!(json["cuda"].is_null(), "{json}");
        assert!(json["cuda_unavailable"].as_str().unwrap().contains(reason));
        assert!(json["threads"].as_u64().unwrap() > 0);
        seen.push(json);
    }
    assert!(seen.windows(2).all(|two| two[0] == two[1]), "{seen:?}");
    if !BUILT {
        assert!(
            availability()
                .cuda
                .unwrap_err()
                .to_string()
                .contains(reason)
        );
    }
}

#[test]
fn where_there_is_none_a_device_is_an_error_and_never_something_else() {
    if has_a_driver() {
        return;
    }
    let scene = Scene::new();
    let reason = if BUILT { "no NVIDIA driver" } else { NOT_BUILT };
    let words = ["CUDA is not usable here", reason];
    scene
        .smooth(None, &["--backend", "cuda"])
        .run()
        .fails(4, &words);
    scene.assert_clean();
    let by_variable = scene.smooth(None, &[]).env("MMCONV_BACKEND", "cuda");
    by_variable.run().fails(4, &words);
    scene.assert_clean();
    // A plan finds it, too.
    let plan = scene.smooth(None, &["--backend", "cuda", "--dry-run"]);
    plan.run().fails(4, &words);
    // The flag wins, and so does its alias.
    for flags in [&["--backend", "cpu"][..], &["--force-cpu"]] {
        let run = scene.smooth(None, flags).env("MMCONV_BACKEND", "cuda");
        run.run().done();
        let found = scene.taken();
        assert!(history(&found).contains("backend cpu"));
        assert!(!history(&found).contains("mmconv device:"));
    }
    // Where a device would pay it is looked for, and said why there is none.
    let run = scene.smooth(None, &[]);
    let ran = run
        .env("MMCONV_RATES", scene.rates_for_a_device())
        .run()
        .done();
    let lines = ran.stderr.lines();
    let said: Vec<_> = lines
        .filter(|line| line.contains("backend cpu: "))
        .collect();
    assert_eq!(said.len(), 1, "{}", ran.told());
    assert!(said[0].contains(reason), "{}", ran.told());
}

#[test]
fn words_that_name_no_backend_are_refused() {
    let scene = Scene::new();
    for value in ["gpu", "CUDA device"] {
        let run = scene.smooth(None, &[]).env("MMCONV_BACKEND", value);
        run.run().fails(2, &["MMCONV_BACKEND", value]);
        scene
            .smooth(None, &["--backend", value])
            .run()
            .fails(2, &[value]);
    }
    let both = ["--backend", "cuda", "--force-cpu"];
    scene.smooth(None, &both).run().fails(2, &["--force-cpu"]);
    scene.assert_clean();
    // The flag is there, so the variable is not looked at.
    let run = scene.smooth(None, &["--backend", "cpu"]);
    run.env("MMCONV_BACKEND", "gpu").run().done();
    scene.taken();
}

/// With devices on the machine, a build that knows none says so, and nothing else.
#[test]
fn devices_are_shown_whatever_is_chosen() {
    let Some(mock) = mock() else { return };
    let scene = Scene::new();
    let devices = |words: &[&str]| {
        let run = scene.mmconv(Some(mock), &[&["devices"], words].concat());
        run.env("MOCK_CUDA_DEVICES", "2")
    };
    if !BUILT {
        let ran = devices(&[]).run().done();
        assert!(ran.stdout.contains(NOT_BUILT), "{}", ran.told());
        let run = scene.smooth(Some(mock), &["--backend", "cuda"]);
        run.run().fails(4, &[NOT_BUILT]);
        return;
    }
    for (name, value) in CHOICES {
        let ran = devices(&[]).env(name, value).run().done();
        for words in [
            "driver for CUDA 13.0 (",
            "libcuda.so.1",
            "cuFFT 12.0.0 (",
            "libcufft.so.12",
            "device 0: Mock GPU 0, 16.0 GiB, compute capability 9.0",
            "device 1: Mock GPU 1, 16.0 GiB, compute capability 9.0",
        ] {
            assert!(ran.stdout.contains(words), "{words}: {}", ran.told());
        }
        let json = devices(&["--json"]).env(name, value).run().done();
        let json: serde_json::Value = serde_json::from_str(&json.stdout).unwrap();
        assert!(json["cuda_unavailable"].is_null(), "{json}");
        let found = &json["cuda"]["devices"];
        assert_eq!(found.as_array().unwrap().len(), 2, "{json}");
        assert_eq!(found[1]["device"], 1);
        assert_eq!(found[1]["memory_bytes"], 1_u64 << 34);
        assert_eq!(json["cuda"]["driver"], "13.0");
    }
}

/// Each reason why there is none, by its own words, from `devices` and from a run.
#[test]
fn each_reason_has_its_words() {
    let Some(mock) = mock() else { return };
    if !BUILT {
        return;
    }
    let scene = Scene::new();
    let folder = |name: &str, libraries: &[&str]| only(mock, &scene.path(name), libraries);
    let bare = folder("bare", &["bare/libcuda.so.1"]);
    let old_fft = folder("12 only", &["libcuda.so.1", "cuda12/libcufft.so.11"]);
    let new_fft = folder("13 only", &["libcuda.so.1", "libcufft.so.12"]);
    let none = folder("none", &["libcuda.so.1"]);
    let all = mock.to_owned();
    let reasons: [(&Path, (&str, &str), &[&str]); 8] = [
        (&bare, ("", ""), &["the driver has no function cu"]),
        (&all, ("MOCK_CUDA_STUB", "1"), &["stub, not a driver"]),
        (&all, ("MOCK_CUDA_DEVICES", "0"), &["no CUDA device"]),
        (&all, ("CUDA_VISIBLE_DEVICES", ""), &["no CUDA device"]),
        (
            &all,
            ("MOCK_CUDA_VERSION", "11080"),
            &["for CUDA 11.8; 12.0 or newer"],
        ),
        (
            &none,
            ("", ""),
            &["libcufft.so.12 is needed", "pip install nvidia-cufft)"],
        ),
        (
            &new_fft,
            ("MOCK_CUDA_VERSION", "12040"),
            &["libcufft.so.11 is needed", "pip install nvidia-cufft-cu12)"],
        ),
        (
            &all,
            ("MOCK_CUDA_FAIL", "cuInit:*:999"),
            &["cuInit failed", "(999)"],
        ),
    ];
    for (libraries, (name, value), words) in reasons {
        let knob = if name.is_empty() {
            "MOCK_CUDA_SEED"
        } else {
            name
        };
        let ran = scene
            .mmconv(Some(libraries), &["devices"])
            .env(knob, value)
            .run()
            .done();
        let json = scene
            .mmconv(Some(libraries), &["devices", "--json"])
            .env(knob, value);
        let json = json.run().done();
        let smooth = scene
            .smooth(Some(libraries), &["--backend", "cuda"])
            .env(knob, value);
        smooth.run().fails(4, words);
        for word in words {
            assert!(ran.stdout.contains(word), "{word}: {}", ran.told());
            assert!(json.stdout.contains(word), "{word}: {}", json.told());
        }
        scene.assert_clean();
    }
    // A driver for CUDA 13 takes the cuFFT of CUDA 12, and one for CUDA 12 its own.
    for version in ["13000", "12040"] {
        let run = scene.mmconv(Some(&old_fft), &["devices"]);
        let ran = run.env("MOCK_CUDA_VERSION", version).run().done();
        assert!(ran.stdout.contains("cuFFT 11.0.0"), "{}", ran.told());
    }
}

#[test]
fn the_device_that_is_asked_for_is_the_one_that_is_used() {
    let Some(mock) = mock() else { return };
    if !BUILT {
        return;
    }
    let scene = Scene::new();
    let smooth = |flags: &[&str]| {
        let flags = [&["--backend", "cuda", "--device"], flags].concat();
        scene
            .smooth(Some(mock), &flags)
            .env("MOCK_CUDA_DEVICES", "2")
    };
    scene.smooth(None, &["--backend", "cpu"]).run().done();
    let expected = scene.taken();
    for device in ["0", "1"] {
        let ran = smooth(&[device]).run().done();
        let name = format!("Mock GPU {device}");
        assert!(ran.stderr.contains(&name), "{}", ran.told());
        let found = scene.taken();
        assert!(history(&found).contains(&name), "{}", history(&found));
        assert_same_planes(&found, &expected, &name);
    }
    smooth(&["2"])
        .run()
        .fails(4, &["no CUDA device 2; there are 2"]);
    let little = smooth(&["0", "--device-memory", "20K"]);
    little
        .run()
        .fails(4, &["bytes of the device's memory, and 20480 may be taken"]);
    scene.assert_clean();
}

#[test]
fn the_programs_own_choice_is_told_in_one_line() {
    let Some(mock) = mock() else { return };
    let scene = Scene::new();
    let said = |pays: bool, knob: (&str, &str)| {
        let mut run = scene.smooth(Some(mock), &[]).env(knob.0, knob.1);
        if pays {
            run = run.env("MMCONV_RATES", scene.rates_for_a_device());
        }
        let ran = run.run().done();
        let lines = ran
            .stderr
            .lines()
            .filter(|line| line.starts_with("backend "));
        let lines: Vec<_> = lines.map(str::to_owned).collect();
        assert_eq!(lines.len(), 1, "{}", ran.told());
        let found = scene.taken();
        let name = lines[0].split([' ', ':']).nth(1).unwrap();
        let history = history(&found);
        assert!(history.contains(&format!("backend {name}")), "{history}");
        lines[0].clone()
    };
    let usual = ("MOCK_CUDA_SEED", "1");
    let cheap = said(false, usual);
    assert!(
        cheap.starts_with("backend cpu: a device would not save"),
        "{cheap}"
    );
    let dear = said(true, usual);
    let wrong = said(true, ("MOCK_CUDA_SKIP", "cuStreamWaitEvent:0/1"));
    let small = said(true, ("MOCK_CUDA_MEM", "1000000"));
    if BUILT {
        assert!(dear.starts_with("backend cuda: it saves about"), "{dear}");
        assert!(small.starts_with("backend cpu: a plane needs"), "{small}");
        // Where nothing waits a self-test may go either way; never without a line.
        assert!(wrong.starts_with("backend c"), "{wrong}");
    } else {
        assert!(
            dear.starts_with("backend cpu: ") && dear.contains(NOT_BUILT),
            "{dear}"
        );
    }
}

/// Played by a child, never by itself.
#[test]
#[ignore = "it is a scene of the other tests"]
fn scene() {
    #[cfg(all(feature = "cuda", target_os = "linux"))]
    if cuda::child::scene_asked().is_some() {
        side_by_side::scene();
    }
}

#[cfg(all(feature = "cuda", target_os = "linux"))]
mod side_by_side {
    //! Both backends, and two devices, in one process at the same time.

    use mmfits::convolve::cuda::Cuda;
    use mmfits::convolve::device::Options;
    use mmfits::convolve::{Backend, Cpu, availability};
    use mmfits::plan::{Edge, NanRule, Precision};

    use crate::cuda::cases::{Blanks, Case, Stored};
    use crate::cuda::child::{mock, scene as play};

    fn case(precision: Precision) -> Case {
        let mut case = Case::new((40, 29), precision);
        for (number, blanks) in Blanks::ALL.into_iter().enumerate() {
            let convolution = case.convolution(number, NanRule::Keep, Edge::Zero, 0);
            case.add(convolution, Stored::F64, blanks);
        }
        case.name = format!("side by side, {precision:?}");
        case
    }

    pub fn scene() {
        let before = availability();
        let open = |device| {
            let options = Options {
                device,
                ..Options::default()
            };
            Cuda::open(&options).unwrap()
        };
        let backends: [Box<dyn Backend>; 4] = [
            Box::new(open(0)),
            Box::new(Cpu::new()),
            Box::new(open(1).with_fallback()),
            Box::new(Cpu::new()),
        ];
        let names = ["cuda", "cpu", "cuda", "cpu"];
        for precision in [Precision::F32, Precision::F64] {
            let case = case(precision);
            let alone = backends
                .each_ref()
                .map(|backend| case.one_by_one(&**backend).unwrap());
            for found in &alone {
                // In f64 to 1e-12, which no transform in f32 comes near.
                case.check(found, &alone[1], "side by side");
            }
            assert!(alone[0] != alone[1], "two backends with the same bits");
            assert!(alone[0] == alone[2], "two devices with other bits");
            std::thread::scope(|scope| {
                for (number, backend) in backends.iter().enumerate() {
                    let (case, alone) = (&case, &alone[number]);
                    scope.spawn(move || {
                        for _ in 0..6 {
                            assert_eq!(backend.name(), names[number]);
                            assert!(case.one_by_one(&**backend).unwrap() == *alone);
                        }
                    });
                }
            });
        }
        assert_eq!(availability(), before);
        assert!(backends[0].describe().contains("Mock GPU 0"));
        assert!(backends[2].describe().contains("Mock GPU 1"));
        assert!(backends[2].remarks().is_empty());
    }

    #[test]
    fn backends_work_side_by_side_and_keep_their_own() {
        let Some(mock) = mock() else { return };
        let run = play(Some(mock), "side by side").env("MOCK_CUDA_DEVICES", "2");
        let run = run.env("MOCK_CUDA_JITTER", "100");
        run.env("MOCK_CUDA_STRICT", "1").run().done();
    }
}
