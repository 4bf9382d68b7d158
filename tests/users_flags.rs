//! The flags of `smooth` one by one, and the smaller commands: names, refusals, presets, natural
//! mode, resources. Each test is named by the flag it tries.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod support;

use support::*;

/// The target's three flags.
const TO: [&str; 6] = ["--bmaj", "30", "--bmin", "28", "--bpa", "20"];

#[test]
fn flags_names_of_outputs() {
    let bench = Bench::new();
    for name in ["a.fits", "b.fit", "d.fts", "e.v1.fits", "f"] {
        write::write(&bench.path(name), &[image(OLD)]);
    }
    let cases: [(&str, &[&str], &str); 7] = [
        ("a.fits", &[], "a.sm.fits"),
        ("b.fit", &[], "b.sm.fits"),
        ("d.fts", &[], "d.sm.fits"),
        ("e.v1.fits", &[], "e.v1.sm.fits"),
        ("a.fits", &["-p", "x_", "-s", "conv"], "x_a.conv.fits"),
        (
            "a.fits",
            &["--prefix", "y_", "--suffix", "30as"],
            "y_a.30as.fits",
        ),
        ("a.fits", &["-o", "out"], "out/a.sm.fits"),
    ];
    for (input, flags, output) in cases {
        let run = bench
            .mmconv(["smooth"])
            .args(TO)
            .args(flags.iter().copied())
            .arg(input)
            .run();
        let run = run.ok();
        assert_eq!(run.lines().len(), 1);
        assert!(
            run.lines()[0].ends_with(output),
            "{} for {input} {flags:?}",
            run.lines()[0]
        );
        check_planes(Fits::read(&bench.path(output)).primary(), TGT, &[]);
    }
    let named = bench
        .mmconv(["smooth"])
        .args(TO)
        .args(["--output", "out/mine.fits", "a.fits"]);
    let named = named.run().ok();
    assert_eq!(named.lines().len(), 1);
    check_planes(Fits::read(&bench.path("out/mine.fits")).primary(), TGT, &[]);
}

#[test]
fn flags_an_empty_suffix_in_another_folder() {
    let bench = Bench::new();
    put_image(&bench, "c", OLD);
    let run = bench.smooth_to(TGT).args(["-s", ""]).file("c").run().ok();
    assert_eq!(run.lines(), [bench.path("out/c.fits").to_str().unwrap()]);
    check_planes(Fits::read(&bench.path("out/c.fits")).primary(), TGT, &[]);
}

#[test]
fn flags_colliding_names_are_refused_before_any_work() {
    let bench = Bench::new();
    for folder in ["one", "two"] {
        std::fs::create_dir(bench.path(folder)).unwrap();
        put_image(&bench, &format!("{folder}/c"), OLD);
    }
    let files = ["one/c.fits", "two/c.fits"];
    bench
        .smooth_to(TGT)
        .args(files)
        .run()
        .refused(2, &["c.sm.fits"]);
    bench
        .smooth_to(TGT)
        .arg("--overwrite")
        .args(files)
        .run()
        .refused(2, &["c.sm.fits"]);
    bench
        .smooth_to(TGT)
        .args(["one/c.fits", "one/c.fits"])
        .run()
        .refused(2, &["c.sm.fits"]);
    let named = bench
        .mmconv(["smooth", "--output", "out/x.fits"])
        .args(TO)
        .args(files);
    named.run().refused(2, &["--output"]);
    bench.mmconv(["smooth"]).args(TO).args(files).run().ok();
}

#[test]
fn flags_bad_requests_exit_with_two() {
    let bench = Bench::new();
    put_image(&bench, "c", OLD);
    let bad: [&[&str]; 14] = [
        &["--bmaj", "30"],
        &["--bmaj", "30", "--bmin", "28"],
        &["--bmin", "28", "--bpa", "0"],
        &["--bmaj", "0", "--bmin", "0", "--bpa", "0"],
        &["--bmaj", "nan", "--bmin", "nan", "--bpa", "0"],
        &["--bmaj=-30", "--bmin=-28", "--bpa", "0"],
        &["--bmaj", "inf", "--bmin", "28", "--bpa", "0"],
        &["--mode", "sideways"],
        &["--edge", "mirror"],
        &["--nan", "guess"],
        &["--precision", "f16"],
        &["--threads", "many"],
        &["--no-such-flag"],
        &["--round", "-1"],
    ];
    for flags in bad {
        let run = bench.smooth().args(flags.iter().copied()).file("c").run();
        assert_eq!(run.code, 2, "{flags:?}: {}", run.stderr);
        run.refused(2, &[]);
    }
    bench.mmconv(["smother"]).file("c").run().refused(2, &[]);
}

#[test]
fn flags_negative_angles_are_values_not_flags() {
    let bench = Bench::new();
    put_image(&bench, "c", OLD);
    let flags = ["--bmaj", "30", "--bmin", "28", "--bpa", "-160"];
    bench.smooth().args(flags).file("c").run().ok();
    check_planes(bench.read("c").primary(), TGT, &[]);
}

#[test]
fn flags_circularise_gives_the_smallest_circle() {
    let bench = Bench::new();
    put_image(&bench, "c", OLD);
    put_image(&bench, "d", [14.0, 13.0, -20.0]);
    bench
        .smooth()
        .arg("--circularise")
        .file("c")
        .file("d")
        .run()
        .ok();
    for name in ["c", "d"] {
        let hdu = bench.read(name).primary().clone();
        let beam = hdu.beam().expect("a beam");
        same_beam(beam, [16.0, 16.0, 0.0], 1e-6);
        assert_eq!(beam[2], 0.0);
        check_planes(&hdu, beam, &[]);
    }
    let rounded = ["--circularise", "--round", "0.7", "--overwrite"];
    bench.smooth().args(rounded).file("c").file("d").run().ok();
    let beam = bench.read("c").primary().beam().unwrap();
    assert!(
        (beam[0] - 16.1).abs() < 1e-9 && (beam[1] - 16.1).abs() < 1e-9,
        "{beam:?}"
    );
}

#[test]
fn flags_compat_racs_tools_is_a_drop_in() {
    let bench = Bench::new();
    let (one, two) = ([16.03, 9.02, 40.0], [14.0, 13.01, -20.0]);
    put_image(&bench, "c", one);
    put_image(&bench, "d", two);
    let run = ["--compat", "racs-tools", "--mode", "total"];
    bench.smooth().args(run).file("c").file("d").run().ok();
    let beam = bench.read("c").primary().beam().expect("a beam");
    let whole = |v: f64, step: f64| (v / step - (v / step).round()).abs() < 1e-6;
    assert!(
        whole(beam[0], 0.1) && whole(beam[1], 0.1) && whole(beam[2], 0.01),
        "{beam:?}"
    );
    assert!(
        margin(beam, one) > -1e-6 && margin(beam, two) > -1e-6,
        "{beam:?}"
    );
    assert!(beam[0] < 16.3, "{beam:?}");
}

#[test]
fn flags_compat_racs_tools_wraps_and_blanks_as_the_peers() {
    let g = Grid {
        x0: 2.0,
        ..Grid::default()
    };
    let mut pixels = g.gaussian(OLD);
    pixels[40 * g.nx + 50] = f64::NAN;
    let bench = Bench::new();
    bench.put(
        "c",
        &[Hdu::primary(
            &[g.nx, g.ny],
            &Samples::f32(&pixels),
            &image_cards(OLD),
        )],
    );
    bench
        .smooth_to(TGT)
        .args(["--compat", "racs-tools"])
        .file("c")
        .run()
        .ok();
    let got = bench.read("c").primary().pixels();
    assert!(got[31 * g.nx + g.nx - 1] > 0.5, "no wrap");
    assert!(
        got.iter().all(|v| v.is_finite()),
        "one blank pixel is filled by the peers' rule"
    );
}

#[test]
fn flags_natural_mode_shares_beams_by_channel() {
    let bench = Bench::new();
    put_cube(&bench, "c", &BEAMS5);
    put_cube(&bench, "d", &OTHERS);
    bench
        .smooth()
        .args(["--mode", "natural"])
        .file("c")
        .file("d")
        .run()
        .ok();
    let (one, two) = (bench.read("c"), bench.read("d"));
    check_planes_of_table(&one, &[]);
    check_planes_of_table(&two, &[]);
    assert_eq!(table_beams(&one), table_beams(&two));
    for (k, beam) in table_beams(&one).into_iter().enumerate() {
        assert!(margin(beam, BEAMS5[k]) > -1e-5 && margin(beam, OTHERS[k]) > -1e-5);
        assert!(
            beam[0] < 1.2 * OTHERS[k][0] && beam[1] < OTHERS[k][0],
            "channel {k}: {beam:?}"
        );
    }
}

#[test]
fn flags_natural_mode_shares_beams_over_stokes() {
    for order in [Order::Casa, Order::Askap] {
        let beam = |c: usize, s: usize| if s == 0 { BEAMS5[c] } else { OTHERS[c] };
        let rows: Vec<(usize, usize)> = (0..5).flat_map(|c| [(c, 0), (c, 1)]).collect();
        let beams: Vec<Beam> = rows.iter().map(|r| beam(r.0, r.1)).collect();
        let index = |f: fn(&(usize, usize)) -> usize| -> Vec<i64> {
            rows.iter().map(|r| i64::try_from(f(r)).unwrap()).collect()
        };
        let table = BeamTable::new(&beams)
            .chan(&index(|r| r.0))
            .pol(&index(|r| r.1), 2)
            .hdu();
        let bench = Bench::new();
        bench.put("c", &[hypercube(order, (5, 2), beam, &casambm()), table]);
        bench
            .smooth()
            .args(["--mode", "natural"])
            .file("c")
            .run()
            .ok();
        let fits = bench.read("c");
        let table = fits.named("BEAMS").expect("a table");
        let chan = table.column("CHAN").unwrap();
        let written = table_beams(&fits);
        for (k, plane) in fits.primary().planes().iter().enumerate() {
            let c = if order == Order::Casa { k / 2 } else { k % 5 };
            let row = chan.iter().position(|v| *v == c as f64).expect("a row");
            let what = format!("{order:?} plane {k}");
            close_to(plane, &Grid::default().gaussian(written[row]), 1e-4, &what);
        }
    }
}

#[test]
fn flags_natural_mode_needs_equal_channel_counts() {
    let bench = Bench::new();
    put_cube(&bench, "c", &BEAMS5);
    put_cube(&bench, "d", &OTHERS[..4]);
    let run = bench
        .smooth()
        .args(["--mode", "natural"])
        .file("c")
        .file("d")
        .run();
    run.refused(3, &["4", "5"]);
    bench.smooth().file("c").file("d").run().ok();
}

#[test]
fn flags_an_explicit_target_wins_over_the_mode() {
    for mode in ["natural", "total"] {
        let bench = Bench::new();
        put_cube(&bench, "c", &BEAMS5);
        bench
            .smooth_to(TGT)
            .args(["--mode", mode])
            .file("c")
            .run()
            .ok();
        check_planes(bench.read("c").primary(), TGT, &[]);
    }
}

#[test]
fn flags_threads_and_memory_do_not_change_the_bits() {
    let bench = Bench::new();
    put_cube(&bench, "c", &BEAMS5);
    let mut seen: Option<Vec<u8>> = None;
    for flags in [
        ["--threads", "1"],
        ["--threads", "4"],
        ["--memory", "64M"],
        ["--threads", "7"],
        ["--io", "write"],
        ["--io", "map"],
        ["--write-behind", "always"],
    ] {
        bench
            .smooth_to(TGT)
            .arg("--overwrite")
            .args(flags)
            .file("c")
            .run()
            .ok();
        let data = bench.read("c").primary().data.clone();
        if let Some(first) = &seen {
            same_bits(&data, first, &format!("{flags:?}"));
        }
        seen = Some(data);
    }
}

#[test]
fn flags_info_shows_a_file_at_a_glance() {
    let bench = Bench::new();
    put_cube(&bench, "c", &BEAMS5);
    let run = bench.mmconv(["info"]).file("c").run().ok();
    for word in ["70", "60", "5", "BEAMS", "Jy/beam", "FREQ"] {
        assert!(run.stdout.contains(word), "no '{word}' in {}", run.stdout);
    }
    bench.put("d", &[image(OLD)]);
    let json = bench
        .mmconv(["info", "--json"])
        .file("c")
        .file("d")
        .run()
        .ok()
        .json();
    assert_eq!(json.len(), 2);
    assert!(json.iter().all(serde_json::Value::is_object));
}

#[test]
fn flags_demo_runs_twice() {
    let bench = Bench::new();
    for _ in 0..2 {
        bench.mmconv(["demo"]).run().ok();
        assert!(bench.path("mmconv-demo").is_dir());
    }
    let made = bench.list("mmconv-demo");
    assert!(made.iter().any(|n| n.ends_with(".sm.fits")), "{made:?}");
    bench.mmconv(["demo", "elsewhere"]).run().ok();
    assert!(bench.path("elsewhere").is_dir());
}
