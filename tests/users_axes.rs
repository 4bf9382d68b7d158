//! USERS.md 1d, A01 to A16: axes, sky and orientation, through the command.
//! One test or more for each id; the right pixels are analytic.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod support;

use support::scene::axis;
use support::sky::{diagonal, turned};
use support::*;

/// A second target, long enough to show a wrong angle.
const LONG: Beam = [44.0, 17.0, 100.0];

#[test]
fn a01_both_orders_with_a_beam_for_each_channel() {
    for order in [Order::Casa, Order::Askap] {
        let bench = Bench::new();
        let hdu = hypercube(order, (5, 4), |c, _| BEAMS5[c], &casambm());
        let axes = scene::cube_axes(order, 5, 4);
        bench.put("c", &[hdu, BeamTable::new(&BEAMS5).hdu()]);
        bench.smooth_to(TGT).file("c").run().ok();
        let fits = bench.read("c");
        assert_eq!(fits.primary().axes(), axes);
        check_planes(fits.primary(), TGT, &[]);
        bench.smooth().arg("--overwrite").file("c").run().ok();
        let common = bench.read("c").primary().beam().expect("a beam");
        check_planes(bench.read("c").primary(), common, &[]);
    }
}

#[test]
fn a01_equal_channel_and_stokes_counts_are_told_apart_by_ctype() {
    for order in [Order::Casa, Order::Askap] {
        let bench = Bench::new();
        let hdu = hypercube(order, (4, 4), |c, _| BEAMS5[c], &casambm());
        bench.put("c", &[hdu, BeamTable::new(&BEAMS5[..4]).hdu()]);
        bench.smooth_to(TGT).file("c").run().ok();
        check_planes(bench.read("c").primary(), TGT, &[]);
    }
}

#[test]
fn a01_celestial_axes_that_are_not_first_are_right_or_refused() {
    let g = Grid::default();
    let source = g.gaussian(OLD);
    let interleaved: Vec<f64> = source.iter().flat_map(|v| [*v; 3]).collect();
    let sky = g.cards(Wcs::Cdelt);
    let mut cards = axis(1, "FREQ");
    for card in &sky.0 {
        let text = String::from_utf8_lossy(card).into_owned();
        let (key, rest) = text.split_at(8);
        let moved = key.trim_end().replace('2', "3").replace('1', "2");
        cards = cards.line(format!("{moved:<8}{}", rest.trim_end()));
    }
    let cards = cards.set("BUNIT", "Jy/beam").and(&beam_cards(OLD));
    let bench = Bench::new();
    bench.put(
        "c",
        &[Hdu::primary(
            &[3, g.nx, g.ny],
            &Samples::f32(&interleaved),
            &cards,
        )],
    );
    let outcome = bench.smooth_to(TGT).file("c").run();
    if outcome.code == 0 {
        let want: Vec<f64> = g.gaussian(TGT).iter().flat_map(|v| [*v; 3]).collect();
        close(&bench.read("c").primary().pixels(), &want, "interleaved");
    } else {
        outcome.refused(3, &["c.fits"]);
    }
}

#[test]
fn a02_three_axes_without_stokes_are_normal() {
    for ctype in ["FREQ", "VRAD", "VELO-LSR", "WAVE", "VOPT"] {
        let bench = Bench::new();
        let g = Grid::default();
        let cards = image_cards(OLD)
            .without("BMAJ")
            .without("BMIN")
            .without("BPA");
        let cards = cards.and(&axis(3, ctype)).and(&casambm());
        let pixels = Samples::f32(&scene::planes(&BEAMS5));
        let hdu = Hdu::primary(&[g.nx, g.ny, 5], &pixels, &cards);
        bench.put("c", &[hdu, BeamTable::new(&BEAMS5).hdu()]);
        bench.smooth_to(TGT).file("c").run().ok();
        check_planes(bench.read("c").primary(), TGT, &[]);
    }
}

/// Smooths an image repeated over these further axes; the shape must stay.
fn shaped(more: &[(usize, &str)]) {
    let g = Grid::default();
    let mut cards = image_cards(OLD);
    let mut axes = vec![g.nx, g.ny];
    for (i, (length, ctype)) in more.iter().enumerate() {
        axes.push(*length);
        if !ctype.is_empty() {
            cards = cards.and(&axis(i + 3, ctype));
        }
    }
    let planes: usize = axes[2..].iter().product();
    let pixels = Samples::f32(&scene::planes(&vec![OLD; planes]));
    let bench = Bench::new();
    bench.put("c", &[Hdu::primary(&axes, &pixels, &cards)]);
    bench.smooth_to(TGT).file("c").run().ok();
    let fits = bench.read("c");
    assert_eq!(fits.primary().axes(), axes);
    check_planes(fits.primary(), TGT, &[]);
}

#[test]
fn a04_degenerate_axes_are_a_plain_image() {
    shaped(&[(1, "STOKES")]);
    shaped(&[(1, "FREQ")]);
    shaped(&[(1, "")]);
    shaped(&[(1, "FREQ"), (1, "STOKES")]);
    shaped(&[(1, "STOKES"), (1, "FREQ")]);
}

#[test]
fn a07_continuum_with_four_stokes() {
    shaped(&[(4, "STOKES")]);
    shaped(&[(4, "STOKES"), (1, "FREQ")]);
    shaped(&[(1, "FREQ"), (4, "STOKES")]);
}

#[test]
fn a08_five_axes_and_more() {
    shaped(&[(1, "FREQ"), (1, "STOKES"), (1, "TIME")]);
    shaped(&[(3, "FREQ"), (2, "STOKES"), (1, "TIME")]);
    shaped(&[(1, "TIME"), (2, "STOKES"), (3, "FREQ")]);
    shaped(&[(1, "FREQ"), (1, "STOKES"), (1, ""), (1, "")]);
}

#[test]
fn a08_no_ctype_at_all_is_right_or_refused() {
    let g = Grid::default();
    let cards = image_cards(OLD).without("CTYPE1").without("CTYPE2");
    let bench = Bench::new();
    bench.put(
        "c",
        &[Hdu::primary(
            &[g.nx, g.ny],
            &Samples::f32(&g.gaussian(OLD)),
            &cards,
        )],
    );
    let outcome = bench.smooth_to(TGT).file("c").run();
    if outcome.code == 0 {
        check_planes(bench.read("c").primary(), TGT, &[]);
    } else {
        outcome.refused(3, &["CTYPE"]);
    }
}

#[test]
fn a09_every_stokes_plane_is_smoothed() {
    for order in [Order::Casa, Order::Askap] {
        let bench = Bench::new();
        let sign = |s: usize| if s == 0 { 1.0 } else { -0.25 * s as f64 };
        let mut pixels = Vec::new();
        let mut want = Vec::new();
        for k in 0..20 {
            let (c, s) = if order == Order::Casa {
                (k / 4, k % 4)
            } else {
                (k % 5, k / 5)
            };
            let scaled = |b: Beam| {
                Grid::default()
                    .gaussian(b)
                    .into_iter()
                    .map(move |v| v * sign(s))
            };
            pixels.extend(scaled(BEAMS5[c]));
            want.push(scaled(TGT).collect::<Vec<f64>>());
        }
        let cards = cube_cards(order).and(&casambm());
        let hdu = Hdu::primary(
            &scene::cube_axes(order, 5, 4),
            &Samples::f32(&pixels),
            &cards,
        );
        bench.put("c", &[hdu, BeamTable::new(&BEAMS5).hdu()]);
        bench.smooth_to(TGT).file("c").run().ok();
        let planes = bench.read("c").primary().planes();
        for (k, (got, want)) in planes.iter().zip(&want).enumerate() {
            close(got, want, &format!("{order:?} plane {k}"));
        }
    }
}

#[test]
fn a10_rectangles_of_any_size() {
    for (nx, ny) in [(150, 100), (100, 150), (101, 67), (64, 97), (128, 61)] {
        let g = Grid {
            nx,
            ny,
            x0: nx as f64 / 2.0 + 3.0,
            y0: ny as f64 / 2.0 - 2.0,
            ..Grid::default()
        };
        let cards = g
            .cards(Wcs::Cdelt)
            .set("BUNIT", "Jy/beam")
            .and(&beam_cards(OLD));
        let bench = Bench::new();
        bench.put(
            "c",
            &[Hdu::primary(
                &[nx, ny],
                &Samples::f32(&g.gaussian(OLD)),
                &cards,
            )],
        );
        bench.smooth_to([22.0, 18.0, 20.0]).file("c").run().ok();
        let hdu = bench.read("c").primary().clone();
        assert_eq!(hdu.axes(), [nx, ny]);
        close(
            &hdu.pixels(),
            &g.gaussian([22.0, 18.0, 20.0]),
            &format!("{nx} x {ny}"),
        );
    }
}

#[test]
fn a11_one_channel_in_four_axes() {
    for order in [Order::Casa, Order::Askap] {
        let bench = Bench::new();
        bench.put(
            "c",
            &[hypercube(order, (1, 1), |_, _| OLD, &beam_cards(OLD))],
        );
        bench.smooth_to(TGT).file("c").run().ok();
        let fits = bench.read("c");
        assert_eq!(fits.primary().axes(), [70, 60, 1, 1]);
        check_planes(fits.primary(), TGT, &[]);
    }
}

/// An image on this grid with these sky cards, smoothed to both targets.
fn oriented(grid: Grid, sky: &Cards, what: &str) {
    let cards = sky.clone().set("BUNIT", "Jy/beam").and(&beam_cards(OLD));
    let pixels = Samples::f32(&grid.gaussian(OLD));
    let bench = Bench::new();
    bench.put("c", &[Hdu::primary(&[grid.nx, grid.ny], &pixels, &cards)]);
    for target in [TGT, LONG] {
        let run = bench.smooth_to(target).arg("--overwrite").file("c").run();
        run.ok();
        let got = bench.read("c").primary().pixels();
        close(
            &got,
            &grid.gaussian(target),
            &format!("{what}, target {target:?}"),
        );
    }
}

#[test]
fn a12_flipped_images() {
    for (x, y) in [(PIX, PIX), (-PIX, -PIX), (PIX, -PIX), (-PIX, PIX)] {
        let grid = Grid::with(diagonal(x, y));
        for form in [
            Wcs::Cdelt,
            Wcs::Cd,
            Wcs::CdDiagonal,
            Wcs::Pc,
            Wcs::PcAlone,
            Wcs::Crota(0.0),
        ] {
            oriented(
                grid,
                &grid.cards(form),
                &format!("pixels {x}, {y} by {form:?}"),
            );
        }
    }
}

#[test]
fn a12_declination_on_the_first_axis() {
    for (north, east) in [(PIX, -PIX), (PIX, PIX), (-PIX, 3.0)] {
        let grid = Grid::with([[0.0, east], [north, 0.0]]);
        for form in [Wcs::Cdelt, Wcs::Cd, Wcs::Pc] {
            let what = format!("north {north} on x, east {east} on y by {form:?}");
            oriented(grid, &grid.cards_latitude_first(form), &what);
        }
    }
}

#[test]
fn a12_flipped_channels_of_a_cube() {
    let grid = Grid::with(diagonal(PIX, PIX));
    let pixels: Vec<f64> = BEAMS5.iter().flat_map(|b| grid.gaussian(*b)).collect();
    let cards = grid
        .cards(Wcs::Cdelt)
        .set("BUNIT", "Jy/beam")
        .and(&axis(3, "FREQ"))
        .and(&casambm());
    let bench = Bench::new();
    let hdu = Hdu::primary(&[grid.nx, grid.ny, 5], &Samples::f32(&pixels), &cards);
    bench.put("c", &[hdu, BeamTable::new(&BEAMS5).hdu()]);
    bench.smooth_to(LONG).file("c").run().ok();
    for plane in bench.read("c").primary().planes() {
        close(&plane, &grid.gaussian(LONG), "flipped cube");
    }
}

#[test]
fn a13_rotated_sky() {
    for angle in [30.0, -75.0, 90.0, 170.0] {
        let grid = Grid::with(turned(-PIX, PIX, angle));
        for form in [
            Wcs::Crota(angle),
            Wcs::Cd,
            Wcs::Pc,
            Wcs::PcAlone,
            Wcs::PcOld,
        ] {
            oriented(
                grid,
                &grid.cards(form),
                &format!("turned by {angle} as {form:?}"),
            );
        }
    }
}

#[test]
fn a13_rotated_flipped_and_not_square() {
    for (x, y) in [
        (PIX, PIX),
        (-PIX, 1.5 * PIX),
        (1.5 * PIX, -PIX),
        (PIX, 1.3 * PIX),
    ] {
        for angle in [30.0, -60.0] {
            let grid = Grid::with(turned(x, y, angle));
            for form in [Wcs::Crota(angle), Wcs::Cd, Wcs::Pc, Wcs::PcOld] {
                let what = format!("pixels {x}, {y} turned by {angle} as {form:?}");
                oriented(grid, &grid.cards(form), &what);
            }
        }
    }
}

#[test]
fn a13_sheared_pixels() {
    let grid = Grid::with([[-2.0, 0.7], [0.4, 2.5]]);
    for form in [Wcs::Cd, Wcs::Pc, Wcs::PcAlone, Wcs::PcOld] {
        oriented(grid, &grid.cards(form), &format!("sheared as {form:?}"));
    }
}

#[test]
fn a13_cd_matrix_wins_over_a_left_over_cdelt() {
    let grid = Grid::with(turned(-PIX, PIX, 30.0));
    let cards = grid.cards(Wcs::Cd).set("CDELT1", 1.0).set("CDELT2", 1.0);
    oriented(grid, &cards, "CD and CDELT = 1");
}

#[test]
fn a14_cd_without_cdelt() {
    let grid = Grid::default();
    oriented(grid, &grid.cards(Wcs::CdDiagonal), "CD1_1 and CD2_2");
    oriented(grid, &grid.cards(Wcs::Cd), "four CD cards");
}

#[test]
fn a14_units_of_the_axes() {
    let rad = std::f64::consts::PI / 180.0 / 3600.0;
    for (unit, size) in [
        ("arcsec", 1.0),
        ("arcmin", 1.0 / 60.0),
        ("rad", rad),
        ("deg", 1.0 / 3600.0),
    ] {
        let grid = Grid::default();
        let cards = grid
            .cards(Wcs::Cdelt)
            .set("CUNIT1", unit)
            .set("CUNIT2", unit)
            .set("CDELT1", -PIX * size)
            .set("CDELT2", PIX * size);
        oriented(grid, &cards, unit);
    }
    let grid = Grid::default();
    oriented(
        grid,
        &grid.cards(Wcs::Cdelt).without("CUNIT1").without("CUNIT2"),
        "no CUNIT",
    );
}

#[test]
fn a14_other_celestial_names() {
    for (lon, lat) in [
        ("RA---TAN", "DEC--TAN"),
        ("GLON-CAR", "GLAT-CAR"),
        ("ELON-SIN", "ELAT-SIN"),
        ("RA---NCP", "DEC--NCP"),
        ("RA", "DEC"),
    ] {
        let grid = Grid::default();
        let cards = grid.cards(Wcs::Cdelt).set("CTYPE1", lon).set("CTYPE2", lat);
        oriented(grid, &cards, lon);
    }
}

#[test]
fn a14_no_pixel_size_is_refused() {
    let g = Grid::default();
    let cards = image_cards(OLD).without("CDELT1").without("CDELT2");
    let bench = Bench::new();
    bench.put(
        "c",
        &[Hdu::primary(
            &[g.nx, g.ny],
            &Samples::f32(&g.gaussian(OLD)),
            &cards,
        )],
    );
    bench.smooth_to(TGT).file("c").run().refused(3, &["CDELT"]);
    let zero = cards.set("CDELT1", 0.0).set("CDELT2", 0.0);
    bench.put(
        "c",
        &[Hdu::primary(
            &[g.nx, g.ny],
            &Samples::f32(&g.gaussian(OLD)),
            &zero,
        )],
    );
    bench.smooth_to(TGT).file("c").run().refused(3, &["c.fits"]);
}

#[test]
fn a15_pixels_that_are_not_square() {
    for (x, y) in [(-PIX, 1.5 * PIX), (-1.5 * PIX, PIX), (-PIX, 0.8 * PIX)] {
        let grid = Grid::with(diagonal(x, y));
        oriented(grid, &grid.cards(Wcs::Cdelt), &format!("pixels {x}, {y}"));
    }
}

#[test]
fn a15_cubes_whose_pixels_are_not_square() {
    let grid = Grid::with(diagonal(-PIX, 1.5 * PIX));
    let pixels: Vec<f64> = BEAMS5.iter().flat_map(|b| grid.gaussian(*b)).collect();
    let cards = grid
        .cards(Wcs::Cdelt)
        .set("BUNIT", "Jy/beam")
        .and(&axis(3, "FREQ"))
        .and(&casambm());
    let bench = Bench::new();
    let hdu = Hdu::primary(&[grid.nx, grid.ny, 5], &Samples::f32(&pixels), &cards);
    bench.put("c", &[hdu, BeamTable::new(&BEAMS5).hdu()]);
    bench.smooth_to(TGT).file("c").run().ok();
    for plane in bench.read("c").primary().planes() {
        close(&plane, &grid.gaussian(TGT), "cube");
    }
}

#[test]
fn a16_the_angle_runs_from_north_through_east() {
    for from in [[16.0, 8.0, 10.0], [16.0, 8.0, 100.0]] {
        for to in [[32.0, 17.0, 10.0], [32.0, 17.0, 100.0], [32.0, 17.0, -80.0]] {
            let bench = Bench::new();
            put_image(&bench, "c", from);
            bench.smooth_to(to).file("c").run().ok();
            check_planes(bench.read("c").primary(), to, &[]);
        }
    }
}

#[test]
fn a16_negative_and_large_angles_are_the_same_beam() {
    for angle in [-160.0, 200.0, 20.0, -340.0] {
        let bench = Bench::new();
        put_image(&bench, "c", OLD);
        bench.smooth_to([30.0, 28.0, angle]).file("c").run().ok();
        check_planes(bench.read("c").primary(), TGT, &[]);
        let written = bench.read("c").primary().real("BPA").unwrap();
        assert!((written - 20.0).abs() < 1e-9, "BPA {written}");
    }
    let bench = Bench::new();
    put_image(&bench, "c", OLD);
    bench.smooth_to([30.0, 25.0, 170.0]).file("c").run().ok();
    assert!((bench.read("c").primary().real("BPA").unwrap() + 10.0).abs() < 1e-9);
}
