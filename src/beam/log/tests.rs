//! Logs as the programs write them, and logs gone wrong.

use super::*;

const FIVE: &str = "\
# Channel BMAJ[arcsec] BMIN[arcsec] BPA[deg]
4 20.0 11.0 52.0
3 19.0 10.5 49.0
2 nan nan nan
1 17.0 9.5 43.0
0 16.0 9.0 40.0
";

fn beams(text: &str, channels: u64) -> Vec<Option<(f64, f64, f64)>> {
    let found = parse(text, Some(channels), 1e-3).unwrap();
    let triple = |beam: &Beam| (beam.bmaj_arcsec(), beam.bmin_arcsec(), beam.bpa_deg());
    found
        .beams
        .iter()
        .map(|beam| beam.as_ref().map(triple))
        .collect()
}

fn refusal(text: &str, channels: u64) -> String {
    parse(text, Some(channels), 1e-3).unwrap_err().to_string()
}

#[test]
fn b25_rows_go_where_the_channel_column_says() {
    let found = beams(FIVE, 5);
    assert_eq!(found[0], Some((16.0, 9.0, 40.0)));
    assert_eq!(found[2], None);
    assert_eq!(found[4], Some((20.0, 11.0, 52.0)));
    assert_eq!(parse(FIVE, None, 1e-3).unwrap().beams.len(), 5);
}

#[test]
fn other_dialects() {
    let want = [Some((16.0, 9.0, 40.0)), Some((17.0, 9.5, 43.0))];
    for text in [
        "0 16 9 40\n1 17 9.5 43\n",
        "Channel,BMAJ,BMIN,BPA\r\n1,17,9.5,43\r\n0,16.0,9.0,40.0\r\n",
        "# BPA [deg] BMIN [arcmin] chan BMAJ [deg] spare\n\n\
         40 0.15 0.0 4.4444444444444444E-3 x\n43 0.15833333333333333 1.0 4.722222222222222D-3 y\n",
        "# None arcsec arcsec deg arcsec arcsec deg None\n\
         # Channel \"Target BMAJ\" \"Target BMIN\" \"Target BPA\" \"Convolving BMAJ\" \
         \"Convolving BMIN\" \"Convolving BPA\" \"Convolving factor\"\n\
         0 16.0 9.0 40.0 1 1 1 1\n1 17.0 9.5 43.0 1 1 1 1\n",
    ] {
        let close = |got: &Option<(f64, f64, f64)>, want: &Option<(f64, f64, f64)>| {
            let (Some(got), Some(want)) = (got, want) else {
                return false;
            };
            (got.0 - want.0).abs() < 1e-12
                && (got.1 - want.1).abs() < 1e-12
                && (got.2 - want.2).abs() < 1e-12
        };
        let got = beams(text, 2);
        assert!(
            got.iter().zip(&want).all(|(got, want)| close(got, want)),
            "{text}{got:?}"
        );
    }
}

#[test]
fn a_log_without_a_channel_column_is_taken_in_order() {
    let found = parse(
        "# BMAJ[arcsec] BMIN[arcsec] BPA[deg]\n5 4 3\n6 5 4\n",
        Some(2),
        1e-3,
    );
    let found = found.unwrap();
    assert_eq!(found.beams[1], Beam::new(6.0, 5.0, 4.0).ok());
    assert!(matches!(
        found.notes.as_slice(),
        [BeamNote::RowOrder { .. }]
    ));
}

#[test]
fn blanks_of_every_kind() {
    let text = "0 0 0 0\n1 nan nan nan\n2 1.1754944e-38 1.1754944e-38 1.1754944e-38\n\
                3 NaN 5 5\n4 1e-6 1e-6 0\n5 -- -- --\n";
    assert_eq!(beams(text, 6), [None; 6]);
}

#[test]
fn what_is_wrong_is_told_with_its_line() {
    let duplicate = refusal("0 5 4 3\n\n1 5 4 3\n0 5 4 3\n", 3);
    assert!(
        ["channel 0", "1", "4"]
            .iter()
            .all(|word| duplicate.contains(word)),
        "{duplicate}"
    );
    let outside = refusal("0 5 4 3\n# note\n7 5 4 3\n", 2);
    assert!(
        ["7", "line 3", "0 to 1"]
            .iter()
            .all(|word| outside.contains(word)),
        "{outside}"
    );
    let gap = refusal("0 5 4 3\n2 5 4 3\n", 3);
    assert!(
        ["2 rows", "3 channels", "channel 1"]
            .iter()
            .all(|w| gap.contains(w)),
        "{gap}"
    );
    let short = refusal("0 5 4 3\n1 5 4\n", 2);
    assert!(short.contains("line 2"), "{short}");
    let word = refusal("0 5 4 3\n1 5 four 3\n", 2);
    assert!(word.contains("line 2") && word.contains("four"), "{word}");
    let unit = refusal(
        "# Channel BMAJ[furlong] BMIN[arcsec] BPA[deg]\n0 5 4 3\n",
        1,
    );
    assert!(unit.contains("furlong"), "{unit}");
    let column = refusal("# Channel BMAJ[arcsec] BPA[deg]\n0 5 4\n", 1);
    assert!(column.contains("BMIN"), "{column}");
    assert!(
        refusal("", 2).contains("0 rows for 2 channels"),
        "{}",
        refusal("", 2)
    );
    assert!(parse("", None, 1e-3).is_err());
    assert!(refusal("-1 5 4 3\n", 1).contains("-1"));
    assert!(refusal("0.5 5 4 3\n", 1).contains("0.5"));
    let unreal = refusal(&format!("{} 5 4 3\n", u64::MAX), u64::MAX);
    assert!(unreal.contains("line 1"), "{unreal}");
}

#[test]
fn what_is_written_reads_back() {
    let beam = |a, b, pa| Beam::new(a, b, pa).ok();
    let beams = [
        beam(1.0 / 3.0, 0.1, -89.999_999_999_999),
        None,
        beam(1e5, 7.0, 90.0),
    ];
    let text = render(&beams);
    assert!(
        text.starts_with("# Channel BMAJ[arcsec] BMIN[arcsec] BPA[deg]\n0 0.3333"),
        "{text}"
    );
    assert!(text.contains("\n1 nan nan nan\n"), "{text}");
    assert_eq!(parse(&text, Some(3), 1e-3).unwrap().beams, beams);
}

#[test]
fn names_beside_the_image() {
    for (image, want) in [
        ("dir/c.fits", &["dir/beamlog.c.txt"][..]),
        ("image.i.restored.FITS", &["beamlog.image.i.restored.txt"]),
        ("c.fits.gz", &["beamlog.c.txt", "beamlog.c.fits.txt"]),
        (
            "dir/c.image",
            &["dir/beamlog.c.image.txt", "dir/beamlog.c.txt"],
        ),
    ] {
        let want: Vec<PathBuf> = want.iter().map(PathBuf::from).collect();
        assert_eq!(beside(Path::new(image)), want, "{image}");
    }
}
