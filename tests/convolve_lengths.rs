//! Padded lengths that are transformed fast instead of the next ones, where the plan allows it:
//! against the naive Fourier sums on the next ones.
#![allow(clippy::expect_used, clippy::panic, reason = "helpers of tests")]

mod planes;

use mmfits::convolve::{Cpu, reference};
use mmfits::kernel::{Grid, PixelCovariance};
use mmfits::plan::{Convolution, Edge, NanRule, Precision};

use planes::{Image, assert_close, convolution, smooth};

fn kernel(xx: f64, xy: f64, yy: f64) -> PixelCovariance {
    PixelCovariance { xx, xy, yy }
}

/// Nothing but one pixel at each corner: what comes in again from the far side is worst there.
fn corners(nx: usize, ny: usize) -> Image {
    let mut image = Image::noise(nx, ny, 1);
    image.pixels.fill(0.0);
    for corner in [0, nx - 1, nx * (ny - 1), nx * ny - 1] {
        image.pixels[corner] = 1.0;
    }
    image
}

fn fast_and_next(
    size: (usize, usize),
    kernel: PixelCovariance,
    precision: Precision,
) -> (Convolution, Convolution) {
    let next = convolution(size, kernel, Edge::Zero, NanRule::Keep);
    (next.made_fast(size, precision), next)
}

#[test]
fn fast_lengths_give_what_the_next_ones_give() {
    let cpu = Cpu::new();
    // Just wide enough for the precision, and rotated.
    let single = [kernel(16.0, 0.0, 15.2), kernel(19.0, 5.0, 24.0)];
    let double = [kernel(33.0, 0.0, 32.0), kernel(45.0, -9.0, 38.0)];
    let kernels = single
        .map(|k| (Precision::F32, 2e-6, k))
        .into_iter()
        .chain(double.map(|k| (Precision::F64, 1e-12, k)));
    for (precision, tolerance, kernel) in kernels {
        let mut others = 0;
        for size in [(27, 53), (70, 31), (117, 22), (1, 60), (86, 1)] {
            let (fast, next) = fast_and_next(size, kernel, precision);
            others += usize::from(fast.grid.nx != next.grid.nx);
            others += usize::from(fast.grid.ny != next.grid.ny);
            let what = format!("{size:?} {kernel:?} {precision:?}");
            let image = corners(size.0, size.1);
            let found = smooth(&cpu, &image, precision, &fast).pixels;
            let expected = reference::convolve(&image.pixels, image.nx, &next);
            assert_close(&found, &expected, tolerance, &what);
            let noise = Image::noise(size.0, size.1, 5);
            let found = smooth(&cpu, &noise, precision, &fast).pixels;
            let expected = smooth(&cpu, &noise, precision, &next).pixels;
            assert_close(&found, &expected, tolerance, &what);
        }
        assert!(others > 2, "{kernel:?} {precision:?}: {others}");
    }
}

/// The peak of a source under a long kernel is low, and what rings is measured against it.
#[test]
fn long_kernels_give_what_the_next_lengths_give() {
    let cpu = Cpu::new();
    let single = [(2.75, 1e6), (3.2, 9e4), (3.9, 9e4)].map(|kernel| (Precision::F32, 2e-6, kernel));
    let double =
        [(4.97, 1e6), (5.2, 9e4), (5.6, 9e4)].map(|kernel| (Precision::F64, 1e-12, kernel));
    for (precision, tolerance, (narrow, long)) in single.into_iter().chain(double) {
        let mut others = 0;
        for size in [(27, 20), (86, 13)] {
            let (fast, next) = fast_and_next(size, kernel(narrow * narrow, 0.0, long), precision);
            others += usize::from(fast.grid.nx != next.grid.nx);
            // The columns are not the question.
            let fast = Convolution {
                grid: Grid {
                    ny: next.grid.ny,
                    ..fast.grid
                },
                columns: next.columns,
                ..fast
            };
            let image = corners(size.0, size.1);
            let found = smooth(&cpu, &image, precision, &fast).pixels;
            let expected = smooth(&cpu, &image, Precision::F64, &next).pixels;
            let what = format!("{size:?} {narrow} px {precision:?}");
            assert_close(&found, &expected, tolerance, &what);
        }
        let wide = [3.9, 5.6].contains(&narrow);
        assert!(others > 0 || !wide, "{narrow} px {precision:?}");
    }
}

#[test]
fn kernels_that_ring_keep_the_next_lengths() {
    for precision in [Precision::F32, Precision::F64] {
        for kernel in [kernel(4.0, 0.0, 5.0), kernel(12.0, -3.0, 12.0)] {
            let (fast, next) = fast_and_next((1001, 403), kernel, precision);
            assert_eq!(fast, next);
        }
    }
    // Only along x, for single precision alone.
    let flat = kernel(25.0, 0.0, 4.0);
    let (fast, next) = fast_and_next((1021, 203), flat, Precision::F32);
    let ny = next.grid.ny;
    assert_eq!((fast.grid, next.grid.nx), (Grid { nx: 1080, ny }, 1050));
    assert_eq!(fast_and_next((1021, 203), flat, Precision::F64).0, next);
}
