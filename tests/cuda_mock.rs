//! The mock CUDA driver and cuFFT of `tests/cuda/mock`, tried by a program of their own: what the
//! tests of the backend rest on. No device is needed or looked for.
#![cfg(target_os = "linux")]
#![allow(
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod cuda;

use std::path::{Path, PathBuf};
use std::process::Command;

/// A trait that `smoke.cpp` tries, and the knobs it needs.
type Trait = (&'static str, &'static [(&'static str, &'static str)]);

const TRAITS: [Trait; 16] = [
    ("fft", &[]),
    ("cufft", &[]),
    ("identity", &[]),
    ("asynchronous", &[("MOCK_CUDA_SLOW", "h2d:200000")]),
    ("pointer", &[]),
    ("illegal", &[]),
    ("ptx", &[]),
    ("old", &[("MOCK_CUDA_VERSION", "11080")]),
    (
        "memory",
        &[("MOCK_CUDA_MEM", "1000000"), ("MOCK_CUDA_HELD", "100000")],
    ),
    (
        "failures",
        &[(
            "MOCK_CUDA_FAIL",
            "cuMemAlloc:2:2,cuMemsetD8Async:%3:1,cuEventCreate:3+:1,cuStreamSynchronize:2:719",
        )],
    ),
    ("late", &[("MOCK_CUDA_FAIL", "cuLaunchKernel:2:late700")]),
    ("refusals", &[("MOCK_CUDA_DEVICES", "2")]),
    ("none", &[("MOCK_CUDA_DEVICES", "0")]),
    ("none", &[("CUDA_VISIBLE_DEVICES", "")]),
    ("stub", &[("MOCK_CUDA_STUB", "1")]),
    ("cufft-failure", &[("MOCK_CUFFT_FAIL", "cufftCreate:18")]),
];

fn smoke(folder: &Path, name: &str) -> Command {
    let mut command = Command::new(folder.join("smoke"));
    command.arg(cuda::of_project("src/convolve/cuda/kernels.ptx"));
    command.arg(name);
    for knob in ["CUDA_VISIBLE_DEVICES", "LD_LIBRARY_PATH", "LD_PRELOAD"] {
        command.env_remove(knob);
    }
    command
}

/// Folders of the mock, plain and under AddressSanitizer.
fn mocks() -> Vec<PathBuf> {
    ["", "address"]
        .into_iter()
        .filter_map(|sanitizer| cuda::built("tests/cuda/mock/build.sh", sanitizer))
        .collect()
}

#[test]
fn it_behaves_like_a_device() {
    for folder in mocks() {
        for (name, knobs) in TRAITS {
            let mut command = smoke(&folder, name);
            command.envs(knobs.iter().copied());
            // A process on a mock ends with streams that were never destroyed.
            cuda::run(command.env("ASAN_OPTIONS", "detect_leaks=0"));
        }
    }
}

#[test]
fn operations_in_random_time_come_in_order() {
    let Some(folder) = cuda::built("tests/cuda/mock/build.sh", "") else {
        return;
    };
    for seed in 0..5 {
        let mut command = smoke(&folder, "identity");
        command.env("MOCK_CUDA_JITTER", "3000");
        cuda::run(command.env("MOCK_CUDA_SEED", seed.to_string()));
    }
}

#[test]
fn it_complains_of_what_a_device_would_not_notice() {
    let Some(folder) = cuda::built("tests/cuda/mock/build.sh", "") else {
        return;
    };
    let mut command = smoke(&folder, "spectrum");
    let (_, said) = cuda::run(&mut command);
    assert!(said.contains("no real plane's spectrum"), "{said}");
    let ended = cuda::output(command.env("MOCK_CUDA_STRICT", "1"));
    assert!(!ended.status.success());
}

#[test]
fn a_kernel_that_leaves_its_memory_is_caught() {
    let Some(folder) = cuda::built("tests/cuda/mock/build.sh", "address") else {
        return;
    };
    let ended = cuda::output(&mut smoke(&folder, "beyond"));
    let said = String::from_utf8_lossy(&ended.stderr);
    assert!(
        !ended.status.success() && said.contains("heap-buffer-overflow"),
        "{said}"
    );
    assert!(said.contains("kernels.cu"), "{said}");
}

/// A command whose addresses are not random where that can be had, as ThreadSanitizer likes it.
fn at_fixed_addresses(command: &Command) -> Command {
    let can = Command::new("setarch").args(["-R", "true"]).status();
    let words: &[&str] = if can.is_ok_and(|status| status.success()) {
        &["setarch", "-R"]
    } else {
        &["env"]
    };
    let mut fixed = Command::new(words[0]);
    fixed.args(&words[1..]);
    fixed.arg(command.get_program()).args(command.get_args());
    fixed
}

/// Under ThreadSanitizer no luck is needed: two streams that use the same memory without an event
/// between them are told, whichever comes first.
#[test]
#[ignore = "it builds the mock once more, half a minute"]
fn a_missing_wait_is_a_data_race() {
    let Some(folder) = cuda::built("tests/cuda/mock/build.sh", "thread") else {
        return;
    };
    for name in ["cufft", "identity", "illegal", "ptx"] {
        cuda::run(&mut at_fixed_addresses(&smoke(&folder, name)));
    }
    let mut command = at_fixed_addresses(&smoke(&folder, "asynchronous"));
    let ended = cuda::output(command.env("MOCK_CUDA_SLOW", "h2d:200000"));
    let said = String::from_utf8_lossy(&ended.stderr);
    assert!(!ended.status.success(), "{said}");
    assert!(
        said.contains("data race") && said.contains("cuMemcpyDtoHAsync_v2"),
        "{said}"
    );
}

#[test]
fn calls_and_operations_are_written_down() {
    let Some(folder) = cuda::built("tests/cuda/mock/build.sh", "") else {
        return;
    };
    let place = tempfile::tempdir().expect("a folder");
    let (calls, trace) = (place.path().join("calls"), place.path().join("trace"));
    let mut command = smoke(&folder, "identity");
    command.env("MOCK_CUDA_CALLS", &calls);
    cuda::run(command.env("MOCK_CUDA_TRACE", &trace));
    let calls = std::fs::read_to_string(calls).expect("calls");
    for line in [
        "cuLaunchKernel 3\n",
        "cufftExecR2C 1\n",
        "cuInit 1\n",
        "cuMemcpyDtoHAsync_v2 1\n",
    ] {
        assert!(calls.contains(line), "{line:?} is not in\n{calls}");
    }
    let trace = std::fs::read_to_string(trace).expect("a trace");
    let names: Vec<&str> = trace.lines().filter_map(|l| l.split(' ').nth(1)).collect();
    let wanted = [
        "h2d*",
        "h2d*",
        "mm_load_f32_f32",
        "r2c",
        "mm_filter_f32",
        "c2r",
        "mm_store_f32_f32",
        "d2h*",
    ];
    assert_eq!(names, wanted);
}

#[test]
fn modelled_time_is_that_of_the_rates() {
    let Some(folder) = cuda::built("tests/cuda/mock/build.sh", "") else {
        return;
    };
    let mut command = smoke(&folder, "model");
    cuda::run(command.env("MOCK_CUDA_MODEL", "h2d:0.1,d2h:0.1,hbm:1"));
}

#[test]
fn a_driver_may_lack_symbols_and_cufft_be_older() {
    let Some(folder) = cuda::built("tests/cuda/mock/build.sh", "") else {
        return;
    };
    let symbols = |library: &str| -> Vec<String> {
        let mut command = Command::new("nm");
        let (said, _) = cuda::run(command.arg("-D").arg(folder.join(library)));
        said.lines()
            .filter_map(|line| line.split_once(" T "))
            .map(|(_, name)| name.to_owned())
            .filter(|name| name.starts_with("cu"))
            .collect()
    };
    assert_eq!(symbols("bare/libcuda.so.1"), ["cuInit"]);
    assert!(symbols("libcuda.so.1").len() > 50);
    assert_eq!(symbols("cuda12/libcufft.so.11"), symbols("libcufft.so.12"));
}
