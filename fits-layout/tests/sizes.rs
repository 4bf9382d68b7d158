//! What the mandatory keywords say of sizes, right and hostile; files that are not FITS.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::header_bytes;
use fits_layout::{Bitpix, Compression, Cube, HduKind, Layout, LayoutError};

/// A file of one primary header of these cards, then `data` zeros.
fn file(cards: &[&str], data: usize) -> Vec<u8> {
    let mut lines = vec!["SIMPLE  =                    T"];
    lines.extend(cards);
    let mut bytes = header_bytes(&lines);
    bytes.resize(bytes.len() + data, 0);
    bytes
}

/// The error of such a file, as text.
fn refusal(cards: &[&str]) -> String {
    Layout::parse(&file(cards, 0)).unwrap_err().to_string()
}

#[test]
fn data_sizes_follow_the_standard() {
    // bytes, kind and cards; the sizes are worked out by hand from FITS 4.0, equations 1, 2 and 4
    let cases: [(u64, HduKind, &[&str]); 7] = [
        (0, HduKind::Primary, &["BITPIX  = 8", "NAXIS   = 0"]),
        (
            42,
            HduKind::Primary,
            &["BITPIX  = 16", "NAXIS   = 2", "NAXIS1  = 7", "NAXIS2  = 3"],
        ),
        (
            0,
            HduKind::Primary,
            &["BITPIX  = -64", "NAXIS   = 2", "NAXIS1  = 7", "NAXIS2  = 0"],
        ),
        // PCOUNT and GCOUNT have no meaning in a primary array
        (
            10,
            HduKind::Primary,
            &[
                "BITPIX  = 8",
                "NAXIS   = 1",
                "NAXIS1  = 10",
                "PCOUNT  = 5",
                "GCOUNT  = 2",
            ],
        ),
        // 4 bytes * 6 groups * (3 parameters + 2 * 5)
        (
            312,
            HduKind::RandomGroups,
            &[
                "BITPIX  = -32",
                "NAXIS   = 3",
                "NAXIS1  = 0",
                "NAXIS2  = 2",
                "NAXIS3  = 5",
                "GROUPS  = T",
                "PCOUNT  = 3",
                "GCOUNT  = 6",
            ],
        ),
        (
            0,
            HduKind::Primary,
            &["BITPIX  = -32", "NAXIS   = 2", "NAXIS1  = 0", "NAXIS2  = 5"],
        ),
        (
            0,
            HduKind::Primary,
            &[
                "BITPIX  = 8",
                "NAXIS   = 3",
                "NAXIS1  = 4000000000",
                "NAXIS2  = 4000000000",
                "NAXIS3  = 0",
            ],
        ),
    ];
    for (bytes, kind, cards) in cases {
        let file = file(cards, usize::try_from(bytes).unwrap());
        let layout = Layout::parse(&file).unwrap();
        let hdu = &layout.hdus[0];
        assert_eq!(
            (hdu.kind(), hdu.data_range()),
            (kind, 2880..2880 + bytes),
            "{cards:?}"
        );
        assert_eq!(
            hdu.padded_end(),
            2880 + bytes,
            "a last data unit may lack its padding"
        );
    }
}

#[test]
fn extensions_are_told_apart() {
    let cases = [
        ("IMAGE   ", HduKind::Image),
        ("IUEIMAGE", HduKind::Image),
        ("BINTABLE", HduKind::BinTable),
        ("A3DTABLE", HduKind::BinTable),
        ("TABLE   ", HduKind::AsciiTable),
        ("FOREIGN ", HduKind::Other),
        ("", HduKind::Other),
    ];
    let mut bytes = file(&["BITPIX  = 8", "NAXIS   = 0"], 0);
    for (name, _) in cases {
        // 2 * 3 * (7 + 5 * 4) bytes
        bytes.extend(header_bytes(&[
            &format!("XTENSION= '{name}'"),
            "BITPIX  = 16",
            "NAXIS   = 2",
            "NAXIS1  = 5",
            "NAXIS2  = 4",
            "PCOUNT  = 7",
            "GCOUNT  = 3",
            "EXTNAME = 'E'",
            "EXTVER  = 9",
        ]));
        bytes.resize(bytes.len() + 2880, 1);
    }
    let layout = Layout::parse(&bytes).unwrap();
    assert_eq!(layout.hdus.len(), 8);
    for (hdu, (name, kind)) in layout.hdus.iter().skip(1).zip(cases) {
        assert_eq!(hdu.kind(), kind, "{name}");
        assert_eq!(hdu.data_range().end - hdu.data_range().start, 162, "{name}");
        assert_eq!((hdu.name(), hdu.version()), (Some("E"), 9));
        assert!(
            matches!(Cube::of(hdu), Err(LayoutError::NotAnImage { .. })),
            "{name} has groups"
        );
    }
}

#[test]
fn hostile_sizes_are_refused_by_name_and_place() {
    let cases: [(&[&str], &str); 14] = [
        (&[], "header at byte 0 has no BITPIX"),
        (&["BITPIX  = 8"], "header at byte 0 has no NAXIS"),
        (
            &["BITPIX  = 8", "NAXIS   ="],
            "header at byte 0 has no NAXIS",
        ),
        (
            &["BITPIX  = 12"],
            "BITPIX at byte 80 is 12, expected 8, 16, 32, 64, -32 or -64",
        ),
        (
            &["BITPIX  = 8.0"],
            "BITPIX at byte 80 is 8.0, expected an integer of at most 64 bits",
        ),
        (
            &["BITPIX  = 8", "NAXIS   = -1"],
            "NAXIS at byte 160 is -1, expected 0 to 999",
        ),
        (
            &["BITPIX  = 8", "NAXIS   = 1000"],
            "NAXIS at byte 160 is 1000, expected 0 to 999",
        ),
        (
            &["BITPIX  = 8", "NAXIS   = 999"],
            "header at byte 0 has no NAXIS1",
        ),
        (
            &["BITPIX  = 8", "NAXIS   = 'x"],
            "NAXIS at byte 160 is 'x, expected a string with a closing quote",
        ),
        (
            &["BITPIX  = 8", "NAXIS   = 1", "NAXIS1  = -5"],
            "NAXIS1 at byte 240 is -5, expected 0 or more",
        ),
        (
            &[
                "BITPIX  = 8",
                "NAXIS   = 1",
                "NAXIS1  = 99999999999999999999",
            ],
            "NAXIS1 at byte 240 is 99999999999999999999, expected an integer of at most 64 bits",
        ),
        (
            &[
                "BITPIX  = -64",
                "NAXIS   = 2",
                "NAXIS1  = 4294967296",
                "NAXIS2  = 4294967296",
            ],
            "header at byte 0: the size of the data is beyond 64 bits",
        ),
        (
            &[
                "BITPIX  = 8",
                "NAXIS   = 1",
                "NAXIS1  = 9223372036854775807",
            ],
            "HDU 0 is truncated: 9223372036854775807 bytes missing",
        ),
        (
            &[
                "BITPIX  = 8",
                "NAXIS   = 2",
                "NAXIS1  = 0",
                "NAXIS2  = 3",
                "GROUPS  = T",
                "PCOUNT  = -1",
            ],
            "PCOUNT at byte 480 is -1, expected 0 or more",
        ),
    ];
    for (cards, message) in cases {
        let refusal = refusal(cards);
        assert!(
            refusal.starts_with(message),
            "{refusal}\nexpected {message}"
        );
    }
}

#[test]
fn files_that_are_not_fits_are_told_by_their_first_bytes() {
    assert_eq!(Layout::parse(b"").unwrap_err(), LayoutError::Empty);
    let error = Layout::parse(b"XTENSION= 'IMAGE   '").unwrap_err();
    assert_eq!(
        error.to_string(),
        "not a FITS file: begins with \"XTENSION=\", expected SIMPLE  ="
    );
    let error = Layout::parse(b"\x89HDF\r\n\x1a\n").unwrap_err();
    assert!(
        error.to_string().contains(r#""\x89HDF\r\n\x1a\n""#),
        "{error}"
    );
    for (magic, method) in [
        (&b"\x1f\x8b\x08\x00"[..], Compression::Gzip),
        (b"\x1f\x9d\x90", Compression::Compress),
        (b"BZh91AY", Compression::Bzip2),
        (b"\xfd7zXZ\0\0", Compression::Xz),
        (b"\x28\xb5\x2f\xfd..", Compression::Zstd),
        (b"PK\x03\x04", Compression::Zip),
    ] {
        assert_eq!(
            Layout::parse(magic).unwrap_err(),
            LayoutError::Compressed { method }
        );
    }
    let error = Layout::parse(b"SIMPLE  =                    T").unwrap_err();
    assert_eq!(
        error,
        LayoutError::MissingEnd {
            offset: 0,
            searched_bytes: 30
        }
    );
    assert_eq!(
        error.to_string(),
        "header at byte 0 has no END card within 30 bytes"
    );
}

#[test]
fn junk_after_the_last_hdu_is_kept_apart() {
    let mut bytes = file(&["BITPIX  = 8", "NAXIS   = 1", "NAXIS1  = 10"], 2880);
    for junk in [&b"\0\0\0"[..], b"special record", &[b' '; 4000]] {
        let mut file = bytes.clone();
        file.extend(junk);
        let layout = Layout::parse(&file).unwrap();
        assert_eq!(layout.hdus.len(), 1);
        assert_eq!(layout.trailing(), 5760..5760 + junk.len() as u64);
    }
    bytes.extend(b"XTENSION= 'IMAGE   '");
    let error = Layout::parse(&bytes).unwrap_err();
    assert_eq!(
        error,
        LayoutError::MissingEnd {
            offset: 5760,
            searched_bytes: 20
        }
    );
}

#[test]
fn a_header_without_end_is_not_read_to_the_end_of_the_file() {
    let mut bytes = b"SIMPLE  =                    T".to_vec();
    bytes.resize(70_000_000, b' ');
    let error = Layout::parse(&bytes).unwrap_err();
    assert_eq!(
        error,
        LayoutError::MissingEnd {
            offset: 0,
            searched_bytes: 64_000_000
        }
    );
}

#[test]
fn cubes_of_any_axes_have_planes() {
    let cube = Cube::new(Bitpix::I16, &[5, 3], 2880).unwrap();
    assert_eq!(
        (cube.planes(), cube.plane_bytes(), cube.span_bytes()),
        (1, 30, 2880)
    );
    assert_eq!(
        (cube.plane_range(0), cube.plane_range(1)),
        (Some(2880..2910), None)
    );
    let cube = Cube::new(Bitpix::F64, &[5, 3, 1, 4, 1, 2], 5760).unwrap();
    assert_eq!((cube.planes(), cube.data_range()), (8, 5760..5760 + 960));
    assert_eq!(cube.plane_range(7), Some(6600..6720));
    for (axes, message) in [
        (&[][..], "HDU at byte 0 is an image of 0 axes"),
        (&[7], "HDU at byte 0 is an image of 1 axes"),
        (&[7, 3, 0], "HDU at byte 0 is without pixels (NAXIS3 is 0)"),
        (&[u64::MAX, 3], "the size of the data is beyond 64 bits"),
        (
            &[1 << 31, 1 << 31, 1 << 2],
            "the size of the data is beyond 64 bits",
        ),
    ] {
        let error = Cube::new(Bitpix::F32, axes, 2880).unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
    }
    // the largest that fits, and one block more
    assert!(Cube::new(Bitpix::U8, &[2880, 1], u64::MAX - 2880).is_ok());
    assert!(Cube::new(Bitpix::U8, &[2881, 1], u64::MAX - 2880).is_err());
}

#[test]
fn headers_beyond_a_limit_are_refused_before_they_are_kept() {
    let bytes = common::three_hdus();
    let layout = Layout::parse(&bytes).unwrap();
    let all: u64 = layout
        .hdus
        .iter()
        .map(|hdu| hdu.header_range().end - hdu.header_range().start)
        .sum();
    assert_eq!(
        Layout::parse_within(&bytes, all).unwrap().hdus.len(),
        layout.hdus.len()
    );
    let last = layout.hdus.last().unwrap().header_range().start;
    assert_eq!(
        Layout::parse_within(&bytes, all - 1).unwrap_err(),
        LayoutError::HeadersTooLong {
            offset: last,
            limit_bytes: all - 1
        }
    );
}
