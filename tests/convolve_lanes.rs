//! Lanes of the CPU backend: exact memory, no memory of earlier planes, any number of threads,
//! and planes that do not belong to them.
#![allow(clippy::expect_used, clippy::panic, reason = "helpers of tests")]

mod planes;

use fits_layout::Bitpix;
use mmfits::convolve::{Backend, BackendError, Cpu, Workload};
use mmfits::kernel::{Grid, PixelCovariance};
use mmfits::plan::{Convolution, Edge, NanRule, Precision};
use mmfits::plane::{Codec, PlaneMut, PlaneRef};

use planes::{Image, convolution, run, run_lane, workload};

const SMALL: PixelCovariance = PixelCovariance {
    xx: 6.0,
    xy: 2.0,
    yy: 5.0,
};
const WIDE: PixelCovariance = PixelCovariance {
    xx: 400.0,
    xy: -90.0,
    yy: 250.0,
};
const RULES: [NanRule; 3] = [NanRule::Keep, NanRule::Racs, NanRule::Interpolate];
const PRECISIONS: [Precision; 2] = [Precision::F32, Precision::F64];

#[test]
fn lane_bytes_are_what_a_lane_allocates() {
    let cpu = Cpu::new();
    // 1019 and 521 are primes: their transforms need scratch of several times their length.
    for size in [(64, 48), (1019, 521), (1, 1), (100, 1), (3, 77)] {
        for (kernel, nan) in [SMALL, WIDE]
            .into_iter()
            .flat_map(|k| RULES.map(|n| (k, n)))
        {
            for precision in PRECISIONS {
                let convolution = convolution(size, kernel, Edge::Wrap, nan);
                let workload = workload(size, precision, &convolution).with_threads_per_lane(3);
                let lane = cpu.lane(&workload).expect("a lane");
                assert_eq!(cpu.lane_bytes(&workload), lane.bytes(), "{size:?} {nan:?}");
            }
        }
    }
}

#[test]
fn lane_bytes_count_the_spectrum_once_or_twice_and_only_kept_columns() {
    let cpu = Cpu::new();
    let bytes = |kernel, nan, precision| {
        let convolution = convolution((2000, 1500), kernel, Edge::Wrap, nan);
        cpu.lane_bytes(&workload((2000, 1500), precision, &convolution)) as f64
    };
    let spectrum = 1001.0 * 1504.0 * 8.0;
    let keep = bytes(SMALL, NanRule::Keep, Precision::F32);
    assert!(keep > spectrum && keep < 1.1 * spectrum, "{keep}");
    let racs = bytes(SMALL, NanRule::Racs, Precision::F32);
    assert!(racs > 2.0 * spectrum && racs < 2.1 * spectrum, "{racs}");
    let double = bytes(SMALL, NanRule::Keep, Precision::F64);
    assert!(
        double > 2.0 * spectrum && double < 2.2 * spectrum,
        "{double}"
    );
    let wide = bytes(WIDE, NanRule::Keep, Precision::F32);
    assert!(wide < 0.5 * spectrum, "{wide}");
}

#[test]
fn a_workload_of_many_planes_is_as_large_as_its_largest_parts() {
    let cpu = Cpu::new();
    let mut both = Workload::new(Precision::F32);
    let planes = [((60, 20), SMALL, Edge::Zero), ((18, 90), WIDE, Edge::Wrap)];
    for (size, kernel, edge) in planes {
        both.add(
            size.0,
            size.1,
            convolution(size, kernel, edge, NanRule::Keep),
        );
    }
    let mut lane = cpu.lane(&both).expect("a lane");
    assert_eq!(cpu.lane_bytes(&both), lane.bytes());
    for (size, kernel, edge) in planes.into_iter().chain(planes) {
        let convolution = convolution(size, kernel, edge, NanRule::Keep);
        let image = Image::noise(size.0, size.1, 1);
        let found = run_lane(&mut *lane, &image, Precision::F32, &convolution).expect("a plane");
        assert_eq!(
            found,
            run(&cpu, &image, Precision::F32, &convolution),
            "{size:?}"
        );
    }
}

#[test]
fn lengths_beyond_memory_are_an_error() {
    let cpu = Cpu::new();
    let grid = Grid {
        nx: usize::MAX / 2,
        ny: 1 << 20,
    };
    let base = convolution((8, 8), SMALL, Edge::Zero, NanRule::Keep);
    let workload = workload((8, 8), Precision::F64, &Convolution { grid, ..base });
    assert_eq!(cpu.lane_bytes(&workload), u64::MAX);
    let refused = cpu.lane(&workload).expect_err("no lane");
    assert_eq!(refused, BackendError::Memory { bytes: u64::MAX });
}

#[test]
fn earlier_planes_leave_no_trace() {
    let cpu = Cpu::new();
    let size = (45, 38);
    let (clean, holes) = (
        Image::noise(45, 38, 1),
        Image::noise(45, 38, 2).with_blanks(),
    );
    let blank = Image::from_fn(45, 38, |_, _| f64::NAN);
    let huge = Image::from_fn(45, 38, |x, _| if x == 3 { 3e38 } else { -3e38 });
    for nan in RULES {
        for precision in PRECISIONS {
            let convolution = convolution(size, SMALL, Edge::Zero, nan);
            let mut lane = cpu
                .lane(&workload(size, precision, &convolution))
                .expect("a lane");
            let order = [
                &holes, &clean, &huge, &blank, &clean, &holes, &huge, &holes, &clean,
            ];
            for (turn, image) in order.into_iter().enumerate() {
                let found = run_lane(&mut *lane, image, precision, &convolution).expect("a plane");
                let fresh = run(&cpu, image, precision, &convolution);
                assert!(found == fresh, "{nan:?} {precision:?} turn {turn}");
            }
        }
    }
}

#[test]
fn any_number_of_threads_gives_the_same_bits() {
    let cpu = Cpu::new();
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(4)
        .build()
        .expect("a pool");
    for (nx, ny) in [(70, 131), (53, 40), (1, 90), (90, 1)] {
        let image = Image::noise(nx, ny, 3).with_blanks();
        for (nan, precision) in RULES.into_iter().flat_map(|n| PRECISIONS.map(|p| (n, p))) {
            let convolution = convolution((nx, ny), SMALL, Edge::Zero, nan);
            let alone = run(&cpu, &image, precision, &convolution);
            for threads in [2, 3, 4, 9] {
                let workload = workload((nx, ny), precision, &convolution);
                let workload = workload.with_threads_per_lane(threads);
                let mut lane = cpu.lane(&workload).expect("a lane");
                let shared = pool
                    .install(|| run_lane(&mut *lane, &image, precision, &convolution))
                    .expect("a plane");
                assert!(
                    shared == alone,
                    "{nx} x {ny} {nan:?} {precision:?} {threads} threads"
                );
            }
        }
    }
}

#[test]
fn lanes_work_beside_each_other_in_one_pool() {
    let cpu = Cpu::new();
    let size = (64, 50);
    let convolution = convolution(size, SMALL, Edge::Zero, NanRule::Racs);
    let workload = workload(size, Precision::F32, &convolution).with_threads_per_lane(2);
    let alone: Vec<Vec<u8>> = (0..12)
        .map(|seed| Image::noise(64, 50, seed).with_blanks())
        .map(|image| run(&cpu, &image, Precision::F32, &convolution))
        .collect();
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(4)
        .build()
        .expect("a pool");
    let found = pool.broadcast(|thread| {
        let mut lane = cpu.lane(&workload).expect("a lane");
        let seeds = (0..12).filter(|seed| seed % 4 == thread.index());
        seeds
            .map(|seed| {
                let image = Image::noise(64, 50, seed as u64).with_blanks();
                let plane = run_lane(&mut *lane, &image, Precision::F32, &convolution);
                (seed, plane.expect("a plane"))
            })
            .collect::<Vec<_>>()
    });
    for (seed, plane) in found.into_iter().flatten() {
        assert!(plane == alone[seed], "plane {seed}");
    }
}

#[test]
fn clean_planes_are_the_same_under_the_rules_that_share_a_precision() {
    let cpu = Cpu::new();
    let image = Image::noise(33, 26, 5);
    let [keep, racs] = [NanRule::Keep, NanRule::Racs].map(|nan| {
        run(
            &cpu,
            &image,
            Precision::F32,
            &convolution((33, 26), SMALL, Edge::Zero, nan),
        )
    });
    assert!(keep == racs);
}

#[test]
fn transform_and_output_may_differ_in_precision() {
    let cpu = Cpu::new();
    let image = Image::noise(33, 26, 5);
    let convolution = convolution((33, 26), SMALL, Edge::Zero, NanRule::Keep);
    let mut lane = cpu
        .lane(&workload((33, 26), Precision::F64, &convolution))
        .expect("a lane");
    let found = run_lane(&mut *lane, &image, Precision::F32, &convolution).expect("a plane");
    let double = planes::values(
        &run(&cpu, &image, Precision::F64, &convolution),
        Precision::F64,
    );
    let rounded: Vec<u8> = double
        .iter()
        .flat_map(|&v| (v as f32).to_be_bytes())
        .collect();
    assert!(found == rounded);
}

#[test]
fn planes_that_do_not_belong_are_refused_and_the_slot_is_left() {
    let cpu = Cpu::new();
    let planned = convolution((20, 30), SMALL, Edge::Zero, NanRule::Keep);
    let mut lane = cpu
        .lane(&workload((20, 30), Precision::F32, &planned))
        .expect("a lane");
    let mut refuse = |convolution: &Convolution, (nx, ny): (usize, usize)| {
        let input = vec![0_u8; 20 * 30 * 4];
        let mut output = vec![0x55_u8; nx * ny * 4];
        let source = PlaneRef::new(&input, 20, 30, Codec::plain(Bitpix::F32)).expect("a plane");
        let slot = PlaneMut::new(&mut output, nx, ny, Bitpix::F32).expect("a slot");
        let refused = lane
            .convolve(convolution, source, slot)
            .expect_err("refused");
        assert!(output.iter().all(|&b| b == 0x55));
        refused
    };
    let shape = BackendError::Shape {
        plane: (20, 30),
        slot: (30, 20),
    };
    assert_eq!(refuse(&planned, (30, 20)), shape);
    let wrapped = Convolution {
        edge: Edge::Wrap,
        ..planned
    };
    assert!(matches!(
        refuse(&wrapped, (20, 30)),
        BackendError::Grid { .. }
    ));
    let small = Convolution {
        grid: Grid { nx: 19, ny: 50 },
        ..planned
    };
    assert!(matches!(
        refuse(&small, (20, 30)),
        BackendError::Grid { .. }
    ));
    let other = Convolution {
        grid: Grid { nx: 100, ny: 100 },
        ..planned
    };
    assert_eq!(
        refuse(&other, (20, 30)),
        BackendError::Unplanned { grid: (100, 100) }
    );
    let masked = Convolution {
        nan: NanRule::Racs,
        ..planned
    };
    assert!(matches!(
        refuse(&masked, (20, 30)),
        BackendError::Unplanned { .. }
    ));
}
