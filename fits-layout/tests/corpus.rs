//! Files of other writers: what astropy says of them is what we say, and they go round unchanged.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod common;

use common::{Sample, samples};
use fits_layout::{Card, Cube, Hdu, HduKind, Layout, LayoutError, Sum, Table, checksum};

/// GROUPS = T with NAXIS = 0: astropy makes up a NAXIS1, we say that it has no data.
const NO_GROUPS: &str = "astropy__io__fits__invalid__group_invalid.fits";

/// A file whose name lies: text.
const NOT_FITS: &str = "astropy__modeling__idcompspec.fits";

/// A card of this file is no legal value: two numbers without brackets.
const BAD_CARD: (&str, &str) = ("astropy__wcs__dss.14.29.56-62.41.05.fits", "SKEW");

/// The samples that are FITS, with their layouts.
fn layouts() -> Vec<(Sample, Layout)> {
    let mut layouts = Vec::new();
    for sample in samples() {
        match Layout::parse(&sample.bytes) {
            Ok(layout) => layouts.push((sample, layout)),
            Err(LayoutError::NotFits { .. }) => assert_eq!(sample.name, NOT_FITS),
            Err(error) => panic!("{}: {error}", sample.name),
        }
    }
    assert!(layouts.len() >= 10);
    layouts
}

/// The bytes of an HDU's header and data.
fn parts<'a>(bytes: &'a [u8], hdu: &Hdu) -> (&'a [u8], &'a [u8]) {
    let part = |range: std::ops::Range<u64>| {
        &bytes[usize::try_from(range.start).unwrap()..usize::try_from(range.end).unwrap()]
    };
    (part(hdu.header_range()), part(hdu.data_range()))
}

/// The numbers of the manifest for one HDU.
fn check_hdu(file: &str, hdu: &Hdu, truth: &serde_json::Value) {
    let range = hdu.data_range();
    let kind = match truth["class"].as_str().unwrap() {
        "PrimaryHDU" => HduKind::Primary,
        "ImageHDU" => HduKind::Image,
        "BinTableHDU" => HduKind::BinTable,
        "TableHDU" => HduKind::AsciiTable,
        "GroupsHDU" => HduKind::RandomGroups,
        class => panic!("{file}: {class}"),
    };
    assert_eq!(hdu.kind(), kind, "{file}");
    assert_eq!(
        hdu.header_range().start,
        truth["header_offset"].as_u64().unwrap(),
        "{file}"
    );
    assert_eq!(
        range.start,
        truth["data_offset"].as_u64().unwrap(),
        "{file}"
    );
    assert_eq!(
        hdu.padded_end() - range.start,
        truth["data_span"].as_u64().unwrap(),
        "{file}"
    );
    assert_eq!(
        hdu.bitpix().code(),
        truth["bitpix"].as_i64().unwrap(),
        "{file}"
    );
    assert_eq!(serde_json::json!(hdu.axes()), truth["naxis"], "{file}");
    assert_eq!(hdu.pcount(), truth["pcount"].as_u64().unwrap(), "{file}");
    assert_eq!(hdu.gcount(), truth["gcount"].as_u64().unwrap(), "{file}");
    // astropy counts a string with its CONTINUE cards as one
    let cards = hdu
        .header()
        .cards()
        .iter()
        .filter(|card| !card.is_continue())
        .count();
    assert_eq!(cards as u64, truth["cards"].as_u64().unwrap(), "{file}");
    let first = hdu.header_range().start == 0;
    let name = hdu.name().unwrap_or(if first { "PRIMARY" } else { "" });
    assert!(
        truth["name"].as_str().unwrap().eq_ignore_ascii_case(name),
        "{file} {name}"
    );
}

#[test]
fn layouts_are_those_of_astropy() {
    for (sample, layout) in layouts() {
        let end = layout.hdus.last().unwrap().padded_end();
        assert_eq!(
            layout.trailing(),
            end..sample.bytes.len() as u64,
            "{}",
            sample.name
        );
        if sample.name == NO_GROUPS || sample.truth["astropy_error"].is_string() {
            assert_eq!(layout.hdus.len(), 1, "{}", sample.name);
            assert_eq!(layout.hdus[0].kind(), HduKind::Primary, "{}", sample.name);
            assert_eq!(layout.hdus[0].axes(), [0; 0], "{}", sample.name);
            continue;
        }
        let truths = sample.truth["hdus"].as_array().unwrap();
        assert_eq!(layout.hdus.len(), truths.len(), "{}", sample.name);
        for (hdu, truth) in layout.hdus.iter().zip(truths) {
            check_hdu(&sample.name, hdu, truth);
        }
    }
}

#[test]
fn unedited_headers_render_byte_for_byte() {
    for (sample, layout) in layouts() {
        for hdu in &layout.hdus {
            let (header, _) = parts(&sample.bytes, hdu);
            assert!(
                hdu.header().render() == header,
                "{} at {}",
                sample.name,
                hdu.header_range().start
            );
        }
    }
}

#[test]
fn edited_headers_keep_every_other_card() {
    for (sample, layout) in layouts() {
        for hdu in &layout.hdus {
            let mut header = hdu.header().clone();
            header.set("BITPIX", -64, None).unwrap();
            header
                .set("NEWTEXT", "x".repeat(200), Some("long"))
                .unwrap();
            header.push_commentary("HISTORY", "edited");
            let rendered = header.render();
            let (again, span) = fits_layout::Header::parse(&rendered, 0).unwrap();
            assert_eq!((rendered.len() as u64, rendered.len() % 2880), (span, 0));
            assert_eq!(again.integer("BITPIX"), Ok(Some(-64)), "{}", sample.name);
            assert_eq!(
                again.text("NEWTEXT"),
                Ok(Some("x".repeat(200))),
                "{}",
                sample.name
            );
            assert_eq!(
                again.commentary("HISTORY").last().as_deref(),
                Some("edited")
            );
            let other = |card: &&Card| card.keyword() != "BITPIX";
            let old: Vec<_> = hdu.header().cards().iter().filter(other).collect();
            let new: Vec<_> = again.cards().iter().filter(other).take(old.len()).collect();
            assert_eq!(old, new, "{}", sample.name);
        }
    }
}

#[test]
fn every_card_but_one_can_be_read() {
    for (sample, layout) in layouts() {
        for card in layout.hdus.iter().flat_map(|hdu| hdu.header().cards()) {
            let bad = (sample.name.as_str(), card.keyword().as_ref()) == BAD_CARD;
            assert_eq!(card.value().is_err(), bad, "{}: {card:?}", sample.name);
        }
    }
}

#[test]
fn planes_fill_the_data() {
    let mut cubes = 0;
    for (sample, layout) in layouts() {
        for hdu in &layout.hdus {
            let Ok(cube) = Cube::of(hdu) else { continue };
            let mut end = hdu.data_range().start;
            for k in 0..cube.planes() {
                let plane = cube.plane_range(k).unwrap();
                assert_eq!((plane.start, plane.end - end), (end, cube.plane_bytes()));
                end = plane.end;
            }
            assert_eq!(end, hdu.data_range().end, "{}", sample.name);
            assert_eq!(hdu.data_range().start + cube.span_bytes(), hdu.padded_end());
            cubes += 1;
        }
    }
    assert!(cubes >= 4, "{cubes}");
}

#[test]
fn columns_fill_the_rows() {
    let mut tables = 0;
    for (sample, layout) in layouts() {
        for hdu in layout
            .hdus
            .iter()
            .filter(|hdu| hdu.kind() == HduKind::BinTable)
        {
            let table = Table::of(hdu).unwrap();
            let (_, data) = parts(&sample.bytes, hdu);
            let widths: u64 = table
                .columns()
                .iter()
                .map(fits_layout::Column::width_bytes)
                .sum();
            assert_eq!(widths, table.row_bytes(), "{}", sample.name);
            for column in table.columns() {
                let last = table.rows().checked_sub(1);
                let cell = last.and_then(|row| table.cell(data, row, column));
                assert_eq!(
                    cell.map(|cell| cell.len() as u64),
                    last.map(|_| column.width_bytes())
                );
                assert_eq!(table.cell(data, table.rows(), column), None);
            }
            tables += 1;
        }
    }
    assert!(tables >= 4, "{tables}");
}

/// Files with a CHECKSUM that does not fit their bytes, as astropy finds too.
const WRONG_SUMS: [&str; 5] = [
    "astropy__io__fits__chandra_time.fits",
    "astropy__io__fits__checksum_false.fits",
    "astropy__io__fits__memtest.fits",
    "astropy__wcs__header_newlines.fits",
    "astropy__wcs__validate.fits",
];

#[test]
fn checksums_are_right_where_astropy_says_so() {
    let mut checked = 0;
    for (sample, layout) in layouts() {
        for hdu in layout
            .hdus
            .iter()
            .filter(|hdu| hdu.header().contains("CHECKSUM"))
        {
            let (header, _) = parts(&sample.bytes, hdu);
            let ends = [hdu.data_range().start, hdu.padded_end()];
            let [start, end] = ends.map(|at| usize::try_from(at).unwrap());
            let data = Sum::of(&sample.bytes[start..end]);
            let right = checksum::data_sum(hdu.header()) == Ok(Some(data))
                && (Sum::of(header) + data).is_zero();
            assert_eq!(
                right,
                !WRONG_SUMS.contains(&sample.name.as_str()),
                "{}",
                sample.name
            );
            checked += 1;
        }
    }
    assert!(checked >= 2, "{checked}");
}

#[test]
fn a_stamped_header_has_the_sums_of_astropy() {
    for (sample, layout) in layouts() {
        for hdu in layout
            .hdus
            .iter()
            .filter(|hdu| hdu.header().contains("CHECKSUM"))
        {
            if WRONG_SUMS.contains(&sample.name.as_str()) {
                continue;
            }
            let mut header = hdu.header().clone();
            let old = header.text("CHECKSUM").unwrap();
            let sum = checksum::data_sum(&header).unwrap().unwrap();
            // with nothing else changed the letters must be those that are there
            header.set("CHECKSUM", "0".repeat(16), None).unwrap();
            let text = (Sum::of(&header.render()) + sum).encode(true);
            assert_eq!(
                old,
                String::from_utf8(text.to_vec()).ok(),
                "{}",
                sample.name
            );
            checksum::stamp(&mut header, sum).unwrap();
            assert!(
                (Sum::of(&header.render()) + sum).is_zero(),
                "{}",
                sample.name
            );
        }
    }
}
