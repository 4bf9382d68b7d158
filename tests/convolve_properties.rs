//! What must hold for every backend, kernel and precision, whatever the pixels.
#![allow(clippy::expect_used, clippy::panic, reason = "helpers of tests")]

mod planes;

use std::f64::consts::{LN_2, PI};

use mmfits::convolve::reference::Reference;
use mmfits::convolve::{Backend, Cpu};
use mmfits::kernel::PixelCovariance;
use mmfits::plan::{Edge, NanRule, Precision};

use planes::{Image, assert_close, convolution, smooth};

const ROTATED: PixelCovariance = PixelCovariance {
    xx: 40.0,
    xy: 11.0,
    yy: 52.0,
};
const NARROW: PixelCovariance = PixelCovariance {
    xx: 1.3,
    xy: -0.9,
    yy: 1.1,
};

/// Each property for each backend, precision and edge.
fn for_each(property: impl Fn(&dyn Backend, Precision, Edge, f64)) {
    let backends: [&dyn Backend; 2] = [&Cpu::new(), &Reference];
    for backend in backends {
        for edge in [Edge::Zero, Edge::Wrap] {
            property(backend, Precision::F32, edge, 2e-6);
            property(backend, Precision::F64, edge, 1e-12);
        }
    }
}

/// The kernel itself at an offset from its centre, px: the Gaussian of unit sum.
fn gaussian(kernel: &PixelCovariance, dx: f64, dy: f64) -> f64 {
    let determinant = kernel.xx * kernel.yy - kernel.xy * kernel.xy;
    let form = kernel.yy * dx * dx - 2.0 * kernel.xy * dx * dy + kernel.xx * dy * dy;
    4.0 * LN_2 / (PI * determinant.sqrt()) * (-4.0 * LN_2 * form / determinant).exp()
}

#[test]
fn an_impulse_gives_the_kernel() {
    let (nx, ny, x0, y0) = (47, 50, 20, 27);
    let impulse = Image::from_fn(nx, ny, |x, y| f64::from(u8::from((x, y) == (x0, y0))));
    for_each(|backend, precision, edge, tolerance| {
        let convolution = convolution((nx, ny), ROTATED, edge, NanRule::Keep);
        let found = smooth(backend, &impulse, precision, &convolution);
        let expected = Image::from_fn(nx, ny, |x, y| {
            let (dx, dy) = (x as f64 - x0 as f64, y as f64 - y0 as f64);
            1.7 * gaussian(&ROTATED, dx, dy)
        });
        // The far tails differ: with wrapping edges they come round.
        let tolerance = if edge == Edge::Wrap {
            tolerance.max(1e-9)
        } else {
            tolerance
        };
        assert_close(&found.pixels, &expected.pixels, tolerance, backend.name());
    });
}

#[test]
fn flux_is_kept() {
    let (nx, ny) = (26, 35);
    let noise = Image::noise(nx, ny, 3);
    for_each(|backend, precision, _, tolerance| {
        let convolution = convolution((nx, ny), ROTATED, Edge::Wrap, NanRule::Keep);
        let found = smooth(backend, &noise, precision, &convolution);
        let (before, after): (f64, f64) = (noise.pixels.iter().sum(), found.pixels.iter().sum());
        let scale = noise.pixels.iter().map(|v| v.abs()).sum::<f64>();
        assert!(
            (after - 1.7 * before).abs() < tolerance * scale,
            "{}",
            backend.name()
        );
    });
}

#[test]
fn sums_go_to_sums() {
    let (nx, ny) = (26, 35);
    let (one, other) = (Image::noise(nx, ny, 4), Image::noise(nx, ny, 5));
    let sum = Image::from_fn(nx, ny, |x, y| one.at(x, y) - 0.5 * other.at(x, y));
    for_each(|backend, precision, edge, tolerance| {
        let convolution = convolution((nx, ny), NARROW, edge, NanRule::Keep);
        let [one, other, sum] =
            [&one, &other, &sum].map(|image| smooth(backend, image, precision, &convolution));
        let expected = Image::from_fn(nx, ny, |x, y| one.at(x, y) - 0.5 * other.at(x, y));
        assert_close(&sum.pixels, &expected.pixels, tolerance, backend.name());
    });
}

#[test]
fn a_shifted_image_gives_the_shifted_result() {
    let (nx, ny) = (26, 35);
    let noise = Image::noise(nx, ny, 6);
    let shifted = |image: &Image| {
        Image::from_fn(nx, ny, |x, y| {
            image.at((x + nx - 5) % nx, (y + ny - 9) % ny)
        })
    };
    for_each(|backend, precision, _, tolerance| {
        let convolution = convolution((nx, ny), NARROW, Edge::Wrap, NanRule::Keep);
        let expected = shifted(&smooth(backend, &noise, precision, &convolution));
        let found = smooth(backend, &shifted(&noise), precision, &convolution);
        assert_close(&found.pixels, &expected.pixels, tolerance, backend.name());
    });
}

/// The smoothed mirror image, mirrored back, along x and along y.
fn by_way_of_the_mirror(
    backend: &dyn Backend,
    image: &Image,
    precision: Precision,
    (edge, nan): (Edge, NanRule),
) -> [Image; 2] {
    let turned = PixelCovariance {
        xy: -NARROW.xy,
        ..NARROW
    };
    let mirrored = convolution((image.nx, image.ny), turned, edge, nan);
    [
        smooth(backend, &image.mirrored_x(), precision, &mirrored).mirrored_x(),
        smooth(backend, &image.mirrored_y(), precision, &mirrored).mirrored_y(),
    ]
}

#[test]
fn a_mirror_image_gives_the_mirror_image_of_the_result() {
    // An even transform length beside an odd one (33 is padded to 45): its Nyquist bins are where
    // one-sided frequencies go wrong.
    for (nx, ny) in [(24, 33), (33, 24)] {
        let image = Image::noise(nx, ny, 8).with_blanks();
        for nan in [NanRule::Keep, NanRule::Racs, NanRule::Interpolate] {
            for_each(|backend, precision, edge, tolerance| {
                let direct = convolution((nx, ny), NARROW, edge, nan);
                let expected = smooth(backend, &image, precision, &direct);
                let what = format!("{} {precision:?} {edge:?} {nan:?}", backend.name());
                for found in by_way_of_the_mirror(backend, &image, precision, (edge, nan)) {
                    assert_close(&found.pixels, &expected.pixels, tolerance, &what);
                }
            });
        }
    }
}

#[test]
fn with_two_even_lengths_the_mirror_changes_only_the_checkerboard() {
    // The bin that is Nyquist on both axes has no partner to take the mean with.
    let (nx, ny) = (24, 34);
    let image = Image::noise(nx, ny, 8);
    for_each(|backend, precision, _, tolerance| {
        let direct = convolution((nx, ny), NARROW, Edge::Wrap, NanRule::Keep);
        let expected = smooth(backend, &image, precision, &direct);
        for found in by_way_of_the_mirror(backend, &image, precision, (Edge::Wrap, NanRule::Keep)) {
            let off = |x: usize, y: usize| {
                let sign = if (x + y).is_multiple_of(2) { 1.0 } else { -1.0 };
                sign * (found.at(x, y) - expected.at(x, y))
            };
            for (x, y) in (0..nx).flat_map(|x| (0..ny).map(move |y| (x, y))) {
                assert!(
                    (off(x, y) - off(0, 0)).abs() < 2.0 * tolerance,
                    "{}",
                    backend.name()
                );
            }
        }
    });
}

#[test]
fn no_kernel_and_no_gain_give_the_image() {
    let (nx, ny) = (21, 18);
    let noise = Image::noise(nx, ny, 9);
    for_each(|backend, precision, edge, tolerance| {
        let mut convolution =
            convolution((nx, ny), PixelCovariance::default(), edge, NanRule::Keep);
        convolution.gain = 1.0;
        let found = smooth(backend, &noise, precision, &convolution);
        assert_close(&found.pixels, &noise.pixels, tolerance, backend.name());
    });
}

#[test]
fn blanks_follow_their_rule() {
    let (nx, ny) = (30, 22);
    let image = Image::noise(nx, ny, 10).with_blanks();
    let constant = Image::from_fn(nx, ny, |x, y| {
        if image.at(x, y).is_finite() {
            2.0
        } else {
            f64::NAN
        }
    });
    for_each(|backend, precision, edge, tolerance| {
        let kept = convolution((nx, ny), ROTATED, edge, NanRule::Keep);
        let found = smooth(backend, &image, precision, &kept);
        for (f, i) in found.pixels.iter().zip(&image.pixels) {
            assert_eq!(f.is_nan(), !i.is_finite(), "{}", backend.name());
        }
        // A constant with holes is that constant again once the holes are divided out.
        let filled = convolution((nx, ny), ROTATED, Edge::Wrap, NanRule::Interpolate);
        let found = smooth(backend, &constant, precision, &filled);
        for value in found.pixels.iter().filter(|v| !v.is_nan()) {
            assert!(
                (value - 3.4).abs() < 1e3 * tolerance,
                "{} {value}",
                backend.name()
            );
        }
        let racs = convolution((nx, ny), NARROW, edge, NanRule::Racs);
        let found = smooth(backend, &image, precision, &racs);
        assert!(
            found.at(1, 1).is_nan() && !found.at(nx / 2, ny - 1).is_nan(),
            "{}",
            backend.name()
        );
    });
}

#[test]
fn a_wholly_blank_plane_stays_blank() {
    let image = Image::from_fn(
        14,
        9,
        |x, _| if x % 2 == 0 { f64::NAN } else { f64::INFINITY },
    );
    for nan in [NanRule::Keep, NanRule::Racs, NanRule::Interpolate] {
        for_each(|backend, precision, edge, _| {
            let convolution = convolution((14, 9), ROTATED, edge, nan);
            let found = smooth(backend, &image, precision, &convolution);
            assert!(
                found.pixels.iter().all(|v| v.is_nan()),
                "{}",
                backend.name()
            );
        });
    }
}
