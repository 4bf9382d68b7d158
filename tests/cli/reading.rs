//! `mmconv beams` and `mmconv info`.

use std::fs;

use serde_json::{Value, json};

use crate::harness::Folder;

/// An image, and a cube with a channel that has no beam.
fn files() -> Folder {
    let folder = Folder::new();
    folder.image("a.fits", [16.0, 9.0, 40.0]);
    folder.cube(
        "c.fits",
        &[Some([16.0, 9.0, 40.0]), None, Some([20.0, 11.0, -46.0])],
    );
    folder
}

#[test]
fn beams_are_listed_by_channel() {
    let folder = files();
    let text = folder.run(&["beams", "c.fits"]).done().stdout;
    assert!(
        text.starts_with("c.fits: 3 channels, 1 stokes; beams from "),
        "{text}"
    );
    let rows: Vec<Vec<&str>> = text
        .lines()
        .skip(2)
        .take(3)
        .map(|line| line.split_whitespace().collect())
        .collect();
    assert_eq!(rows[0], ["0", "0", "16", "9", "40.00"]);
    assert_eq!(rows[1], ["1", "0", "-", "-", "blank"]);
    assert_eq!(rows[2], ["2", "0", "20", "11", "-46.00"]);
    assert!(text.contains("BMAJ      16 / 18 / 20 arcsec") && text.contains("blank     1 of 3"));
    assert!(text.contains("  common    "), "{text}");
}

#[test]
fn beams_of_several_files_have_a_common_one_too() {
    let folder = files();
    let ran = folder.run(&["beams", "a.fits", "c.fits"]).done();
    assert!(
        ran.stdout.contains("all 2 files\n  common    "),
        "{}",
        ran.stdout
    );
    let ran = folder.run(&["beams", "--json", "a.fits", "c.fits"]).done();
    let [image, cube] = ran.objects().try_into().unwrap();
    assert_eq!(image["common"]["bmaj_arcsec"], 16.0);
    assert_eq!(image["common_of_all_files"], cube["common_of_all_files"]);
    assert!(
        image["common_of_all_files"]["bmaj_arcsec"]
            .as_f64()
            .unwrap()
            >= 20.0 - 1e-6
    );
    assert_eq!(
        cube["bmaj_arcsec"],
        json!({ "min": 16.0, "median": 18.0, "max": 20.0 })
    );
    assert_eq!(cube["blank"], 1);
    assert_eq!(cube["beams"][1]["bmaj_arcsec"], Value::Null);
    assert_eq!(cube["beams"][2]["channel"], 2);
    assert_eq!(cube["beams"][2]["bpa_deg"], -46.0);
    assert_eq!(cube["input"], "c.fits");
}

#[test]
fn beams_come_from_where_they_are_wanted_from() {
    let folder = files();
    let log = "# Channel BMAJ[arcsec] BMIN[arcsec] BPA[deg]\n0 30 20 10\n";
    fs::write(folder.join("log.txt"), log).unwrap();
    let ran = folder
        .run(&["beams", "--json", "--beamlog", "log.txt", "a.fits"])
        .done();
    let [object] = ran.objects().try_into().unwrap();
    assert_eq!(object["beams"][0]["bmaj_arcsec"], 30.0);
    assert!(object["beam_source"].as_str().unwrap().contains("log.txt"));
    folder
        .run(&["beams", "--beam-from", "table", "a.fits"])
        .refused(3, &["a.fits"]);
    folder
        .run(&["beams", "--hdu", "7", "a.fits"])
        .refused(3, &["a.fits", "7"]);
}

#[test]
fn a_bad_file_does_not_keep_the_others_from_being_shown() {
    let folder = files();
    fs::write(folder.join("bad.fits"), "nothing").unwrap();
    for command in ["beams", "info"] {
        let ran = folder.run(&[command, "absent.fits", "a.fits", "bad.fits", "c.fits"]);
        assert_eq!(ran.status, 3);
        assert!(ran.stdout.contains("a.fits: ") && ran.stdout.contains("c.fits: "));
        let told: Vec<&str> = ran.stderr.lines().collect();
        assert_eq!(told.len(), 2, "{told:?}");
        assert!(told[0].starts_with("mmconv: absent.fits: "), "{told:?}");
        assert!(told[1].starts_with("mmconv: bad.fits: "), "{told:?}");
    }
}

#[test]
fn info_shows_hdus_axes_beams_and_units() {
    let folder = files();
    let text = folder.run(&["info", "c.fits"]).done().stdout;
    for word in [
        "c.fits: 2 HDUs",
        "HDU 0",
        "12 x 10 x 3",
        "BITPIX -32",
        "header 0..2880",
        "RA---SIN",
        "longitude",
        "latitude",
        "spectral",
        "2 x 2 arcsec",
        "Jy/beam: per beam",
        "2 of 3",
        "HDU 1  BEAMS, binary table",
    ] {
        assert!(text.contains(word), "{word} in {text}");
    }
}

#[test]
fn info_as_json() {
    let folder = files();
    let [object] = folder
        .run(&["info", "--json", "c.fits"])
        .done()
        .objects()
        .try_into()
        .unwrap();
    assert_eq!(
        object["bytes"],
        fs::metadata(folder.join("c.fits")).unwrap().len()
    );
    let (image, table) = (&object["hdus"][0], &object["hdus"][1]);
    assert_eq!(image["shape"], json!([12, 10, 3]));
    assert_eq!(image["data_bytes"], json!([2880, 2880 + 12 * 10 * 3 * 4]));
    assert_eq!(
        image["image"]["axes"][2],
        json!({"ctype": "FREQ", "length": 3, "role": "spectral"})
    );
    assert_eq!(image["image"]["brightness"], "per-beam");
    assert_eq!(image["image"]["beams"], 2);
    assert_eq!(
        (&table["name"], &table["image"]),
        (&json!("BEAMS"), &Value::Null)
    );
}
