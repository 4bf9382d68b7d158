//! Whole planes, in memory and by one thread: size by precision by blank share, rule for blanks
//! and edge. `cargo bench --bench plane -- 1024` takes one size, `-- 'f64 racs'` one kind.
#![allow(clippy::unwrap_used, reason = "a bench that cannot go on fails")]

mod common;

use std::time::Duration;

use common::Case;
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use mmfits::convolve::{Backend, Cpu};
use mmfits::plan::{Edge, NanRule, Precision};

const SIZES: [usize; 4] = [512, 1024, 2048, 4096];

/// Blanks or none, and the rule for them.
const KINDS: [(&str, bool, NanRule); 5] = [
    ("keep, no blanks", false, NanRule::Keep),
    ("keep, 25 % blank", true, NanRule::Keep),
    ("racs, no blanks", false, NanRule::Racs),
    ("racs, 25 % blank", true, NanRule::Racs),
    ("interpolate, 25 % blank", true, NanRule::Interpolate),
];

fn planes(criterion: &mut Criterion) {
    for size in SIZES {
        for precision in [Precision::F32, Precision::F64] {
            for (kind, blanks, nan) in KINDS {
                for (edge, word) in [(Edge::Zero, "zero"), (Edge::Wrap, "wrap")] {
                    let case = Case {
                        nan,
                        edge,
                        blanks,
                        ..Case::new(size, precision)
                    };
                    plane(criterion, &case, &format!("{kind}, {word}"));
                }
            }
        }
    }
}

fn plane(criterion: &mut Criterion, case: &Case, kind: &str) {
    let mut group = criterion.benchmark_group("plane");
    group.sample_size(10);
    group
        .warm_up_time(Duration::from_millis(500))
        .measurement_time(Duration::from_secs(2));
    group.throughput(Throughput::Elements(case.pixels()));
    let id = BenchmarkId::new(case.name(), kind);
    // A lane and its samples are made where the bench is wanted, and not for those filtered out.
    group.bench_function(id, |bencher| {
        let convolution = case.convolution();
        let samples = case.samples();
        let mut out = vec![0; samples.len()];
        let mut lane = Cpu::new().lane(&case.workload(convolution)).unwrap();
        bencher.iter(|| {
            let (source, slot) = (case.plane(&samples), case.slot(&mut out));
            lane.convolve(&convolution, source, slot).unwrap();
        });
    });
    group.finish();
}

criterion_group!(benches, planes);
criterion_main!(benches);
