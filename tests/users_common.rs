//! USERS.md 1b, C01 to C09: the common beam and pass-through, through the command.
//! One test or more for each id; the right pixels are analytic. Not yet in the command and so not
//! here: C06.

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
