//! Every call of the driver and of cuFFT failing, one at a time: with the CPU behind the device the
//! result is right and the failure is told; without it there is an error, or the right result where
//! the call did not matter. Never a wrong pixel, a panic, a hang or a crash.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Mutex;

use mmfits::convolve::Backend;
use mmfits::convolve::cuda::Cuda;
use mmfits::convolve::device::Options;
use mmfits::plan::{Edge, NanRule, Precision};

use super::cases::{Blanks, Case, Stored};
use super::child::{Ran, for_each, mock, scene as play, tell};

/// Calls of functions that are called more often are thinned out beyond these. With
/// `MMFITS_ALL_FAULTS` in the environment next to nothing is, which takes minutes.
const ALL_OF: usize = 3;
const NEARLY_ALL: usize = 14;

/// Codes of the driver: for an argument, for memory, for a kernel's fault, which sticks, and the
/// same found later; and of cuFFT, one of them unknown.
const DRIVER: [&str; 4] = ["1", "2", "700", "late700"];
const CUFFT: [&str; 2] = ["5", "18"];

/// Two workloads, which use all kernels: `f32` and `f64` transforms, masks and weights.
fn cases() -> [Case; 2] {
    let mut single = Case::new((23, 18), Precision::F32);
    for (number, blanks) in Blanks::ALL.into_iter().enumerate() {
        let convolution = single.convolution(number, NanRule::Racs, Edge::Zero, 0);
        single.add(convolution, Stored::F32, blanks);
    }
    single.name = "racs".to_owned();
    let mut double = Case::new((17, 20), Precision::F64);
    for blanks in [Blanks::Some, Blanks::Half, Blanks::One] {
        let convolution = double.convolution(1, NanRule::Interpolate, Edge::Wrap, 0);
        double.add(convolution, Stored::F64, blanks);
    }
    double.name = "interpolate".to_owned();
    [single, double]
}

/// Plays `alone` or `backed`, and so many lanes.
pub fn scene(words: &str) {
    let (who, lanes) = words.split_once(' ').unwrap();
    let lanes: usize = lanes.parse().unwrap();
    let options = Options {
        batch_bytes: Some(2 * 23 * 18 * 4),
        ..Options::default()
    };
    let cuda = match Cuda::open(&options) {
        Ok(cuda) => cuda,
        Err(error) => return tell("closed", error),
    };
    tell("opened", cuda.info());
    let cuda = match who {
        "backed" => cuda.with_fallback(),
        _ => cuda,
    };
    for case in cases() {
        match case.together(&cuda, lanes) {
            Err(error) => tell("error", error),
            Ok(found) => {
                case.check(&found, &case.expected(), who);
                tell("right", &case.name);
            }
        }
        for remark in cuda.remarks() {
            tell("remark", remark);
        }
    }
}

/// A run of the scene with this failure.
fn play_with(mock: &Path, words: &str, fault: &Fault) -> Ran {
    let ran = play(Some(mock), &format!("fault {words}"))
        .env("MOCK_CUDA_STRICT", "1")
        .env(fault.knob, &fault.value)
        .run();
    assert!(
        ran.status.success() && !ran.stderr.contains("panicked"),
        "{fault:?}: {}",
        ran.told()
    );
    ran
}

#[derive(Clone, Debug)]
struct Fault {
    knob: &'static str,
    value: String,
}

/// What a failure came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum End {
    /// The device was never taken.
    Closed,
    /// It failed in use, and somebody was told.
    Failed,
    /// It did not matter.
    Right,
}

fn check(mock: &Path, lanes: usize, fault: &Fault) -> [End; 2] {
    ["alone", "backed"].map(|who| {
        let ran = play_with(mock, &format!("{who} {lanes}"), fault);
        if let Some(reason) = ran.facts("closed").first() {
            assert!(reason.len() > 20, "{fault:?}: {reason}");
            return End::Closed;
        }
        let (right, errors) = (ran.facts("right"), ran.facts("error"));
        assert_eq!(right.len() + errors.len(), 2, "{}", ran.told());
        let remarks = ran.facts("remark");
        let by_cpu = remarks.iter().any(|r| r.contains("by the CPU"));
        let told = remarks.iter().any(|r| r.contains("; the CPU goes on"));
        if who == "alone" {
            assert!(!by_cpu && !told, "{}", ran.told());
        } else {
            assert!(errors.is_empty(), "{}", ran.told());
            // A lane that could not be made may have found no plane left.
            assert!(told || !by_cpu, "{}", ran.told());
            assert!(by_cpu || !told || lanes > 1, "{}", ran.told());
        }
        if errors.is_empty() && !by_cpu {
            End::Right
        } else {
            End::Failed
        }
    })
}

/// How often each function is called without any failure.
fn calls(mock: &Path, lanes: usize) -> BTreeMap<String, usize> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("calls");
    let value = file.to_str().unwrap().to_owned();
    let knob = "MOCK_CUDA_CALLS";
    let ran = play_with(mock, &format!("alone {lanes}"), &Fault { knob, value });
    assert_eq!(ran.facts("right").len(), 2, "{}", ran.told());
    let text = std::fs::read_to_string(file).unwrap();
    let lines = text.lines().map(|line| line.split_once(' ').unwrap());
    lines
        .map(|(name, count)| (name.to_owned(), count.parse().unwrap()))
        .collect()
}

/// Numbers of calls, thinned out where they are many; the last is always among them.
fn numbers(count: usize, all_of: usize) -> Vec<usize> {
    let step = count.saturating_sub(all_of).div_ceil(all_of).max(1);
    let first = 1..=count.min(all_of);
    let others = (all_of + 1..=count).filter(|k| (count - k).is_multiple_of(step));
    first.chain(others).collect()
}

/// Failures of every function that is called, with codes in turns, or with all of them.
fn faults(calls: &BTreeMap<String, usize>, all_of: usize) -> Vec<Fault> {
    let all = std::env::var_os("MMFITS_ALL_FAULTS").is_some();
    let all_of = if all { NEARLY_ALL } else { all_of };
    let mut faults = Vec::new();
    for (at, (function, &count)) in calls.iter().enumerate() {
        let (knob, codes): (_, &[&str]) = if function.starts_with("cufft") {
            ("MOCK_CUFFT_FAIL", &CUFFT)
        } else {
            ("MOCK_CUDA_FAIL", &DRIVER)
        };
        for (turn, number) in numbers(count, all_of).into_iter().enumerate() {
            let taken = codes.iter().cycle().skip(at + turn);
            faults.extend(
                taken
                    .take(if all { codes.len() } else { 1 })
                    .map(|code| Fault {
                        knob,
                        value: format!("{function}:{number}:{code}"),
                    }),
            );
        }
    }
    faults
}

fn check_all(mock: &Path, lanes: usize, faults: Vec<Fault>) -> BTreeMap<[End; 2], usize> {
    let ends = Mutex::new(BTreeMap::new());
    let count = faults.len();
    for_each(faults, |fault| {
        let found = check(mock, lanes, &fault);
        // With one lane the calls come in one order.
        assert!(lanes > 1 || found[0] == found[1], "{fault:?}: {found:?}");
        *ends.lock().unwrap().entry(found).or_insert(0) += 1;
    });
    let ends = ends.into_inner().unwrap();
    eprintln!("cuda: {count} failures, {lanes} lanes, alone and backed: {ends:?}");
    ends
}

#[test]
fn every_call_of_one_lane_may_fail() {
    let Some(mock) = mock() else { return };
    let calls = calls(mock, 1);
    assert!(calls.len() >= 30, "{calls:?}");
    let ends = check_all(mock, 1, faults(&calls, ALL_OF));
    for end in [End::Closed, End::Failed, End::Right] {
        assert!(ends.contains_key(&[end; 2]), "{ends:?}");
    }
}

/// Where one lane fails the others are at work.
#[test]
fn calls_of_several_lanes_may_fail() {
    let Some(mock) = mock() else { return };
    let mut calls = calls(mock, 3);
    let in_use = [
        "cuLaunch",
        "cuMemcpy",
        "cuEvent",
        "cuStreamW",
        "cufftExec",
        "cuMemHost",
    ];
    calls.retain(|name, _| in_use.iter().any(|start| name.starts_with(start)));
    check_all(mock, 3, faults(&calls, ALL_OF));
}
