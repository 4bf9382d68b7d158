//! USERS.md 1a, B23 to B34: beam logs, HISTORY, header cards, the beam that stands in the header,
//! through the command. One test or more for each id; the right pixels are analytic.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod support;

use support::*;

/// Other beams for a second cube, so that natural mode has work to do.
const OTHERS: [Beam; 5] = [
    [17.0, 10.0, 70.0],
    [18.0, 10.5, 73.0],
    [19.0, 11.0, 76.0],
    [20.0, 11.5, 79.0],
    [21.0, 12.0, 82.0],
];

/// Two cubes `c` and `d` with tables of these rows, and CRPIX3 of both.
fn put_pair(bench: &Bench, rows: [&[Beam]; 2], crpix3: f64) {
    for (name, rows) in ["c", "d"].into_iter().zip(rows) {
        let shapes: Vec<Beam> = rows
            .iter()
            .map(|b| if b[0].is_nan() { OLD } else { *b })
            .collect();
        let mut hdu = cube(&shapes, &casambm());
        hdu.cards = Cards(hdu.cards).set("CRPIX3", crpix3).0;
        bench.put(name, &[hdu, BeamTable::new(rows).hdu()]);
    }
}

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

/// The usual cube without any beam card.
fn put_beamless(bench: &Bench, name: &str) {
    bench.put(name, &[cube(&BEAMS5, &Cards::new())]);
}

fn rows(order: [usize; 5]) -> Vec<(usize, Beam)> {
    order.into_iter().map(|i| (i, BEAMS5[i])).collect()
}

#[test]
fn b25_log_rows_are_placed_by_their_channel() {
    for order in [[4, 3, 2, 1, 0], [2, 0, 4, 1, 3], [0, 1, 2, 3, 4]] {
        let bench = Bench::new();
        put_beamless(&bench, "c");
        bench.put_text("beamlog.c.txt", &beam_log(&rows(order)));
        bench
            .smooth_to(TGT)
            .file("c")
            .run()
            .ok()
            .says(&["beamlog.c.txt"]);
        check_planes(bench.read("c").primary(), TGT, &[]);
        put_beamless(&bench, "d");
        let log = bench.put_text("my beams", &beam_log(&rows(order)));
        bench
            .smooth_to(TGT)
            .file("d")
            .arg("--beamlog")
            .path(&log)
            .run()
            .ok()
            .says(&["my beams"]);
        check_planes(bench.read("d").primary(), TGT, &[]);
    }
}

#[test]
fn b25_log_with_duplicates_or_gaps_is_refused() {
    let mut twice = rows([0, 1, 2, 3, 4]);
    twice[3].0 = 2;
    let mut beyond = rows([0, 1, 2, 3, 4]);
    beyond[4].0 = 5;
    let short = rows([0, 1, 2, 3, 4])[..4].to_vec();
    for bad in [twice, beyond, short] {
        let bench = Bench::new();
        put_beamless(&bench, "c");
        let log = bench.put_text("beamlog.c.txt", &beam_log(&bad));
        bench
            .smooth_to(TGT)
            .file("c")
            .run()
            .refused(3, &["beamlog.c.txt"]);
        let named = bench
            .smooth_to(TGT)
            .file("c")
            .arg("--beamlog")
            .path(&log)
            .run();
        named.refused(3, &["beamlog.c.txt"]);
    }
}

#[test]
fn b25_log_of_other_writers_is_read() {
    let body = |f: &dyn Fn(usize, Beam) -> String| -> String {
        BEAMS5.iter().enumerate().map(|(i, b)| f(i, *b)).collect()
    };
    let plain = body(&|i, b| format!("{i} {} {} {}\n", b[0], b[1], b[2]));
    let degrees = body(&|i, b| format!("{i} {:e} {:e} {}\n", b[0] / 3600.0, b[1] / 3600.0, b[2]));
    let texts = [
        format!("#Channel BMAJ[arcsec] BMIN[arcsec] BPA[deg]\n{plain}"),
        format!("# Channel BMAJ[deg] BMIN[deg] BPA[deg]\n{degrees}"),
        format!(
            "# Channel BMAJ[arcsec] BMIN[arcsec] BPA[deg]\r\n{}",
            plain.replace('\n', "\r\n")
        ),
        format!(
            "# Channel  BMAJ[arcsec]\tBMIN[arcsec]   BPA[deg]\n\n{}",
            plain.replace(' ', "\t  ")
        ),
    ];
    for text in texts {
        let bench = Bench::new();
        put_beamless(&bench, "c");
        bench.put_text("beamlog.c.txt", &text);
        bench.smooth_to(TGT).file("c").run().ok();
        check_planes(bench.read("c").primary(), TGT, &[]);
    }
}

#[test]
fn b25_blank_rows_of_a_log() {
    for blank in [[f64::NAN; 3], [0.0; 3]] {
        let mut all = rows([4, 3, 2, 1, 0]);
        all[0].1 = blank;
        let bench = Bench::new();
        put_beamless(&bench, "c");
        bench.put_text("beamlog.c.txt", &beam_log(&all));
        bench.smooth_to(TGT).file("c").run().ok();
        check_planes(bench.read("c").primary(), TGT, &[4]);
    }
}

#[test]
fn b25_garbage_in_a_log_is_refused() {
    for text in [
        "",
        "# Channel BMAJ[arcsec] BMIN[arcsec] BPA[deg]\n0 16 nine 40\n",
        "\0\u{1}\n",
    ] {
        let bench = Bench::new();
        put_beamless(&bench, "c");
        let log = bench.put_text("log.txt", text);
        let run = bench
            .smooth_to(TGT)
            .file("c")
            .arg("--beamlog")
            .path(&log)
            .run();
        run.refused(3, &["log.txt"]);
    }
}

#[test]
fn b26_a_missing_log_stops_everything_before_any_work() {
    let bench = Bench::new();
    put_beamless(&bench, "c");
    put_cube(&bench, "d", &BEAMS5);
    let missing = bench.path("nowhere.txt");
    let run = bench
        .smooth_to(TGT)
        .file("d")
        .file("c")
        .arg("--beamlog")
        .path(&missing)
        .run();
    assert!([2, 3].contains(&run.code), "exit status {}", run.code);
    let code = run.code;
    run.refused(code, &["nowhere.txt"]);
}

#[test]
fn b26_one_bad_input_stops_its_neighbours() {
    let bench = Bench::new();
    put_cube(&bench, "c", &BEAMS5);
    put_beamless(&bench, "d");
    bench
        .smooth_to(TGT)
        .file("c")
        .file("d")
        .run()
        .refused(3, &["d.fits"]);
    let absent = bench.smooth_to(TGT).file("c").file("absent").run();
    let code = absent.code;
    assert!([2, 3].contains(&code), "exit status {code}");
    absent.refused(code, &["absent.fits"]);
}

#[test]
fn b27_the_reference_channel_can_be_chosen() {
    let bench = Bench::new();
    put_pair(&bench, [&BEAMS5, &OTHERS], 4.0);
    for (choice, channel) in [
        ("first", 0),
        ("mid", 2),
        ("last", 4),
        ("1", 1),
        ("3", 3),
        ("0", 0),
        ("", 3),
    ] {
        let run = bench
            .smooth()
            .args(["--mode", "natural", "--overwrite"])
            .file("c")
            .file("d");
        let run = if choice.is_empty() {
            run
        } else {
            run.args(["--ref-chan", choice])
        };
        run.run().ok();
        let fits = bench.read("d");
        let beams = table_beams(&fits);
        same_beam(fits.primary().beam().expect("a beam"), beams[channel], 1e-6);
    }
}

#[test]
fn b27_a_reference_channel_outside_the_cube_is_refused() {
    let bench = Bench::new();
    put_pair(&bench, [&BEAMS5, &OTHERS], 1.0);
    for choice in ["5", "-1", "middle"] {
        let arg = format!("--ref-chan={choice}");
        let run = bench
            .smooth()
            .args(["--mode", "natural", &arg])
            .file("c")
            .file("d")
            .run();
        run.refused(2, &[choice]);
    }
}

#[test]
fn b27_a_log_of_the_targets_stands_beside_a_cube() {
    let (mut one, mut two) = (BEAMS5, OTHERS);
    one[2] = [f64::NAN; 3];
    two[2] = [f64::NAN; 3];
    let bench = Bench::new();
    put_pair(&bench, [&one, &two], 1.0);
    let run = bench
        .smooth()
        .args(["--mode", "natural"])
        .file("c")
        .file("d")
        .run()
        .ok();
    assert_eq!(
        run.lines().len(),
        2,
        "the log is not an output: {}",
        run.stdout
    );
    let names = [
        "beamlog.c.sm.txt",
        "beamlog.d.sm.txt",
        "c.sm.fits",
        "d.sm.fits",
    ];
    assert_eq!(bench.outputs(), names);
    let text = std::fs::read_to_string(bench.path("out/beamlog.c.sm.txt")).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "# Channel BMAJ[arcsec] BMIN[arcsec] BPA[deg]");
    assert_eq!(lines.len(), 6);
    let beams = table_beams(&bench.read("c"));
    for (channel, line) in lines[1..].iter().enumerate() {
        let words: Vec<&str> = line.split_whitespace().collect();
        assert_eq!(words[0], channel.to_string());
        if channel == 2 {
            assert_eq!(words[1..], ["nan", "nan", "nan"]);
        } else {
            let n: Vec<f64> = words[1..].iter().map(|w| w.parse().unwrap()).collect();
            same_beam([n[0], n[1], n[2]], beams[channel], 1e-6);
        }
    }
}

#[test]
fn b27_log_name_follows_prefix_suffix_and_total_mode() {
    let bench = Bench::new();
    put_cube(&bench, "c.x", &BEAMS5);
    let run = bench
        .smooth()
        .args(["-p", "pre_", "-s", "conv"])
        .file("c.x")
        .run()
        .ok();
    assert_eq!(
        run.lines(),
        [bench.path("out/pre_c.x.conv.fits").to_str().unwrap()]
    );
    let text = std::fs::read_to_string(bench.path("out/beamlog.pre_c.x.conv.txt"))
        .or_else(|_| std::fs::read_to_string(bench.path("out/beamlog.c.x.conv.txt")))
        .expect("a beam log");
    assert_eq!(text.lines().count(), 6);
    let rows: Vec<&str> = text
        .lines()
        .skip(1)
        .map(|l| l.split_once(' ').unwrap().1)
        .collect();
    assert!(rows.iter().all(|r| *r == rows[0]), "one target: {text}");
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
    let bench = Bench::new();
    let lines = [
        "Sat May 10 20:53:11 2014",
        "imager::clean() [] Fitted beam used in",
        "> restoration: 16 by 9 (arcsec)",
        "       at pa 40 (deg)",
    ];
    put_history(&bench, "c", &lines.map(str::to_owned));
    bench.smooth_to(TGT).file("c").run().ok().says(&["HISTORY"]);
    close(
        &bench.read("c").primary().pixels(),
        &Grid::default().gaussian(TGT),
        "prose",
    );
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
        .smooth_to([30.0, 12.0, 100.0])
        .file("c")
        .arg("--overwrite")
        .run()
        .ok();
    let hdu = bench.read("c").primary().clone();
    assert!(
        (hdu.beam().unwrap()[0] - 30.0).abs() < 1e-6
            && (hdu.beam().unwrap()[1] - 12.0).abs() < 1e-6
    );
    close_to(
        &hdu.pixels(),
        &Grid::default().gaussian([30.0, 12.0, 100.0]),
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
    put_beamless(&bench, "d");
    bench
        .smooth_to(TGT)
        .file("d")
        .run()
        .refused(3, &["beam", "d.fits"]);
}
