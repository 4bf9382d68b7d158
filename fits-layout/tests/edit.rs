//! Editing headers: replace, insert, remove, long strings; what was not edited stays as it was.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use fits_layout::{Card, Header, LayoutError, Value};

/// A header of the given lines, each a card, with END and blanks after it.
fn header(lines: &[&str]) -> Header {
    let mut bytes = Vec::new();
    for line in lines.iter().chain(&["END"]) {
        bytes.extend_from_slice(format!("{line:<80}").as_bytes());
    }
    bytes.resize(bytes.len().next_multiple_of(2880), b' ');
    Header::parse(&bytes, 0).unwrap().0
}

/// The cards as text without trailing blanks.
fn lines(header: &Header) -> Vec<String> {
    let line = |card: &Card| {
        String::from_utf8_lossy(card.as_bytes())
            .trim_end()
            .to_owned()
    };
    header.cards().iter().map(line).collect()
}

#[test]
fn set_replaces_the_first_and_removes_duplicates_with_their_trails() {
    let mut header = header(&[
        "A       = 'one&'",
        "CONTINUE  'two'   / note",
        "B       =                    1",
        "A       = 'three&'",
        "CONTINUE  'four&'",
        "CONTINUE  'five'",
        "C       =                    2",
    ]);
    assert_eq!(header.text("A").unwrap().as_deref(), Some("onetwo"));
    header.set("A", 7, None).unwrap();
    assert_eq!(
        lines(&header),
        [
            "A       =                    7 / note",
            "B       =                    1",
            "C       =                    2"
        ]
    );
    assert_eq!(header.remove("B"), 1);
    assert_eq!(header.integer("C").unwrap(), Some(2));
    header.insert_after("A", Card::new("D", &Value::Logical(true), None).unwrap());
    assert_eq!(lines(&header)[1], "D       =                    T");
}

#[test]
fn long_string_goes_on_and_comes_back() {
    let mut header = header(&["X       = 1 / old"]);
    let long = "it''s 'quoted' ".repeat(15) + "end";
    header.set("X", long.as_str(), None).unwrap();
    assert!(header.cards().len() > 3);
    assert_eq!(header.text("X").unwrap().as_deref(), Some(long.as_str()));
    let (again, span) = Header::parse(&header.render(), 0).unwrap();
    assert_eq!(
        (again.text("X").unwrap().as_deref(), span),
        (Some(long.as_str()), 2880)
    );
    header.set("X", "short", None).unwrap();
    assert_eq!(lines(&header), ["X       = 'short   '           / old"]);
}

#[test]
fn unparsable_cards_matter_only_when_needed() {
    let mut header = header(&[
        "BAD     = 'no end",
        "IRAF-B/P=                   16",
        "bmaj    = .5D0",
    ]);
    assert_eq!(header.integer("IRAF-B/P").unwrap(), Some(16));
    assert_eq!(header.real("BMAJ").unwrap(), Some(0.5));
    let error = header.text("BAD").unwrap_err();
    assert!(
        matches!(
            error,
            LayoutError::BadValue {
                offset: Some(0),
                ..
            }
        ),
        "{error}"
    );
    header.set("BMAJ", 1.5, Some("deg")).unwrap();
    assert_eq!(lines(&header)[2], "BMAJ    =                  1.5 / deg");
}

#[test]
fn twenty_thousand_history_cards_cost_milliseconds() {
    let mut made = Header::new();
    made.set("OBJECT", "M 31", None).unwrap();
    for n in 0..20_000 {
        made.push(Card::commentary(
            "HISTORY",
            &format!("line {n} of a long story"),
        ));
    }
    let bytes = made.render();
    let start = std::time::Instant::now();
    let (mut header, span) = Header::parse(&bytes, 0).unwrap();
    assert_eq!(span, bytes.len() as u64);
    assert_eq!(header.render(), bytes);
    header.set("OBJECT", "M 33", Some("target")).unwrap();
    for n in 0..30 {
        header.set(&format!("NEW{n}"), n, None).unwrap();
    }
    header.remove("NEW7");
    header.push_commentary("HISTORY", "the end");
    assert_eq!(header.commentary("HISTORY").count(), 20_001);
    assert_eq!(header.render().len() % 2880, 0);
    // about 40 ms without optimisation, 5 ms with it; a quadratic pass would take minutes
    assert!(start.elapsed().as_secs() < 5, "{:?}", start.elapsed());
}

#[test]
fn numbered_cards_are_set_and_removed_in_linear_time() {
    let start = std::time::Instant::now();
    let mut header = Header::new();
    for n in 0..20_000 {
        header.set(&format!("BMAJ{n}"), 0.25, None).unwrap();
    }
    for n in 0..20_000 {
        assert_eq!(header.real(&format!("BMAJ{n}")).unwrap(), Some(0.25));
    }
    assert_eq!(
        header.remove_where(|card| card.keyword().starts_with("BMAJ")),
        20_000
    );
    assert!(header.cards().is_empty());
    assert!(start.elapsed().as_secs() < 10, "{:?}", start.elapsed());
}

#[test]
fn garbage_after_end_and_odd_bytes_stay_until_the_header_is_edited() {
    let mut bytes = Vec::new();
    for line in [
        "A       =                    1",
        "\u{0}\u{1}garbage",
        "END     not blank",
    ] {
        bytes.extend_from_slice(format!("{line:<80}").as_bytes());
    }
    bytes.resize(2880, 0xa5);
    let (mut header, span) = Header::parse(&bytes, 0).unwrap();
    assert_eq!((span, header.cards().len()), (2880, 2));
    assert_eq!(header.render(), bytes);
    header.set("A", 2, None).unwrap();
    let rendered = header.render();
    assert_eq!(&rendered[80..160], &bytes[80..160]);
    assert_eq!(&rendered[160..168], b"END     ");
    assert!(rendered[163..].iter().all(|&byte| byte == b' '));
}

#[test]
fn getters_say_what_they_found() {
    let header = header(&[
        "A       = 'text'",
        "B       =                    1",
        "C       =",
        "D",
    ]);
    let cases = [
        (
            header.integer("A").unwrap_err(),
            "A at byte 0 is 'text', expected an integer of at most 64 bits",
        ),
        (
            header.real("A").unwrap_err(),
            "A at byte 0 is 'text', expected a number",
        ),
        (
            header.logical("B").unwrap_err(),
            "B at byte 80 is 1, expected a logical, T or F",
        ),
        (
            header.text("B").unwrap_err(),
            "B at byte 80 is 1, expected a quoted string",
        ),
    ];
    for (error, message) in cases {
        assert_eq!(error.to_string(), message);
    }
    assert_eq!(header.real("B"), Ok(Some(1.0)));
    for keyword in ["C", "D", "E"] {
        assert_eq!(header.real(keyword), Ok(None), "{keyword}");
        assert_eq!(header.text(keyword), Ok(None), "{keyword}");
    }
}

#[test]
fn commentary_is_wrapped_at_blanks() {
    let mut header = Header::new();
    header.push_commentary("HISTORY", &("word ".repeat(20) + "\nnext"));
    header.push_commentary("COMMENT", &"x".repeat(100));
    let history: Vec<_> = header.commentary("history").collect();
    let six = "word word word word word word";
    assert_eq!(history, [&("word ".repeat(13) + "word"), six, "next"]);
    let comment: Vec<_> = header.commentary("COMMENT").collect();
    assert_eq!(comment, ["x".repeat(72), "x".repeat(28)]);
    header.push_commentary("NOTE", &("y".repeat(72) + " z"));
    assert_eq!(
        header.commentary("NOTE").collect::<Vec<_>>(),
        ["y".repeat(72), "z".into()]
    );
}

#[test]
fn orphan_continue_cards_are_left_alone() {
    let mut header = header(&[
        "A       = 'whole'",
        "CONTINUE  'orphan'",
        "B       = 'open&'",
        "C       = 1",
    ]);
    assert_eq!(header.text("A").unwrap().as_deref(), Some("whole"));
    assert_eq!(header.text("B").unwrap().as_deref(), Some("open&"));
    assert_eq!(header.remove("A"), 1);
    assert_eq!(lines(&header)[0], "CONTINUE  'orphan'");
    header.insert_after("B", Card::commentary("COMMENT", "after"));
    assert_eq!(lines(&header)[2], "COMMENT after");
    header.insert_after("NOWHERE", Card::commentary("COMMENT", "last"));
    assert_eq!(lines(&header)[4], "COMMENT last");
}

#[test]
fn long_names_are_found_and_replaced() {
    let mut header = header(&["HIERARCH ESO DET GAIN = 1.5 / e-/ADU", "GAIN    = 2"]);
    assert_eq!(header.real("ESO DET GAIN"), Ok(Some(1.5)));
    assert_eq!(header.real("HIERARCH ESO DET GAIN"), Ok(Some(1.5)));
    assert_eq!(header.real("GAIN"), Ok(Some(2.0)));
    header.set("ESO DET GAIN", 3.5, None).unwrap();
    assert_eq!(lines(&header)[0], "HIERARCH ESO DET GAIN = 3.5    / e-/ADU");
}

/// Found by fuzzing: the CONTINUE card of nobody became part of a string that was put before it.
#[test]
fn a_final_ampersand_does_not_take_the_next_continue_card() {
    let stray = "CONTINUE  'stray'";
    for keyword in ["OBJECT", "HIERARCH ESO OBJECT NAME"] {
        for text in ["A&", "&", "B & C &  ", &format!("{}&", "it's ".repeat(40))] {
            let old = format!("{keyword:<8}= 'M 31'");
            let mut header = header(&[&old, stray]);
            if header.set(keyword, text, None).is_err() {
                assert!(keyword.len() > 8 && text.len() > 40, "{text}");
                continue;
            }
            assert_eq!(
                header.text(keyword).unwrap().as_deref(),
                Some(text.trim_end())
            );
            header.remove(keyword);
            assert_eq!(lines(&header), [stray]);
        }
    }
}

/// What ends with an ampersand is a part, not what the parts add up to.
#[test]
fn an_empty_continue_card_ends_a_string() {
    let header = header(&["OBJECT  = 'A&&'", "CONTINUE  ''", "CONTINUE  'stray'"]);
    assert_eq!(header.text("OBJECT").unwrap().as_deref(), Some("A&"));
}
