//! The column pass of a plane, over the full height and in strips, by the functions that a lane
//! itself calls: transform, multiplication, transform back.
#![allow(clippy::unwrap_used, reason = "a bench that cannot go on fails")]

mod common;

use std::time::{Duration, Instant};

use common::Case;
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use mmfits::convolve::Cpu;
use mmfits::convolve::cpu::parts::{Part, Parts};
use mmfits::plan::{ColumnMethod, Convolution, Precision};

fn columns(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("columns");
    group.sample_size(20);
    for size in [512, 1024, 2048, 4096] {
        for precision in [Precision::F32, Precision::F64] {
            let case = Case::new(size, precision);
            let (samples, strips) = (case.samples(), case.convolution());
            let mut full = strips;
            full.columns = ColumnMethod::Full;
            group.throughput(Throughput::Elements(case.pixels()));
            for (method, convolution) in [("full", full), ("strips", strips)] {
                let mut parts = Parts::new(&Cpu::new(), &case.workload(convolution)).unwrap();
                let id = BenchmarkId::new(method, case.name());
                group.bench_function(id, |bencher| {
                    bencher.iter_custom(|times| {
                        (0..times)
                            .map(|_| one(&mut parts, &case, &convolution, &samples))
                            .sum()
                    });
                });
            }
        }
    }
}

/// One pass on fresh spectra: the same ones, filtered again and again, would end as numbers that
/// are denormal, and slow.
fn one(parts: &mut Parts, case: &Case, convolution: &Convolution, samples: &[u8]) -> Duration {
    let mut out = vec![0; samples.len()];
    let mut run = |part| {
        let (source, slot) = (case.plane(samples), case.slot(&mut out));
        parts.run(part, convolution, source, slot).unwrap();
    };
    run(Part::RowsForward);
    let started = Instant::now();
    run(Part::Columns);
    started.elapsed()
}

criterion_group!(benches, columns);
criterion_main!(benches);
