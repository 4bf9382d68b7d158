//! Faults that were once in the command, each with the input that showed it.

#![cfg(feature = "cli")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod support;

use std::fs;

use support::card::raw;
use support::scene::planes;
use support::*;

/// The table of one image was taken for another image's.
#[test]
fn a_beam_table_belongs_to_the_nearest_image_it_can_count() {
    let bench = Bench::new();
    let others: Vec<Beam> = BEAMS5.iter().take(3).copied().collect();
    let grid = Grid::default();
    let b_axes = [grid.nx, grid.ny, 3];
    let b_cards = cube_cards(Order::Plain).and(&casambm());
    let b = Hdu::extension("B", &b_axes, &Samples::f32(&planes(&others)), &b_cards);
    let first = cube(&[OLD; 3], &beam_cards(OLD));
    bench.put("c", &[first, b, BeamTable::new(&others).hdu()]);
    bench.smooth_to(TGT).file("c").run().ok();
    let fits = bench.read("c");
    check_planes(fits.primary(), TGT, &[]);
    assert_eq!(
        fits.names(),
        ["B", "BEAMS"],
        "the other image keeps its table"
    );
    bench
        .smooth_to(TGT)
        .arg("--overwrite")
        .args(["--hdu", "B"])
        .file("c")
        .run()
        .ok();
    let fits = bench.read("c");
    check_planes(fits.named("B").unwrap(), TGT, &[]);
    assert_eq!(fits.names(), ["B"], "its own table went with its beams");
}

/// A weight image between the cube and its table does not come between them.
#[test]
fn a_beam_table_behind_a_weight_image_is_the_cubes() {
    for flag in [casambm(), Cards::new()] {
        let bench = Bench::new();
        let weight = Hdu::extension("WEIGHT", &[7, 5], &Samples::f32(&[1.0; 35]), &Cards::new());
        bench.put(
            "c",
            &[cube(&BEAMS5, &flag), weight, BeamTable::new(&BEAMS5).hdu()],
        );
        bench.smooth_to(TGT).file("c").run().ok();
        let fits = bench.read("c");
        check_planes(fits.primary(), TGT, &[]);
        assert_eq!(fits.names(), ["WEIGHT"]);
    }
}

/// The output was published, and then the old log stopped everything.
#[test]
fn a_stale_log_does_not_stop_skip_existing() {
    let bench = Bench::new();
    put_cube(&bench, "c", &BEAMS5);
    put_cube(&bench, "d", &OTHERS);
    let files = || bench.smooth_to(TGT).file("c").file("d");
    files().run().ok();
    fs::remove_file(bench.out("c")).unwrap();
    let log = bench.path("out/beamlog.c.sm.txt");
    fs::write(&log, "stale").unwrap();
    files().run().fails(2, &["exists already"]);
    assert!(!bench.out("c").exists());
    files().arg("--skip-existing").run().ok();
    check_planes(bench.read("c").primary(), TGT, &[]);
    assert!(fs::read_to_string(&log).unwrap().starts_with("# Channel"));
}

/// Removing the cards of thousands of channels took a pass over the header for each.
#[test]
fn numbered_cards_of_thousands_of_channels() {
    let bench = Bench::new();
    let channels = 9999;
    let mut cards = cube_cards(Order::Plain);
    for n in 1..=channels {
        let [a, b, p] = OLD;
        for (key, value) in [("BMAJ", a / 3600.0), ("BMIN", b / 3600.0), ("PA", p)] {
            cards = cards.line(format!("{:<8}= {value:>20.12}", format!("{key}{n}")));
        }
    }
    let hdu = Hdu::primary(
        &[5, 4, channels],
        &Samples::f32(&vec![1.0; 20 * channels]),
        &cards,
    );
    bench.put("c", &[hdu]);
    // The harness ends a run that takes minutes.
    bench.smooth_to(TGT).file("c").run().ok();
    let fits = bench.read("c");
    let left = ["BMAJ1", "BMIN77", "PA9999", "BMAJ9999"];
    assert!(left.iter().all(|key| !fits.primary().has(key)));
    same_beam(fits.primary().beam().unwrap(), TGT, 1e-9);
}

/// The log that the beams came from was replaced by the log of the targets.
#[test]
fn the_log_that_was_read_is_not_overwritten() {
    let bench = Bench::new();
    let made = bench.put("made", &[cube(&BEAMS5, &Cards::new())]);
    fs::rename(made, bench.path("cube.v1")).unwrap();
    let log = bench.put_text("beamlog.cube.txt", &beam_log_of(&BEAMS5));
    let before = fs::read(&log).unwrap();
    let output = bench.path("cube.fits");
    let run = bench
        .mmconv(["smooth", "--overwrite", "--output"])
        .path(&output);
    run.path(&bench.path("cube.v1"))
        .run()
        .fails(2, &["beamlog.cube.txt"]);
    same_bits(&fs::read(&log).unwrap(), &before, "the log");
}

/// A link at the working name of the log led to somebody else's file.
#[test]
fn a_link_at_a_working_name_is_not_followed() {
    let bench = Bench::new();
    put_cube(&bench, "c", &BEAMS5);
    let precious = bench.put_text("precious", "precious");
    let working = bench.path("out/beamlog.c.sm.txt.part");
    std::os::unix::fs::symlink(&precious, &working).unwrap();
    bench.smooth_to(TGT).file("c").run().ok();
    assert_eq!(fs::read_to_string(&precious).unwrap(), "precious");
    let log = bench.path("out/beamlog.c.sm.txt");
    assert!(!log.is_symlink() && fs::read_to_string(log).unwrap().starts_with("# Channel"));
}

/// A beam of a thousand degrees had its transforms planned before anybody asked for the memory.
#[test]
fn an_absurd_target_is_refused_at_once() {
    for size in [4e8, 1e9, 1e12] {
        let bench = Bench::new();
        put_image(&bench, "c", OLD);
        let run = bench.smooth_to([size, size, 0.0]).args(["--memory", "1G"]);
        run.file("c").run().refused(2, &["c.fits"]);
    }
}

/// EXTEND = F stood before an extension.
#[test]
fn extend_is_true_before_a_table() {
    let bench = Bench::new();
    for (name, beams) in [("c", &BEAMS5), ("d", &OTHERS)] {
        let mut hdu = cube(beams, &casambm());
        for card in &mut hdu.cards {
            if card.starts_with(b"EXTEND  =") {
                *card = raw("EXTEND  =                    F");
            }
        }
        bench.put(name, &[hdu, BeamTable::new(beams).hdu()]);
    }
    bench
        .smooth()
        .args(["--mode", "natural"])
        .file("c")
        .file("d")
        .run()
        .ok();
    assert_eq!(bench.read("c").primary().logical("EXTEND"), Some(true));
}

/// Two flags that contradict each other were blamed on the input.
#[test]
fn a_log_and_another_source_is_a_wrong_request() {
    let bench = Bench::new();
    put_cube(&bench, "c", &BEAMS5);
    let log = bench.put_text("log.txt", &beam_log_of(&BEAMS5));
    let run = bench
        .smooth_to(TGT)
        .args(["--beam-from", "header", "--beamlog"])
        .path(&log);
    run.file("c").run().refused(2, &["log.txt"]);
}

/// The JSON named a target for a channel that its own table called blank.
#[test]
fn a_blank_channel_is_null_among_the_targets() {
    let bench = Bench::new();
    let mut with_blank = BEAMS5;
    with_blank[2] = [0.0, 0.0, 0.0];
    put_cube(&bench, "c", &with_blank);
    put_cube(&bench, "d", &OTHERS);
    let run = bench.smooth().args(["--mode", "natural", "--json"]);
    let out = run.file("c").file("d").run().ok();
    let [c, d] = &out.json()[..] else {
        panic!("two files")
    };
    assert!(c["targets"][2].is_null() && !c["targets"][1].is_null());
    assert!(!d["targets"][2].is_null());
    assert_eq!(c["blank_planes"], serde_json::json!([2]));
}

/// The sums of the beam table were lost with the old table.
#[test]
fn a_new_beam_table_has_sums_where_the_old_one_had() {
    let bench = Bench::new();
    for (name, beams) in [("c", &BEAMS5), ("d", &OTHERS)] {
        let table = checksum::stamp(&BeamTable::new(beams).hdu());
        bench.put(name, &[cube(beams, &casambm()), table]);
    }
    bench
        .smooth()
        .args(["--mode", "natural"])
        .file("c")
        .file("d")
        .run()
        .ok();
    let fits = bench.read("c");
    let table = fits.named("BEAMS").unwrap();
    assert!(table.has("CHECKSUM"));
    checksum::verify(table);
}

/// `a.fit` gave `a.fits` beside it.
#[test]
fn no_prefix_and_no_suffix_beside_the_input_is_refused() {
    let bench = Bench::new();
    let made = put_image(&bench, "a", OLD);
    fs::rename(made, bench.path("a.fit")).unwrap();
    let run = || {
        bench.mmconv([
            "smooth", "--suffix", "", "--bmaj", "30", "--bmin", "28", "--bpa", "0",
        ])
    };
    run().path(&bench.path("a.fit")).run().fails(2, &["a.fit"]);
    assert!(!bench.path("a.fits").exists());
    let out = run()
        .arg("--outdir")
        .path(&bench.path("out"))
        .path(&bench.path("a.fit"))
        .run()
        .ok();
    assert_eq!(out.lines().len(), 1);
    bench
        .smooth_to(TGT)
        .args(["--prefix", "../"])
        .path(&bench.path("a.fit"))
        .run()
        .fails(2, &["../"]);
}

/// With zero edges the smoothed mask of a wholly blank plane falls off at the margin, and a rule
/// that looked at it alone would make zeros of nothing there.
#[test]
fn a_wholly_blank_plane_stays_blank() {
    let bench = Bench::new();
    let grid = Grid::default();
    let blank = Samples::f32(&vec![f64::NAN; grid.pixels()]);
    bench.put(
        "c",
        &[Hdu::primary(&[grid.nx, grid.ny], &blank, &image_cards(OLD))],
    );
    for edge in ["zero", "wrap"] {
        for nan in ["keep", "racs", "interpolate"] {
            let run = bench
                .smooth_to(TGT)
                .args(["--overwrite", "--edge", edge, "--nan", nan]);
            run.file("c").run().ok();
            let pixels = bench.read("c").primary().pixels();
            assert!(pixels.iter().all(|v| v.is_nan()), "{edge} {nan}");
        }
    }
}

/// Text, or several numbers, where a beam's axis belongs made every channel blank.
#[test]
fn a_table_without_a_number_for_each_axis_is_no_beam_table() {
    let bench = Bench::new();
    for (i, bmaj) in [
        Column::new("BMAJ", 'A', None, vec![65.0; 5]),
        Column::new("BMAJ", 'L', None, vec![84.0; 5]),
    ]
    .into_iter()
    .enumerate()
    {
        let other = |name| Column::new(name, 'E', None, vec![9.0; 5]);
        let table = Hdu::table("BEAMS", &[bmaj, other("BMIN"), other("BPA")], &Cards::new());
        let name = format!("c{i}");
        bench.put(&name, &[cube(&BEAMS5, &casambm()), table]);
        bench
            .smooth_to(TGT)
            .file(&name)
            .run()
            .refused(3, &["BEAMS"]);
    }
}
