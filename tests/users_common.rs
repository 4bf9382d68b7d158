//! USERS.md 1b, C01 to C18: the common beam, targets and kernels, through the command.
//! One test or more for each id; the right pixels are analytic. Not yet in the command and so not
//! here: C06, C11 (grouping), C12.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod support;

use support::*;

/// A cube of these beams with tiny planes of zeros.
fn put_small(bench: &Bench, name: &str, beams: &[Beam]) {
    let zeros = Samples::F32(vec![0.0; 10 * 8 * beams.len()]);
    let hdu = Hdu::primary(
        &[10, 8, beams.len()],
        &zeros,
        &cube_cards(Order::Plain).and(&casambm()),
    );
    bench.put(name, &[hdu, BeamTable::new(beams).form('D').hdu()]);
}

/// Numbers in 0..1, the same on every run.
struct Dice(u64);

impl Dice {
    #[allow(clippy::cast_precision_loss)]
    fn roll(&mut self) -> f64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }

    fn beams(&mut self, n: usize) -> Vec<Beam> {
        (0..n)
            .map(|_| {
                [
                    10.0 + 2.0 * self.roll(),
                    7.0 + 2.0 * self.roll(),
                    180.0 * self.roll(),
                ]
            })
            .collect()
    }
}

/// The target of a dry run.
fn target(json: &serde_json::Value) -> Beam {
    ["bmaj_arcsec", "bmin_arcsec", "bpa_deg"].map(|key| {
        json["target"][key]
            .as_f64()
            .unwrap_or_else(|| panic!("no {key} in {json}"))
    })
}

#[test]
fn c01_many_beams_have_an_enclosing_one() {
    for seed in 1..4 {
        let beams = Dice(seed).beams(300);
        let bench = Bench::new();
        put_small(&bench, "c", &beams);
        bench.smooth().file("c").run().ok();
        let got = bench.read("c").primary().beam().expect("a beam");
        let largest = beams.iter().map(|b| b[0]).fold(0.0, f64::max);
        for b in &beams {
            assert!(margin(got, *b) > -1e-6, "{got:?} does not hold {b:?}");
        }
        let circle = largest * largest;
        assert!(
            got[0] * got[1] <= circle * (1.0 + 1e-6),
            "{got:?} is larger than a circle"
        );
    }
}

#[test]
fn c01_beams_that_nearly_coincide() {
    let beams: Vec<Beam> = (0..40)
        .map(|i| [16.0 + 1e-7 * f64::from(i), 9.0, 40.0])
        .collect();
    let bench = Bench::new();
    put_small(&bench, "c", &beams);
    bench.smooth().file("c").run().ok();
    same_beam(bench.read("c").primary().beam().expect("a beam"), OLD, 1e-6);
}

#[test]
fn c02_ten_thousand_beams_do_not_wait() {
    let beams = Dice(7).beams(10_000);
    let bench = Bench::new();
    put_small(&bench, "c", &beams);
    let start = std::time::Instant::now();
    let json = bench
        .smooth()
        .args(["--dry-run", "--json"])
        .file("c")
        .run()
        .ok()
        .json();
    assert!(start.elapsed().as_secs() < 20, "took {:?}", start.elapsed());
    let got = target(&json[0]);
    assert!(beams.iter().all(|b| margin(got, *b) > -1e-6));
}

/// An image whose bits a transform would not give back.
fn put_odd_bits(bench: &Bench, name: &str) -> Samples {
    let g = Grid::default();
    let Samples::F32(mut values) = Samples::f32(&g.gaussian(OLD)) else {
        unreachable!()
    };
    values[0] = -0.0;
    values[1] = f32::from_bits(0x7fc1_2345);
    values[2] = f32::from_bits(0xffab_cdef);
    values[3] = f32::INFINITY;
    values[4] = f32::from_bits(1);
    let samples = Samples::F32(values);
    bench.put(
        name,
        &[Hdu::primary(&[g.nx, g.ny], &samples, &image_cards(OLD))],
    );
    samples
}

#[test]
fn c05_equal_beam_is_passed_through_bit_for_bit() {
    for angle in [40.0, 220.0, -140.0] {
        let bench = Bench::new();
        let samples = put_odd_bits(&bench, "c");
        let json = bench
            .smooth_to([16.0, 9.0, angle])
            .arg("--json")
            .file("c")
            .run()
            .ok()
            .json();
        assert_eq!(json[0]["passed_through"], 1);
        same_bits(
            &bench.read("c").primary().data,
            &samples.bytes(),
            "pass-through",
        );
        same_beam(bench.read("c").primary().beam().unwrap(), OLD, 1e-9);
    }
}

#[test]
fn c05_equal_channels_of_a_cube_are_passed_through() {
    let beams = [OLD, BEAMS5[1], OLD, TGT, BEAMS5[4]];
    let bench = Bench::new();
    let input = Fits::read(&put_cube(&bench, "c", &beams));
    let json = bench
        .smooth_to(TGT)
        .arg("--json")
        .file("c")
        .run()
        .ok()
        .json();
    assert_eq!(json[0]["passed_through"], 1);
    let fits = bench.read("c");
    check_planes(fits.primary(), TGT, &[]);
    let plane = Grid::default().pixels() * 4;
    let range = 3 * plane..4 * plane;
    same_bits(
        &fits.primary().data[range.clone()],
        &input.primary().data[range],
        "plane 3",
    );
}

#[test]
fn c05_natural_mode_on_one_cube_is_a_copy_and_says_so() {
    let bench = Bench::new();
    let input = Fits::read(&put_cube(&bench, "c", &BEAMS5));
    let run = bench
        .smooth()
        .args(["--mode", "natural", "--json"])
        .file("c")
        .run()
        .ok();
    assert_eq!(run.json()[0]["passed_through"], 5);
    let run = run.says(&["natural"]);
    drop(run);
    let fits = bench.read("c");
    same_bits(&fits.primary().data, &input.primary().data, "the cube");
    for (got, want) in table_beams(&fits).into_iter().zip(BEAMS5) {
        same_beam(got, want, 1e-6);
    }
}

#[test]
fn c05_doubles_pass_through_too() {
    let g = Grid::default();
    let samples = Samples::F64(g.gaussian(OLD).iter().map(|v| v + 1e6).collect());
    let bench = Bench::new();
    bench.put(
        "c",
        &[Hdu::primary(&[g.nx, g.ny], &samples, &image_cards(OLD))],
    );
    bench.smooth_to(OLD).file("c").run().ok();
    same_bits(&bench.read("c").primary().data, &samples.bytes(), "doubles");
}

fn round(diameter: f64) -> Beam {
    [diameter, diameter, 0.0]
}

#[test]
fn c07_cutoff_comes_before_the_target() {
    let beams: Vec<Beam> = (12..19).map(|d| round(d.into())).collect();
    let bench = Bench::new();
    put_cube(&bench, "c", &beams);
    bench
        .smooth_to(round(15.0))
        .file("c")
        .run()
        .refused(2, &["c.fits"]);
    let run = bench
        .smooth_to(round(15.0))
        .args(["--cutoff", "15.1", "--json"])
        .file("c")
        .run()
        .ok();
    let json = &run.json()[0];
    assert_eq!(json["blank_planes"], serde_json::json!([4, 5, 6]));
    assert_eq!(json["passed_through"], 1);
    check_planes(bench.read("c").primary(), round(15.0), &[4, 5, 6]);
}

#[test]
fn c07_cutoff_keeps_a_bad_channel_out_of_the_common_beam() {
    let mut beams = BEAMS5;
    beams[2] = [60.0, 50.0, 0.0];
    let bench = Bench::new();
    put_cube(&bench, "c", &beams);
    bench.smooth().args(["--cutoff", "25"]).file("c").run().ok();
    let fits = bench.read("c");
    let got = fits.primary().beam().expect("a beam");
    assert!(got[0] < 21.0, "{got:?}");
    check_planes(fits.primary(), got, &[2]);
    bench
        .smooth_to(TGT)
        .args(["--cutoff", "25", "--overwrite"])
        .file("c")
        .run()
        .ok();
    check_planes(bench.read("c").primary(), TGT, &[2]);
}

#[test]
fn c07_everything_over_the_cutoff() {
    let bench = Bench::new();
    put_cube(&bench, "c", &BEAMS5);
    bench
        .smooth()
        .args(["--cutoff", "10"])
        .file("c")
        .run()
        .refused(3, &["c.fits"]);
    bench
        .smooth_to(TGT)
        .args(["--cutoff", "10"])
        .file("c")
        .run()
        .ok();
    check_planes(bench.read("c").primary(), TGT, &[0, 1, 2, 3, 4]);
}

#[test]
fn c08_blank_channels_are_never_deconvolved() {
    for row in [
        [0.0; 3],
        [f64::NAN; 3],
        [1.175_494_4e-38; 3],
        [f64::INFINITY; 3],
    ] {
        let mut beams = BEAMS5.to_vec();
        beams[0] = row;
        let bench = Bench::new();
        bench.put(
            "c",
            &[cube(&BEAMS5, &casambm()), BeamTable::new(&beams).hdu()],
        );
        bench.smooth_to([20.5, 20.2, 0.0]).file("c").run().ok();
        check_planes(bench.read("c").primary(), [20.5, 20.2, 0.0], &[0]);
    }
}

/// An image in a grid of 0.005 arcsec pixels.
fn put_tiny(bench: &Bench, name: &str, beam: Beam) {
    let g = Grid::pixel(0.005);
    let cards = g
        .cards(Wcs::Cdelt)
        .set("BUNIT", "Jy/beam")
        .and(&beam_cards(beam));
    let samples = Samples::f32(&g.gaussian(beam));
    bench.put(name, &[Hdu::primary(&[g.nx, g.ny], &samples, &cards)]);
}

#[test]
fn c09_tiny_beams_are_not_rounded() {
    let (one, two) = ([0.05, 0.03, 10.0], [0.04, 0.04, 10.0]);
    let bench = Bench::new();
    put_tiny(&bench, "c", one);
    put_tiny(&bench, "d", two);
    bench.smooth().file("c").file("d").run().ok();
    let got = bench.read("c").primary().beam().expect("a beam");
    assert!(got[0] < 0.0506 && got[1] < 0.0405, "{got:?}");
    assert!(margin(got, one) > -1e-6 && margin(got, two) > -1e-6);
    for name in ["c", "d"] {
        close(
            &bench.read(name).primary().pixels(),
            &Grid::pixel(0.005).gaussian(got),
            name,
        );
    }
}

#[test]
fn c09_round_gives_the_old_behaviour_when_asked() {
    let bench = Bench::new();
    put_tiny(&bench, "c", [0.05, 0.03, 10.0]);
    put_tiny(&bench, "d", [0.04, 0.04, 10.0]);
    bench
        .smooth()
        .args(["--round", "0.1"])
        .file("c")
        .file("d")
        .run()
        .ok();
    same_beam(
        bench.read("c").primary().beam().unwrap(),
        [0.1, 0.1, 0.0],
        1e-9,
    );
    put_image(&bench, "e", [16.03, 9.01, 40.0]);
    bench.smooth().args(["--round", "0.1"]).file("e").run().ok();
    let got = bench.read("e").primary().beam().unwrap();
    assert!(
        (got[0] - 16.1).abs() < 1e-9 && (got[1] - 9.1).abs() < 1e-9,
        "{got:?}"
    );
    check_planes(bench.read("e").primary(), got, &[]);
}

#[test]
fn c09_a_beam_on_the_step_is_not_rounded_further() {
    let bench = Bench::new();
    put_image(&bench, "c", [16.1, 9.3, 40.0]);
    bench.smooth().args(["--round", "0.1"]).file("c").run().ok();
    let got = bench.read("c").primary().beam().unwrap();
    assert!(
        (got[0] - 16.1).abs() < 1e-9 && (got[1] - 9.3).abs() < 1e-9,
        "{got:?}"
    );
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
