//! Columns convolved in strips, and rows with a wrapped halo: against the naive Fourier sums,
//! against the full-height transform, and the same bits however the work is shared out.
#![allow(clippy::expect_used, clippy::panic, reason = "helpers of tests")]

mod planes;

use mmfits::convolve::{Backend, BackendError, Cpu, Workload, reference};
use mmfits::kernel::{Grid, PixelCovariance};
use mmfits::plan::{ColumnMethod, Convolution, Edge, NanRule, Precision};

use planes::{Image, assert_close, convolution, in_strips, run, run_lane, smooth, workload};

const RULES: [NanRule; 3] = [NanRule::Keep, NanRule::Racs, NanRule::Interpolate];
const EDGES: [Edge; 2] = [Edge::Zero, Edge::Wrap];
const PRECISIONS: [Precision; 2] = [Precision::F32, Precision::F64];

/// Wide enough along y for f64 and narrow enough for a halo of 24 rows: round, rotated, and
/// wide along x.
const KERNELS: [PixelCovariance; 3] = [
    kernel(42.0, 0.0, 42.0),
    kernel(60.0, -10.0, 44.0),
    kernel(300.0, 40.0, 46.0),
];

const fn kernel(xx: f64, xy: f64, yy: f64) -> PixelCovariance {
    PixelCovariance { xx, xy, yy }
}

fn round(fwhm_px: f64) -> PixelCovariance {
    kernel(fwhm_px * fwhm_px, 0.0, fwhm_px * fwhm_px)
}

fn tolerance(precision: Precision, nan: NanRule) -> f64 {
    match (precision, nan) {
        (Precision::F32, _) => 2e-6,
        (Precision::F64, NanRule::Interpolate) => 1e-11,
        (Precision::F64, _) => 1e-12,
    }
}

/// As the plan would have it for this precision of the pixels.
fn made_fast(slow: Convolution, size: (usize, usize), precision: Precision) -> Convolution {
    slow.made_fast(size, slow.nan.transform_precision(precision))
}

/// One block that the plane does not fill, several, several and a piece, one row and one column.
#[test]
fn short_strips_agree_with_the_fourier_sums() {
    let cpu = Cpu::new();
    for size in [(13, 9), (7, 97), (22, 64), (34, 1), (1, 41), (1, 1)] {
        let noise = Image::noise(size.0, size.1, 11);
        for (kernel, edge) in KERNELS.into_iter().flat_map(|k| EDGES.map(|e| (k, e))) {
            for nan in RULES {
                let image = match nan {
                    NanRule::Keep => noise.clone(),
                    _ => noise.clone().with_blanks(),
                };
                let slow = convolution(size, kernel, edge, nan);
                let expected = reference::convolve(&image.pixels, image.nx, &slow);
                for precision in PRECISIONS {
                    for lengths in [(64, 24), (96, 24)] {
                        let fast = in_strips(slow, lengths);
                        let found = smooth(&cpu, &image, precision, &fast);
                        let what = format!("{size:?} {kernel:?} {edge:?} {nan:?} {lengths:?}");
                        let tolerance = tolerance(precision, nan);
                        assert_close(&found.pixels, &expected, tolerance, &what);
                    }
                }
            }
        }
    }
}

/// At the narrow end of the condition, and for every length of column transforms.
#[test]
fn the_plans_strips_agree_with_the_full_height() {
    let cpu = Cpu::new();
    let narrow = [(Precision::F32, round(3.8)), (Precision::F64, round(5.6))];
    let rotated = PRECISIONS.map(|p| (p, kernel(90.0, 40.0, 70.0)));
    let wide = PRECISIONS.map(|p| (p, kernel(500.0, -200.0, 400.0)));
    let wider = PRECISIONS.map(|p| (p, kernel(30.0, 0.0, 1300.0)));
    let widest = PRECISIONS.map(|p| (p, kernel(700.0, 0.0, 4000.0)));
    let planes = [
        ((11, 512), narrow),
        ((16, 1025), rotated),
        ((1, 1543), wide),
        ((6, 2003), wider),
        ((3, 3089), widest),
    ];
    for (size, kernels) in planes {
        let image = Image::noise(size.0, size.1, 12).with_blanks();
        for ((precision, kernel), edge) in kernels
            .into_iter()
            .flat_map(|k| EDGES.map(|edge| (k, edge)))
        {
            for nan in RULES {
                let slow = convolution(size, kernel, edge, nan);
                let fast = made_fast(slow, size, precision);
                let full = precision == Precision::F32 && nan == NanRule::Interpolate;
                assert!(
                    fast.columns != ColumnMethod::Full || full,
                    "{size:?} {kernel:?}"
                );
                let expected = smooth(&cpu, &image, precision, &slow);
                let found = smooth(&cpu, &image, precision, &fast);
                let what = format!("{size:?} {kernel:?} {edge:?} {nan:?} {precision:?}");
                let tolerance = match edge {
                    // The full grid lets the tails beyond three FWHM come round, 1.5e-11 of the
                    // kernel's own peak.
                    Edge::Zero => tolerance(precision, nan).max(2e-11),
                    Edge::Wrap => tolerance(precision, nan),
                };
                assert_close(&found.pixels, &expected.pixels, tolerance, &what);
            }
        }
    }
}

/// At the narrow end of the condition, where kernels ring most, with sources far from one another
/// and at the edges.
#[test]
fn lone_sources_agree_with_the_full_height() {
    let cpu = Cpu::new();
    let size = (5, 733);
    let image = Image::from_fn(size.0, size.1, |x, y| {
        let is_source = x == y % size.0 && (y % 61 == 0 || y + 1 == size.1);
        f64::from(u8::from(is_source))
    });
    let single = [round(3.5), round(3.9), kernel(30.0, -9.0, 19.0)];
    let double = [round(5.4), round(5.8), kernel(60.0, -9.0, 35.0)];
    let single = single.map(|kernel| (Precision::F32, kernel));
    let double = double.map(|kernel| (Precision::F64, kernel));
    for (precision, kernel) in single.into_iter().chain(double) {
        for edge in EDGES {
            let slow = convolution(size, kernel, edge, NanRule::Keep);
            let fast = made_fast(slow, size, precision);
            let narrow = edge == Edge::Zero && kernel.yy < 15.0 || kernel.yy == 5.4 * 5.4;
            assert!(fast.columns != ColumnMethod::Full || narrow, "{kernel:?}");
            let expected = smooth(&cpu, &image, Precision::F64, &slow);
            let found = smooth(&cpu, &image, precision, &fast);
            let what = format!("{kernel:?} {edge:?} {precision:?}");
            let tolerance = tolerance(precision, NanRule::Keep);
            assert_close(&found.pixels, &expected.pixels, tolerance, &what);
        }
    }
}

/// The peak of a source under a long kernel is low, and what rings is measured against it.
#[test]
fn lone_sources_of_long_kernels_agree_with_the_full_height() {
    let cpu = Cpu::new();
    let single = [
        kernel(9e4, 0.0, 2.58 * 2.58),
        kernel(2.25e6, 0.0, 2.3 * 2.3),
        kernel(9e4, 0.0, 3.6 * 3.6),
        // 240 px x 5 px, turned by 3 degrees.
        kernel(57_442.3, 3009.1, 182.7),
    ];
    let double = [
        kernel(9e4, 0.0, 4.95 * 4.95),
        kernel(1e6, 0.0, 4.8 * 4.8),
        kernel(9e4, 0.0, 5.5 * 5.5),
        // 7 px.
        kernel(57_442.4, 3007.8, 206.6),
    ];
    let single = single.map(|kernel| (Precision::F32, kernel));
    let double = double.map(|kernel| (Precision::F64, kernel));
    for (precision, kernel) in single.into_iter().chain(double) {
        let narrow = is_narrow(&kernel, precision);
        // Narrow ones keep the full height where there are edges, long before they ring.
        let edges: &[Edge] = if narrow { &[Edge::Wrap] } else { &EDGES };
        for &edge in edges {
            // So small a row holds the kernel many times where it repeats.
            let size = (24, 800);
            let image = Image::from_fn(size.0, size.1, |x, y| {
                f64::from(u8::from((x, y) == (9, 400)))
            });
            let slow = convolution(size, kernel, edge, NanRule::Keep);
            let fast = made_fast(slow, size, precision);
            let full = narrow || edge == Edge::Zero;
            assert!(fast.columns != ColumnMethod::Full || full, "{kernel:?}");
            let expected = smooth(&cpu, &image, Precision::F64, &slow);
            let found = smooth(&cpu, &image, precision, &fast);
            let what = format!("{kernel:?} {edge:?} {precision:?}");
            // The rows of both have tails beyond three FWHM come round.
            let tails = if edge == Edge::Zero { 2e-11 } else { 0.0 };
            let tolerance = tolerance(precision, NanRule::Keep).max(tails);
            assert_close(&found.pixels, &expected.pixels, tolerance, &what);
        }
    }
}

/// Narrower along y than strips are for.
fn is_narrow(kernel: &PixelCovariance, precision: Precision) -> bool {
    let least = match precision {
        Precision::F32 => 3.5,
        Precision::F64 => 5.4,
    };
    kernel.yy < least * least
}

#[test]
fn awkward_rows_that_repeat_get_a_halo() {
    let cpu = Cpu::new();
    // Primes, and twice a prime.
    for size in [(211, 20), (149, 31), (202, 12)] {
        let image = Image::noise(size.0, size.1, 13).with_blanks();
        for kernel in [
            round(6.3),
            kernel(44.0, 2.0, 3.0),
            kernel(46.0, -20.0, 90.0),
        ] {
            for (nan, precision) in RULES.into_iter().flat_map(|n| PRECISIONS.map(|p| (n, p))) {
                let slow = convolution(size, kernel, Edge::Wrap, nan);
                let fast = made_fast(slow, size, precision);
                assert!(
                    fast.halo_x > 0 && fast.grid.nx > size.0,
                    "{size:?} {kernel:?}"
                );
                let expected = smooth(&cpu, &image, precision, &slow).pixels;
                let tolerance = tolerance(precision, nan);
                for fast in [fast, in_strips(fast, (128, 40))] {
                    let narrow = kernel.yy < 40.0 && fast.columns != ColumnMethod::Full;
                    if !narrow {
                        let found = smooth(&cpu, &image, precision, &fast);
                        let what = format!("{size:?} {kernel:?} {nan:?} {precision:?}");
                        assert_close(&found.pixels, &expected, tolerance, &what);
                    }
                }
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
    for (nx, ny) in [(70, 131), (53, 16), (1, 90), (90, 1)] {
        let image = Image::noise(nx, ny, 3).with_blanks();
        for (edge, nan) in EDGES.into_iter().flat_map(|e| RULES.map(|n| (e, n))) {
            for precision in PRECISIONS {
                let fast = in_strips(convolution((nx, ny), KERNELS[1], edge, nan), (64, 24));
                let alone = run(&cpu, &image, precision, &fast);
                for threads in [2, 3, 8] {
                    let workload = workload((nx, ny), precision, &fast);
                    let workload = workload.with_threads_per_lane(threads);
                    let mut lane = cpu.lane(&workload).expect("a lane");
                    assert_eq!(cpu.lane_bytes(&workload), lane.bytes());
                    let shared = pool
                        .install(|| run_lane(&mut *lane, &image, precision, &fast))
                        .expect("a plane");
                    assert!(
                        shared == alone,
                        "{nx} x {ny} {edge:?} {nan:?} {threads} threads"
                    );
                }
            }
        }
    }
}

/// Planes of both methods, clean and blank, large and small, one after another in one lane.
#[test]
fn earlier_planes_leave_no_trace() {
    let cpu = Cpu::new();
    let (size, small) = ((45, 80), (20, 33));
    let clean = Image::noise(45, 80, 1);
    let holes = Image::noise(45, 80, 2).with_blanks();
    let blank = Image::from_fn(45, 80, |_, _| f64::NAN);
    let huge = Image::from_fn(45, 80, |x, _| if x == 3 { 3e38 } else { -3e38 });
    let little = Image::noise(20, 33, 3).with_blanks();
    for (nan, precision) in RULES.into_iter().flat_map(|n| PRECISIONS.map(|p| (n, p))) {
        let full = convolution(size, KERNELS[0], Edge::Zero, nan);
        let (fast, other) = (in_strips(full, (64, 24)), in_strips(full, (112, 24)));
        let least = in_strips(convolution(small, KERNELS[2], Edge::Wrap, nan), (64, 24));
        let mut workload = Workload::new(precision);
        for convolution in [full, fast, other] {
            workload.add(size.0, size.1, convolution);
        }
        workload.add(small.0, small.1, least);
        let mut lane = cpu.lane(&workload).expect("a lane");
        assert_eq!(cpu.lane_bytes(&workload), lane.bytes());
        let planes = [
            (&holes, fast),
            (&clean, fast),
            (&huge, other),
            (&blank, fast),
            (&clean, full),
            (&holes, other),
            (&little, least),
            (&holes, fast),
            (&huge, full),
            (&little, least),
            (&clean, fast),
        ];
        for (turn, (image, convolution)) in planes.into_iter().enumerate() {
            let found = run_lane(&mut *lane, image, precision, &convolution).expect("a plane");
            let fresh = run(&cpu, image, precision, &convolution);
            assert!(found == fresh, "{nan:?} {precision:?} turn {turn}");
        }
    }
}

#[test]
fn a_lane_of_strips_does_not_grow_with_the_plane() {
    let cpu = Cpu::new();
    let bytes = |ny, threads| {
        let size = (2000, ny);
        let slow = convolution(size, round(6.0), Edge::Zero, NanRule::Keep);
        let fast = made_fast(slow, size, Precision::F32);
        let workload = workload(size, Precision::F32, &fast).with_threads_per_lane(threads);
        cpu.lane_bytes(&workload)
    };
    let row_notes = (8192 - 1024) * 8;
    assert_eq!(bytes(8192, 1), bytes(1024, 1) + row_notes);
    assert!(bytes(8192, 1) < 4 << 20, "{}", bytes(8192, 1));
    // No more rings than blocks: a plane of 1024 rows has five.
    assert!(bytes(1024, 6) - bytes(1024, 5) < 1 << 19);
    assert!(bytes(1024, 5) - bytes(1024, 4) > 1 << 20);
}

#[test]
fn a_wholly_blank_plane_stays_blank_and_a_blank_half_too() {
    let cpu = Cpu::new();
    let size = (14, 90);
    let blank = Image::from_fn(
        14,
        90,
        |x, _| if x % 2 == 0 { f64::NAN } else { f64::INFINITY },
    );
    let half = Image::from_fn(14, 90, |_, y| if y < 60 { f64::NAN } else { 1.0 });
    for (nan, edge) in RULES.into_iter().flat_map(|n| EDGES.map(|e| (n, e))) {
        let slow = convolution(size, KERNELS[0], edge, nan);
        let fast = in_strips(slow, (64, 24));
        let found = smooth(&cpu, &blank, Precision::F32, &fast);
        assert!(found.pixels.iter().all(|v| v.is_nan()), "{nan:?}");
        let found = smooth(&cpu, &half, Precision::F64, &fast);
        let expected = reference::convolve(&half.pixels, 14, &slow);
        assert_close(
            &found.pixels,
            &expected,
            1e-11,
            &format!("{nan:?} {edge:?}"),
        );
    }
}

#[test]
fn lengths_that_do_not_suit_are_refused() {
    let cpu = Cpu::new();
    let size = (20, 30);
    let image = Image::noise(20, 30, 1);
    let slow = convolution(size, KERNELS[0], Edge::Wrap, NanRule::Keep);
    let refuse = |wrong: Convolution| {
        let mut workload = workload(size, Precision::F32, &slow);
        workload.add(20, 30, wrong);
        let mut lane = cpu.lane(&workload).expect("a lane");
        run_lane(&mut *lane, &image, Precision::F32, &wrong).expect_err("refused")
    };
    for lengths in [
        (64, 32),
        (64, 20),
        (60, 16),
        (0, 0),
        (usize::MAX, usize::MAX),
    ] {
        let refused = refuse(in_strips(slow, lengths));
        assert!(
            matches!(refused, BackendError::Unplanned { .. }),
            "{lengths:?}"
        );
    }
    // 20 pixels: too small a halo behind, a halo wider than the image, none on a longer row.
    for (nx, halo_x) in [(35, 8), (70, 24), (41, 0), (44, 3)] {
        let grid = Grid { nx, ny: 30 };
        let refused = refuse(Convolution {
            grid,
            halo_x,
            ..slow
        });
        assert!(
            matches!(refused, BackendError::Grid { .. }),
            "{nx} {halo_x}"
        );
    }
}
