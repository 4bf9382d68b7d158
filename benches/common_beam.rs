//! The common beam of 10 000 beams, of the kinds that are hard for other solvers.

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use mmfits::beam::{Beam, common_beam};

/// How many channels the largest cubes have.
const CHANNELS: u32 = 10_000;

/// Numbers in [0, 1) that are the same in every run.
fn random(state: &mut u64) -> f64 {
    *state = state
        .wrapping_mul(6_364_136_223_846_793_005)
        .wrapping_add(1_442_695_040_888_963_407);
    (*state >> 11) as f64 / (1_u64 << 53) as f64
}

/// Beams with axes and ratios in these ranges, at any angle.
fn at_random(bmaj: (f64, f64), ratio: (f64, f64)) -> Vec<Beam> {
    let mut state = 1;
    let mut between = |(low, high): (f64, f64)| low + (high - low) * random(&mut state);
    let beams = (0..CHANNELS).filter_map(|_| {
        let a = between(bmaj);
        Beam::new(a, a * between(ratio), between((-90.0, 90.0))).ok()
    });
    beams.collect()
}

/// Beams that shrink as 1/frequency and turn slowly, as in a real cube.
fn cube() -> Vec<Beam> {
    let channel = |k| {
        let scale = 1.0 + 0.3 * f64::from(CHANNELS - k) / f64::from(CHANNELS);
        Beam::new(11.0 * scale, 8.0 * scale, 40.0 + 1e-3 * f64::from(k)).ok()
    };
    (0..CHANNELS).filter_map(channel).collect()
}

fn common_beams(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("common beam of 10 000");
    group.sample_size(20);
    for (name, beams) in [
        ("random", at_random((9.0, 12.0), (0.5, 1.0))),
        (
            "equal but for the angle",
            at_random((10.0, 10.0), (0.7, 0.7)),
        ),
        (
            "nearly equal",
            at_random((10.0, 10.0 + 1e-9), (0.7, 0.7 + 1e-10)),
        ),
        ("needles", at_random((10.0, 1e4), (1e-4, 1e-3))),
        ("cube", cube()),
    ] {
        let id = BenchmarkId::from_parameter(name);
        group.bench_with_input(id, &beams, |bencher, beams| {
            bencher.iter(|| common_beam(black_box(beams)));
        });
    }
    group.finish();
}

criterion_group!(benches, common_beams);
criterion_main!(benches);
