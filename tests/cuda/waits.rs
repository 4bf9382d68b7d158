//! The order of batches: where a wait or a record is left out, results are wrong, and these tests
//! see it; where none is, no result ever is.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use mmfits::convolve::Backend;
use mmfits::convolve::cuda::Cuda;
use mmfits::convolve::device::Options;
use mmfits::plan::{Edge, NanRule, Precision};

use super::cases::{Blanks, Case, Stored};
use super::child::{for_each, mock, scene as play, tell};

/// So much memory holds one plane with its result in the same place, and not with two of them.
const SHORT_BYTES: u64 = 90_000;

/// A batch waits four times, five where its result lies where its samples lay, and records five
/// events.
const WAITS: u32 = 4;
const RECORDS: u32 = 5;

/// Many small batches, four lanes, nothing blank: one plane is taken for another as soon as it can.
fn case(memory: &str) -> Case {
    // Those that memory is short for need more than the self-test.
    let (size, planes) = if memory == "short" {
        ((96, 60), 6)
    } else {
        ((32, 25), 12)
    };
    let mut case = Case::new(size, Precision::F32);
    for number in 0..planes {
        let convolution = case.convolution(number, NanRule::Keep, Edge::Wrap, 0);
        case.add(convolution, Stored::F32, Blanks::None);
    }
    case.name = "waits".to_owned();
    case
}

/// Plays `plenty` or `short`, or only opens the device with as much memory: `open plenty`.
pub fn scene(words: &str) {
    let memory = words.strip_prefix("open ").unwrap_or(words);
    let case = case(memory);
    let cuda = Cuda::open(&Options {
        batch_bytes: Some(1),
        memory_bytes: (memory == "short").then_some(SHORT_BYTES),
        ..Options::default()
    });
    let cuda = cuda.unwrap();
    tell("opened", memory);
    if memory != words {
        return;
    }
    let found = case.together(&cuda, 4).unwrap();
    let short = cuda.remarks().iter().any(|r| r.contains("in one place"));
    assert_eq!(short, memory == "short", "{:?}", cuda.remarks());
    let expected = case.expected();
    let checked = catch_unwind(AssertUnwindSafe(|| case.check(&found, &expected, memory)));
    tell("result", if checked.is_ok() { "right" } else { "wrong" });
}

/// How often the self-test calls a function: what comes after that is left out.
fn calls_of_the_test(mock: &Path, memory: &str, function: &str) -> u32 {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("calls");
    let run = play(Some(mock), &format!("waits open {memory}"));
    run.env("MOCK_CUDA_CALLS", &file).run().done();
    let text = std::fs::read_to_string(file).unwrap();
    let mut counts = text.lines().filter_map(|line| line.split_once(' '));
    let found = counts.find(|(name, _)| *name == function);
    found.map_or(0, |(_, count)| count.parse().unwrap())
}

/// Whether the result is right with these operations being slow, and this left out. A child that
/// crashes has no right result either.
fn is_right(mock: &Path, memory: &str, slow: &str, left_out: &str) -> bool {
    let ran = play(Some(mock), &format!("waits {memory}"))
        .env("MOCK_CUDA_SLOW", slow)
        .env("MOCK_CUDA_JITTER", "300")
        .env("MOCK_CUDA_SKIP", left_out)
        .run();
    // What is left out is left out behind the self-test.
    assert_eq!(ran.facts("opened"), [memory], "{left_out}: {}", ran.told());
    ran.status.success() && ran.facts("result") == ["right"]
}

/// What is left out: of which memory, which wait or record of a batch, and what is slow so that it
/// shows.
const MISSING: [(&str, &str, u32, &str, &str); 12] = [
    (
        "plenty",
        "cuStreamWaitEvent",
        0,
        "mm_load_f32_f32:4000",
        "in waits for consumed",
    ),
    (
        "plenty",
        "cuStreamWaitEvent",
        1,
        "h2d:4000",
        "computing waits for what is copied in",
    ),
    (
        "plenty",
        "cuStreamWaitEvent",
        2,
        "d2h:9000",
        "storing waits for what is copied out",
    ),
    (
        "plenty",
        "cuStreamWaitEvent",
        3,
        "r2c:4000",
        "out waits for what is stored",
    ),
    (
        "short",
        "cuStreamWaitEvent",
        1,
        "d2h:4000",
        "in waits for what lies in its place",
    ),
    ("plenty", "cuEventRecord", 0, "h2d:4000", "copied in"),
    (
        "plenty",
        "cuEventRecord",
        1,
        "mm_load_f32_f32:4000",
        "consumed",
    ),
    ("plenty", "cuEventRecord", 2, "r2c:4000", "stored"),
    ("plenty", "cuEventRecord", 3, "d2h:9000", "copied out"),
    (
        "short",
        "cuEventRecord",
        3,
        "d2h:4000",
        "copied out, in one place",
    ),
    ("plenty", "cuEventRecord", 4, "d2h:4000", "done"),
    (
        "plenty",
        "cuEventSynchronize",
        0,
        "d2h:4000",
        "the thread waits until it is done",
    ),
];

#[test]
fn every_wait_and_every_record_is_needed() {
    let Some(mock) = mock() else { return };
    for_each(
        MISSING.to_vec(),
        |(memory, function, number, slow, what)| {
            let each = match (function, memory) {
                ("cuStreamWaitEvent", "short") => WAITS + 1,
                ("cuStreamWaitEvent", _) => WAITS,
                ("cuEventRecord", _) => RECORDS,
                _ => 1,
            };
            let from = calls_of_the_test(mock, memory, function) + 1;
            let left_out = format!("{function}:{number}/{each}:{from}");
            assert!(
                !is_right(mock, memory, slow, &left_out),
                "{what}: nobody sees that it is missing ({left_out})"
            );
            assert!(
                is_right(mock, memory, slow, ""),
                "{what}: with nothing missing"
            );
        },
    );
}

/// With each part of the work being the slowest, and at random.
#[test]
fn with_nothing_missing_all_is_right() {
    let Some(mock) = mock() else { return };
    let slow = [
        "",
        "h2d:2000",
        "d2h:2000",
        "mm_load_f32_f32:2000",
        "mm_store_f32_f32:2000",
        "r2c:2000",
        "c2r:2000",
        "record:1000",
        "wait:1000",
        "h2d:900,c2r:1100,d2h:1300",
    ];
    let both = slow
        .iter()
        .flat_map(|slow| [("plenty", *slow), ("short", *slow)]);
    for_each(both.collect(), |(memory, slow)| {
        assert!(is_right(mock, memory, slow, ""), "{memory}, {slow}");
    });
}
