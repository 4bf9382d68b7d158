//! USERS.md 1a, B25 to B27: beam logs and the reference channel, through the command.
//! One test or more for each id; the right pixels are analytic.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod support;

use support::*;

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
