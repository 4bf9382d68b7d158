//! Any edits of any cards, written as lines of text, and what must hold after each of them: shared
//! by the tests and the fuzz target `edits`.

use fits_layout::{Card, Header, Value};

/// Cards as lines, a line `--`, and an edit a line: a letter, a keyword, a blank, a value.
///
/// | letter | edit |
/// |---|---|
/// | `s` `i` `r` `l` `u` | set to the text, integer, real, logical or to nothing |
/// | `c` | set to a text with a comment |
/// | `d` `w` | remove by keyword, by [`Header::remove_where`] |
/// | `a` | insert the card that the value is after this keyword |
/// | `p` `h` | append the card that the value is, append it as commentary |
pub fn edits(bytes: &[u8]) {
    let mut lines = bytes.split(|&byte| byte == b'\n').take(120);
    let mut header = Header::new();
    let cards = lines.by_ref().take_while(|line| *line != b"--");
    cards.for_each(|line| header.push(card_of(line)));
    check_render(&header);
    for line in lines {
        let before = header.cards().to_vec();
        edit(&mut header, line, &before);
    }
    check_render(&header);
}

fn card_of(line: &[u8]) -> Card {
    let mut bytes = [b' '; 80];
    bytes
        .iter_mut()
        .zip(line)
        .for_each(|(to, from)| *to = *from);
    Card::from_bytes(bytes)
}

/// What is rendered is read as the same cards, and renders as the same bytes.
fn check_render(header: &Header) {
    let rendered = header.render();
    assert!(rendered.len().is_multiple_of(2880));
    let (again, span_bytes) = Header::parse(&rendered, 0).expect("a rendered header has END");
    assert_eq!(span_bytes, rendered.len() as u64);
    assert_eq!(again.cards(), header.cards());
    assert_eq!(again.render(), rendered);
}

fn edit(header: &mut Header, line: &[u8], before: &[Card]) {
    let Some((&letter, rest)) = line.split_first() else {
        return;
    };
    let rest = String::from_utf8_lossy(rest);
    let (keyword, text) = rest.split_once(' ').unwrap_or((&rest, ""));
    match letter {
        b's' => set(header, before, keyword, (Value::from(text), None)),
        b'c' => set(header, before, keyword, (Value::from(text), Some("remark"))),
        b'i' => set(
            header,
            before,
            keyword,
            (parsed(text, Value::Integer), None),
        ),
        b'r' => set(header, before, keyword, (parsed(text, Value::Real), None)),
        b'l' => set(header, before, keyword, (Value::from(text == "T"), None)),
        b'u' => set(header, before, keyword, (Value::Undefined, Some(text))),
        b'd' => {
            let removed = header.remove(keyword);
            assert_eq!(header.all(keyword).count(), 0);
            assert!(header.cards().len() + removed <= before.len());
        }
        b'w' => {
            let removed = header.remove_where(|card| card.keyword() == keyword);
            assert!(header.cards().iter().all(|card| card.keyword() != keyword));
            assert!(header.cards().len() + removed <= before.len());
        }
        b'a' => {
            let card = card_of(text.as_bytes());
            header.insert_after(keyword, card);
            let more = usize::from(!card.is_end());
            assert_eq!(header.cards().len(), before.len() + more);
        }
        b'p' => {
            let card = card_of(text.as_bytes());
            header.push(card);
            assert_eq!(
                header.cards().len(),
                before.len() + usize::from(!card.is_end())
            );
        }
        b'h' => {
            header.push_commentary("HISTORY", text);
            assert!(header.cards().starts_with(before));
            assert_eq!(header.last("HISTORY"), header.cards().last());
        }
        _ => {}
    }
}

/// A number, or the undefined value.
fn parsed<T: std::str::FromStr>(text: &str, value: impl Fn(T) -> Value) -> Value {
    text.parse().map_or(Value::Undefined, value)
}

/// Sets, and checks that it took, or that nothing changed; cards of other keywords stay.
fn set(
    header: &mut Header,
    before: &[Card],
    keyword: &str,
    (value, comment): (Value, Option<&str>),
) {
    match header.set(keyword, value.clone(), comment) {
        Err(error) => {
            assert!(!error.to_string().is_empty());
            assert_eq!(header.cards(), before, "a refused edit changes nothing");
        }
        Ok(()) => {
            assert_eq!(header.all(keyword).count(), 1, "{keyword:?}");
            check_value(header, keyword, &value);
            check_others(header, before, keyword);
        }
    }
}

fn check_value(header: &Header, keyword: &str, value: &Value) {
    match value {
        Value::Text(text) => {
            let expected = Some(text.trim_end_matches(' ').to_owned());
            assert_eq!(header.text(keyword), Ok(expected), "{keyword:?}");
        }
        Value::Integer(value) => assert_eq!(header.integer(keyword), Ok(Some(*value))),
        Value::Real(value) => assert_eq!(header.real(keyword), Ok(Some(*value))),
        Value::Logical(value) => assert_eq!(header.logical(keyword), Ok(Some(*value))),
        _ => assert_eq!(header.text(keyword), Ok(None)),
    }
}

/// Cards that have another keyword, and are no CONTINUE, are where they were among themselves.
fn check_others(header: &Header, before: &[Card], keyword: &str) {
    let set = header
        .first(keyword)
        .map(|card| card.keyword().into_owned());
    let others = |cards: &[Card]| -> Vec<Card> {
        let other = |card: &&Card| {
            !card.is_continue()
                && set
                    .as_deref()
                    .is_none_or(|set| !card.keyword().eq_ignore_ascii_case(set))
        };
        cards.iter().filter(other).copied().collect()
    };
    assert_eq!(others(header.cards()), others(before));
}
