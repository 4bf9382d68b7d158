//! BEAMS tables as the resolver reads them: USERS.md cases B01 to B20.

mod beam_files;

use beam_files::*;
use mmfits::beam::source::BeamSource;
use mmfits::beam::{Beam, BeamNote, table};

#[test]
fn b01_the_table_counts_whether_announced_or_not() {
    for flag in [
        &[CASAMBM][..],
        &[],
        &["CASAMBM = 'T       '"],
        &["CASAMBM =                    F"],
    ] {
        let file = File::new(&[with_beam(&[5], FIVE[0], flag), Beams::of(&FIVE).bytes()]);
        let found = file.resolve().unwrap();
        assert_beams(&found, &some(&FIVE));
        assert_eq!(
            found.source,
            BeamSource::Table {
                hdu: 1,
                name: "BEAMS".into()
            }
        );
        assert_eq!(found.source.to_string(), "table BEAMS in HDU 1");
        // The header's beam is that of a channel: no contradiction.
        assert_eq!(found.notes, []);
    }
}

#[test]
fn a_header_beam_that_is_none_of_the_table_is_told() {
    let file = File::new(&[
        with_beam(&[5], (99.0, 9.0, 0.0), &[]),
        Beams::of(&FIVE).bytes(),
    ]);
    let found = file.resolve().unwrap();
    assert_beams(&found, &some(&FIVE));
    let [
        note @ BeamNote::Disagreement {
            other: BeamSource::Header,
            ..
        },
    ] = found.notes.as_slice()
    else {
        panic!("{:?}", found.notes)
    };
    assert!(
        note.to_string().contains("BEAMS") && note.hint().is_some(),
        "{note}"
    );
}

#[test]
fn b03_b04_units_of_every_spelling() {
    let units = [
        ("deg", 3600.0),
        ("DEGREES", 3600.0),
        ("Degree", 3600.0),
        ("ARCSEC", 1.0),
        ("arcmin", 60.0),
        ("mas", 1e-3),
        ("rad", 206_264.806_247),
    ];
    for (unit, arcsec) in units {
        let mut beams = Beams::of(&FIVE.map(|(a, b, pa)| (a / arcsec, b / arcsec, pa)));
        beams.units = [Some(unit), Some(unit), Some("DEGREES")];
        let found = File::new(&[image(&[5], &[]), beams.bytes()])
            .resolve()
            .unwrap();
        assert_beams(&found, &some(&FIVE));
    }
    let mut beams = Beams::of(&FIVE);
    beams.units = [Some("furlong"), Some("arcsec"), Some("deg")];
    let refusal = File::new(&[image(&[5], &[]), beams.bytes()]).refusal();
    assert!(
        refusal.contains("furlong") && refusal.contains("BMAJ"),
        "{refusal}"
    );
    beams.units = [None, Some(""), None];
    let found = File::new(&[image(&[5], &[]), beams.bytes()])
        .resolve()
        .unwrap();
    assert_beams(&found, &some(&FIVE));
    let assumed = |note: &&BeamNote| matches!(note, BeamNote::UnitAssumed { .. });
    assert_eq!(found.notes.iter().filter(assumed).count(), 3);
}

#[test]
fn b06_other_tables_are_passed_over() {
    let mut decoy = Beams::of(&[(99.0, 99.0, 0.0); 5]);
    decoy.name = "CATALOG";
    let file = File::new(&[image(&[5], &[]), decoy.bytes(), Beams::of(&FIVE).bytes()]);
    let found = file.resolve().unwrap();
    assert_beams(&found, &some(&FIVE));
    assert_eq!(
        found.source,
        BeamSource::Table {
            hdu: 2,
            name: "BEAMS".into()
        }
    );
    let mut lower = Beams::of(&FIVE);
    lower.name = "my_beams";
    let file = File::new(&[image(&[5], &[]), lower.bytes(), Beams::of(&FIVE).bytes()]);
    let found = file.resolve().unwrap();
    assert!(matches!(
        found.notes.as_slice(),
        [BeamNote::SeveralTables { tables: 2, .. }]
    ));
}

#[test]
fn b07_chan_that_holds_garbage() {
    let at = |chan: &[i32]| File::new(&[image(&[5], &[]), Beams::of(&FIVE).chan(chan).bytes()]);
    let refusal = at(&[7, 123_456, -3, 99, 1 << 30]).refusal();
    assert!(
        ["CHAN 7", "5 channels", "--beamlog"]
            .iter()
            .all(|w| refusal.contains(w)),
        "{refusal}"
    );
    let refusal = at(&[0, 1, 2, 3, 5]).refusal();
    assert!(
        ["row 5", "CHAN 5", "5 channels"]
            .iter()
            .all(|w| refusal.contains(w)),
        "{refusal}"
    );
    // The same number in all rows is a column that nobody filled.
    for unfilled in [0, -1, 1 << 30] {
        let found = at(&[unfilled; 5]).resolve().unwrap();
        assert_beams(&found, &some(&FIVE));
        let [note @ BeamNote::RowOrder { .. }] = found.notes.as_slice() else {
            panic!()
        };
        assert!(note.to_string().contains("CHAN"), "{note}");
    }
    let mut without = Beams::of(&FIVE);
    (without.chan, without.pol) = (None, None);
    let found = File::new(&[image(&[5], &[]), without.bytes()])
        .resolve()
        .unwrap();
    assert_beams(&found, &some(&FIVE));
    assert_eq!(found.notes.len(), 1);
}

#[test]
fn b08_rows_in_any_order() {
    let order = [4, 2, 0, 1, 3];
    let rows = order.map(|k| FIVE[k as usize]);
    let beams = Beams::of(&rows).chan(&order);
    let found = File::new(&[image(&[5], &[]), beams.bytes()])
        .resolve()
        .unwrap();
    assert_beams(&found, &some(&FIVE));
    assert_eq!(found.notes, []);
    let refusal = File::new(&[image(&[5], &[]), beams.chan(&[4, 2, 0, 2, 3]).bytes()]).refusal();
    assert!(
        ["row 4", "row 2", "CHAN 2"]
            .iter()
            .all(|w| refusal.contains(w)),
        "{refusal}"
    );
}

#[test]
fn b12_a_beam_for_each_channel_and_stokes() {
    let beam = |chan: i32, pol: i32| {
        (
            16.0 + f64::from(chan) + 0.25 * f64::from(pol),
            9.0,
            40.0 + f64::from(chan),
        )
    };
    let planes: Vec<(i32, i32)> = (0..5).flat_map(|c| (0..4).map(move |p| (c, p))).collect();
    let want: Vec<Option<Triple>> = planes.iter().map(|(c, p)| Some(beam(*c, *p))).collect();
    let of = |order: &[(i32, i32)]| {
        let rows: Vec<Triple> = order.iter().map(|(c, p)| beam(*c, *p)).collect();
        let (chan, pol): (Vec<i32>, Vec<i32>) = order.iter().copied().unzip();
        Beams::of(&rows).chan(&chan).pol(&pol)
    };
    let file = |beams: Beams| File::new(&[image(&[4, 5], &[]), beams.bytes()]).planes(5, 4);
    let mut stokes_outside: Vec<(i32, i32)> = planes.clone();
    stokes_outside.sort_by_key(|(c, p)| (*p, -*c));
    for order in [&planes, &stokes_outside] {
        assert_beams(&file(of(order)).resolve().unwrap(), &want);
    }
    // A column that nobody filled, while the other says enough.
    let mut sorted = of(&stokes_outside);
    sorted.rows.reverse();
    for beams in [of(&planes).chan(&[0; 20]), of(&planes).pol(&[0; 20])] {
        let found = file(beams).resolve().unwrap();
        assert_beams(&found, &want);
        assert!(matches!(
            found.notes.as_slice(),
            [BeamNote::RowOrder { .. }]
        ));
    }
    let refusal = file(of(&planes).chan(&[0; 20]).pol(&[0; 20])).refusal();
    assert!(
        ["CHAN and POL", "5", "4"]
            .iter()
            .all(|w| refusal.contains(w)),
        "{refusal}"
    );
    let refusal = file(of(&planes).pol(&[1, 2, 3, 4].repeat(5))).refusal();
    assert!(
        refusal.contains("POL 4") && refusal.contains("4 Stokes"),
        "{refusal}"
    );
}

#[test]
fn one_row_a_channel_serves_all_stokes() {
    for pol in [0, 3] {
        let beams = Beams::of(&FIVE).pol(&[pol; 5]);
        let file = File::new(&[image(&[4, 5], &[]), beams.bytes()]).planes(5, 4);
        let want: Vec<Option<Triple>> = FIVE.iter().flat_map(|beam| [Some(*beam); 4]).collect();
        assert_beams(&file.resolve().unwrap(), &want);
    }
    let beams = Beams::of(&FIVE).pol(&[0, 1, 2, 3, 0]);
    let refusal = File::new(&[image(&[4, 5], &[]), beams.bytes()])
        .planes(5, 4)
        .refusal();
    assert!(refusal.contains("POL 1"), "{refusal}");
}

#[test]
fn b13_b14_row_counts() {
    // One row for one channel, even if a cut-out kept its number.
    for chan in [0, 7] {
        let beams = Beams::of(&FIVE[..1]).chan(&[chan]);
        let found = File::new(&[image(&[1], &[]), beams.bytes()])
            .planes(1, 1)
            .resolve()
            .unwrap();
        assert_beams(&found, &some(&FIVE[..1]));
        assert_eq!(found.notes.len(), usize::from(chan != 0));
    }
    for (rows, word) in [(1, "1 row for 5 channels"), (4, "4 rows for 5 channels")] {
        let refusal = File::new(&[image(&[5], &[]), Beams::of(&FIVE[..rows]).bytes()]).refusal();
        assert!(
            refusal.contains(word) && refusal.contains("--beamlog"),
            "{refusal}"
        );
    }
    let refusal = File::new(&[image(&[5], &[]), Beams::of(&[]).bytes()]).refusal();
    assert!(refusal.contains("0 rows for 5 channels"), "{refusal}");
}

#[test]
fn b15_b19_blank_rows_keep_their_place() {
    let tiny = f64::from(f32::MIN_POSITIVE);
    for blank in [0.0, f64::NAN, tiny, 1e-6, f64::INFINITY] {
        let mut rows = FIVE;
        rows[1] = (blank, blank, blank);
        rows[3] = (19.0, blank, 49.0);
        let mut want = some(&FIVE);
        (want[1], want[3]) = (None, None);
        let mut beams = Beams::of(&rows);
        let found = File::new(&[image(&[5], &[]), beams.bytes()])
            .resolve()
            .unwrap();
        assert_beams(&found, &want);
        // B20: the sentinel in degrees is no beam either.
        beams
            .rows
            .iter_mut()
            .for_each(|(a, b, _)| (*a, *b) = (*a / 3600.0, *b / 3600.0));
        beams.rows[1] = (tiny, tiny, tiny);
        beams.units = [Some("deg"); 3];
        assert_beams(
            &File::new(&[image(&[5], &[]), beams.bytes()])
                .resolve()
                .unwrap(),
            &want,
        );
    }
    let none = Beams::of(&[(0.0, 0.0, 0.0); 5]);
    let found = File::new(&[image(&[5], &[]), none.bytes()])
        .resolve()
        .unwrap();
    assert_beams(&found, &[None; 5]);
}

#[test]
fn b11_b20_what_is_written_reads_back_twice() {
    let beam = |(a, b, pa): Triple| Beam::new(a, b, pa).ok();
    let mut beams: Vec<Option<Beam>> = FIVE.iter().flat_map(|one| [beam(*one), None]).collect();
    beams.extend([None, beam((30.0, 30.0, 0.0))]);
    for _ in 0..2 {
        let extension = table::write(&beams, 2).unwrap();
        assert_eq!(extension.len() % 2880, 0);
        let text = String::from_utf8_lossy(&extension[..2880]).into_owned();
        let cards = [
            "TUNIT1  = 'arcsec",
            "TUNIT2  = 'arcsec",
            "TUNIT3  = 'deg",
            "TFORM1  = '1E",
            "TFORM4  = '1J",
            "TFORM5  = '1J",
            "EXTNAME = 'BEAMS",
        ];
        for card in cards {
            assert!(text.contains(card), "{card}: {text}");
        }
        for (keyword, value) in [("NCHAN", 6), ("NPOL", 2), ("NAXIS2", 12), ("NAXIS1", 20)] {
            assert!(
                text.contains(&format!("{keyword:<8}= {value:>20}")),
                "{keyword}: {text}"
            );
        }
        // Row 1 is channel 0, Stokes 1: blank, the sentinel three times, then 0 and 1.
        let sentinel = 1.175_494_4e-38_f32.to_be_bytes();
        let row = [
            sentinel,
            sentinel,
            sentinel,
            0_i32.to_be_bytes(),
            1_i32.to_be_bytes(),
        ]
        .concat();
        assert_eq!(extension[2900..2920], row);
        let file = File::new(&[image(&[2, 6], &[CASAMBM]), extension]).planes(6, 2);
        let found = file.resolve().unwrap();
        assert_eq!(found.beams, beams);
        beams = found.beams;
    }
    assert!(table::write(&beams, 0).is_err() && table::write(&beams, 5).is_err());
    assert!(table::write(&[], 1).is_ok());
}
