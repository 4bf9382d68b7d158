//! USERS.md 1f, M10 to M12: truncated, huge and hostile files, through the command. One test or
//! more for each id.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::cast_possible_truncation,
    reason = "a test fails by panicking, and writes small numbers"
)]

mod support;

use support::*;

#[test]
fn m10_a_truncated_file_leaves_nothing() {
    let plane = 70 * 60 * 4;
    for length in [
        2880 + plane * 7 / 2,
        2880 + plane * 5 - 1,
        2880 + plane,
        2880 + 4,
        2880,
    ] {
        let bench = Bench::new();
        let path = bench.put("c", &[cube(&[OLD; 5], &beam_cards(OLD))]);
        cut(&path, length);
        let missing = (2880 + plane * 5 - length).to_string();
        let outcome = bench.smooth_to(TGT).file("c").run().refused(3, &["c.fits"]);
        assert!(
            outcome.stderr.contains(&missing),
            "not {missing} bytes: {}",
            outcome.stderr
        );
    }
}

#[test]
fn m10_a_truncated_header_or_extension() {
    for length in [2879, 2000, 80, 1] {
        let bench = Bench::new();
        let path = put_image(&bench, "c", OLD);
        cut(&path, length);
        bench.smooth_to(TGT).file("c").run().refused(3, &["c.fits"]);
    }
    let bench = Bench::new();
    let path = put_cube(&bench, "c", &BEAMS5);
    let whole = std::fs::metadata(&path).unwrap().len();
    cut(&path, whole - 2880 + 50);
    bench.smooth_to(TGT).file("c").run().refused(3, &["c.fits"]);
}

#[test]
fn m10_a_good_neighbour_is_not_started() {
    let bench = Bench::new();
    put_image(&bench, "good", OLD);
    let path = put_image(&bench, "c", OLD);
    cut(&path, 5000);
    bench
        .smooth_to(TGT)
        .file("good")
        .file("c")
        .run()
        .refused(3, &["c.fits"]);
}

#[test]
fn m11_more_than_two_to_the_31_pixels() {
    let (nx, ny) = (60_000, 59_000);
    let cards = Grid {
        nx,
        ny,
        ..Grid::default()
    }
    .cards(Wcs::Cdelt)
    .set("BUNIT", "Jy/beam")
    .and(&beam_cards(OLD));
    let mut hdu = Hdu::primary(&[1, 1], &Samples::F32(vec![0.0]), &cards);
    hdu.cards = Cards(hdu.cards).set("NAXIS1", nx).set("NAXIS2", ny).0;
    let bench = Bench::new();
    let path = bench.path("c.fits");
    std::fs::write(&path, hdu.header_bytes()).unwrap();
    let bytes = nx as u64 * ny as u64 * 4;
    cut(&path, 2880 + bytes.next_multiple_of(2880));
    let run = bench
        .smooth_to(TGT)
        .args(["--dry-run", "--json"])
        .file("c")
        .run()
        .ok();
    let json = &run.json()[0];
    assert_eq!(json["planes"], 1);
    assert!(json["bytes"].as_u64().expect("bytes") >= bytes, "{json}");
    assert!(bench.outputs().is_empty());
    bench.mmconv(["info"]).file("c").run().ok();
    cut(&path, bytes);
    bench
        .smooth_to(TGT)
        .args(["--dry-run"])
        .file("c")
        .run()
        .refused(3, &["c.fits"]);
}

/// A header of these cards alone, padded, and some bytes after it.
fn hostile(cards: &[impl AsRef<[u8]>]) -> Vec<u8> {
    let hdu = Hdu {
        cards: cards.iter().map(card::raw).collect(),
        data: vec![7; 2880],
    };
    hdu.bytes()
}

/// What is wrong, and the cards after SIMPLE.
const HEADERS: [(&str, &str); 17] = [
    ("only SIMPLE", ""),
    ("NAXIS = 999", "BITPIX=-32|NAXIS=999"),
    ("NAXIS = -1", "BITPIX=-32|NAXIS=-1"),
    ("NAXIS missing", "BITPIX=-32"),
    ("NAXIS2 missing", "BITPIX=-32|NAXIS=2|NAXIS1=10"),
    ("NAXIS1 = -1", "BITPIX=-32|NAXIS=2|NAXIS1=-1|NAXIS2=10"),
    ("NAXIS1 = 0", "BITPIX=-32|NAXIS=2|NAXIS1=0|NAXIS2=10"),
    ("a text", "BITPIX=-32|NAXIS=2|NAXIS1='x'|NAXIS2=10"),
    ("a fraction", "BITPIX=-32|NAXIS=2|NAXIS1=1.5|NAXIS2=10"),
    (
        "2^63",
        "BITPIX=-32|NAXIS=2|NAXIS1=9223372036854775807|NAXIS2=1",
    ),
    (
        "2^63 twice",
        "BITPIX=-32|NAXIS=2|NAXIS1=9223372036854775807|NAXIS2=9223372036854775807",
    ),
    (
        "2^32 twice",
        "BITPIX=-32|NAXIS=2|NAXIS1=4294967296|NAXIS2=4294967296",
    ),
    (
        "2^64",
        "BITPIX=-32|NAXIS=2|NAXIS1=18446744073709551616|NAXIS2=1",
    ),
    ("BITPIX = 7", "BITPIX=7|NAXIS=2|NAXIS1=10|NAXIS2=10"),
    ("BITPIX missing", "NAXIS=2|NAXIS1=10|NAXIS2=10"),
    ("BITPIX = 0", "BITPIX=0|NAXIS=2|NAXIS1=10|NAXIS2=10"),
    ("no beam", "BITPIX=-32|NAXIS=2|NAXIS1=10|NAXIS2=10"),
];

/// `KEY=VALUE|KEY=VALUE` as cards.
fn cards_of(text: &str) -> Vec<String> {
    let card = |pair: &str| {
        pair.split_once('=')
            .map(|(k, v)| format!("{k:<8}= {v:>20}"))
    };
    text.split('|').filter_map(card).collect()
}

fn hostile_files() -> Vec<(&'static str, Vec<u8>)> {
    let bytes = (0..28_800u32)
        .map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8)
        .collect();
    let mut files = vec![
        ("empty", Vec::new()),
        ("one byte", vec![b'S']),
        ("text", b"this is not a FITS file\n".repeat(200)),
        ("zeros", vec![0; 5760]),
        ("bytes", bytes),
    ];
    for (what, text) in HEADERS {
        let mut cards = cards_of("SIMPLE=T");
        cards.extend(cards_of(text));
        files.push((what, hostile(&cards)));
    }
    let mut no_end = hostile(&cards_of("SIMPLE=T|BITPIX=-32|NAXIS=2"));
    no_end.truncate(2880);
    let end = no_end.windows(3).position(|w| w == b"END").unwrap();
    no_end[end..end + 3].copy_from_slice(b"EMD");
    files.push(("no END", no_end));
    files.push((
        "SIMPLE = F",
        hostile(&cards_of("SIMPLE=F|BITPIX=-32|NAXIS=2")),
    ));
    files
}

#[test]
fn m12_hostile_headers_are_refused_in_words() {
    for (what, bytes) in hostile_files() {
        let bench = Bench::new();
        let path = bench.path("c.fits");
        std::fs::write(&path, bytes).unwrap();
        let outcome = bench.smooth_to(TGT).path(&path).run();
        assert_eq!(outcome.code, 3, "{what}: {}", outcome.stderr);
        let outcome = outcome.refused(3, &["c.fits"]);
        assert!(outcome.stderr.len() < 2000, "{what}: {}", outcome.stderr);
        for command in ["info", "beams"] {
            let code = bench.mmconv([command]).path(&path).run().code;
            assert!(
                [0, 3].contains(&code),
                "{command} on {what}: exit status {code}"
            );
        }
    }
}

#[test]
fn m12_hostile_extensions_are_refused_in_words() {
    let first = "XTENSION= 'BINTABLE'";
    let (bitpix, two) = ("BITPIX  = 8", "NAXIS   = 2");
    let tables: [&[&str]; 6] = [
        &[
            first,
            bitpix,
            two,
            "NAXIS1  = 20",
            "NAXIS2  = -5",
            "PCOUNT  = 0",
            "GCOUNT  = 1",
        ],
        &[
            first,
            bitpix,
            two,
            "NAXIS1  = 20",
            "NAXIS2  = 9223372036854775807",
            "PCOUNT  = 0",
        ],
        &[
            first,
            bitpix,
            two,
            "NAXIS1  = 20",
            "NAXIS2  = 5",
            "PCOUNT  = -100",
            "GCOUNT  = 1",
        ],
        &[
            first,
            bitpix,
            two,
            "NAXIS1  = 20",
            "NAXIS2  = 5",
            "PCOUNT  = 9223372036854775807",
        ],
        &[
            first,
            bitpix,
            two,
            "NAXIS1  = 20",
            "NAXIS2  = 5",
            "GCOUNT  = 9223372036854775807",
        ],
        &[first, bitpix, "NAXIS   = 999"],
    ];
    for cards in tables {
        let bench = Bench::new();
        let path = put_image(&bench, "c", OLD);
        let mut bytes = std::fs::read(&path).unwrap();
        bytes.extend(hostile(cards));
        std::fs::write(&path, bytes).unwrap();
        bench.smooth_to(TGT).file("c").run().refused(3, &["c.fits"]);
    }
}

#[test]
fn m12_hostile_beam_tables_never_crash() {
    for (key, value) in [
        ("TFORM1", "999999999999D"),
        ("TFORM1", "E9E9E"),
        ("TFORM1", "0E"),
        ("TFORM4", "A"),
        ("TFORM1", "1PE(9999)"),
        ("TTYPE1", ""),
        ("TUNIT1", "''"),
    ] {
        let bench = Bench::new();
        let mut table = BeamTable::new(&BEAMS5).hdu();
        table.cards = Cards(table.cards).set(key, value).0;
        bench.put("c", &[cube(&BEAMS5, &casambm()), table]);
        let code = bench.smooth_to(TGT).file("c").run().code;
        assert!(
            [0, 3].contains(&code),
            "{key} = {value}: exit status {code}"
        );
    }
    for fields in [-1i64, 0, 4, 999_999_999, i64::MAX] {
        let bench = Bench::new();
        let mut table = BeamTable::new(&BEAMS5).hdu();
        table.cards = Cards(table.cards).set("TFIELDS", fields).0;
        bench.put("c", &[cube(&BEAMS5, &casambm()), table]);
        let code = bench.smooth_to(TGT).file("c").run().code;
        assert!(
            [0, 3].contains(&code),
            "TFIELDS = {fields}: exit status {code}"
        );
    }
}

#[test]
fn m12_hostile_sky_and_scale_cards_never_crash() {
    for (key, value) in [
        ("CDELT1", "NaN"),
        ("CDELT1", "1E400"),
        ("CDELT1", "1E-320"),
        ("BMAJ", "1E300"),
        ("BMAJ", "-5.0"),
        ("BPA", "1E300"),
        ("CTYPE1", "5"),
        ("CRPIX1", "T"),
        ("BSCALE", "0.0"),
        ("BSCALE", "1E308"),
    ] {
        let bench = Bench::new();
        let mut hdu = image(OLD);
        hdu.cards = Cards(hdu.cards)
            .without(key)
            .line(format!("{key:<8}= {value}"))
            .0;
        bench.put("c", &[hdu]);
        let code = bench.smooth_to(TGT).file("c").run().code;
        assert!(
            [0, 2, 3].contains(&code),
            "{key} = {value}: exit status {code}"
        );
    }
}
