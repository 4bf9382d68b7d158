//! Table cells against astropy, tables that do not fit, and tables that we make.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::{data_dir, header_bytes};
use fits_layout::{Card, Cell, CellKind, Column, Layout, LayoutError, Table, TableBuilder};
use serde_json::{Value, json};

/// The primary HDU that a table comes after.
fn primary() -> Vec<u8> {
    header_bytes(&[
        "SIMPLE  =                    T",
        "BITPIX  =                    8",
        "NAXIS   =                    0",
    ])
}

/// What we read from a cell, as astropy gives it.
fn cell(table: &Table, data: &[u8], row: u64, column: &Column) -> Value {
    let integer = |index| table.integer_at(data, row, column, index);
    let real = |index| table.real_at(data, row, column, index);
    let all = 0..column.repeat();
    match column.kind() {
        CellKind::Logical => json!([table.logical(data, row, column)]),
        CellKind::Text => json!([table.text(data, row, column)]),
        CellKind::Bit => all
            .map(|index| json!(table.bit(data, row, column, index)))
            .collect(),
        CellKind::F32 | CellKind::F64 => all.map(|index| json!(real(index))).collect(),
        _ if column.name() == "SCALED" => all.map(|index| json!(real(index))).collect(),
        _ => all.map(|index| json!(integer(index))).collect(),
    }
}

#[test]
fn cells_say_what_astropy_reads() {
    let bytes = std::fs::read(data_dir().join("every_form.fits")).unwrap();
    let truth = std::fs::read(data_dir().join("every_form.json")).unwrap();
    let truth: Value = serde_json::from_slice(&truth).unwrap();
    let layout = Layout::parse(&bytes).unwrap();
    let hdu = &layout.hdus[1];
    let table = Table::of(hdu).unwrap();
    let data = &bytes[usize::try_from(hdu.data_range().start).unwrap()..];
    assert_eq!(
        (table.rows(), table.row_bytes()),
        (3, truth["row_bytes"].as_u64().unwrap())
    );
    let truths = truth["columns"].as_array().unwrap();
    assert_eq!(table.columns().len(), truths.len());
    for (column, truth) in table.columns().iter().zip(truths) {
        let name = column.name();
        assert_eq!(name, truth["name"].as_str().unwrap());
        assert_eq!(column.unit(), truth["unit"].as_str(), "{name}");
        assert_eq!(
            column.offset_bytes(),
            truth["offset"].as_u64().unwrap(),
            "{name}"
        );
        assert_eq!(
            column.width_bytes(),
            truth["width"].as_u64().unwrap(),
            "{name}"
        );
        let Some(values) = truth["values"].as_array() else {
            continue;
        };
        for (row, expected) in (0..).zip(values) {
            // astropy gives the stored 127, which TNULL3 says is no value
            let null = column
                .null()
                .is_some_and(|stored| *expected == json!([stored]));
            let expected = if null {
                json!([Value::Null])
            } else {
                expected.clone()
            };
            assert_eq!(cell(&table, data, row, column), expected, "{name} {row}");
        }
    }
    let column = |name: &str| table.column(name).unwrap();
    assert_eq!(table.complex(data, 0, column("single")), Some((1.0, 2.0)));
    assert_eq!(table.complex(data, 2, column("DOUBLE")), Some((0.0, 4.0)));
    assert_eq!(
        table
            .descriptor(data, 1, column("VARI"))
            .map(|(count, _)| count),
        Some(2)
    );
    assert_eq!(
        table
            .descriptor(data, 1, column("VARQ"))
            .map(|(count, _)| count),
        Some(2)
    );
    assert_eq!(
        table
            .descriptor(data, 2, column("VARI"))
            .map(|(count, _)| count),
        Some(0)
    );
    // a pointer is not a number
    assert_eq!(table.real(data, 0, column("VARI")), None);
    assert_eq!(table.integer(data, 3, column("INT")), None);
    assert_eq!(table.integer(&data[..9], 0, column("INT")), None);
}

/// A table of two rows with a column of most kinds.
fn built() -> TableBuilder {
    let mut builder = TableBuilder::new("BEAMS")
        .column("BMAJ", CellKind::F32, Some("arcsec"))
        .column("CHAN", CellKind::I32, None)
        .column("POL", CellKind::I16, None)
        .column("GOOD", CellKind::Logical, None)
        .wide_column("NAME", CellKind::Text, 5, None)
        .wide_column("PAIR", CellKind::F64, 2, Some("deg"));
    builder.set("NCHAN", 2, Some("channels")).unwrap();
    builder.row(&row(16.5, 0, "one")).unwrap();
    builder.row(&row(f64::NAN, 1, "seven")).unwrap();
    builder
}

/// Cells of a row of it.
fn row(bmaj: f64, chan: i64, name: &str) -> [Cell<'_>; 7] {
    let (good, pol) = (Cell::Logical(chan == 0), Cell::Integer(-2 * chan));
    let pair = [Cell::Real(1.0), Cell::Real(4.0)];
    [
        bmaj.into(),
        chan.into(),
        pol,
        good,
        name.into(),
        pair[0],
        pair[1],
    ]
}

#[test]
fn a_built_table_reads_back() {
    let mut bytes = primary();
    bytes.extend(built().hdu_bytes().unwrap());
    let layout = Layout::parse(&bytes).unwrap();
    let hdu = &layout.hdus[1];
    assert_eq!(
        (hdu.name(), hdu.header().integer("NCHAN")),
        (Some("BEAMS"), Ok(Some(2)))
    );
    assert_eq!(layout.trailing(), 8640..8640);
    let table = Table::of(hdu).unwrap();
    let data = &bytes[5760..];
    assert_eq!((table.rows(), table.row_bytes()), (2, 32));
    let column = |name: &str| table.column(name).unwrap();
    assert_eq!(column("BMAJ").unit(), Some("arcsec"));
    assert_eq!(table.real(data, 0, column("BMAJ")), Some(16.5));
    assert!(table.real(data, 1, column("BMAJ")).unwrap().is_nan());
    assert_eq!(table.integer(data, 1, column("BMAJ")), None);
    assert_eq!(table.integer(data, 1, column("POL")), Some(-2));
    assert_eq!(
        table.text(data, 1, column("NAME")).as_deref(),
        Some("seven")
    );
    assert_eq!(table.text(data, 0, column("NAME")).as_deref(), Some("one"));
    assert_eq!(table.logical(data, 1, column("GOOD")), Some(false));
    assert_eq!(table.real_at(data, 1, column("PAIR"), 1), Some(4.0));
    assert_eq!(table.real_at(data, 1, column("PAIR"), 2), None);

    let mut edited = data.to_vec();
    assert_eq!(
        table.put_real(&mut edited, 1, column("BMAJ"), 17.25),
        Some(())
    );
    assert_eq!(table.put_real(&mut edited, 1, column("POL"), 4e9), None);
    assert_eq!(table.put_real(&mut edited, 2, column("BMAJ"), 1.0), None);
    assert_eq!(table.real(&edited, 1, column("BMAJ")), Some(17.25));
    assert_eq!(table.integer(&edited, 1, column("POL")), Some(-2));
}

#[test]
fn rows_that_do_not_fit_are_refused() {
    let mut builder = built();
    let before = builder.hdu_bytes().unwrap();
    let mut text = row(1.0, 0, "x");
    text[1] = Cell::Text("0");
    let full = row(1.0, 0, "x");
    let cases = [
        (&full[..6], "table row 2: too few cells"),
        (&[full, full].concat(), "row 2: too many cells"),
        (
            &row(1.0, 5_000_000_000, "x"),
            "row 2: column CHAN of 1J cannot hold Integer(5000000000)",
        ),
        (
            &row(1.0, 0, "too long"),
            "row 2: column NAME of 5A cannot hold",
        ),
        (&text, "row 2: column CHAN of 1J cannot hold Text(\"0\")"),
    ];
    for (cells, message) in cases {
        let error = builder.row(cells).unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
    }
    assert_eq!(builder.hdu_bytes().unwrap(), before);
}

/// A table HDU of these cards after the mandatory ones, without its data.
fn table_of(naxis1: u64, cards: &[&str]) -> Result<Table, LayoutError> {
    let mut lines = vec![
        "XTENSION= 'BINTABLE'".to_owned(),
        "BITPIX  =                    8".to_owned(),
        "NAXIS   =                    2".to_owned(),
        format!("NAXIS1  = {naxis1}"),
        "NAXIS2  =                    0".to_owned(),
    ];
    lines.extend(cards.iter().map(|&card| card.to_owned()));
    let mut bytes = primary();
    bytes.extend(header_bytes(&lines));
    Table::of(&Layout::parse(&bytes).unwrap().hdus[1])
}

#[test]
fn forms_give_offset_width_and_kind() {
    let forms = [
        ("L", CellKind::Logical, 1, 1),
        ("17X", CellKind::Bit, 17, 3),
        ("3B", CellKind::U8, 3, 3),
        ("I", CellKind::I16, 1, 2),
        ("2J", CellKind::I32, 2, 8),
        ("1K", CellKind::I64, 1, 8),
        ("12A", CellKind::Text, 12, 12),
        ("0E", CellKind::F32, 0, 0),
        ("D", CellKind::F64, 1, 8),
        ("1C", CellKind::Complex32, 1, 8),
        ("M", CellKind::Complex64, 1, 16),
        ("1PE(30)", CellKind::Descriptor32, 1, 8),
        ("QD(5)", CellKind::Descriptor64, 1, 16),
        ("8A/4", CellKind::Text, 8, 8),
        ("2e", CellKind::F32, 2, 8),
    ];
    let mut cards = vec![format!("TFIELDS = {}", forms.len())];
    cards.extend(
        (1..)
            .zip(forms)
            .map(|(n, (form, ..))| format!("{:<8}= '{form}'", format!("TFORM{n}"))),
    );
    let cards: Vec<&str> = cards.iter().map(String::as_str).collect();
    let table = table_of(150, &cards).unwrap();
    let mut offset = 0;
    for (column, (form, kind, repeat, width)) in table.columns().iter().zip(forms) {
        assert_eq!(
            (column.kind(), column.repeat(), column.width_bytes()),
            (kind, repeat, width),
            "{form}"
        );
        assert_eq!(column.offset_bytes(), offset, "{form}");
        assert_eq!((column.name(), column.unit()), ("", None));
        offset += width;
    }
}

#[test]
fn tables_that_do_not_fit_are_refused() {
    let cases: [(&[&str], &str); 8] = [
        (&[], "has no TFIELDS"),
        (&["TFIELDS = 1"], "has no TFORM1"),
        (
            &["TFIELDS = 1000"],
            "TFIELDS at byte 3280 is 1000, expected 0 to 999",
        ),
        (
            &["TFIELDS = -1"],
            "TFIELDS at byte 3280 is -1, expected 0 to 999",
        ),
        (
            &["TFIELDS = 1", "TFORM1  = '3E'"],
            "columns take 12 bytes, a row has 8",
        ),
        (
            &["TFIELDS = 1", "TFORM1  = '1Z'"],
            "TFORM1 at byte 3360 is '1Z', expected",
        ),
        (
            &["TFIELDS = 1", "TFORM1  = '99999999999999999999E'"],
            "TFORM1 at byte 3360",
        ),
        (
            &["TFIELDS = 1", "TFORM1  = '9999999999999999999M'"],
            "TFORM1 at byte 3360",
        ),
    ];
    for (cards, message) in cases {
        let error = table_of(8, cards).unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
    }
}

#[test]
fn unsigned_integers_are_exact() {
    let mut bytes = primary();
    let card = |line: &str| {
        let mut bytes = [b' '; 80];
        bytes[..line.len()].copy_from_slice(line.as_bytes());
        Card::from_bytes(bytes)
    };
    let mut table = TableBuilder::new("U").column("BIG", CellKind::I64, None);
    table.row(&[i64::MIN.into()]).unwrap();
    table.row(&[(i64::MIN + 7).into()]).unwrap();
    table.row(&[0_i64.into()]).unwrap();
    let mut header = table.header().unwrap();
    header.push(card("TZERO1  = 9223372036854775808"));
    bytes.extend(header.render());
    bytes.extend(table.data());
    let layout = Layout::parse(&bytes).unwrap();
    let table = Table::of(&layout.hdus[1]).unwrap();
    let column = &table.columns()[0];
    let data = &bytes[5760..];
    assert_eq!(table.integer(data, 0, column), Some(0));
    assert_eq!(table.integer(data, 1, column), Some(7));
    assert_eq!(
        table.integer(data, 2, column),
        None,
        "2^63 is beyond 64 bits with a sign"
    );
    assert_eq!(
        table.real(data, 2, column),
        Some(9_223_372_036_854_775_808.0)
    );
}
