//! A device with less and less memory: each way of doing with less is taken, gives the same bits
//! and is told, down to none, where the CPU is all that is left.

use std::path::Path;
use std::sync::Mutex;

use mmfits::convolve::cuda::Cuda;
use mmfits::convolve::device::{DeviceError, Options};
use mmfits::convolve::{Backend, BackendError};
use mmfits::plan::{Edge, NanRule, Precision};

use super::cases::{Blanks, Case, Stored};
use super::child::{for_each, mock, scene as play, tell};

/// What the backend leaves of a device's free memory, bytes, beside a twentieth.
const SPARE_BYTES: u64 = 64 << 20;

/// Between the limits that are tried, bytes.
const STEP_BYTES: u64 = 12_000;

/// The ways of doing with less, as remarks tell them; plenty is told by none.
const RUNGS: [&str; 4] = [
    "none",
    "in and out in turns",
    "without copies beside the computing",
    "in and out in one place",
];

/// Planes of 43 200 bytes, which need more than the self-test's.
fn case() -> Case {
    let mut case = Case::new((120, 90), Precision::F32);
    for number in 0..5 {
        let convolution = case.convolution(number, NanRule::Racs, Edge::Wrap, 0);
        let blanks = Blanks::ALL[number % Blanks::ALL.len()];
        case.add(convolution, Stored::F32, blanks);
    }
    case.name = "memory".to_owned();
    case
}

fn open(memory_bytes: Option<u64>) -> Result<Cuda, DeviceError> {
    Cuda::open(&Options {
        memory_bytes,
        batch_bytes: Some(2 * 43_200),
        ..Options::default()
    })
}

fn rung(remarks: &[String]) -> &'static str {
    let told = |rung: &&&str| remarks.iter().any(|remark| remark.contains(**rung));
    RUNGS.iter().find(told).unwrap_or(&RUNGS[0])
}

/// Plays `steps`, limits in one process; or `alone` or `backed`, with what the device has.
pub fn scene(words: &str) {
    match words {
        "steps" => steps(),
        who => once(who == "backed"),
    }
}

fn steps() {
    let case = case();
    let expected = case.expected();
    let plenty = case.together(&open(None).unwrap(), 3).unwrap();
    case.check(&plenty, &expected, "with plenty");
    let mut least = u64::MAX;
    for step in 0..44 {
        let limit_bytes = 80_000 + step * STEP_BYTES;
        let cuda = open(Some(limit_bytes)).unwrap();
        let found = case.together(&cuda, 3);
        let remarks = cuda.remarks();
        match found {
            Ok(found) => {
                assert!(found == plenty, "other bits in {limit_bytes} bytes");
                tell(rung(&remarks), limit_bytes);
                least = least.min(limit_bytes);
            }
            Err(BackendError::Device(DeviceError::Memory {
                needed_bytes,
                allowed_bytes,
            })) => {
                assert_eq!(allowed_bytes, limit_bytes);
                assert!(needed_bytes > limit_bytes, "{needed_bytes}");
                assert!(least == u64::MAX, "{limit_bytes} bytes, but not {least}?");
                tell("refused", needed_bytes);
            }
            Err(error) => panic!("{error}"),
        }
        let backed = open(Some(limit_bytes)).unwrap().with_fallback();
        let found = case.together(&backed, 3).unwrap();
        let remarks = backed.remarks();
        if limit_bytes < least {
            assert!(found == expected, "not the CPU's bits");
            let told = [
                "may be taken; the CPU goes on",
                "0 planes were made by the device and 5",
            ];
            for words in told {
                let tells = |remark: &String| remark.contains(words);
                assert!(remarks.iter().any(tells), "{words}: {remarks:?}");
            }
        } else {
            assert!(found == plenty, "other bits in {limit_bytes} bytes, backed");
            assert!(!remarks.iter().any(|r| r.contains("CPU")), "{remarks:?}");
        }
    }
}

fn once(backed: bool) {
    let case = case();
    let cuda = match open(None) {
        Ok(cuda) if backed => cuda.with_fallback(),
        Ok(cuda) => cuda,
        Err(error) => return tell("closed", error),
    };
    match case.together(&cuda, 2) {
        Ok(found) => {
            case.check(&found, &case.expected(), "with what there is");
            let remarks = cuda.remarks();
            let by_cpu = remarks.iter().any(|r| r.contains("the CPU goes on"));
            let by = if by_cpu { "CPU" } else { "device" };
            tell("made", format!("by the {by}, {}", rung(&remarks)));
        }
        Err(error) => tell("error", error),
    }
}

/// A run with these knobs, alone or backed, and what came of it.
fn made_with(mock: &Path, backed: bool, knobs: &[(&str, String)]) -> String {
    let who = if backed { "backed" } else { "alone" };
    let mut run = play(Some(mock), &format!("memory {who}")).env("MOCK_CUDA_STRICT", "1");
    for (name, value) in knobs {
        run = run.env(name, value);
    }
    let ran = run.run().done();
    let keys = ["closed", "made", "error"].iter();
    let told = keys.flat_map(|key| {
        ran.facts(key)
            .into_iter()
            .map(move |fact| format!("{key} {fact}"))
    });
    format!("{who}: {}", told.collect::<Vec<_>>().join("; "))
}

/// Fails if one of these has not been seen.
fn assert_seen(seen: &Mutex<Vec<String>>, wanted: &[&str]) {
    let seen = seen.lock().unwrap();
    for words in wanted {
        assert!(seen.iter().any(|s| s.contains(words)), "{words}: {seen:#?}");
    }
}

#[test]
fn every_way_of_doing_with_less_is_taken_and_told() {
    let Some(mock) = mock() else { return };
    let ran = play(Some(mock), "memory steps").run().done();
    for key in RUNGS.into_iter().chain(["refused"]) {
        assert!(!ran.facts(key).is_empty(), "{key}: {}", ran.told());
    }
    // What is said to be needed at last is what is needed.
    let needed: u64 = ran.facts("refused").last().unwrap().parse().unwrap();
    let taken: u64 = ran.facts(RUNGS[3])[0].parse().unwrap();
    assert!(
        needed <= taken && taken - needed < STEP_BYTES,
        "{}",
        ran.told()
    );
}

/// The same by what the device has, and by what somebody else holds of it.
#[test]
fn a_small_or_crowded_device_is_as_good() {
    let Some(mock) = mock() else { return };
    let steps = (0..12_u64).flat_map(|step| [(step, false), (step, true)]);
    let seen = Mutex::new(Vec::new());
    for_each(steps.collect(), |(step, crowded)| {
        let free = (SPARE_BYTES + 50_000 * step) * 20 / 19 + 1;
        let (bytes, held) = if crowded {
            (1 << 30, (1 << 30) - free)
        } else {
            (free, 0)
        };
        let knobs = [("MOCK_CUDA_MEM", bytes), ("MOCK_CUDA_HELD", held)];
        let knobs = knobs.map(|(name, value)| (name, value.to_string()));
        for backed in [false, true] {
            let made = made_with(mock, backed, &knobs);
            seen.lock().unwrap().push(made);
        }
    });
    for rung in RUNGS {
        let made = ["alone", "backed"].map(|who| format!("{who}: made by the device, {rung}"));
        assert_seen(&seen, &made.each_ref().map(String::as_str));
    }
    let at_last = [
        "alone: closed a plane needs",
        "alone: error a plane needs",
        "backed: made by the CPU, none",
    ];
    assert_seen(&seen, &at_last);
}

/// A device that says it has memory, and then has none: from this piece on, or just this one.
#[test]
fn memory_that_is_not_there_after_all() {
    let Some(mock) = mock() else { return };
    let seen = Mutex::new(Vec::new());
    // The self-test takes nine pieces in each precision, before any plane is seen.
    for_each((1..=40_u32).step_by(3).collect(), |number| {
        for (when, backed) in ["", "+"].into_iter().flat_map(|w| [(w, false), (w, true)]) {
            let fault = format!("cuMemAlloc:{number}{when}:2");
            let made = made_with(mock, backed, &[("MOCK_CUDA_FAIL", fault)]);
            seen.lock().unwrap().push(format!("{number}{when} {made}"));
        }
    });
    let wanted = [
        "alone: closed a plane does not fit into the device's memory",
        "alone: error a plane does not fit into the device's memory",
        "alone: made by the device, in and out in turns",
        "alone: made by the device, none",
        "backed: made by the CPU, none",
    ];
    assert_seen(&seen, &wanted);
}
