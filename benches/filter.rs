//! The transfer function on the columns of a plane's half spectrum.

mod common;

use std::hint::black_box;

use common::{Case, word};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use mmfits::convolve::cpu::parts::fill_transfer;
use mmfits::kernel::{GaussianTransfer, Grid};
use mmfits::plan::Precision;
use mmfits::plane::Real;

fn filters(criterion: &mut Criterion) {
    for length in [256, 1024, 2048, 4096, 10_240] {
        filter::<f32>(criterion, Precision::F32, length);
        filter::<f64>(criterion, Precision::F64, length);
    }
}

/// Sixteen columns, of low and of higher frequency.
fn filter<T: Real>(criterion: &mut Criterion, precision: Precision, length: usize) {
    let kernel = Case::new(length, precision).convolution().kernel;
    let transfer = GaussianTransfer::new(kernel, 1.0);
    let grid = Grid {
        nx: length,
        ny: length,
    };
    let mut factors = vec![T::ZERO; length];
    let mut group = criterion.benchmark_group("filter");
    group.throughput(Throughput::Elements(16 * length as u64));
    group.bench_function(BenchmarkId::new(word(precision), length), |bencher| {
        bencher.iter(|| {
            for kx in 0..16 {
                let factors = black_box(&mut factors[..]);
                fill_transfer(&transfer, &grid, kx * length / 128, factors);
            }
        });
    });
}

criterion_group!(benches, filters);
criterion_main!(benches);
