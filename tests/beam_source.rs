//! Which source of beams counts, and what is said where none does: USERS.md cases B02 and B22 to
//! B34 as the resolver sees them, and real files.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that cannot go on fails"
)]

mod beam_files;

use std::path::{Path, PathBuf};

use beam_files::*;
use fits_layout::Layout;
use mmfits::beam::source::{BeamFrom, BeamSource, Question, resolve};
use mmfits::beam::{Beam, BeamError, BeamNote, log};

#[test]
fn b02_announced_and_absent_is_refused() {
    let file = File::new(&[with_beam(&[5], FIVE[0], &[CASAMBM])]);
    let refusal = file.refusal();
    assert!(
        refusal.contains("BEAMS") && refusal.contains("--beamlog"),
        "{refusal}"
    );
    assert!(refusal.contains("c.fits"), "{refusal}");
    // A table of another kind does not help.
    let mut other = Beams::of(&FIVE);
    other.name = "CATALOG";
    let file = File::new(&[with_beam(&[5], FIVE[0], &[CASAMBM]), other.bytes()]);
    assert!(file.refusal().contains("BEAMS"));
    // Naming the source does.
    let file = file.from(BeamFrom::Header);
    assert_beams(&file.resolve().unwrap(), &some(&[FIVE[0]; 5]));
    // A log beside it has to be named too.
    file.put(
        "beamlog.c.txt",
        &log::render(&[Beam::new(7.0, 6.0, 5.0).ok(); 5]),
    );
    let file = file.from(BeamFrom::Auto);
    assert!(file.refusal().contains("BEAMS"));
    let file = file.from(BeamFrom::Log);
    assert_beams(&file.resolve().unwrap(), &some(&[(7.0, 6.0, 5.0); 5]));
}

#[test]
fn b25_logs_beside_and_named() {
    let text = |order: &[usize], beams: &[Triple]| {
        let row = |k: &usize| format!("{k} {} {} {}\n", beams[*k].0, beams[*k].1, beams[*k].2);
        let rows: String = order.iter().map(row).collect();
        format!("# Channel BMAJ[arcsec] BMIN[arcsec] BPA[deg]\n{rows}")
    };
    let mut file = File::new(&[image(&[2, 5], &[])]).planes(5, 2);
    let beside = file.put("beamlog.c.txt", &text(&[4, 3, 2, 1, 0], &FIVE));
    let found = file.resolve().unwrap();
    let want: Vec<Option<Triple>> = FIVE.iter().flat_map(|beam| [Some(*beam); 2]).collect();
    assert_beams(&found, &want);
    assert_eq!(found.source, BeamSource::Log(beside));
    // A named log comes first, and the one beside that says otherwise is told.
    let named = file.put("other.txt", &text(&[0, 1, 2, 3, 4], &[(5.0, 4.0, 3.0); 5]));
    file.beamlog = Some(named.clone());
    let found = file.resolve().unwrap();
    assert_beams(&found, &some(&[(5.0, 4.0, 3.0); 10]));
    assert_eq!(found.source, BeamSource::Log(named));
    assert!(matches!(
        found.notes.as_slice(),
        [BeamNote::Disagreement { .. }]
    ));
    // Gaps and strangers are refused with the log's name and line.
    file.beamlog = Some(file.put("short.txt", &text(&[0, 1, 3, 4], &FIVE)));
    let refusal = file.refusal();
    let words = ["short.txt", "4 rows", "5 channels", "channel 2"];
    assert!(words.iter().all(|w| refusal.contains(w)), "{refusal}");
    file.beamlog = Some(PathBuf::from("no/such/log.txt"));
    assert!(file.refusal().contains("no/such/log.txt"));
    file.from = BeamFrom::Table;
    assert!(matches!(
        file.resolve(),
        Err(BeamError::SourceConflict { .. })
    ));
}

#[test]
fn a_table_comes_before_a_log_beside() {
    let file = File::new(&[image(&[5], &[]), Beams::of(&FIVE).bytes()]);
    file.put("beamlog.c.txt", "broken");
    let found = file.resolve().unwrap();
    assert_beams(&found, &some(&FIVE));
    assert_eq!(found.notes, []);
    file.put(
        "beamlog.c.txt",
        &log::render(&[Beam::new(5.0, 4.0, 3.0).ok(); 5]),
    );
    let found = file.resolve().unwrap();
    assert!(matches!(
        found.notes.as_slice(),
        [BeamNote::Disagreement { .. }]
    ));
    let log = file.from(BeamFrom::Log).resolve().unwrap();
    assert_beams(&log, &some(&[(5.0, 4.0, 3.0); 5]));
}

#[test]
fn numbered_cards_come_before_the_one_beam() {
    let mut all = Vec::new();
    for (k, (a, b, pa)) in FIVE.iter().enumerate() {
        let angle = if k % 2 == 0 { "BPA" } else { "PA" };
        for (keyword, value) in [("BMAJ", a / 3600.0), ("BMIN", b / 3600.0), (angle, *pa)] {
            all.push(format!(
                "{:<8}= {value:>20.13E}",
                format!("{keyword}{}", k + 1)
            ));
        }
    }
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    let file = File::new(&[with_beam(&[5], FIVE[2], &all)]);
    let found = file.resolve().unwrap();
    assert_beams(&found, &some(&FIVE));
    assert_eq!((found.source, found.notes), (BeamSource::Cards, vec![]));
    let refusal = File::new(&[with_beam(&[5], FIVE[2], &all[..12])]).refusal();
    assert!(
        refusal.contains('4') && refusal.contains("5 channels"),
        "{refusal}"
    );
    let found = file.from(BeamFrom::Header).resolve().unwrap();
    assert_beams(&found, &some(&[FIVE[2]; 5]));
}

#[test]
fn b28_history_is_the_last_resort() {
    let history = [
        "HISTORY AIPS   CLEAN BMAJ=  1.1111E-02 BMIN=  1.1111E-02 BPA=   0.00",
        "HISTORY AIPS   CLEAN BMAJ=  4.0000E-03 BMIN=  2.5000E-03 BPA=  40.00",
    ];
    let found = File::new(&[image(&[], &history)])
        .planes(1, 1)
        .resolve()
        .unwrap();
    assert_beams(&found, &[Some((14.4, 9.0, 40.0))]);
    assert_eq!(found.source, BeamSource::History);
    assert!(matches!(
        found.notes.as_slice(),
        [BeamNote::FromHistory { found: 2, .. }]
    ));
    let file = File::new(&[with_beam(&[], FIVE[0], &history)]).planes(1, 1);
    let found = file.resolve().unwrap();
    assert_eq!((found.source, found.notes), (BeamSource::Header, vec![]));
    assert_beams(
        &file.from(BeamFrom::History).resolve().unwrap(),
        &[Some((14.4, 9.0, 40.0))],
    );
}

#[test]
fn b22_b34_one_beam_for_every_plane() {
    let file = File::new(&[with_beam(&[4, 5], FIVE[1], &[])]).planes(5, 4);
    assert_beams(&file.resolve().unwrap(), &some(&[FIVE[1]; 20]));
    let zero = File::new(&[with_beam(&[], (0.0, 0.0, 0.0), &[])]).planes(1, 1);
    assert_beams(&zero.resolve().unwrap(), &[None]);
}

#[test]
fn no_beam_anywhere_is_told_with_what_was_looked_for() {
    let file = File::new(&[image(&[5], &["HISTORY no such luck"])]);
    let refusal = file.refusal();
    for word in [
        "c.fits",
        "beam",
        "BEAMS",
        "beam log",
        "BMAJn",
        "BMAJ, BMIN, BPA",
        "HISTORY",
    ] {
        assert!(refusal.contains(word), "{word}: {refusal}");
    }
    for (from, word) in [
        (BeamFrom::Table, "BEAMS"),
        (BeamFrom::Log, "beamlog.c.txt"),
        (BeamFrom::Cards, "BMAJn"),
        (BeamFrom::Header, "BMAJ, BMIN, BPA"),
        (BeamFrom::History, "HISTORY"),
    ] {
        let file = File::new(&[image(&[5], &[])]).from(from);
        let refusal = file.refusal();
        assert!(
            refusal.contains(word) && refusal.contains("c.fits"),
            "{refusal}"
        );
    }
    assert!(
        File::new(&[image(&[5], &[])])
            .planes(u64::MAX, 2)
            .resolve()
            .is_err()
    );
    assert!(
        File::new(&[image(&[5], &[])])
            .planes(0, 2)
            .resolve()
            .is_err()
    );
}

/// The folder of shared data: `MMFITS_SHARED`, or `shared` beside the project.
fn shared() -> Option<PathBuf> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared");
    let folder = std::env::var_os("MMFITS_SHARED").map_or_else(beside, PathBuf::from);
    folder.is_dir().then_some(folder)
}

#[test]
fn real_files() {
    let Some(shared) = shared() else {
        println!("skipped: no shared data");
        return;
    };
    let cases = [
        (
            "real/cube.fits",
            3,
            BeamSource::Table {
                hdu: 1,
                name: "BEAMS".into(),
            },
        ),
        ("real/wsclean-0000-image.fits", 1, BeamSource::Header),
        ("real/1904-66_SIN_3d.fits", 3, BeamSource::Header),
        (
            "corpus/radio_beam__m33_beams_bintable.fits",
            1178,
            BeamSource::Table {
                hdu: 1,
                name: "BEAMS".into(),
            },
        ),
    ];
    for (name, channels, source) in cases {
        let path = shared.join(name);
        let bytes = std::fs::read(&path).unwrap();
        let layout = Layout::parse(&bytes).unwrap();
        let found = resolve(&Question {
            path: &path,
            layout: &layout,
            bytes: &bytes,
            hdu: 0,
            channels,
            stokes: 1,
            beamlog: None,
            from: BeamFrom::Auto,
            floor_arcsec: 1e-3,
        });
        let found = found.unwrap();
        assert_eq!(found.source, source, "{name}");
        assert_eq!(found.beams.len() as u64, channels);
        assert!(
            found.beams.iter().all(Option::is_some),
            "{name}: {:?}",
            found.beams
        );
        println!("{name}: {} {:?}", found.beams[0].unwrap(), found.notes);
    }
}
