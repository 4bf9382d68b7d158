//! Rows of stored samples into native numbers and back, as a plane's own methods do it; and
//! through a lane, which takes a faster way for samples of the transform's type.
#![allow(clippy::unwrap_used, reason = "a bench that cannot go on fails")]

mod common;

use std::hint::black_box;

use common::{Case, noise, word};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use fits_layout::Bitpix;
use mmfits::convolve::Cpu;
use mmfits::convolve::cpu::parts::{Part, Parts};
use mmfits::plan::Precision;
use mmfits::plane::{Codec, PlaneMut, PlaneRef, Real};

/// Samples in a row.
const LENGTHS: [usize; 3] = [1024, 2048, 10_240];

fn codecs(criterion: &mut Criterion) {
    let scaled = Codec {
        bscale: 0.5,
        bzero: 3.0,
        blank: Some(-32_768),
        ..Codec::plain(Bitpix::I16)
    };
    for length in LENGTHS {
        read::<f32>(criterion, "read f32", Codec::plain(Bitpix::F32), length);
        read::<f64>(criterion, "read f64", Codec::plain(Bitpix::F64), length);
        read::<f32>(criterion, "read i16", scaled, length);
        write::<f32>(criterion, "write f32", length);
        write::<f64>(criterion, "write f64", length);
    }
}

fn read<T: Real>(criterion: &mut Criterion, name: &str, codec: Codec, length: usize) {
    let size = usize::try_from(codec.bitpix.size_bytes()).unwrap();
    let bytes: Vec<u8> = (0..length * size).map(|i| (i % 63) as u8).collect();
    let plane = PlaneRef::new(&bytes, length, 1, codec).unwrap();
    let mut row = vec![T::ZERO; length];
    let mut group = criterion.benchmark_group("codec");
    group.throughput(Throughput::Bytes(bytes.len() as u64));
    group.bench_function(BenchmarkId::new(name, length), |bencher| {
        bencher.iter(|| plane.read_row(0, black_box(&mut row[..])).unwrap());
    });
}

fn write<T: Real>(criterion: &mut Criterion, name: &str, length: usize) {
    let mut noise = noise();
    let row: Vec<T> = (0..length).map(|_| T::rounded(noise())).collect();
    let mut bytes = vec![0; length * size_of::<T>()];
    let mut group = criterion.benchmark_group("codec");
    group.throughput(Throughput::Bytes(bytes.len() as u64));
    let mut slot = PlaneMut::new(&mut bytes, length, 1, T::BITPIX).unwrap();
    group.bench_function(BenchmarkId::new(name, length), |bencher| {
        bencher.iter(|| slot.write_row(0, black_box(&row[..])).unwrap());
    });
}

/// A whole plane read and stored by a lane.
fn copies(criterion: &mut Criterion) {
    for precision in [Precision::F32, Precision::F64] {
        for size in [1024, 2048] {
            let case = Case::new(size, precision);
            let convolution = case.convolution();
            let samples = case.samples();
            let mut out = vec![0; samples.len()];
            let mut parts = Parts::new(&Cpu::new(), &case.workload(convolution)).unwrap();
            let mut group = criterion.benchmark_group("codec");
            group.throughput(Throughput::Bytes(2 * samples.len() as u64));
            let id = BenchmarkId::new(format!("lane {}", word(precision)), size);
            group.bench_function(id, |bencher| {
                bencher.iter(|| {
                    let (source, slot) = (case.plane(&samples), case.slot(&mut out));
                    parts.run(Part::Copy, &convolution, source, slot).unwrap();
                });
            });
        }
    }
}

criterion_group!(benches, codecs, copies);
criterion_main!(benches);
