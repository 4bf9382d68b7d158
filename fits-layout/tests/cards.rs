//! Every form of value, comment and keyword of FITS 4.0, 4, and the odd ones that occur.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::data_dir;
use fits_layout::{Card, Layout, LayoutError, Value};

/// A card of one line.
fn card(line: &str) -> Card {
    assert!(line.len() <= 80, "{line}");
    let mut bytes = [b' '; 80];
    bytes[..line.len()].copy_from_slice(line.as_bytes());
    Card::from_bytes(bytes)
}

/// The value of a card whose value field is `field`.
fn value(field: &str) -> Result<Value, LayoutError> {
    card(&format!("KEYWORD = {field}")).value()
}

fn text(text: &str) -> Value {
    Value::Text(text.to_owned())
}

#[test]
fn values_of_every_form_are_read() {
    let cases = [
        ("                   T", Value::Logical(true)),
        ("F", Value::Logical(false)),
        ("                  42", Value::Integer(42)),
        ("+1", Value::Integer(1)),
        ("-007 / comment", Value::Integer(-7)),
        ("9223372036854775807", Value::Integer(i64::MAX)),
        ("-9223372036854775808", Value::Integer(i64::MIN)),
        (
            "9223372036854775808",
            Value::Real(9_223_372_036_854_775_808.0),
        ),
        ("1.", Value::Real(1.0)),
        (".5", Value::Real(0.5)),
        ("-.5E-3/c", Value::Real(-0.0005)),
        ("1D-3", Value::Real(0.001)),
        ("1E5", Value::Real(100_000.0)),
        ("2.5d+2", Value::Real(250.0)),
        (
            "                                             3.25",
            Value::Real(3.25),
        ),
        ("(1,-2)", Value::ComplexInteger(1, -2)),
        ("( 1.5 , 2 )  / c", Value::Complex(1.5, 2.0)),
        ("'text'", text("text")),
        ("'  lead, trail  '", text("  lead, trail")),
        ("'it''s'", text("it's")),
        ("''''", text("'")),
        ("''", text("")),
        ("'a / b' / c", text("a / b")),
        ("      'late'", text("late")),
        ("", Value::Undefined),
        ("       / only a comment", Value::Undefined),
    ];
    for (field, expected) in cases {
        assert_eq!(value(field), Ok(expected), "{field}");
    }
}

#[test]
fn what_is_no_value_is_an_error_that_shows_it() {
    let fields = [
        "t",
        "TRUE",
        "1 2",
        "1.2.3",
        "- 5",
        "1E",
        "E5",
        ".",
        "+",
        "0x10",
        "nan",
        "NaN",
        "inf",
        "infinity",
        "1E999",
        "(1,2",
        "(1,2,3)",
        "(1,)",
        "1.5 arcsec",
        "'no end",
        "'a' b",
        "Jy/beam",
    ];
    for field in fields {
        let error = value(field).unwrap_err();
        let LayoutError::BadValue { keyword, found, .. } = &error else {
            unreachable!("{error}")
        };
        assert_eq!(keyword, "KEYWORD", "{field}");
        // a bare word ends at the comment
        assert_eq!(
            found.as_str(),
            field.split('/').next().unwrap_or(field),
            "{field}"
        );
    }
}

#[test]
fn comments_are_what_follows_the_slash() {
    let cases = [
        ("KEYWORD =                    1 / of it", Some("of it")),
        ("KEYWORD =                    1 /", Some("")),
        ("KEYWORD =                    1", None),
        ("KEYWORD = 'a / b'   /   c / d  ", Some("c / d")),
        ("KEYWORD = 'no end   / c", None),
        ("KEYWORD =           / none", Some("none")),
        ("HIERARCH A LONG NAME = 3 / h", Some("h")),
        ("CONTINUE  'x' / of a part", Some("of a part")),
        ("HISTORY a / b", None),
    ];
    for (line, comment) in cases {
        assert_eq!(card(line).comment().as_deref(), comment, "{line}");
    }
}

#[test]
fn keywords_are_taken_as_they_are() {
    let cases = [
        ("NAXIS1  =                    5", "NAXIS1"),
        ("IRAF-B/P=                   16", "IRAF-B/P"),
        ("lower   =                    1", "lower"),
        ("A B     =                    1", "A B"),
        ("HIERARCH ESO DET CHIP1 NAME = 'x'", "ESO DET CHIP1 NAME"),
        ("HIERARCH   spaced out  = 1", "spaced out"),
        ("HIERARCH= 1", "HIERARCH"),
        ("HIERARCH no equals sign", "HIERARCH"),
        ("HISTORY of it", "HISTORY"),
        ("        blank keyword", ""),
        ("", ""),
    ];
    for (line, keyword) in cases {
        assert_eq!(card(line).keyword(), keyword, "{line}");
    }
    assert_eq!(card("HISTORY = not a value").value(), Ok(Value::Undefined));
    assert_eq!(card("HISTORY = not a value").body(), "= not a value");
    assert_eq!(card("NOVALUE =5").value(), Ok(Value::Undefined));
    assert!(!card("NOVALUE =5").has_value());
}

#[test]
fn bytes_that_are_not_ascii_are_kept() {
    let mut bytes = *card("OBJECT  = 'M?1'      / ?").as_bytes();
    bytes[12] = 0xe9;
    bytes[23] = 0xff;
    let card = Card::from_bytes(bytes);
    assert_eq!(card.as_bytes(), &bytes);
    assert_eq!(card.value(), Ok(text("M\u{e9}1")));
    assert_eq!(card.comment().as_deref(), Some("\u{ff}"));
}

#[test]
fn new_cards_are_in_fixed_format() {
    let cases = [
        (Value::Logical(true), "K       =                    T / c"),
        (Value::Integer(-42), "K       =                  -42 / c"),
        (
            Value::Integer(i64::MIN),
            "K       = -9223372036854775808 / c",
        ),
        (Value::Real(0.1), "K       =                  0.1 / c"),
        (Value::Real(3.0), "K       =                  3.0 / c"),
        (Value::Real(-0.0), "K       =                 -0.0 / c"),
        (Value::Real(1e-9), "K       =               1.0E-9 / c"),
        (Value::Real(1.5e20), "K       =               1.5E20 / c"),
        (
            Value::Real(-1.234_567_890_123_456_7e-300),
            "K       = -1.2345678901234568E-300 / c",
        ),
        (text("it's"), "K       = 'it''s   '           / c"),
        (text(""), "K       = '        '           / c"),
        (Value::Undefined, "K       =                      / c"),
        (
            Value::ComplexInteger(1, -2),
            "K       = (1, -2)              / c",
        ),
        (
            Value::Complex(1.5, -2.0),
            "K       = (1.5, -2.0)          / c",
        ),
    ];
    for (value, line) in cases {
        let new = Card::new("K", &value, Some("c")).unwrap();
        assert_eq!(new, card(line), "{value:?}");
        assert_eq!(new.value(), Ok(value));
    }
    let name = Card::new("ESO DET GAIN", &Value::Real(1.75), Some("c")).unwrap();
    assert_eq!(name, card("HIERARCH ESO DET GAIN = 1.75   / c"));
}

#[test]
fn reals_come_back_bit_for_bit() {
    let mut random = common::Random(3);
    let mut checked = 0;
    while checked < if cfg!(miri) { 20 } else { 20_000 } {
        let real = f64::from_bits(random.bits());
        if real.is_finite() {
            let card = Card::new("REAL", &Value::Real(real), None).unwrap();
            assert_eq!(card.value(), Ok(Value::Real(real)), "{real:e}");
            checked += 1;
        }
    }
}

#[test]
fn what_cannot_be_written_is_refused() {
    let one = Value::Integer(1);
    for keyword in [
        "",
        "lower",
        "A/B",
        "HISTORY",
        "COMMENT",
        "CONTINUE",
        "END",
        "A=B C D E F",
    ] {
        let error = Card::new(keyword, &one, None).unwrap_err();
        assert!(
            matches!(error, LayoutError::IllegalKeyword { .. }),
            "{keyword}: {error}"
        );
    }
    let error = Card::new("K", &text("caf\u{e9}"), None).unwrap_err();
    assert!(matches!(error, LayoutError::IllegalText { .. }), "{error}");
    let error = Card::new("K", &one, Some("line\nbreak")).unwrap_err();
    assert!(matches!(error, LayoutError::IllegalText { .. }), "{error}");
    let error = Card::new("K", &Value::Real(f64::NAN), None).unwrap_err();
    assert!(matches!(error, LayoutError::NotFinite { .. }), "{error}");
    let error = Card::new("K", &text(&"x".repeat(69)), None).unwrap_err();
    assert!(
        matches!(
            error,
            LayoutError::TooLong {
                needed_bytes: 81,
                ..
            }
        ),
        "{error}"
    );
    let long = Card::new("K", &one, Some(&"c".repeat(100))).unwrap();
    assert_eq!(long.comment().as_deref(), Some("c".repeat(47).as_str()));
}

/// What astropy reads from every card of `every_form.fits`.
#[test]
fn cards_say_what_astropy_reads() {
    let bytes = std::fs::read(data_dir().join("every_form.fits")).unwrap();
    let truth = std::fs::read(data_dir().join("every_form.json")).unwrap();
    let truth: serde_json::Value = serde_json::from_slice(&truth).unwrap();
    let layout = Layout::parse(&bytes).unwrap();
    let header = layout.hdus[0].header();
    let cards = truth["cards"].as_object().unwrap();
    assert!(cards.len() > 30);
    for (keyword, truth) in cards {
        let expected = &truth["value"];
        let found = match header.first(keyword).unwrap().value().unwrap() {
            Value::Undefined => serde_json::json!({"undefined": true}),
            Value::Logical(value) => value.into(),
            Value::Integer(value) => value.into(),
            Value::Real(value) if keyword == "BIGINT" => {
                assert_eq!(header.integer("BIGINT").ok(), None);
                assert_eq!(value, 123_456_789_012_345_678_901_234_567_890.0);
                expected.clone()
            }
            Value::Real(value) => value.into(),
            #[expect(clippy::cast_precision_loss, reason = "small numbers")]
            Value::ComplexInteger(re, im) => serde_json::json!({"complex": [re as f64, im as f64]}),
            Value::Complex(re, im) => serde_json::json!({"complex": [re, im]}),
            Value::Text(_) => header.text(keyword).unwrap().unwrap().into(),
        };
        assert_eq!(&found, expected, "{keyword}");
        let comment = header.first(keyword).unwrap().comment().unwrap_or_default();
        if keyword != "LONGSTR" {
            assert_eq!(comment, truth["comment"].as_str().unwrap(), "{keyword}");
        }
    }
    let history: Vec<_> = header.commentary("HISTORY").collect();
    assert_eq!(serde_json::json!(history), truth["history"]);
}
