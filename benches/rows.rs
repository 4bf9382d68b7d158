//! The row pass of a plane, there and back, by the functions that a lane itself calls: reading,
//! transforming and turning into columns; and turning back, transforming and storing.
#![allow(clippy::unwrap_used, reason = "a bench that cannot go on fails")]

mod common;

use common::Case;
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use mmfits::convolve::Cpu;
use mmfits::convolve::cpu::parts::{Part, Parts};
use mmfits::plan::{ColumnMethod, Precision};

fn rows(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("rows");
    group.sample_size(20);
    for size in [512, 1024, 2048, 4096] {
        for precision in [Precision::F32, Precision::F64] {
            let case = Case::new(size, precision);
            let (samples, strips) = (case.samples(), case.convolution());
            let mut out = vec![0; samples.len()];
            let mut full = strips;
            full.columns = ColumnMethod::Full;
            group.throughput(Throughput::Elements(case.pixels()));
            for (method, convolution) in [("full", full), ("strips", strips)] {
                let mut parts = Parts::new(&Cpu::new(), &case.workload(convolution)).unwrap();
                for (way, part) in [("forward", Part::RowsForward), ("back", Part::RowsBack)] {
                    let id = BenchmarkId::new(format!("{way} {method}"), case.name());
                    group.bench_function(id, |bencher| {
                        bencher.iter(|| {
                            let (source, slot) = (case.plane(&samples), case.slot(&mut out));
                            parts.run(part, &convolution, source, slot).unwrap();
                        });
                    });
                }
            }
        }
    }
}

criterion_group!(benches, rows);
criterion_main!(benches);
