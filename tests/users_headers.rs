//! USERS.md 1e, H01 to H13: what becomes of the header and of the other HDUs, through the
//! command. One test or more for each id.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod support;

use support::card::{RawCard, keyword};
use support::checksum::{stamp, verify};
use support::*;

/// An image with these further cards.
fn image_with(extra: &Cards) -> Hdu {
    let g = Grid::default();
    Hdu::primary(
        &[g.nx, g.ny],
        &Samples::f32(&g.gaussian(OLD)),
        &image_cards(OLD).and(extra),
    )
}

/// Smooths an image with these further cards to the usual target; gives input and output.
fn smoothed_with(extra: &Cards) -> (ReadHdu, ReadHdu) {
    let bench = Bench::new();
    let input = Fits::read(&bench.put("c", &[image_with(extra)]));
    bench.smooth_to(TGT).file("c").run().ok();
    let output = bench.read("c");
    close(
        &output.primary().pixels(),
        &Grid::default().gaussian(TGT),
        "pixels",
    );
    (input.primary().clone(), output.primary().clone())
}

fn shown(card: &RawCard) -> String {
    String::from_utf8_lossy(card).into_owned()
}

/// Fails unless all cards of `input` but the `changed` ones stand in `output`, byte for byte and in
/// order, and nothing new but HISTORY and the changed ones.
fn only_changed(input: &ReadHdu, output: &ReadHdu, changed: &[&str]) {
    let other = |c: &&RawCard| !changed.contains(&keyword(c).as_str());
    let want: Vec<String> = input.cards.iter().filter(other).map(shown).collect();
    let mut left = output.cards.iter().filter(other).map(shown);
    let mut extra = Vec::new();
    for card in &want {
        loop {
            let Some(got) = left.next() else {
                panic!("'{card}' is gone or has moved")
            };
            if got == *card {
                break;
            }
            extra.push(got);
        }
    }
    extra.extend(left);
    for card in extra {
        assert!(card.starts_with("HISTORY"), "new card '{card}'");
    }
}

const BEAM_KEYS: [&str; 3] = ["BMAJ", "BMIN", "BPA"];

#[test]
fn h01_checksums_are_true_where_they_were() {
    let bench = Bench::new();
    let weight = Hdu::extension(
        "W",
        &[5, 3],
        &Samples::I16((0..15).collect()),
        &Cards::new(),
    );
    bench.put("c", &[stamp(&image_with(&Cards::new())), stamp(&weight)]);
    bench.smooth_to(TGT).file("c").run().ok();
    bench.read("c").hdus.iter().for_each(verify);
}

#[test]
fn h01_checksums_are_true_in_every_kind_of_output() {
    let table = stamp(&BeamTable::new(&BEAMS5).hdu());
    for args in [
        &["--mode", "total"][..],
        &["--mode", "natural"],
        &["--precision", "f64"],
    ] {
        let bench = Bench::new();
        bench.put("c", &[stamp(&cube(&BEAMS5, &casambm())), table.clone()]);
        put_cube(&bench, "d", &OTHERS);
        bench
            .smooth()
            .args(args.iter().copied())
            .file("c")
            .file("d")
            .run()
            .ok();
        let fits = bench.read("c");
        verify(fits.primary());
        if let Some(beams) = fits.named("BEAMS").filter(|h| h.has("CHECKSUM")) {
            verify(beams);
        }
    }
}

#[test]
fn h01_checksums_of_a_passed_through_and_of_a_blank_plane() {
    let mut beams = BEAMS5;
    beams[1] = [f64::NAN; 3];
    beams[3] = TGT;
    let bench = Bench::new();
    bench.put(
        "c",
        &[
            stamp(&cube(&BEAMS5, &casambm())),
            BeamTable::new(&beams).hdu(),
        ],
    );
    bench
        .smooth_to(TGT)
        .args(["--threads", "3"])
        .file("c")
        .run()
        .ok();
    verify(bench.read("c").primary());
}

#[test]
fn h01_a_lone_datasum_is_not_left_stale() {
    let (_, output) = smoothed_with(&Cards::new().set("DATASUM", "12345"));
    if let Some(stated) = output.text("DATASUM") {
        assert_eq!(stated.parse::<u32>().unwrap(), checksum::sum(&output.data));
    }
    let (_, output) = smoothed_with(&Cards::new().set("CHECKSUM", "hcHjjc9ghcEghc9g"));
    if output.has("CHECKSUM") {
        assert_eq!(checksum::sum(&output.bytes), u32::MAX);
    }
}

#[test]
fn h02_blank_and_scale_cards_leave_a_float_image() {
    let extra = Cards::new().set("BLANK", -1);
    let (input, output) = smoothed_with(&extra);
    for key in ["BLANK", "BSCALE", "BZERO"] {
        assert!(!output.has(key), "{key} is left");
    }
    only_changed(&input, &output, &["BMAJ", "BMIN", "BPA", "BLANK"]);
}

/// A long string over several CONTINUE cards.
fn long_string(key: &str) -> Cards {
    Cards::new()
        .line(format!(
            "{key:<8}= '{}&'",
            "a long string of words ".repeat(2).trim_end()
        ))
        .line(format!(
            "CONTINUE  '{}&'",
            "that goes on and on, & on ".repeat(2).trim_end()
        ))
        .line("CONTINUE  'to its end' / and a comment")
}

#[test]
fn h03_continued_strings_stay_whole() {
    let cards = long_string("ORIGINAL")
        .and(&long_string("SECOND"))
        .set("AFTER", 1);
    let (input, output) = smoothed_with(&cards);
    only_changed(&input, &output, &BEAM_KEYS);
    for key in ["ORIGINAL", "SECOND"] {
        let at = output
            .cards
            .iter()
            .position(|c| keyword(c) == key)
            .expect("the string");
        let group: Vec<String> = output.cards[at..at + 3].iter().map(shown).collect();
        let want: Vec<String> = long_string(key).0.iter().map(shown).collect();
        assert_eq!(group, want);
    }
}

#[test]
fn h03_a_continued_string_that_ends_the_header() {
    let (input, output) = smoothed_with(&long_string("LAST"));
    only_changed(&input, &output, &BEAM_KEYS);
    let at = output
        .cards
        .iter()
        .position(|c| keyword(c) == "LAST")
        .expect("the string");
    assert_eq!(keyword(&output.cards[at + 1]), "CONTINUE");
    assert_eq!(keyword(&output.cards[at + 2]), "CONTINUE");
}

#[test]
fn h06_strange_cards_are_carried_through() {
    let cards = Cards::new()
        .line("IRAF-B/P= 'illegal name'")
        .line("lower   = 3")
        .line("GREEK\u{3b1}  = 'alpha'")
        .line(b"BYTES   = '\xff\xfe\x01'")
        .line("BADNUM  = 1.2.3.4")
        .line("BADSTR  = 'without an end")
        .line("NOEQUALS 17")
        .line("TOO MUCH of a keyword = 1")
        .line("HIERARCH ESO DET CHIP1 NAME = 'long'")
        .line("DATE-OBS= 2020-01-01")
        .line("=========")
        .line("");
    let (input, output) = smoothed_with(&cards);
    only_changed(&input, &output, &BEAM_KEYS);
}

#[test]
fn h06_duplicates_of_a_changed_card_are_removed() {
    let extra = Cards::new()
        .again("BMAJ", 1.0)
        .again("FREE", 1)
        .again("FREE", 2)
        .again("BPA", 3.0);
    let (_, output) = smoothed_with(&extra);
    same_beam(output.beam().expect("one beam"), TGT, 1e-9);
    assert_eq!(output.count("FREE"), 2);
}

#[test]
fn h06_of_cards_that_say_what_the_data_are_the_first_one_stays() {
    let extra = Cards::new()
        .again("NAXIS1", 7)
        .again("BITPIX", 8)
        .again("SIMPLE", false);
    let bench = Bench::new();
    bench.put("c", &[image_with(&extra)]);
    bench.smooth_to(TGT).file("c").run().ok();
    let output = bench.read("c");
    for keyword in ["NAXIS1", "BITPIX", "SIMPLE"] {
        assert_eq!(output.primary().count(keyword), 1, "{keyword}");
    }
}

#[test]
fn h07_cards_without_a_value() {
    let cards = Cards::new()
        .line("FOO     =")
        .line("BAR     =                      / none")
        .line("BAZ     = ");
    let (input, output) = smoothed_with(&cards);
    only_changed(&input, &output, &BEAM_KEYS);
}

#[test]
fn h07_a_beam_card_without_a_value_is_no_beam() {
    let bench = Bench::new();
    let mut hdu = image(OLD);
    for card in hdu
        .cards
        .iter_mut()
        .filter(|c| keyword(c).starts_with("BM"))
    {
        card[9..].fill(b' ');
    }
    bench.put("c", &[hdu]);
    bench
        .smooth_to(TGT)
        .file("c")
        .run()
        .refused(3, &["beam", "c.fits"]);
}

#[test]
fn h08_only_the_beam_changes() {
    let extra = Cards::new()
        .set("OBJECT", "PKS 1934-638")
        .set("RESTFRQ", 1.420_405_751_77e9)
        .line("COMMENT a remark")
        .history("made by another program")
        .set("EQUINOX", 2000.0)
        .line("")
        .set("OBSGEO-X", -2.56e6);
    let (input, output) = smoothed_with(&extra);
    only_changed(&input, &output, &BEAM_KEYS);
    same_beam(output.beam().expect("a beam"), TGT, 1e-9);
    let order = |hdu: &ReadHdu| {
        let at = |key: &str| hdu.cards.iter().position(|c| keyword(c) == key);
        BEAM_KEYS.map(|k| at(k).expect("beam cards"))
    };
    assert_eq!(order(&input), order(&output), "the beam cards have moved");
}

#[test]
fn h08_comments_and_order_of_the_beam_cards_are_kept() {
    let cards = image_cards(OLD)
        .without("BMAJ")
        .line("BMAJ    = 4.44444444444444E-03 / [deg] beam major axis");
    let g = Grid::default();
    let bench = Bench::new();
    bench.put(
        "c",
        &[Hdu::primary(
            &[g.nx, g.ny],
            &Samples::f32(&g.gaussian(OLD)),
            &cards,
        )],
    );
    bench.smooth_to([30.0, 17.0, 75.0]).file("c").run().ok();
    let output = bench.read("c").primary().clone();
    same_beam(output.beam().expect("a beam"), [30.0, 17.0, 75.0], 1e-9);
    let card = shown(output.card("BMAJ").unwrap());
    assert!(card.contains("/ [deg] beam major axis"), "{card}");
}

#[test]
fn h08_a_cube_loses_nothing_but_its_table() {
    let bench = Bench::new();
    let extra = casambm().set("OBJECT", "field");
    let hdus = [cube(&BEAMS5, &extra), BeamTable::new(&BEAMS5).hdu()];
    let input = Fits::read(&bench.put("c", &hdus));
    bench.smooth_to(TGT).file("c").run().ok();
    let output = bench.read("c");
    only_changed(
        input.primary(),
        output.primary(),
        &["BMAJ", "BMIN", "BPA", "CASAMBM"],
    );
    assert_eq!(output.names(), Vec::<String>::new());
}

#[test]
fn h09_history_says_what_was_done() {
    let (input, output) = smoothed_with(&Cards::new().history("made by another program"));
    let history = output.history();
    assert_eq!(history[0], input.history()[0]);
    let said = history[1..].join("\n");
    assert!(said.contains("mmconv"), "{said}");
    assert!(
        said.contains(env!("CARGO_PKG_VERSION")),
        "no version in: {said}"
    );
    for number in ["30", "28", "20"] {
        assert!(said.contains(number), "no {number} in: {said}");
    }
    assert!(said.to_lowercase().contains("beam"), "{said}");
}

#[test]
fn h09_history_names_the_source_of_the_beams() {
    let bench = Bench::new();
    put_cube(&bench, "c", &BEAMS5);
    bench.smooth_to(TGT).file("c").run().ok();
    let said = bench.read("c").primary().history().join("\n");
    assert!(said.contains("BEAMS"), "{said}");
    bench.put("d", &[cube(&BEAMS5, &Cards::new())]);
    bench.put_text("beamlog.d.txt", &beam_log_of(&BEAMS5));
    bench.smooth_to(TGT).file("d").run().ok();
    let said = bench.read("d").primary().history().join("");
    assert!(said.contains("beamlog.d.txt"), "{said}");
}

#[test]
fn h09_history_cards_are_printable_and_short() {
    let (_, output) = smoothed_with(&Cards::new());
    for card in output.cards.iter().filter(|c| keyword(c) == "HISTORY") {
        assert!(
            card.iter().all(|b| (0x20..0x7f).contains(b)),
            "{}",
            shown(card)
        );
    }
}

#[test]
fn h10_extremes_do_not_go_stale() {
    let extra = Cards::new().set("DATAMAX", 1.0).set("DATAMIN", 0.0);
    let (input, output) = smoothed_with(&extra);
    let pixels = output.pixels();
    if let Some(stated) = output.real("DATAMAX") {
        let true_one = pixels.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        assert!((stated - true_one).abs() < 1e-6);
    }
    if let Some(stated) = output.real("DATAMIN") {
        let true_one = pixels.iter().copied().fold(f64::INFINITY, f64::min);
        assert!((stated - true_one).abs() < 1e-6);
    }
    only_changed(
        &input,
        &output,
        &["BMAJ", "BMIN", "BPA", "DATAMAX", "DATAMIN"],
    );
}

fn weight() -> Hdu {
    let cards = Cards::new().set("BUNIT", "1/Jy^2").line("odd card");
    Hdu::extension("WEIGHT", &[10, 5], &Samples::I32((0..50).collect()), &cards)
}

fn table() -> Hdu {
    let cells = (0..7).map(f64::from).collect();
    Hdu::table("T", &[Column::new("A", 'J', None, cells)], &Cards::new())
}

#[test]
fn h11_other_hdus_are_copied_byte_for_byte() {
    let bench = Bench::new();
    bench.put("c", &[image(OLD), weight(), table()]);
    bench.smooth_to(TGT).file("c").run().ok();
    let fits = bench.read("c");
    assert_eq!(fits.names(), ["WEIGHT", "T"]);
    same_bits(&fits.hdus[1].bytes, &weight().bytes(), "WEIGHT");
    same_bits(&fits.hdus[2].bytes, &table().bytes(), "T");
    check_planes(fits.primary(), TGT, &[]);
}

#[test]
fn h11_the_image_may_stand_between_others() {
    let g = Grid::default();
    let science = Hdu::extension(
        "SCI",
        &[g.nx, g.ny],
        &Samples::f32(&g.gaussian(OLD)),
        &image_cards(OLD),
    );
    let mut first = Hdu::empty_primary(&Cards::new().set("TELESCOP", "ASKAP"));
    first.cards.push(card::raw("lower = odd"));
    let bench = Bench::new();
    bench.put("c", &[first.clone(), table(), science, weight()]);
    bench.smooth_to(TGT).file("c").run().ok();
    let fits = bench.read("c");
    assert_eq!(fits.names(), ["T", "SCI", "WEIGHT"]);
    same_bits(&fits.hdus[0].bytes, &first.bytes(), "the primary HDU");
    same_bits(&fits.hdus[1].bytes, &table().bytes(), "T");
    check_planes(&fits.hdus[2], TGT, &[]);
    same_bits(&fits.hdus[3].bytes, &weight().bytes(), "WEIGHT");
}

#[test]
fn h11_a_chosen_hdu_leaves_the_other_images_alone() {
    let g = Grid::default();
    let science = Hdu::extension(
        "SCI",
        &[g.nx, g.ny],
        &Samples::f32(&g.gaussian(OLD)),
        &image_cards(OLD),
    );
    let preview = Hdu::primary(&[8, 6], &Samples::I16((0..48).collect()), &Cards::new());
    let bench = Bench::new();
    bench.put("c", &[preview.clone(), science]);
    bench
        .smooth_to(TGT)
        .args(["--hdu", "SCI"])
        .file("c")
        .run()
        .ok();
    let fits = bench.read("c");
    same_bits(&fits.hdus[0].bytes, &preview.bytes(), "the primary HDU");
    check_planes(&fits.hdus[1], TGT, &[]);
}

#[test]
fn h11_the_beam_table_alone_is_replaced() {
    let bench = Bench::new();
    for (name, beams) in [("c", &BEAMS5), ("d", &OTHERS)] {
        bench.put(
            name,
            &[
                cube(beams, &casambm()),
                table(),
                BeamTable::new(beams).hdu(),
                weight(),
            ],
        );
    }
    bench.smooth().file("c").file("d").run().ok();
    assert_eq!(bench.read("c").names(), ["T", "WEIGHT"]);
    bench
        .smooth()
        .args(["--mode", "natural", "--overwrite"])
        .file("c")
        .file("d")
        .run()
        .ok();
    let fits = bench.read("d");
    let mut names = fits.names();
    names.sort();
    assert_eq!(names, ["BEAMS", "T", "WEIGHT"]);
    same_bits(&fits.named("T").unwrap().bytes, &table().bytes(), "T");
    same_bits(
        &fits.named("WEIGHT").unwrap().bytes,
        &weight().bytes(),
        "WEIGHT",
    );
    check_planes_of_table(&fits, &[]);
}

#[test]
fn h13_bunit_is_not_rewritten() {
    for unit in ["Jy/beam", "beam-1 Jy", "JY/BEAM", "mJy/beam"] {
        let cards = image_cards(OLD).set("BUNIT", unit);
        let g = Grid::default();
        let bench = Bench::new();
        bench.put(
            "c",
            &[Hdu::primary(
                &[g.nx, g.ny],
                &Samples::f32(&g.gaussian(OLD)),
                &cards,
            )],
        );
        bench.smooth_to(TGT).file("c").run().ok();
        assert_eq!(
            bench.read("c").primary().text("BUNIT").as_deref(),
            Some(unit)
        );
    }
}
