//! USERS.md 1a, B23 and B28 to B34: HISTORY, header cards, the beam that stands in the header,
//! through the command. One test or more for each id; the right pixels are analytic.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod support;

use support::*;

#[test]
fn b23_a_blank_reference_channel_gives_the_first_valid_beam() {
    let (mut one, mut two) = (BEAMS5, OTHERS);
    for blank in [0, 1] {
        one[blank] = [f64::NAN; 3];
        two[blank] = [f64::NAN; 3];
    }
    let bench = Bench::new();
    put_pair(&bench, [&one, &two], 2.0);
    bench
        .smooth()
        .args(["--mode", "natural"])
        .file("c")
        .file("d")
        .run()
        .ok();
    for name in ["c", "d"] {
        let fits = bench.read(name);
        same_beam(
            fits.primary().beam().expect("a beam"),
            table_beams(&fits)[2],
            1e-6,
        );
        check_planes_of_table(&fits, &[0, 1]);
    }
    bench
        .smooth()
        .file("c")
        .file("d")
        .arg("--overwrite")
        .run()
        .ok();
    let target = bench.read("c").primary().beam().expect("a beam");
    check_planes(bench.read("c").primary(), target, &[0, 1]);
}

fn aips(b: Beam) -> String {
    let (a, m, p) = (b[0] / 3600.0, b[1] / 3600.0, b[2]);
    format!("AIPS   CLEAN BMAJ=  {a:.4E} BMIN=  {m:.4E} BPA=  {p:.2}")
}

/// An image without beam cards and with these HISTORY lines.
fn put_history(bench: &Bench, name: &str, lines: &[String]) {
    let mut cards = Grid::default().cards(Wcs::Cdelt).set("BUNIT", "Jy/beam");
    for line in lines {
        cards = cards.history(line);
    }
    let g = Grid::default();
    bench.put(
        name,
        &[Hdu::primary(
            &[g.nx, g.ny],
            &Samples::f32(&g.gaussian(OLD)),
            &cards,
        )],
    );
}

#[test]
fn b28_the_last_aips_beam_in_history_counts() {
    let bench = Bench::new();
    let lines = [
        aips([40.0, 40.0, 0.0]),
        aips([12.0, 3.0, 80.0]),
        "other".to_owned(),
        aips(OLD),
    ];
    put_history(&bench, "c", &lines);
    bench.smooth_to(TGT).file("c").run().ok().says(&["HISTORY"]);
    let want = Grid::default().gaussian(TGT);
    close_to(&bench.read("c").primary().pixels(), &want, 1e-3, "last");
}

#[test]
fn b28_casa_prose_in_history() {
    let first = "Wed Apr 16 19:37:36 2014  HISTORY imager::clean() [] Fitted beam used in";
    let forms: [&[&str]; 3] = [
        &[first, "> restoration: 16 by 9 (arcsec) at pa 40 (deg)"],
        &[
            first,
            "> restoration: 16 by 9 (arcsec)",
            ">        at pa 40 (deg)",
        ],
        &[
            "> restoration: 40 by 39 (arcsec) at pa 1 (deg)",
            first,
            "> restoration: 16 by 9 (arcsec) at pa 40 (deg)",
        ],
    ];
    for form in forms {
        let bench = Bench::new();
        let lines: Vec<String> = form.iter().map(|l| (*l).to_owned()).collect();
        put_history(&bench, "c", &lines);
        bench.smooth_to(TGT).file("c").run().ok().says(&["HISTORY"]);
        close(
            &bench.read("c").primary().pixels(),
            &Grid::default().gaussian(TGT),
            "prose",
        );
    }
}

#[test]
fn b28_cards_come_before_history() {
    let bench = Bench::new();
    let mut hdu = image(OLD);
    hdu.cards = Cards(hdu.cards).history(&aips([40.0, 40.0, 0.0])).0;
    bench.put("c", &[hdu]);
    bench.smooth_to(TGT).file("c").run().ok();
    close(
        &bench.read("c").primary().pixels(),
        &Grid::default().gaussian(TGT),
        "cards",
    );
}

#[test]
fn b28_own_history_is_not_read_as_a_beam() {
    let bench = Bench::new();
    put_image(&bench, "c", OLD);
    bench.smooth_to(TGT).file("c").run().ok();
    for line in bench.read("c").primary().history() {
        let line = line.to_uppercase();
        assert!(!(line.contains("CLEAN") && line.contains("BMAJ")), "{line}");
        assert!(!line.contains("RESTORATION"), "{line}");
    }
}

#[test]
fn b30_axes_from_history_are_not_swapped() {
    let bench = Bench::new();
    put_history(&bench, "c", &[aips(OLD)]);
    put_history(&bench, "d", &[aips(OLD)]);
    bench.smooth().file("c").file("d").run().ok();
    let beam = bench
        .read("c")
        .primary()
        .beam()
        .expect("a beam in the header");
    assert!(beam[0] >= beam[1]);
    same_beam(beam, OLD, 1e-3);
    bench
        .smooth_to([30.0, 17.0, 100.0])
        .file("c")
        .arg("--overwrite")
        .run()
        .ok();
    let hdu = bench.read("c").primary().clone();
    assert!(
        (hdu.beam().unwrap()[0] - 30.0).abs() < 1e-6
            && (hdu.beam().unwrap()[1] - 17.0).abs() < 1e-6
    );
    close_to(
        &hdu.pixels(),
        &Grid::default().gaussian([30.0, 17.0, 100.0]),
        1e-3,
        "elongated",
    );
}

#[test]
fn b30_a_target_with_its_axes_swapped_is_refused() {
    let bench = Bench::new();
    put_image(&bench, "c", OLD);
    bench
        .smooth_to([28.0, 30.0, 20.0])
        .file("c")
        .run()
        .refused(2, &["bmin"]);
}

#[test]
fn b32_a_real_beam_stands_in_the_primary_header() {
    let bench = Bench::new();
    put_pair(&bench, [&BEAMS5, &OTHERS], 1.0);
    bench
        .smooth()
        .args(["--mode", "natural"])
        .file("c")
        .file("d")
        .run()
        .ok();
    for name in ["c", "d"] {
        let fits = bench.read(name);
        let beam = fits.primary().beam().expect("a beam in the header");
        assert!(beam[0] >= beam[1] && beam[1] > 1.0, "{beam:?}");
        assert!(
            table_beams(&fits)
                .iter()
                .any(|b| (b[0] - beam[0]).abs() < 1e-4)
        );
    }
}

#[test]
fn b33_beams_reports_min_median_max_and_common() {
    let bench = Bench::new();
    put_cube(&bench, "c", &BEAMS5);
    let run = bench.mmconv(["beams"]).file("c").run().ok();
    let text = run.stdout.to_lowercase();
    for word in ["min", "median", "max", "common", "beams"] {
        assert!(text.contains(word), "no '{word}' in {text}");
    }
    let json = bench
        .mmconv(["beams", "--json"])
        .file("c")
        .run()
        .ok()
        .json();
    let text = json[0].to_string();
    for key in ["min", "median", "max", "common"] {
        assert!(text.contains(&format!("\"{key}")), "no {key} in {text}");
    }
}

#[test]
fn b34_one_resolver_for_every_shape() {
    for (axes, extra) in [
        (vec![70, 60], Cards::new()),
        (vec![70, 60, 1], scene::axis(3, "FREQ")),
        (
            vec![70, 60, 1, 1],
            scene::axis(3, "STOKES").and(&scene::axis(4, "FREQ")),
        ),
        (
            vec![70, 60, 1, 1],
            scene::axis(3, "FREQ").and(&scene::axis(4, "STOKES")),
        ),
    ] {
        let bench = Bench::new();
        let pixels = Samples::f32(&Grid::default().gaussian(OLD));
        bench.put(
            "c",
            &[Hdu::primary(&axes, &pixels, &image_cards(OLD).and(&extra))],
        );
        let run = bench.smooth_to(TGT).args(["--json"]).file("c").run().ok();
        assert!(
            run.json()[0]["beam_source"]
                .as_str()
                .unwrap()
                .contains("BMAJ")
        );
        check_planes(bench.read("c").primary(), TGT, &[]);
    }
}

#[test]
fn b34_numbered_cards_give_a_beam_for_each_channel() {
    for angle in ["BPA", "PA"] {
        let mut cards = beam_cards([99.0, 99.0, 0.0]);
        for (i, b) in BEAMS5.iter().enumerate() {
            cards = cards
                .set(&format!("BMAJ{}", i + 1), b[0] / 3600.0)
                .set(&format!("BMIN{}", i + 1), b[1] / 3600.0)
                .set(&format!("{angle}{}", i + 1), b[2]);
        }
        let bench = Bench::new();
        bench.put("c", &[cube(&BEAMS5, &cards)]);
        bench.smooth_to(TGT).file("c").run().ok();
        let fits = bench.read("c");
        check_planes(fits.primary(), TGT, &[]);
        for key in ["BMAJ1", "BMIN1", "BPA1", "PA1", "BMAJ5"] {
            assert!(!fits.primary().has(key), "{key} is still there");
        }
    }
}

#[test]
fn b34_each_source_can_be_asked_for() {
    let bench = Bench::new();
    let off = [99.0, 99.0, 0.0];
    let table = |rows: &[Beam]| BeamTable::new(rows).hdu();
    bench.put(
        "c",
        &[
            cube(&BEAMS5, &beam_cards(off).and(&casambm())),
            table(&BEAMS5),
        ],
    );
    bench.put_text("beamlog.c.txt", &beam_log_of(&[off; 5]));
    bench
        .smooth_to(TGT)
        .args(["--beam-from", "table"])
        .file("c")
        .run()
        .ok();
    check_planes(bench.read("c").primary(), TGT, &[]);
    bench.put(
        "d",
        &[
            cube(&BEAMS5, &beam_cards(off).and(&casambm())),
            table(&[off; 5]),
        ],
    );
    bench.put_text("beamlog.d.txt", &beam_log_of(&BEAMS5));
    bench
        .smooth_to(TGT)
        .args(["--beam-from", "log"])
        .file("d")
        .run()
        .ok();
    check_planes(bench.read("d").primary(), TGT, &[]);
    let log = bench.put_text("best.txt", &beam_log_of(&BEAMS5));
    bench.put_text("beamlog.d.txt", &beam_log_of(&[off; 5]));
    bench
        .smooth_to(TGT)
        .args(["--overwrite", "--beamlog"])
        .path(&log)
        .file("d")
        .run()
        .ok();
    check_planes(bench.read("d").primary(), TGT, &[]);
    bench.put(
        "e",
        &[
            cube(&[OLD; 5], &beam_cards(OLD).and(&casambm())),
            table(&[off; 5]),
        ],
    );
    bench
        .smooth_to(TGT)
        .args(["--beam-from", "header"])
        .file("e")
        .run()
        .ok();
    check_planes(bench.read("e").primary(), TGT, &[]);
}

#[test]
fn b34_a_source_that_is_not_there_is_refused() {
    let bench = Bench::new();
    put_image(&bench, "c", OLD);
    for source in ["table", "log", "history"] {
        let run = bench
            .smooth_to(TGT)
            .args(["--beam-from", source])
            .file("c")
            .run();
        run.refused(3, &["c.fits"]);
    }
    bench.put("d", &[cube(&BEAMS5, &Cards::new())]);
    bench
        .smooth_to(TGT)
        .file("d")
        .run()
        .refused(3, &["beam", "d.fits"]);
}
