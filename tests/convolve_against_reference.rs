//! The CPU backend against the naive Fourier sums: every kind of size, kernel, edge, rule for
//! blanks and precision.
#![allow(clippy::expect_used, clippy::panic, reason = "helpers of tests")]

mod planes;

use mmfits::convolve::{Cpu, reference};
use mmfits::kernel::PixelCovariance;
use mmfits::plan::{Edge, NanRule, Precision};

use planes::{Image, assert_close, convolution, smooth};

/// Odd, even, prime, one row, one column, one pixel; never square but for the last.
const SIZES: [(usize, usize); 9] = [
    (12, 10),
    (13, 16),
    (31, 17),
    (9, 14),
    (34, 1),
    (1, 20),
    (2, 3),
    (33, 40),
    (1, 1),
];

/// Round; narrow and rotated, where the Nyquist bins matter; wide, where columns are dropped; a
/// line; and none at all.
const KERNELS: [PixelCovariance; 6] = [
    PixelCovariance {
        xx: 9.0,
        xy: 0.0,
        yy: 9.0,
    },
    PixelCovariance {
        xx: 1.3,
        xy: 0.9,
        yy: 1.1,
    },
    PixelCovariance {
        xx: 0.5,
        xy: -0.3,
        yy: 2.0,
    },
    PixelCovariance {
        xx: 140.0,
        xy: -60.0,
        yy: 90.0,
    },
    PixelCovariance {
        xx: 4.0,
        xy: -6.0,
        yy: 9.0,
    },
    PixelCovariance {
        xx: 0.0,
        xy: 0.0,
        yy: 0.0,
    },
];

fn tolerance(precision: Precision, nan: NanRule) -> f64 {
    match (precision, nan) {
        (Precision::F32, _) => 2e-6,
        (Precision::F64, NanRule::Interpolate) => 1e-11,
        (Precision::F64, _) => 1e-13,
    }
}

fn check_size(size: (usize, usize), nan: NanRule, blanks: bool) {
    let cpu = Cpu::new();
    let noise = Image::noise(size.0, size.1, 7 + size.0 as u64);
    let image = if blanks { noise.with_blanks() } else { noise };
    for kernel in KERNELS {
        for edge in [Edge::Zero, Edge::Wrap] {
            let convolution = convolution(size, kernel, edge, nan);
            let expected = reference::convolve(&image.pixels, image.nx, &convolution);
            for precision in [Precision::F32, Precision::F64] {
                let found = smooth(&cpu, &image, precision, &convolution);
                let what = format!("{size:?} {kernel:?} {edge:?} {nan:?} {precision:?}");
                assert_close(&found.pixels, &expected, tolerance(precision, nan), &what);
            }
        }
    }
}

#[test]
fn without_blanks() {
    for size in SIZES {
        check_size(size, NanRule::Keep, false);
    }
}

#[test]
fn blanks_kept() {
    for size in SIZES {
        check_size(size, NanRule::Keep, true);
    }
}

#[test]
fn blanks_as_in_racs_tools() {
    for size in SIZES {
        check_size(size, NanRule::Racs, true);
    }
}

#[test]
fn blanks_interpolated() {
    for size in SIZES {
        check_size(size, NanRule::Interpolate, true);
    }
}
