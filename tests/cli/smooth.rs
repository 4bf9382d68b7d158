//! `mmconv smooth`: results, plans, names, presets.

use std::fs;

use serde_json::{Value, json};

use crate::harness::Folder;

const TARGET: [&str; 6] = ["--bmaj", "30", "--bmin", "28", "--bpa", "-160"];
const BEAMS: [Option<[f64; 3]>; 4] = [
    Some([16.0, 9.0, 40.0]),
    None,
    Some([17.0, 9.5, 43.0]),
    Some([18.0, 10.0, 46.0]),
];

fn smooth<'a>(words: &[&'a str]) -> Vec<&'a str> {
    ["smooth"].iter().chain(words).copied().collect()
}

fn to_target<'a>(words: &[&'a str]) -> Vec<&'a str> {
    ["smooth"]
        .iter()
        .chain(&TARGET)
        .chain(words)
        .copied()
        .collect()
}

/// Two images with beams of their own.
fn two_images() -> Folder {
    let folder = Folder::new();
    folder.image("a.fits", [16.0, 9.0, 40.0]);
    folder.image("b.fits", [15.0, 10.0, -30.0]);
    folder
}

#[test]
fn outputs_are_named_on_standard_output_and_the_plan_is_not() {
    let folder = two_images();
    let ran = folder.run(&smooth(&["a.fits", "b.fits"])).done();
    assert_eq!(ran.lines(), ["a.sm.fits", "b.sm.fits"]);
    for word in [
        "a.fits -> a.sm.fits",
        "beams",
        "target",
        "kernel",
        "in all: 2 files",
        "done:",
    ] {
        assert!(ran.stderr.contains(word), "{word} in {}", ran.stderr);
    }
    assert_eq!(
        folder.names(),
        ["a.fits", "a.sm.fits", "b.fits", "b.sm.fits"]
    );
}

#[test]
fn quiet_says_nothing_but_results() {
    let folder = two_images();
    let ran = folder.run(&to_target(&["-q", "a.fits"])).done();
    assert_eq!(
        (ran.stdout.as_str(), ran.stderr.as_str()),
        ("a.sm.fits\n", "")
    );
}

#[test]
fn every_plane_has_a_line_where_that_is_wanted() {
    let folder = Folder::new();
    folder.cube("c.fits", &BEAMS);
    let plan = folder.run(&smooth(&["-d", "c.fits"])).done().stderr;
    assert!(
        !plan.contains("plane 2 (") && plan.contains("1 plane: 1\n"),
        "{plan}"
    );
    let plan = folder.run(&smooth(&["-dv", "c.fits"])).done().stderr;
    assert!(
        plan.contains("plane 2 (channel 2, stokes 0): 17 x 9.5 arcsec"),
        "{plan}"
    );
}

#[test]
fn the_json_has_its_keys_in_order() {
    let folder = Folder::new();
    folder.cube("c.fits", &BEAMS);
    let ran = folder.run(&to_target(&["--json", "c.fits"])).done();
    let [object] = ran.objects().try_into().unwrap();
    let keys: Vec<&String> = object.as_object().unwrap().keys().collect();
    assert_eq!(
        keys,
        [
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
            "skipped",
            "lanes",
            "threads_per_lane",
            "scratch_bytes"
        ]
    );
    assert_eq!(object["input"], "c.fits");
    assert_eq!(object["output"], "c.sm.fits");
    assert_eq!(object["planes"], 4);
    assert_eq!(object["blank_planes"], json!([1]));
    assert_eq!(object["passed_through"], 0);
    assert_eq!(
        object["target"],
        json!({"bmaj_arcsec": 30.0, "bmin_arcsec": 28.0, "bpa_deg": 20.0})
    );
    assert_eq!(
        object["bytes"],
        fs::metadata(folder.join("c.sm.fits")).unwrap().len()
    );
    assert!(object["seconds"].as_f64().unwrap() >= 0.0);
}

#[test]
fn a_dry_run_makes_nothing() {
    let folder = Folder::new();
    folder.cube("c.fits", &BEAMS);
    let ran = folder.run(&smooth(&["--dry-run", "c.fits"])).done();
    assert_eq!(ran.lines(), ["c.sm.fits"]);
    let ran = folder
        .run(&smooth(&["--dry-run", "--json", "c.fits"]))
        .done();
    let [object] = ran.objects().try_into().unwrap();
    assert!(object["target"]["bmaj_arcsec"].as_f64().unwrap() >= 18.0);
    assert_eq!(object["seconds"], Value::Null);
    assert_eq!(folder.names(), ["c.fits"]);
}

#[test]
fn natural_mode_lists_targets_with_null_for_blank() {
    let folder = Folder::new();
    folder.cube("c.fits", &BEAMS);
    folder.cube("d.fits", &[Some([20.0, 19.0, 0.0]); 4].map(|beam| beam));
    let words = smooth(&["-d", "--json", "--mode", "natural", "c.fits", "d.fits"]);
    let objects = folder.run(&words).done().objects();
    assert_eq!(objects.len(), 2);
    assert_eq!(objects[0]["targets"].as_array().unwrap().len(), 4);
    assert!(objects[0].get("target").is_none());
    let alone = folder
        .run(&smooth(&["-d", "--json", "--mode", "natural", "c.fits"]))
        .done();
    let [object] = alone.objects().try_into().unwrap();
    assert_eq!(object["targets"][1], Value::Null);
    assert_eq!(object["passed_through"], 3);
}

#[test]
fn a_preset_gives_way_to_a_flag_before_it() {
    let folder = Folder::new();
    folder.cube("c.fits", &BEAMS);
    let target = |words: &[&str]| {
        let words: Vec<&str> = ["smooth", "-d", "--json"]
            .iter()
            .chain(words)
            .copied()
            .collect();
        let [object] = folder.run(&words).done().objects().try_into().unwrap();
        object
    };
    assert!(
        target(&["--compat", "racs-tools", "c.fits"])
            .get("targets")
            .is_some()
    );
    let total = target(&["--mode", "total", "--compat", "racs-tools", "c.fits"]);
    let bmaj = total["target"]["bmaj_arcsec"].as_f64().unwrap() * 10.0;
    assert!(
        (bmaj - bmaj.round()).abs() < 1e-9,
        "rounded to 0.1 arcsec: {bmaj}"
    );
}

#[test]
fn names_come_from_a_list() {
    let folder = two_images();
    let words = to_target(&["--overwrite", "--files-from", "-"]);
    let ran = folder
        .run_with_stdin(&words, b"a.fits\n\n  \nb.fits\n")
        .done();
    assert_eq!(ran.lines(), ["a.sm.fits", "b.sm.fits"]);
    let words = to_target(&["--overwrite", "-0", "--files-from", "-"]);
    let ran = folder.run_with_stdin(&words, b"b.fits\0a.fits\0").done();
    assert_eq!(ran.lines(), ["b.sm.fits", "a.sm.fits"]);
    fs::write(folder.join("list"), "b.fits\r\n").unwrap();
    let words = to_target(&["--overwrite", "--files-from", "list", "a.fits"]);
    assert_eq!(
        folder.run(&words).done().lines(),
        ["a.sm.fits", "b.sm.fits"]
    );
}

#[test]
fn outputs_go_where_they_are_told_to() {
    let folder = two_images();
    fs::create_dir(folder.join("out")).unwrap();
    let words = to_target(&["-o", "out", "-p", "x-", "-s", "blur", "a.fits"]);
    assert_eq!(folder.run(&words).done().lines(), ["out/x-a.blur.fits"]);
    let words = to_target(&["--output", "out/y.fits", "a.fits"]);
    assert_eq!(folder.run(&words).done().lines(), ["out/y.fits"]);
    folder
        .run(&to_target(&["--output", "z.fits", "a.fits", "b.fits"]))
        .refused(2, &["z.fits"]);
    folder
        .run(&to_target(&["-s", "", "a.fits"]))
        .refused(2, &["a.fits"]);
}

#[test]
fn an_output_that_exists_is_kept_unless_told_otherwise() {
    let folder = two_images();
    fs::write(folder.join("a.sm.fits"), "precious").unwrap();
    folder
        .run(&to_target(&["a.fits", "b.fits"]))
        .refused(2, &["a.sm.fits"]);
    assert_eq!(folder.names(), ["a.fits", "a.sm.fits", "b.fits"]);
    let ran = folder
        .run(&to_target(&["--skip-existing", "a.fits", "b.fits"]))
        .done();
    assert_eq!(ran.lines(), ["a.sm.fits", "b.sm.fits"]);
    assert!(ran.stderr.contains("skipped"), "{}", ran.stderr);
    assert_eq!(fs::read(folder.join("a.sm.fits")).unwrap(), b"precious");
    folder.run(&to_target(&["--overwrite", "a.fits"])).done();
    assert_ne!(fs::read(folder.join("a.sm.fits")).unwrap(), b"precious");
}

#[test]
fn each_kind_of_fault_has_its_status_and_names_the_file() {
    let folder = two_images();
    folder
        .run(&smooth(&["absent.fits"]))
        .refused(3, &["mmconv: absent.fits: "]);
    fs::write(folder.join("text.fits"), "not a FITS file").unwrap();
    folder
        .run(&smooth(&["text.fits"]))
        .refused(3, &["mmconv: text.fits: "]);
    let small = smooth(&["--bmaj", "12", "--bmin", "12", "--bpa", "0", "a.fits"]);
    folder.run(&small).refused(2, &["mmconv: a.fits"]);
    folder
        .run(&to_target(&["-o", "absent", "a.fits"]))
        .refused(2, &["absent"]);
    for words in [smooth(&["absent.fits"]), small] {
        assert_eq!(folder.run(&words).stderr.lines().count(), 1);
    }
    assert_eq!(folder.names(), ["a.fits", "b.fits", "text.fits"]);
}

#[test]
fn flags_that_change_nothing_are_told_of() {
    let folder = two_images();
    let plan = folder
        .run(&to_target(&["-d", "--round", "0.1", "a.fits"]))
        .done()
        .stderr;
    assert!(plan.contains("note: --circularise and --round"), "{plan}");
    let plan = folder
        .run(&smooth(&["-d", "--round", "0.1", "a.fits"]))
        .done()
        .stderr;
    assert!(!plan.contains("note: --circularise"), "{plan}");
}

#[test]
fn the_command_line_in_the_output_is_no_beam_source() {
    let folder = two_images();
    folder
        .run(&["smooth", "--bmaj=30", "--bmin=28", "--bpa=20", "a.fits"])
        .done();
    let bytes = fs::read(folder.join("a.sm.fits")).unwrap();
    assert!(String::from_utf8_lossy(&bytes).contains("--bmaj=30"));
    folder
        .run(&["beams", "--beam-from", "history", "a.sm.fits"])
        .refused(3, &["HISTORY"]);
}
