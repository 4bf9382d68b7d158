//! USERS.md 1a, B01 to B14: BEAMS tables, through the command.
//! One test or more for each id; the right pixels are analytic.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod support;

use support::*;

/// Smooths the usual five-channel cube with this table to the usual target.
fn smooth_with(table: &BeamTable) -> (Bench, Outcome) {
    let bench = Bench::new();
    bench.put("c", &[cube(&BEAMS5, &casambm()), table.hdu()]);
    let outcome = bench.smooth_to(TGT).file("c").run();
    (bench, outcome)
}

/// The table is understood: every plane comes out right.
fn accepts(table: &BeamTable) {
    let (bench, outcome) = smooth_with(table);
    outcome.ok();
    check_planes(bench.read("c").primary(), TGT, &[]);
}

/// The table is refused as bad input, with these words and the file's name.
fn refuses(table: &BeamTable, words: &[&str]) {
    let (_bench, outcome) = smooth_with(table);
    outcome.refused(3, words).says(&["c.fits"]);
}

fn permuted() -> BeamTable {
    let rows = [4, 2, 0, 1, 3];
    BeamTable::new(&rows.map(|i| BEAMS5[i])).chan(&rows.map(|i| i as i64))
}

#[test]
fn b01_table_without_casambm_is_used() {
    let bench = Bench::new();
    bench.put(
        "c",
        &[
            cube(&BEAMS5, &beam_cards(OLD)),
            BeamTable::new(&BEAMS5).hdu(),
        ],
    );
    bench.smooth_to(TGT).file("c").run().ok().says(&["BEAMS"]);
    check_planes(bench.read("c").primary(), TGT, &[]);
}

#[test]
fn b01_table_without_casambm_is_used_in_four_axes() {
    for order in [Order::Casa, Order::Askap] {
        let bench = Bench::new();
        let hdu = hypercube(order, (5, 1), |c, _| BEAMS5[c], &beam_cards(OLD));
        bench.put("c", &[hdu, BeamTable::new(&BEAMS5).hdu()]);
        bench.smooth_to(TGT).file("c").run().ok().says(&["BEAMS"]);
        check_planes(bench.read("c").primary(), TGT, &[]);
    }
}

#[test]
fn b01_header_beam_and_table_never_disagree_in_the_output() {
    let bench = Bench::new();
    let cards = beam_cards(OLD).and(&casambm());
    bench.put("c", &[cube(&BEAMS5, &cards), BeamTable::new(&BEAMS5).hdu()]);
    bench.smooth_to(TGT).file("c").run().ok();
    let fits = bench.read("c");
    check_planes(fits.primary(), TGT, &[]);
    same_beam(fits.primary().beam().unwrap(), TGT, 1e-6);
    assert!(
        fits.named("BEAMS").is_none(),
        "the old table is still there"
    );
    assert_ne!(fits.primary().logical("CASAMBM"), Some(true));
}

#[test]
fn b02_casambm_without_table_is_refused() {
    let bench = Bench::new();
    bench.put("c", &[cube(&BEAMS5, &beam_cards(OLD).and(&casambm()))]);
    bench
        .smooth_to(TGT)
        .file("c")
        .run()
        .refused(3, &["BEAMS", "c.fits"]);
    bench
        .smooth()
        .file("c")
        .run()
        .refused(3, &["BEAMS", "c.fits"]);
    bench
        .smooth()
        .file("c")
        .args(["--dry-run"])
        .run()
        .refused(3, &["BEAMS", "c.fits"]);
}

#[test]
fn b02_a_flag_says_which_source_to_take_instead() {
    let bench = Bench::new();
    bench.put("c", &[cube(&[OLD; 3], &beam_cards(OLD).and(&casambm()))]);
    bench
        .smooth_to(TGT)
        .file("c")
        .args(["--beam-from", "header"])
        .run()
        .ok();
    check_planes(bench.read("c").primary(), TGT, &[]);
    let log = bench.put_text("mine.txt", &beam_log_of(&[OLD; 3]));
    let again = bench
        .smooth_to(TGT)
        .file("c")
        .args(["--overwrite", "--beamlog"])
        .path(&log);
    again.run().ok();
    check_planes(bench.read("c").primary(), TGT, &[]);
}

#[test]
fn b02_own_output_never_promises_a_table_it_lacks() {
    let bench = Bench::new();
    put_cube(&bench, "c", &BEAMS5);
    for args in [
        &["--mode", "total"][..],
        &["--bmaj", "30", "--bmin", "28", "--bpa", "20"],
    ] {
        bench
            .smooth()
            .file("c")
            .args(args.iter().copied())
            .arg("--overwrite")
            .run()
            .ok();
        let fits = bench.read("c");
        assert!(fits.named("BEAMS").is_none());
        assert_ne!(fits.primary().logical("CASAMBM"), Some(true));
        std::fs::copy(bench.out("c"), bench.path("d.fits")).unwrap();
        bench
            .smooth_to([40.0, 40.0, 0.0])
            .file("d")
            .arg("--overwrite")
            .run()
            .ok();
        for plane in bench.read("d").primary().planes() {
            close_to(
                &plane,
                &Grid::default().gaussian([40.0, 40.0, 0.0]),
                2e-4,
                "second pass",
            );
        }
    }
}

#[test]
fn b03_units_of_the_table_are_honoured() {
    let rad = 3600.0 * 180.0 / std::f64::consts::PI;
    let turn = 180.0 / std::f64::consts::PI;
    let all = [
        (["deg", "deg", "deg"], [3600.0, 3600.0, 1.0]),
        (["arcmin", "arcmin", "deg"], [60.0, 60.0, 1.0]),
        (["rad", "rad", "rad"], [rad, rad, turn]),
        (["arcsec", "arcsec", "rad"], [1.0, 1.0, turn]),
        (["deg", "arcsec", "arcmin"], [3600.0, 1.0, 1.0 / 60.0]),
    ];
    for (names, sizes) in all {
        for form in ['E', 'D'] {
            accepts(&BeamTable::new(&BEAMS5).in_units(names, sizes).form(form));
        }
    }
}

#[test]
fn b03_a_table_without_units_is_never_silently_wrong() {
    let (bench, outcome) = smooth_with(&BeamTable::new(&BEAMS5).without_units());
    if outcome.code == 0 {
        check_planes(bench.read("c").primary(), TGT, &[]);
    } else {
        outcome.refused(3, &["TUNIT"]);
    }
}

#[test]
fn b04_unit_names_in_other_spellings() {
    let degrees = [3600.0, 3600.0, 1.0];
    for name in ["DEGREES", "degree", "degrees", "DEG", "Deg"] {
        accepts(&BeamTable::new(&BEAMS5).in_units([name; 3], degrees));
    }
    accepts(&BeamTable::new(&BEAMS5).in_units(["ARCSEC", "Arcsec", "DEGREES"], [1.0; 3]));
    accepts(&BeamTable::new(&BEAMS5).in_units(["ARCMIN", "ArcMin", "Degree"], [60.0, 60.0, 1.0]));
    let rad = 3600.0 * 180.0 / std::f64::consts::PI;
    accepts(&BeamTable::new(&BEAMS5).in_units(["RAD", "Rad", "deg"], [rad, rad, 1.0]));
}

#[test]
fn b04_an_unknown_unit_is_refused() {
    for names in [
        ["furlong", "arcsec", "deg"],
        ["arcsec", "furlong", "deg"],
        ["arcsec", "arcsec", "furlong"],
    ] {
        refuses(
            &BeamTable::new(&BEAMS5).in_units(names, [1.0; 3]),
            &["furlong"],
        );
    }
    refuses(
        &BeamTable::new(&BEAMS5).in_units(["Jy", "arcsec", "deg"], [1.0; 3]),
        &["Jy"],
    );
}

#[test]
fn b06_a_decoy_table_is_not_the_beam_table() {
    let decoy = BeamTable::new(&[[99.0, 99.0, 0.0]; 5]);
    let beams = BeamTable::new(&BEAMS5).hdu();
    let other = Column::new("BPA", 'E', Some("deg"), vec![99.0; 7]);
    let few = Hdu::table("BEAMS_OF_LIGHT", &[other], &Cards::new());
    let tables = [
        vec![decoy.clone().named("CATALOG").hdu(), beams.clone()],
        vec![beams.clone(), decoy.clone().named("CATALOG").hdu()],
        vec![decoy.named("").hdu(), beams.clone()],
        vec![few, beams],
    ];
    for extensions in tables {
        let bench = Bench::new();
        let mut hdus = vec![cube(&BEAMS5, &casambm())];
        hdus.extend(extensions);
        bench.put("c", &hdus);
        bench.smooth_to(TGT).file("c").run().ok();
        check_planes(bench.read("c").primary(), TGT, &[]);
    }
}

#[test]
fn b06_a_catalogue_alone_leaves_the_header_beam() {
    let bench = Bench::new();
    let decoy = BeamTable::new(&[[99.0, 99.0, 0.0]; 5])
        .named("CATALOG")
        .hdu();
    bench.put("c", &[cube(&[OLD; 5], &beam_cards(OLD)), decoy.clone()]);
    bench.smooth_to(TGT).file("c").run().ok();
    let fits = bench.read("c");
    check_planes(fits.primary(), TGT, &[]);
    same_bits(&fits.hdus[1].bytes, &decoy.bytes(), "the catalogue");
}

#[test]
fn b07_channels_out_of_range_are_refused_with_the_numbers() {
    let table = BeamTable::new(&BEAMS5);
    refuses(
        &table.clone().chan(&[7, 123_456, -3, 99, 1 << 30]),
        &["CHAN", "7"],
    );
    refuses(&table.clone().chan(&[0, 1, 2, 3, 99]), &["CHAN", "99"]);
    refuses(&table.clone().chan(&[0, 1, 2, 3, -3]), &["CHAN", "-3"]);
    refuses(&table.pol(&[0, 0, 7, 0, 0], 1), &["POL", "7"]);
}

#[test]
fn b07_an_index_that_cannot_be_one_gives_row_order_and_a_note() {
    for table in [
        BeamTable::new(&BEAMS5).without_index(),
        BeamTable::new(&BEAMS5).chan(&[-1; 5]),
        BeamTable::new(&BEAMS5).chan(&[1 << 30; 5]),
    ] {
        let (bench, outcome) = smooth_with(&table);
        outcome.ok().says(&["row"]);
        check_planes(bench.read("c").primary(), TGT, &[]);
    }
}

#[test]
fn b07_written_channels_count_from_zero() {
    let bench = Bench::new();
    let beams: Vec<Beam> = BEAMS5
        .iter()
        .map(|b| [b[0] + 1.0, b[1] + 2.0, b[2] + 20.0])
        .collect();
    bench.put("c", &[cube(&BEAMS5, &casambm()), permuted().hdu()]);
    put_cube(&bench, "d", &beams);
    bench
        .smooth()
        .args(["--mode", "natural"])
        .file("c")
        .file("d")
        .run()
        .ok();
    for name in ["c", "d"] {
        let fits = bench.read(name);
        let table = fits.named("BEAMS").expect("a BEAMS table");
        assert_eq!(table.column("CHAN").unwrap(), [0.0, 1.0, 2.0, 3.0, 4.0]);
        assert_eq!(table.column("POL").unwrap(), [0.0; 5]);
    }
}

#[test]
fn b08_rows_placed_by_chan() {
    accepts(&permuted());
    accepts(&permuted().form('D'));
    accepts(&permuted().without_counts());
}

#[test]
fn b08_rows_placed_by_chan_and_pol() {
    for order in [Order::Casa, Order::Askap] {
        let beam = |c: usize, s: usize| {
            [
                16.0 + c as f64 + 0.5 * s as f64,
                9.0,
                40.0 + 10.0 * s as f64,
            ]
        };
        let rows: Vec<(usize, usize)> = vec![(2, 1), (0, 0), (1, 1), (2, 0), (0, 1), (1, 0)];
        let beams: Vec<Beam> = rows.iter().map(|(c, s)| beam(*c, *s)).collect();
        let chan: Vec<i64> = rows.iter().map(|r| r.0 as i64).collect();
        let pol: Vec<i64> = rows.iter().map(|r| r.1 as i64).collect();
        let bench = Bench::new();
        let table = BeamTable::new(&beams).chan(&chan).pol(&pol, 2).hdu();
        bench.put("c", &[hypercube(order, (3, 2), beam, &casambm()), table]);
        bench.smooth_to(TGT).file("c").run().ok();
        check_planes(bench.read("c").primary(), TGT, &[]);
    }
}

#[test]
fn b08_duplicates_and_gaps_are_refused() {
    refuses(
        &BeamTable::new(&BEAMS5).chan(&[0, 1, 2, 2, 4]),
        &["CHAN", "2"],
    );
    refuses(&BeamTable::new(&BEAMS5).chan(&[3, 4, 5, 6, 7]), &["CHAN"]);
    refuses(
        &BeamTable::new(&BEAMS5).chan(&[1, 2, 3, 4, 5]),
        &["CHAN", "5"],
    );
}

#[test]
fn b10_casambm_as_a_string_is_read() {
    for text in ["T", "t", "True"] {
        let bench = Bench::new();
        let cards = Cards::new().set("CASAMBM", text);
        bench.put("c", &[cube(&BEAMS5, &cards), BeamTable::new(&BEAMS5).hdu()]);
        bench.smooth_to(TGT).file("c").run().ok();
        check_planes(bench.read("c").primary(), TGT, &[]);
    }
}

#[test]
fn b10_casambm_is_written_as_a_logical() {
    let bench = Bench::new();
    let cards = Cards::new().set("CASAMBM", "T");
    bench.put("c", &[cube(&BEAMS5, &cards), BeamTable::new(&BEAMS5).hdu()]);
    put_cube(&bench, "d", &[[21.0, 12.0, 10.0]; 5]);
    bench
        .smooth()
        .args(["--mode", "natural"])
        .file("c")
        .file("d")
        .run()
        .ok();
    assert_eq!(bench.read("c").primary().logical("CASAMBM"), Some(true));
    assert_eq!(bench.read("d").primary().logical("CASAMBM"), Some(true));
}

#[test]
fn b11_the_written_table_has_what_casacore_needs() {
    let bench = Bench::new();
    bench.put(
        "c",
        &[
            cube(&BEAMS5, &casambm()),
            BeamTable::new(&BEAMS5).without_counts().hdu(),
        ],
    );
    put_cube(&bench, "d", &[[21.0, 12.0, 10.0]; 5]);
    bench
        .smooth()
        .args(["--mode", "natural"])
        .file("c")
        .file("d")
        .run()
        .ok();
    let fits = bench.read("c");
    let table = fits.named("BEAMS").expect("a BEAMS table");
    assert_eq!(table.integer("NCHAN"), Some(5));
    assert_eq!(table.integer("NPOL"), Some(1));
    assert_eq!(table.axes()[1], 5);
    for (i, (name, form)) in [
        ("BMAJ", 'E'),
        ("BMIN", 'E'),
        ("BPA", 'E'),
        ("CHAN", 'J'),
        ("POL", 'J'),
    ]
    .iter()
    .enumerate()
    {
        assert_eq!(
            table.text(&format!("TTYPE{}", i + 1)).as_deref(),
            Some(*name)
        );
        assert_eq!(table.form(i + 1), *form, "{name}");
    }
    assert_eq!(table.text("TUNIT1").as_deref(), Some("arcsec"));
    assert_eq!(table.text("TUNIT2").as_deref(), Some("arcsec"));
    assert_eq!(table.text("TUNIT3").as_deref(), Some("deg"));
}

#[test]
fn b12_beams_per_channel_and_stokes() {
    let beam = |c: usize, s: usize| {
        [
            16.0 + c as f64 + 0.3 * s as f64,
            9.0 + 0.5 * c as f64,
            40.0 + 3.0 * c as f64,
        ]
    };
    for order in [Order::Casa, Order::Askap] {
        for reversed in [false, true] {
            let mut rows: Vec<(usize, usize)> =
                (0..5).flat_map(|c| (0..4).map(move |s| (c, s))).collect();
            if reversed {
                rows.reverse();
            }
            let beams: Vec<Beam> = rows.iter().map(|(c, s)| beam(*c, *s)).collect();
            let chan: Vec<i64> = rows.iter().map(|r| r.0 as i64).collect();
            let pol: Vec<i64> = rows.iter().map(|r| r.1 as i64).collect();
            let table = BeamTable::new(&beams).chan(&chan).pol(&pol, 4).hdu();
            let bench = Bench::new();
            bench.put("c", &[hypercube(order, (5, 4), beam, &casambm()), table]);
            bench.smooth_to(TGT).file("c").run().ok();
            check_planes(bench.read("c").primary(), TGT, &[]);
        }
    }
}

#[test]
fn b12_one_polarisation_in_the_table_serves_every_stokes() {
    for order in [Order::Casa, Order::Askap] {
        let bench = Bench::new();
        let hdu = hypercube(order, (5, 4), |c, _| BEAMS5[c], &casambm());
        bench.put("c", &[hdu, BeamTable::new(&BEAMS5).hdu()]);
        bench.smooth_to(TGT).file("c").run().ok();
        check_planes(bench.read("c").primary(), TGT, &[]);
    }
}

#[test]
fn b13_one_plane_with_a_one_row_table_keeps_a_header_beam() {
    for args in [&["--mode", "total"][..], &["--mode", "natural"]] {
        let bench = Bench::new();
        put_cube(&bench, "c", &[OLD]);
        put_cube(&bench, "d", &[[17.0, 12.0, 10.0]]);
        bench
            .smooth()
            .args(args.iter().copied())
            .file("c")
            .file("d")
            .run()
            .ok();
        let target = bench
            .read("c")
            .primary()
            .beam()
            .expect("a beam in the header");
        assert!(margin(target, OLD) > -1e-6);
        check_planes(bench.read("c").primary(), target, &[]);
        check_planes(bench.read("d").primary(), target, &[]);
    }
}

#[test]
fn b14_row_count_that_does_not_match_is_refused_with_both_numbers() {
    refuses(&BeamTable::new(&BEAMS5[..4]), &["4", "5", "--beamlog"]);
    let mut six = BEAMS5.to_vec();
    six.push(OLD);
    refuses(&BeamTable::new(&six), &["6", "5"]);
    refuses(
        &BeamTable::new(&BEAMS5[..4])
            .without_index()
            .without_counts(),
        &["4", "5"],
    );
}
