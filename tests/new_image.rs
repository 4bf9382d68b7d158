//! A preallocated image made through the library.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use fits_layout::{Cube, Header, Layout, Sum};
use mmfits::output::{Existing, NewImage};

fn header(cards: usize, sums: &[&str]) -> Header {
    let mut header = Header::new();
    header.set("SIMPLE", true, None).unwrap();
    for (keyword, value) in [
        ("BITPIX", -32_i64),
        ("NAXIS", 2),
        ("NAXIS1", 7),
        ("NAXIS2", 5),
    ] {
        header.set(keyword, value, None).unwrap();
    }
    for keyword in sums {
        header.set(keyword, "0", None).unwrap();
    }
    while header.cards().len() < cards {
        header.push_commentary("COMMENT", "filler");
    }
    header
}

/// With one of the two sums, making both made the header a block longer than was planned, and its
/// second block fell on the data.
#[test]
fn sums_do_not_move_the_data() {
    for sums in [&["DATASUM"][..], &["CHECKSUM"], &["CHECKSUM", "DATASUM"]] {
        for cards in 30..38 {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("x.fits");
            let mut image =
                NewImage::create(&path, &header(cards, sums), Existing::Refuse).unwrap();
            for mut plane in image.planes_mut().unwrap() {
                for y in 0..5 {
                    plane.write_row(y, &[y as f32 + 0.5; 7]).unwrap();
                }
            }
            image.finish().unwrap();
            let bytes = std::fs::read(&path).unwrap();
            let layout = Layout::parse(&bytes).unwrap();
            let data = Cube::of(&layout.hdus[0]).unwrap().data_range();
            let data = &bytes[data.start as usize..data.end as usize];
            let rows: Vec<u8> = (0..5)
                .flat_map(|y| [(y as f32 + 0.5).to_be_bytes(); 7].concat())
                .collect();
            assert_eq!(data, rows, "{sums:?}, {cards} cards");
            // FITS 4.0, 4.4.2.7: all bits of the sum over the whole HDU are one.
            assert_eq!(Sum::of(&bytes).value(), u32::MAX, "{sums:?}, {cards} cards");
        }
    }
}

#[test]
fn mandatory_cards_stand_first() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.fits");
    let mut wrong = header(9, &[]);
    wrong.remove("SIMPLE");
    let error = NewImage::create(&path, &wrong, Existing::Refuse).unwrap_err();
    assert!(
        error.stage().to_string().contains("SIMPLE"),
        "{}",
        error.stage()
    );
    assert!(std::fs::read_dir(folder.path()).unwrap().next().is_none());
}
