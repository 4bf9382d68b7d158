//! USERS.md 1a, B15 to B22: channels and images without a usable beam, through the command.
//! One test or more for each id; the right pixels are analytic.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod support;

use support::*;

const NAN: f64 = f64::NAN;
/// What casacore's readers leave where there is no beam.
const TINY: f64 = 1.175_494_4e-38;

/// Smooths a cube whose channel `k` has this beam row and holds 0.5 throughout.
fn blank_channel(k: usize, row: Beam) {
    let mut beams = BEAMS5.to_vec();
    beams[k] = row;
    let mut pixels = scene::planes(&BEAMS5);
    let size = Grid::default().pixels();
    pixels[k * size..(k + 1) * size].fill(0.5);
    let hdu = Hdu::primary(
        &scene::cube_axes(Order::Plain, 5, 1),
        &Samples::f32(&pixels),
        &cube_cards(Order::Plain).and(&casambm()),
    );
    let bench = Bench::new();
    bench.put("c", &[hdu, BeamTable::new(&beams).hdu()]);
    bench.smooth_to(TGT).file("c").run().ok();
    check_planes(bench.read("c").primary(), TGT, &[k]);
    bench.smooth().args(["--overwrite"]).file("c").run().ok();
    let fits = bench.read("c");
    let target = fits.primary().beam().expect("a beam");
    assert!(target[0] < 21.0, "the blank channel took part: {target:?}");
    check_planes(fits.primary(), target, &[k]);
}

#[test]
fn b15_blank_rows_keep_their_place() {
    let mut beams = BEAMS5;
    beams[1] = [NAN; 3];
    beams[3] = [NAN; 3];
    let bench = Bench::new();
    bench.put(
        "c",
        &[cube(&BEAMS5, &casambm()), BeamTable::new(&beams).hdu()],
    );
    bench.smooth_to(TGT).file("c").run().ok();
    check_planes(bench.read("c").primary(), TGT, &[1, 3]);
    let json = bench
        .smooth_to(TGT)
        .file("c")
        .args(["--dry-run", "--json", "--overwrite"])
        .run()
        .ok()
        .json();
    assert_eq!(json[0]["planes"], 5);
    assert_eq!(json[0]["blank_planes"], serde_json::json!([1, 3]));
}

#[test]
fn b17_beams_of_equal_area_are_not_equal() {
    let round = 200f64.sqrt();
    let beams = [[20.0, 10.0, 0.0], [round, round, 0.0]];
    let bench = Bench::new();
    put_cube(&bench, "c", &beams);
    let json = bench.smooth().args(["--json"]).file("c").run().ok().json();
    assert_eq!(json[0]["passed_through"], 0);
    let fits = bench.read("c");
    let target = fits.primary().beam().unwrap();
    beams
        .iter()
        .for_each(|b| assert!(margin(target, *b) > -1e-6, "{target:?} does not hold {b:?}"));
    check_planes(fits.primary(), target, &[]);
}

#[test]
fn b17_natural_mode_writes_beams_of_equal_area_as_a_table() {
    let round = 200f64.sqrt();
    let beams = [[20.0, 10.0, 0.0], [round, round, 0.0], [20.0, 10.0, 90.0]];
    let bench = Bench::new();
    put_cube(&bench, "c", &beams);
    put_cube(&bench, "d", &beams);
    bench
        .smooth()
        .args(["--mode", "natural"])
        .file("c")
        .file("d")
        .run()
        .ok();
    let fits = bench.read("d");
    let table = fits.named("BEAMS").expect("a table");
    assert_eq!(fits.primary().logical("CASAMBM"), Some(true));
    for (i, beam) in beams.iter().enumerate() {
        let at = |name: &str| table.column(name).unwrap()[i];
        same_beam([at("BMAJ"), at("BMIN"), at("BPA")], *beam, 1e-6);
    }
}

#[test]
fn b18_a_blank_first_channel_is_no_ground_for_anything() {
    for row in [[0.0; 3], [NAN; 3], [TINY; 3]] {
        blank_channel(0, row);
    }
}

#[test]
fn b19_every_convention_of_a_blank_channel() {
    let rows = [
        [0.0, 0.0, 0.0],
        [NAN, NAN, NAN],
        [TINY, TINY, TINY],
        [1e-6, 1e-6, 1e-6],
        [16.0, 0.0, 0.0],
        [16.0, NAN, 10.0],
        [f64::INFINITY, 9.0, 0.0],
        [-1.0, -1.0, 0.0],
    ];
    rows.into_iter().for_each(|row| blank_channel(1, row));
    blank_channel(4, [0.0; 3]);
}

#[test]
fn b20_blank_stays_blank_through_own_output_twice() {
    let mut beams = BEAMS5;
    beams[1] = [NAN; 3];
    let other = BEAMS5.map(|b| [b[0] + 1.0, b[1] + 1.0, b[2]]);
    let bench = Bench::new();
    bench.put(
        "c",
        &[cube(&BEAMS5, &casambm()), BeamTable::new(&beams).hdu()],
    );
    put_cube(&bench, "d", &other);
    bench
        .smooth()
        .args(["--mode", "natural"])
        .file("c")
        .file("d")
        .run()
        .ok();
    check_planes_of_table(&bench.read("c"), &[1]);
    for (from, name) in [("c", "e"), ("e", "f")] {
        std::fs::copy(bench.out(from), bench.path(format!("{name}.fits"))).unwrap();
        let log = std::fs::read(bench.path(format!("out/beamlog.{from}.sm.txt"))).unwrap();
        std::fs::write(bench.path(format!("beamlog.{name}.txt")), log).unwrap();
        bench
            .smooth()
            .args(["--mode", "natural"])
            .file(name)
            .file("d")
            .arg("--overwrite")
            .run()
            .ok();
        check_planes_of_table(&bench.read(name), &[1]);
    }
    std::fs::copy(bench.out("c"), bench.path("g.fits")).unwrap();
    bench.smooth_to(TGT).file("g").run().ok();
    check_planes_of(bench.read("g").primary(), &[TGT; 5], &[1], 2e-4);
}

#[test]
fn b20_a_channel_blank_in_one_file_is_blank_in_its_table_and_log() {
    let mut beams = BEAMS5;
    beams[1] = [NAN; 3];
    let bench = Bench::new();
    bench.put(
        "c",
        &[cube(&BEAMS5, &casambm()), BeamTable::new(&beams).hdu()],
    );
    put_cube(&bench, "d", &OTHERS);
    bench
        .smooth()
        .args(["--mode", "natural"])
        .file("c")
        .file("d")
        .run()
        .ok();
    for (name, usable) in [("c", false), ("d", true)] {
        let row = table_beams(&bench.read(name))[1];
        assert_eq!(
            row[0].is_finite() && row[0] > 1e-3,
            usable,
            "table of {name}: {row:?}"
        );
        let log =
            std::fs::read_to_string(bench.path(format!("out/beamlog.{name}.sm.txt"))).unwrap();
        assert_eq!(
            !log.contains("1 nan nan nan"),
            usable,
            "log of {name}: {log}"
        );
    }
}

#[test]
fn b21_no_usable_beam_anywhere() {
    for row in [[0.0; 3], [NAN; 3], [TINY; 3]] {
        let bench = Bench::new();
        bench.put(
            "c",
            &[cube(&BEAMS5, &casambm()), BeamTable::new(&[row; 5]).hdu()],
        );
        bench
            .smooth()
            .file("c")
            .run()
            .refused(3, &["c.fits", "beam"]);
        let natural = bench.smooth().args(["--mode", "natural"]).file("c").run();
        natural.refused(3, &["c.fits", "beam"]);
        bench.smooth_to(TGT).file("c").run().ok().says(&["blank"]);
        check_planes(bench.read("c").primary(), TGT, &[0, 1, 2, 3, 4]);
    }
}

#[test]
fn b22_a_flagged_image_is_blank_and_carries_no_beam() {
    let bench = Bench::new();
    put_image(&bench, "c", [0.0; 3]);
    bench.smooth().file("c").run().refused(3, &["c.fits"]);
    bench.smooth_to(TGT).file("c").run().ok().says(&["blank"]);
    let fits = bench.read("c");
    assert!(fits.primary().pixels().iter().all(|v| v.is_nan()));
    assert!(!fits.primary().has("BMAJ"), "BMAJ in a blank image");
}

#[test]
fn b22_a_flagged_image_does_not_stop_its_neighbours() {
    let bench = Bench::new();
    put_image(&bench, "c", [0.0; 3]);
    put_image(&bench, "d", OLD);
    put_image(&bench, "e", [17.0, 12.0, 10.0]);
    bench.smooth().file("c").file("d").file("e").run().ok();
    assert!(
        bench
            .read("c")
            .primary()
            .pixels()
            .iter()
            .all(|v| v.is_nan())
    );
    let target = bench.read("d").primary().beam().unwrap();
    check_planes(bench.read("d").primary(), target, &[]);
    check_planes(bench.read("e").primary(), target, &[]);
}
