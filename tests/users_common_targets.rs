//! USERS.md 1b, C11 to C18: targets and kernels, through the command.
//! One test or more for each id; the right pixels are analytic. Not yet in the command and so not
//! here: C11 (grouping), C12.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod support;

use support::*;

fn round(diameter: f64) -> Beam {
    [diameter, diameter, 0.0]
}

#[test]
fn c11_the_target_can_be_another_files_beam() {
    let bench = Bench::new();
    put_image(&bench, "i", TGT);
    put_image(&bench, "v", OLD);
    put_cube(&bench, "q", &BEAMS5);
    let stokes_i = bench.path("i.fits");
    bench
        .smooth()
        .arg("--target-from")
        .path(&stokes_i)
        .file("v")
        .file("q")
        .run()
        .ok();
    check_planes(bench.read("v").primary(), TGT, &[]);
    check_planes(bench.read("q").primary(), TGT, &[]);
}

#[test]
fn c11_cubes_named_together_share_one_beam() {
    let bench = Bench::new();
    put_cube(&bench, "q", &BEAMS5);
    put_cube(&bench, "u", &OTHERS);
    bench.smooth().file("q").file("u").run().ok();
    let got = bench.read("q").primary().beam().unwrap();
    assert!(
        BEAMS5
            .iter()
            .chain(&OTHERS)
            .all(|b| margin(got, *b) > -1e-6)
    );
    check_planes(bench.read("q").primary(), got, &[]);
    check_planes(bench.read("u").primary(), got, &[]);
}

/// Five targets, channel 2 blank.
const TARGETS: [Beam; 5] = [
    [30.0, 28.0, 20.0],
    [31.0, 27.0, -30.0],
    [f64::NAN, f64::NAN, f64::NAN],
    [33.0, 25.0, 80.0],
    [34.0, 34.0, 0.0],
];

/// The outcome of smoothing the usual cube to [`TARGETS`].
fn check_targets(bench: &Bench, name: &str) {
    let fits = bench.read(name);
    check_planes_of(fits.primary(), &TARGETS, &[2], 2e-5);
    assert_eq!(fits.primary().logical("CASAMBM"), Some(true));
    let table = table_beams(&fits);
    for k in [0, 1, 3, 4] {
        same_beam(table[k], TARGETS[k], 1e-6);
    }
    assert!(fits.primary().beam().expect("a beam")[0] > 29.0);
}

#[test]
fn c14_targets_from_a_log_with_a_blank_row() {
    for order in [[0, 1, 2, 3, 4], [3, 2, 4, 0, 1]] {
        let bench = Bench::new();
        put_cube(&bench, "c", &BEAMS5);
        let log = bench.put_text("want.txt", &beam_log(&order.map(|i| (i, TARGETS[i]))));
        let run = bench
            .smooth()
            .arg("--json")
            .arg("--target-from")
            .path(&log)
            .file("c")
            .run()
            .ok();
        let json = &run.json()[0];
        assert_eq!(json["targets"].as_array().expect("targets").len(), 5);
        assert!(json["targets"][2].is_null());
        assert!((json["targets"][1]["bmaj_arcsec"].as_f64().unwrap() - 31.0).abs() < 1e-9);
        check_targets(&bench, "c");
    }
}

#[test]
fn c14_targets_from_the_table_of_a_cube() {
    let bench = Bench::new();
    put_cube(&bench, "c", &BEAMS5);
    bench.put(
        "want",
        &[cube(&[OLD; 5], &casambm()), BeamTable::new(&TARGETS).hdu()],
    );
    let want = bench.path("want.fits");
    bench
        .smooth()
        .arg("--target-from")
        .path(&want)
        .file("c")
        .run()
        .ok();
    check_targets(&bench, "c");
    let log = bench.path("out/beamlog.c.sm.txt");
    put_cube(&bench, "d", &OTHERS);
    bench
        .smooth()
        .arg("--target-from")
        .path(&log)
        .file("d")
        .run()
        .ok();
    check_targets(&bench, "d");
}

#[test]
fn c14_targets_for_every_stokes() {
    for order in [Order::Casa, Order::Askap] {
        let bench = Bench::new();
        let hdu = hypercube(order, (5, 3), |c, _| BEAMS5[c], &casambm());
        bench.put("c", &[hdu, BeamTable::new(&BEAMS5).hdu()]);
        let log = bench.put_text("want.txt", &beam_log_of(&TARGETS));
        bench
            .smooth()
            .arg("--target-from")
            .path(&log)
            .file("c")
            .run()
            .ok();
        let planes: Vec<(usize, Beam)> = match order {
            Order::Casa => (0..15).map(|k| (k, TARGETS[k / 3])).collect(),
            _ => (0..15).map(|k| (k, TARGETS[k % 5])).collect(),
        };
        let blank: Vec<usize> = planes
            .iter()
            .filter(|(_, b)| b[0].is_nan())
            .map(|(k, _)| *k)
            .collect();
        let targets: Vec<Beam> = planes.iter().map(|(_, b)| *b).collect();
        check_planes_of(bench.read("c").primary(), &targets, &blank, 2e-5);
    }
}

#[test]
fn c14_targets_that_do_not_fit_are_refused() {
    let bench = Bench::new();
    put_cube(&bench, "c", &BEAMS5);
    let short = bench.put_text("short.txt", &beam_log_of(&TARGETS[..4]));
    let run = bench
        .smooth()
        .arg("--target-from")
        .path(&short)
        .file("c")
        .run();
    run.refused(3, &["4", "5"]);
    let mut low = TARGETS;
    low[3] = [12.0, 12.0, 0.0];
    let low = bench.put_text("low.txt", &beam_log_of(&low));
    let run = bench
        .smooth()
        .arg("--target-from")
        .path(&low)
        .file("c")
        .run();
    run.refused(2, &["c.fits", "3"]);
    let both = bench
        .smooth_to(TGT)
        .arg("--target-from")
        .path(&low)
        .file("c")
        .run();
    both.refused(2, &["target-from"]);
}

#[test]
fn c15_a_kernel_smaller_than_a_pixel_keeps_the_flux() {
    let (from, to) = (round(16.0), round(16.02));
    let g = Grid::default();
    let pixels = g.gaussian(from);
    let bench = Bench::new();
    let samples = Samples::F64(pixels.clone());
    bench.put(
        "c",
        &[Hdu::primary(&[g.nx, g.ny], &samples, &image_cards(from))],
    );
    bench.smooth_to(to).file("c").run().ok();
    let got = bench.read("c").primary().pixels();
    close_to(&got, &g.gaussian(to), 1e-8, "tiny kernel");
    let flux = |v: &[f64]| v.iter().sum::<f64>();
    let error = flux(&got) / flux(&pixels) / area_ratio(to, from) - 1.0;
    assert!(error.abs() < 1e-6, "flux is off by {error:.1e}");
}

#[test]
fn c15_tiny_kernels_of_any_shape_in_single_precision() {
    for to in [
        [16.01, 9.0, 40.0],
        [16.0, 9.01, 40.0],
        [16.02, 9.02, 40.0],
        [16.2, 9.2, 41.0],
    ] {
        let bench = Bench::new();
        put_image(&bench, "c", OLD);
        bench.smooth_to(to).file("c").run().ok();
        check_planes(bench.read("c").primary(), to, &[]);
    }
}

#[test]
fn c16_the_common_beam_is_not_padded() {
    let bench = Bench::new();
    put_image(&bench, "c", [16.0, 9.0, 0.0]);
    put_image(&bench, "d", [16.0, 9.0, 90.0]);
    bench.smooth().file("c").file("d").run().ok();
    let got = bench.read("c").primary().beam().expect("a beam");
    assert!(
        (got[0] / 16.0 - 1.0).abs() < 1e-6 && (got[1] / 16.0 - 1.0).abs() < 1e-6,
        "{got:?}"
    );
    check_planes(bench.read("c").primary(), got, &[]);
    check_planes(bench.read("d").primary(), got, &[]);
}

#[test]
fn c16_one_image_is_its_own_common_beam() {
    let bench = Bench::new();
    put_image(&bench, "c", OLD);
    let json = bench.smooth().arg("--json").file("c").run().ok().json();
    assert_eq!(json[0]["passed_through"], 1);
    same_beam(bench.read("c").primary().beam().unwrap(), OLD, 1e-9);
}

#[test]
fn c17_beams_are_never_averaged() {
    let bench = Bench::new();
    put_cube(&bench, "c", &[round(10.0), round(12.0), round(20.0)]);
    bench.smooth().file("c").run().ok();
    let got = bench.read("c").primary().beam().unwrap();
    same_beam(got, round(20.0), 1e-6);
    check_planes(bench.read("c").primary(), got, &[]);
}

#[test]
fn c18_two_images_just_work_in_any_order() {
    let (one, two) = (OLD, [15.0, 12.0, 130.0]);
    let mut seen = Vec::new();
    for names in [["c", "d"], ["d", "c"]] {
        let bench = Bench::new();
        put_image(&bench, "c", one);
        put_image(&bench, "d", two);
        let run = bench
            .mmconv(["smooth"])
            .file(names[0])
            .file(names[1])
            .run()
            .ok();
        let want: Vec<String> = names
            .iter()
            .map(|n| bench.path(format!("{n}.sm.fits")).display().to_string())
            .collect();
        assert_eq!(run.lines(), want);
        for name in names {
            let fits = Fits::read(&bench.path(format!("{name}.sm.fits")));
            let got = fits.primary().beam().expect("a beam");
            check_planes(fits.primary(), got, &[]);
            seen.push(got);
        }
    }
    assert!(margin(seen[0], one) > -1e-6 && margin(seen[0], two) > -1e-6);
    assert!(
        seen.iter().all(|b| *b == seen[0]),
        "the order matters: {seen:?}"
    );
}
