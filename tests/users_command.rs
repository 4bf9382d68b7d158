//! USERS.md 1g to 1i as far as a command line shows them: existing files, lists of inputs, what
//! stands on stdout. Each test is named by its id.

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
fn i08_an_error_leaves_no_plausible_output() {
    let bench = Bench::new();
    put_image(&bench, "c", OLD);
    put_image(&bench, "d", [50.0, 40.0, 0.0]);
    bench
        .smooth_to(TGT)
        .file("c")
        .file("d")
        .run()
        .refused(2, &["d.fits"]);
}

#[test]
fn i09_output_that_is_the_input_by_another_name() {
    for link in ["hard", "symbolic"] {
        for overwrite in [true, false] {
            let bench = Bench::new();
            let path = put_image(&bench, "c", OLD);
            let before = std::fs::read(&path).unwrap();
            if link == "hard" {
                std::fs::hard_link(&path, bench.out("c")).unwrap();
            } else {
                std::os::unix::fs::symlink(&path, bench.out("c")).unwrap();
            }
            let run = bench.smooth_to(TGT).file("c");
            let run = if overwrite {
                run.arg("--overwrite")
            } else {
                run
            };
            run.run().fails(2, &["c.sm.fits"]);
            same_bits(&std::fs::read(&path).unwrap(), &before, "the input");
        }
    }
}

#[test]
fn i09_output_that_is_the_input_itself() {
    let bench = Bench::new();
    let path = put_image(&bench, "c", OLD);
    let before = std::fs::read(&path).unwrap();
    let to_itself = bench
        .mmconv(["smooth", "--overwrite"])
        .args(TO)
        .arg("--output");
    to_itself
        .path(&path)
        .file("c")
        .run()
        .refused(2, &["c.fits"]);
    let no_suffix = bench
        .mmconv(["smooth", "--overwrite", "-s", ""])
        .args(TO)
        .file("c");
    no_suffix.run().refused(2, &["c.fits"]);
    let relative = bench
        .mmconv(["smooth", "--overwrite", "--output", "./out/../c.fits"])
        .args(TO);
    relative.file("c").run().refused(2, &["c.fits"]);
    same_bits(&std::fs::read(&path).unwrap(), &before, "the input");
}

#[test]
fn i09_output_that_is_another_input() {
    let bench = Bench::new();
    put_image(&bench, "c", OLD);
    let other = put_image(&bench, "c.sm", [17.0, 12.0, 10.0]);
    let before = std::fs::read(&other).unwrap();
    let run = bench
        .mmconv(["smooth", "--overwrite"])
        .args(TO)
        .file("c")
        .file("c.sm");
    run.run().refused(2, &["c.sm.fits"]);
    same_bits(&std::fs::read(&other).unwrap(), &before, "the other input");
}

#[test]
fn i10_an_existing_output_is_not_overwritten_unasked() {
    let bench = Bench::new();
    put_image(&bench, "c", OLD);
    put_image(&bench, "d", OLD);
    std::fs::write(bench.out("d"), "precious").unwrap();
    let run = bench
        .smooth_to(TGT)
        .file("c")
        .file("d")
        .run()
        .fails(2, &["d.sm.fits"]);
    assert_eq!(run.stdout, "");
    assert_eq!(bench.outputs(), ["d.sm.fits"], "checked before any work");
    assert_eq!(std::fs::read_to_string(bench.out("d")).unwrap(), "precious");
    bench
        .smooth_to(TGT)
        .arg("--overwrite")
        .file("c")
        .file("d")
        .run()
        .ok();
    check_planes(bench.read("d").primary(), TGT, &[]);
}

#[test]
fn i10_existing_outputs_can_be_skipped() {
    let bench = Bench::new();
    put_image(&bench, "c", OLD);
    put_image(&bench, "d", OLD);
    std::fs::write(bench.out("d"), "precious").unwrap();
    bench
        .smooth_to(TGT)
        .arg("--skip-existing")
        .file("c")
        .file("d")
        .run()
        .ok();
    check_planes(bench.read("c").primary(), TGT, &[]);
    assert_eq!(std::fs::read_to_string(bench.out("d")).unwrap(), "precious");
    let both = bench
        .smooth_to(TGT)
        .args(["--skip-existing", "--overwrite"])
        .file("c")
        .run();
    both.fails(2, &["--overwrite"]);
}

#[test]
fn i10_an_output_folder_that_is_not_there() {
    let bench = Bench::new();
    put_image(&bench, "c", OLD);
    let run = bench
        .mmconv(["smooth", "-o", "new/folder"])
        .args(TO)
        .file("c")
        .run();
    if run.code == 0 {
        let fits = Fits::read(&bench.path("new/folder/c.sm.fits"));
        check_planes(fits.primary(), TGT, &[]);
    } else {
        assert!([2, 4].contains(&run.code), "exit status {}", run.code);
        let code = run.code;
        run.refused(code, &["new/folder"]);
    }
}

#[test]
fn p02_output_paths_are_the_whole_of_stdout() {
    let bench = Bench::new();
    put_cube(&bench, "c", &BEAMS5);
    put_cube(&bench, "d", &BEAMS5);
    for more in [&[][..], &["-q"], &["-v"]] {
        let run = bench
            .smooth_to(TGT)
            .arg("--overwrite")
            .args(more.iter().copied());
        let run = run.file("c").file("d").run().ok();
        let want = ["c", "d"].map(|n| bench.out(n).display().to_string());
        assert_eq!(run.lines(), want);
    }
}

#[test]
fn p02_json_tells_beams_and_blanked_channels() {
    let mut beams = BEAMS5;
    beams[3] = [f64::NAN; 3];
    let bench = Bench::new();
    bench.put(
        "c",
        &[cube(&BEAMS5, &casambm()), BeamTable::new(&beams).hdu()],
    );
    let run = bench.smooth_to(TGT).arg("--json").file("c").run().ok();
    let json = run.json();
    assert_eq!(json.len(), 1);
    let one = json[0].as_object().expect("an object");
    for key in [
        "input",
        "output",
        "beam_source",
        "planes",
        "blank_planes",
        "passed_through",
        "target",
        "notes",
        "bytes",
        "memory_bytes",
        "seconds",
    ] {
        assert!(one.contains_key(key), "no {key} in {}", json[0]);
    }
    assert_eq!(one["input"], bench.path("c.fits").to_str().unwrap());
    assert_eq!(one["output"], bench.out("c").to_str().unwrap());
    assert_eq!(one["planes"], 5);
    assert_eq!(one["blank_planes"], serde_json::json!([3]));
    assert_eq!(one["target"]["bmaj_arcsec"], 30.0);
    assert_eq!(one["target"]["bpa_deg"], 20.0);
    assert!(one["notes"].is_array());
}

/// Runs with a list of names on stdin or in a file, from `list`.
fn listed(list: &[u8], flags: &[&str], stdin: bool) {
    let bench = Bench::new();
    put_image(&bench, "c", OLD);
    put_image(&bench, "d e", OLD);
    let run = bench
        .smooth_to(TGT)
        .args(flags.iter().copied())
        .arg("--files-from");
    let run = if stdin {
        run.arg("-").stdin(list)
    } else {
        std::fs::write(bench.path("list.txt"), list).unwrap();
        run.arg("list.txt")
    };
    let outcome = run.run().ok();
    assert_eq!(outcome.lines().len(), 2, "{}", outcome.stdout);
    check_planes(bench.read("c").primary(), TGT, &[]);
    check_planes(bench.read("d e").primary(), TGT, &[]);
}

#[test]
fn p04_inputs_from_a_list() {
    for stdin in [true, false] {
        listed(b"c.fits\n\nd e.fits\n", &[], stdin);
        listed(b"\n\nc.fits\n\n\nd e.fits", &[], stdin);
        listed(b"c.fits\r\n\r\nd e.fits\r\n", &[], stdin);
        listed(b"c.fits\0d e.fits\0", &["-0"], stdin);
        listed(b"c.fits\0\0d e.fits", &["-0"], stdin);
    }
}

#[test]
fn p04_a_list_and_names_together() {
    let bench = Bench::new();
    ["c", "d", "e"]
        .iter()
        .for_each(|n| drop(put_image(&bench, n, OLD)));
    let run = bench.smooth_to(TGT).file("c").args(["--files-from", "-"]);
    let run = run.stdin("d.fits\ne.fits\n").run().ok();
    assert_eq!(run.lines().len(), 3);
    assert_eq!(bench.outputs(), ["c.sm.fits", "d.sm.fits", "e.sm.fits"]);
}

#[test]
fn p04_nothing_to_do_is_a_bad_request() {
    let bench = Bench::new();
    bench.smooth_to(TGT).run().refused(2, &[]);
    bench
        .smooth_to(TGT)
        .args(["--files-from", "-"])
        .stdin("\n\n")
        .run()
        .refused(2, &[]);
    let absent = bench
        .smooth_to(TGT)
        .args(["--files-from", "absent.txt"])
        .run();
    let code = absent.code;
    assert!([2, 3].contains(&code), "exit status {code}");
    absent.refused(code, &["absent.txt"]);
}

#[test]
fn p04_three_hundred_inputs() {
    let bench = Bench::new();
    let hdu = Hdu::primary(&[9, 7], &Samples::F32(vec![1.0; 63]), &image_cards(OLD));
    let names: Vec<String> = (0..300).map(|i| format!("im{i:03}")).collect();
    names
        .iter()
        .for_each(|n| drop(bench.put(n, std::slice::from_ref(&hdu))));
    let list: String = names.iter().map(|n| format!("{n}.fits\n")).collect();
    let run = bench
        .smooth_to(TGT)
        .args(["--files-from", "-"])
        .stdin(list)
        .run()
        .ok();
    assert_eq!(run.lines().len(), 300);
    assert_eq!(bench.outputs().len(), 300);
}

#[test]
fn p05_a_dry_run_makes_nothing_and_prints_only_json() {
    let bench = Bench::new();
    put_cube(&bench, "c", &BEAMS5);
    put_cube(&bench, "d", &OTHERS);
    let run = bench
        .smooth()
        .args(["--dry-run", "--json"])
        .file("c")
        .file("d")
        .run()
        .ok();
    let json = run.json();
    assert_eq!(json.len(), 2);
    assert!(bench.outputs().is_empty());
    assert_eq!(bench.list(""), ["c.fits", "d.fits", "out"]);
    for (one, name) in json.iter().zip(["c", "d"]) {
        assert_eq!(
            one["input"],
            bench.path(format!("{name}.fits")).to_str().unwrap()
        );
        assert_eq!(one["output"], bench.out(name).to_str().unwrap());
        assert!(one["target"]["bmaj_arcsec"].as_f64().unwrap() >= 20.0);
        assert_eq!(one["planes"], 5);
        assert!(one["beam_source"].to_string().contains("BEAMS"));
    }
    assert_eq!(json[0]["target"], json[1]["target"]);
    bench.smooth().arg("--dry-run").file("c").run().ok();
    assert!(bench.outputs().is_empty());
}

#[test]
fn p05_a_dry_run_finds_what_a_run_would_refuse() {
    let bench = Bench::new();
    put_image(&bench, "c", OLD);
    bench
        .smooth_to([12.0, 12.0, 0.0])
        .args(["--dry-run"])
        .file("c")
        .run()
        .refused(2, &["c.fits"]);
    std::fs::write(bench.out("c"), "precious").unwrap();
    bench
        .smooth_to(TGT)
        .args(["--dry-run"])
        .file("c")
        .run()
        .fails(2, &["c.sm.fits"]);
}

#[test]
fn p07_the_plan_is_on_stderr_with_beams_and_targets() {
    let bench = Bench::new();
    put_cube(&bench, "c", &BEAMS5);
    let run = bench
        .smooth_to(TGT)
        .file("c")
        .run()
        .ok()
        .says(&["BEAMS", "30", "28", "c.fits"]);
    assert!(
        !run.stderr.contains('\u{1b}'),
        "colour outside a terminal: {:?}",
        run.stderr
    );
    assert!(
        !run.stderr.contains('\r'),
        "a progress bar outside a terminal"
    );
    let failing = bench
        .smooth_to([15.0, 15.0, 0.0])
        .file("c")
        .arg("--overwrite")
        .run();
    failing.fails(2, &["c.fits", "15"]);
}

#[test]
fn e07_a_dry_run_states_bytes_and_memory() {
    let bench = Bench::new();
    put_cube(&bench, "c", &BEAMS5);
    let json = bench
        .smooth_to(TGT)
        .args(["-d", "--json"])
        .file("c")
        .run()
        .ok()
        .json();
    let bytes = json[0]["bytes"].as_u64().expect("bytes");
    assert!((5 * 70 * 60 * 4..200_000).contains(&bytes), "{bytes}");
    assert!(json[0]["memory_bytes"].as_u64().expect("memory") > 0);
}
