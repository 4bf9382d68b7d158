//! USERS.md 1c, N01 to N15: blanks, edges, flux and units, through the command.
//! One test or more for each id; the right pixels are analytic. Not yet in the command and so not
//! here: N04 (grow, fill), N07, N16, N17.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod support;

use support::sky::kernel;
use support::*;

const NAN: f64 = f64::NAN;

/// Smooths an image of these pixels and BUNIT to a target; gives the output's pixels.
fn smoothed(pixels: &[f64], bunit: &str, target: Beam, args: &[&str]) -> Vec<f64> {
    let g = Grid::default();
    let bench = Bench::new();
    let cards = image_cards(OLD).set("BUNIT", bunit);
    bench.put(
        "c",
        &[Hdu::primary(&[g.nx, g.ny], &Samples::f32(pixels), &cards)],
    );
    bench
        .smooth_to(target)
        .args(args.iter().copied())
        .file("c")
        .run()
        .ok();
    bench.read("c").primary().pixels()
}

/// The usual source without pixel `(x, y)`, and what the rest becomes.
fn without_pixel(x: usize, y: usize) -> (Vec<f64>, Vec<f64>) {
    let g = Grid::default();
    let mut pixels = g.gaussian(OLD);
    let at = y * g.nx + x;
    let lost = pixels[at];
    pixels[at] = NAN;
    #[allow(clippy::cast_precision_loss)]
    let response = Grid {
        x0: x as f64,
        y0: y as f64,
        ..g
    }
    .response(OLD, TGT, true);
    let mut want: Vec<f64> = g
        .gaussian(TGT)
        .iter()
        .zip(response)
        .map(|(v, r)| v - lost * r)
        .collect();
    want[at] = NAN;
    (pixels, want)
}

/// Equal blanks, and equal values elsewhere.
fn close_with_blanks(got: &[f64], want: &[f64], tol: f64, what: &str) {
    same_blanks(got, want, what);
    let valid = |v: &[f64]| -> Vec<f64> {
        v.iter()
            .zip(want)
            .filter(|(_, w)| !w.is_nan())
            .map(|(v, _)| *v)
            .collect()
    };
    close_to(&valid(got), &valid(want), tol, what);
}

#[test]
fn n01_one_nan_blanks_one_pixel() {
    for (x, y) in [(34, 31), (36, 30), (0, 0), (69, 59), (12, 45)] {
        let (pixels, want) = without_pixel(x, y);
        let got = smoothed(&pixels, "Jy/beam", TGT, &[]);
        close_with_blanks(&got, &want, 2e-5, &format!("NaN at {x}, {y}"));
    }
}

#[test]
fn n01_one_nan_in_one_plane_of_a_cube() {
    let (pixels, want) = without_pixel(36, 30);
    let g = Grid::default();
    let all = [g.gaussian(OLD), pixels, g.gaussian(OLD)].concat();
    let bench = Bench::new();
    let cards = cube_cards(Order::Plain).and(&beam_cards(OLD));
    bench.put(
        "c",
        &[Hdu::primary(&[g.nx, g.ny, 3], &Samples::f32(&all), &cards)],
    );
    bench.smooth_to(TGT).file("c").run().ok();
    let planes = bench.read("c").primary().planes();
    close(&planes[0], &g.gaussian(TGT), "plane 0");
    close_with_blanks(&planes[1], &want, 2e-5, "plane 1");
    close(&planes[2], &g.gaussian(TGT), "plane 2");
}

/// The usual source, blank where `blank` says.
fn masked(blank: impl Fn(usize, usize) -> bool) -> Vec<f64> {
    let g = Grid::default();
    let mut pixels = g.gaussian(OLD);
    for (i, v) in pixels.iter_mut().enumerate() {
        if blank(i % g.nx, i / g.nx) {
            *v = NAN;
        }
    }
    pixels
}

#[test]
fn n02_blank_areas_keep_their_size_whatever_the_beams() {
    let masks: [fn(usize, usize) -> bool; 5] = [
        |x, _| x < 15,
        |x, _| x < 35,
        |_, y| y >= 40,
        |x, y| (x * 7 + y * 13) % 11 == 0,
        |x, y| !(20..50).contains(&x) || !(20..45).contains(&y),
    ];
    for mask in masks {
        let pixels = masked(mask);
        for target in [
            [16.2, 9.2, 40.0],
            [16.001, 9.001, 40.0],
            TGT,
            [60.0, 55.0, 0.0],
            OLD,
        ] {
            same_blanks(&smoothed(&pixels, "Jy/beam", target, &[]), &pixels, "keep");
        }
    }
}

#[test]
fn n02_a_wholly_blank_plane_stays_blank() {
    let pixels = vec![NAN; Grid::default().pixels()];
    for nan in ["keep", "racs", "interpolate"] {
        let got = smoothed(&pixels, "Jy/beam", TGT, &["--nan", nan]);
        assert!(got.iter().all(|v| v.is_nan()), "{nan}");
    }
}

/// A flat field of 1 with the columns left of 25 blank.
fn half_field() -> Vec<f64> {
    let g = Grid::default();
    (0..g.pixels())
        .map(|i| if i % g.nx < 25 { NAN } else { 1.0 })
        .collect()
}

/// One value for each column, in every row.
fn columns(value: impl Fn(usize) -> f64) -> Vec<f64> {
    let g = Grid::default();
    (0..g.pixels()).map(|i| value(i % g.nx)).collect()
}

#[test]
fn n03_keep_is_low_beside_a_blank_by_the_missing_weight() {
    let weight = Grid::default().column_weights(kernel(OLD, TGT), |x| x >= 25);
    for (bunit, scale) in [("K", 1.0), ("Jy/beam", area_ratio(TGT, OLD))] {
        let got = smoothed(&half_field(), bunit, TGT, &["--edge", "wrap"]);
        let want = columns(|x| if x < 25 { NAN } else { scale * weight[x] });
        close_with_blanks(&got, &want, 1e-5 * scale, bunit);
    }
}

#[test]
fn n03_interpolate_divides_by_the_weight() {
    let weight = Grid::default().column_weights(kernel(OLD, TGT), |x| x >= 25);
    for (bunit, scale) in [("K", 1.0), ("Jy/beam", area_ratio(TGT, OLD))] {
        let got = smoothed(
            &half_field(),
            bunit,
            TGT,
            &["--edge", "wrap", "--nan", "interpolate"],
        );
        let want = columns(|x| if weight[x] < 1e-3 { NAN } else { scale });
        // A weight of 1e-3 leaves three digits less.
        close_with_blanks(&got, &want, 1e-3 * scale, bunit);
        let near = columns(|x| if weight[x] < 0.2 { NAN } else { scale });
        for (g, w) in got.iter().zip(near).filter(|(_, w)| !w.is_nan()) {
            assert!((g - w).abs() < 1e-5 * scale, "{g}, not {w}");
        }
    }
}

#[test]
fn n05_infinite_pixels_are_blank() {
    for bad in [f64::INFINITY, f64::NEG_INFINITY] {
        let (mut pixels, want) = without_pixel(36, 30);
        for v in pixels.iter_mut().filter(|v| v.is_nan()) {
            *v = bad;
        }
        let got = smoothed(&pixels, "Jy/beam", TGT, &[]);
        close_with_blanks(&got, &want, 2e-5, "infinite");
    }
}

#[test]
fn n09_the_peers_rule_on_request() {
    for target in [TGT, [20.0, 14.0, 40.0], [22.0, 20.0, -70.0]] {
        let valid = Grid::default().column_weights(kernel(OLD, target), |x| x >= 25);
        let ratio = area_ratio(target, OLD);
        for (bunit, scale) in [("K", 1.0), ("Jy/beam", ratio)] {
            let got = smoothed(
                &half_field(),
                bunit,
                target,
                &["--edge", "wrap", "--nan", "racs"],
            );
            let level = |x: usize| ratio.sqrt() * (1.0 - valid[x]);
            let want = columns(|x| {
                if level(x) >= 0.99 {
                    NAN
                } else {
                    scale * valid[x]
                }
            });
            close_with_blanks(&got, &want, 1e-5 * scale, bunit);
        }
    }
}

#[test]
fn n09_the_rules_are_stated_in_the_help() {
    let bench = Bench::new();
    let help = bench
        .mmconv(["smooth", "--help"])
        .run()
        .ok()
        .stdout
        .to_lowercase();
    for word in ["--nan", "keep", "racs", "interpolate", "blank"] {
        assert!(help.contains(word), "no '{word}' in the help");
    }
}

#[test]
fn n10_edges_and_blanks_together() {
    // A flat field with a zero edge: what reaches a pixel is the product of what reaches its
    // column and its row, here for round beams.
    let (from, to) = ([16.0, 16.0, 0.0], [34.0, 34.0, 0.0]);
    let g = Grid::default();
    let wide = |n: usize| {
        Grid { nx: 3 * n, ..g }.column_weights(kernel(from, to), |x| (n..2 * n).contains(&x))
    };
    let (across, along) = (wide(g.nx), wide(g.ny));
    let bench = Bench::new();
    let mut pixels = vec![1.0; g.pixels()];
    let cards = image_cards(from).set("BUNIT", "K");
    bench.put(
        "c",
        &[Hdu::primary(&[g.nx, g.ny], &Samples::f32(&pixels), &cards)],
    );
    bench.smooth_to(to).file("c").run().ok();
    let want: Vec<f64> = (0..g.pixels())
        .map(|i| across[g.nx + i % g.nx] * along[g.ny + i / g.nx])
        .collect();
    close_to(
        &bench.read("c").primary().pixels(),
        &want,
        1e-5,
        "zero edge",
    );
    pixels[0] = NAN;
    bench.put(
        "c",
        &[Hdu::primary(&[g.nx, g.ny], &Samples::f32(&pixels), &cards)],
    );
    bench.smooth_to(to).arg("--overwrite").file("c").run().ok();
    let corner = Grid {
        x0: 0.0,
        y0: 0.0,
        ..g
    }
    .response(from, to, false);
    let mut want: Vec<f64> = want.iter().zip(corner).map(|(w, r)| w - r).collect();
    want[0] = NAN;
    close_with_blanks(
        &bench.read("c").primary().pixels(),
        &want,
        1e-5,
        "blank corner",
    );
}

#[test]
fn n11_no_ghost_at_the_far_edge() {
    for (x, y) in [(2, 31), (67, 31), (34, 1), (34, 58), (0, 0), (69, 59)] {
        #[allow(clippy::cast_precision_loss)]
        let g = Grid {
            x0: x as f64,
            y0: y as f64,
            ..Grid::default()
        };
        let mut point = vec![0.0; g.pixels()];
        point[y * g.nx + x] = 1.0;
        let got = smoothed(&point, "Jy/beam", TGT, &[]);
        close(
            &got,
            &g.response(OLD, TGT, true),
            &format!("point at {x}, {y}"),
        );
    }
    let g = Grid {
        x0: 2.0,
        ..Grid::default()
    };
    let got = smoothed(&g.gaussian(OLD), "Jy/beam", TGT, &[]);
    assert!(got[31 * g.nx + g.nx - 1].abs() < 1e-6);
}

#[test]
fn n11_wrap_repeats_the_image_when_asked() {
    let repeated = |beam: Beam| -> Vec<f64> {
        let mut sum = vec![0.0; Grid::default().pixels()];
        for (dx, dy) in (-1..2).flat_map(|i| (-1..2).map(move |j| (i, j))) {
            let g = Grid::default();
            let shifted = Grid {
                x0: 2.0 + 70.0 * f64::from(dx),
                y0: 57.0 + 60.0 * f64::from(dy),
                ..g
            };
            sum.iter_mut()
                .zip(shifted.gaussian(beam))
                .for_each(|(s, v)| *s += v);
        }
        sum
    };
    let got = smoothed(&repeated(OLD), "Jy/beam", TGT, &["--edge", "wrap"]);
    close(&got, &repeated(TGT), "wrap");
}

#[test]
fn n12_peak_and_point_follow_the_beam_area() {
    let g = Grid::default();
    let got = smoothed(&g.gaussian(OLD), "Jy/beam", TGT, &[]);
    close(&got, &g.gaussian(TGT), "its own beam");
    assert!((got[31 * g.nx + 34] - 1.0).abs() < 2e-6, "the peak moved");
    let sum = |v: &[f64]| v.iter().sum::<f64>();
    let ratio = sum(&got) / sum(&g.gaussian(OLD));
    assert!((ratio / area_ratio(TGT, OLD) - 1.0).abs() < 2e-4, "{ratio}");
}

#[test]
fn n13_kelvin_keeps_its_flux() {
    let g = Grid::default();
    let want: Vec<f64> = g
        .gaussian(TGT)
        .iter()
        .map(|v| v / area_ratio(TGT, OLD))
        .collect();
    for bunit in ["K", "mK", "Jy/pixel", "MJy/sr"] {
        close(&smoothed(&g.gaussian(OLD), bunit, TGT, &[]), &want, bunit);
    }
}

/// The scale of a flat field of 1, or the reason why there is none.
fn scale_of(bunit: &str, args: &[&str]) -> Result<f64, String> {
    let g = Grid::default();
    let bench = Bench::new();
    let flat = Samples::F32(vec![1.0; g.pixels()]);
    bench.put(
        "c",
        &[Hdu::primary(
            &[g.nx, g.ny],
            &flat,
            &image_cards(OLD).set("BUNIT", bunit),
        )],
    );
    let run = bench
        .smooth_to(TGT)
        .args(["--edge", "wrap"])
        .args(args.iter().copied());
    let outcome = run.file("c").run();
    if outcome.code != 0 {
        outcome.refused(3, &[bunit.trim()]);
        return Err("refused".to_owned());
    }
    let fits = bench.read("c");
    assert_eq!(
        fits.primary().text("BUNIT").as_deref(),
        Some(bunit.trim_end())
    );
    let pixels = fits.primary().pixels();
    assert!(pixels.iter().all(|v| (v / pixels[0] - 1.0).abs() < 1e-5));
    Ok(pixels[0])
}

fn check_units(units: &[&str], scale: f64) {
    let mut bad = Vec::new();
    for unit in units {
        match scale_of(unit, &[]) {
            Ok(v) if (v / scale - 1.0).abs() < 1e-5 => {}
            other => bad.push((*unit, other)),
        }
    }
    assert!(bad.is_empty(), "not scaled by {scale}: {bad:?}");
}

#[test]
fn n14_surface_units_are_not_scaled() {
    check_units(
        &[
            "K",
            "mK",
            "uK",
            "K km/s",
            "K.km/s",
            "K km s-1",
            "mK km/s",
            "K (Tb)",
            "K (Tmb)",
            "Jy/pixel",
            "JY/PIXEL",
            "Jy pixel-1",
            "Jy/pix",
            "Jy/sr",
            "MJy/sr",
            "MJY/SR",
            "Jy sr-1",
            "kJy/sr",
            "Jy/arcsec2",
            "Jy/arcsec^2",
            "Jy/arcsec**2",
            "mJy arcsec-2",
        ],
        1.0,
    );
}

#[test]
fn n14_an_unknown_unit_is_refused_unless_told() {
    for unit in ["furlong", "furlong/beamwidth"] {
        scale_of(unit, &[]).unwrap_err();
        let per_beam = scale_of(unit, &["--unit", "per-beam"]).unwrap();
        assert!((per_beam / area_ratio(TGT, OLD) - 1.0).abs() < 1e-5);
        let surface = scale_of(unit, &["--unit", "surface"]).unwrap();
        assert!((surface - 1.0).abs() < 1e-5);
    }
}

#[test]
fn n14_the_flag_overrules_a_known_unit() {
    let per_beam = scale_of("K", &["--unit", "per-beam"]).unwrap();
    assert!((per_beam / area_ratio(TGT, OLD) - 1.0).abs() < 1e-5);
    let surface = scale_of("Jy/beam", &["--unit", "surface"]).unwrap();
    assert!((surface - 1.0).abs() < 1e-5);
}

#[test]
fn n14_no_unit_is_jy_per_beam_with_a_note() {
    let g = Grid::default();
    for cards in [
        image_cards(OLD).without("BUNIT"),
        image_cards(OLD).set("BUNIT", ""),
    ] {
        let bench = Bench::new();
        let flat = Samples::F32(vec![1.0; g.pixels()]);
        bench.put("c", &[Hdu::primary(&[g.nx, g.ny], &flat, &cards)]);
        bench
            .smooth_to(TGT)
            .args(["--edge", "wrap"])
            .file("c")
            .run()
            .ok()
            .says(&["BUNIT"]);
        let got = bench.read("c").primary().pixels()[0];
        assert!((got / area_ratio(TGT, OLD) - 1.0).abs() < 1e-5, "{got}");
    }
}

#[test]
fn n15_spellings_of_a_unit_per_beam() {
    check_units(
        &[
            "Jy/beam",
            "JY/BEAM",
            "jy/beam",
            "Jy/Beam",
            "mJy/beam",
            "MJY/BEAM",
            "uJy/beam",
            "beam-1 Jy",
            "Jy beam-1",
            "JY BEAM-1",
            "Jy beam^-1",
            "Jy beam**-1",
            "Jy.beam-1",
            "Jy/beam km/s",
            "JY/BEAM.KM/S",
            "Jy/beam.km/s",
            "Jy/beam m/s",
            "Jy km/s/beam",
            "Jy/bm",
            "mJy/bm",
            "",
            "JY/BEAM ",
        ],
        area_ratio(TGT, OLD),
    );
}

#[test]
fn n15_the_text_of_the_unit_is_kept() {
    for line in [
        "BUNIT   = 'beam-1 Jy'          / odd order",
        "BUNIT   = 'JY/BEAM '",
        "BUNIT   = 'Jy/beam'",
    ] {
        let g = Grid::default();
        let cards = image_cards(OLD).without("BUNIT").line(line);
        let bench = Bench::new();
        bench.put(
            "c",
            &[Hdu::primary(
                &[g.nx, g.ny],
                &Samples::f32(&g.gaussian(OLD)),
                &cards,
            )],
        );
        bench.smooth_to(TGT).file("c").run().ok();
        let fits = bench.read("c");
        let card = fits.primary().card("BUNIT").expect("BUNIT");
        assert_eq!(card, &card::raw(line));
        close(&fits.primary().pixels(), &g.gaussian(TGT), line);
    }
}
