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
