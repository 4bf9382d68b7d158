//! Where value and comment lie in a card's bytes. Numbers are read in `value`.

use super::value::{self, Value};
use std::borrow::Cow;

/// What stands in a value field, unparsed.
#[derive(Clone, Copy, Debug)]
pub(super) enum Raw<'a> {
    /// Nothing but blanks.
    Blank,
    /// Between quotes, doubled quotes still doubled.
    Quoted(&'a [u8]),
    /// Anything else up to the comment, trimmed.
    Bare(&'a [u8]),
    /// A string without its closing quote, or with something other than a comment after it.
    Broken,
}

/// The field split into its value and the comment after the slash.
pub(super) fn split(field: &[u8]) -> (Raw<'_>, Option<&[u8]>) {
    let field = trim_start(field);
    match field.split_first() {
        None => (Raw::Blank, None),
        Some((b'\'', inside)) => split_quoted(inside),
        Some(_) => {
            let mut parts = field.splitn(2, |&byte| byte == b'/');
            let token = trim_end(parts.next().unwrap_or_default());
            let raw = if token.is_empty() {
                Raw::Blank
            } else {
                Raw::Bare(token)
            };
            (raw, parts.next())
        }
    }
}

/// The same for a field whose opening quote was taken.
fn split_quoted(inside: &[u8]) -> (Raw<'_>, Option<&[u8]>) {
    let Some(close) = closing_quote(inside) else {
        return (Raw::Broken, None);
    };
    let (text, rest) = inside.split_at(close);
    let rest = trim_start(rest.get(1..).unwrap_or_default());
    match rest.split_first() {
        None => (Raw::Quoted(text), None),
        Some((b'/', comment)) => (Raw::Quoted(text), Some(comment)),
        Some(_) => (Raw::Broken, None),
    }
}

/// Index of the quote that ends a string: the first that is not doubled (FITS 4.0, 4.2.1.1).
fn closing_quote(inside: &[u8]) -> Option<usize> {
    let mut from = 0_usize;
    loop {
        let quote = inside.get(from..)?.iter().position(|&byte| byte == b'\'')?;
        let quote = from.checked_add(quote)?;
        if inside.get(quote.checked_add(1)?) != Some(&b'\'') {
            return Some(quote);
        }
        from = quote.checked_add(2)?;
    }
}

/// The value of a field; `Err` says what was expected.
pub(super) fn value(raw: Raw<'_>) -> Result<Value, &'static str> {
    match raw {
        Raw::Blank => Ok(Value::Undefined),
        Raw::Quoted(text) => Ok(Value::Text(unquote(text))),
        Raw::Bare(token) => value::bare(token).ok_or("a quoted string, T, F or a number"),
        Raw::Broken => Err("a string with a closing quote, then / and a comment or nothing"),
    }
}

/// A string with doubled quotes made single and trailing blanks gone.
fn unquote(text: &[u8]) -> String {
    let text = text_of(trim_end(text));
    if text.contains("''") {
        text.replace("''", "'")
    } else {
        text.into_owned()
    }
}

/// Bytes as text: ASCII in a legal file, else UTF-8, else Latin-1, so that no byte is lost.
pub(super) fn text_of(bytes: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => Cow::Owned(bytes.iter().map(|&byte| char::from(byte)).collect()),
    }
}

/// Blanks, and the bytes that sloppy writers leave in their place.
fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | 0 | b'\t'..=b'\r')
}

/// Most blanks come in runs, which are passed eight at a time.
const BLANKS: &[u8; 8] = b"        ";

/// Without blanks in front.
pub(super) fn trim_start(mut bytes: &[u8]) -> &[u8] {
    while let Some((BLANKS, rest)) = bytes.split_first_chunk() {
        bytes = rest;
    }
    while let Some((&first, rest)) = bytes.split_first()
        && is_blank(first)
    {
        bytes = rest;
    }
    bytes
}

/// Without blanks at the end.
pub(super) fn trim_end(mut bytes: &[u8]) -> &[u8] {
    while let Some((rest, BLANKS)) = bytes.split_last_chunk() {
        bytes = rest;
    }
    while let Some((&last, rest)) = bytes.split_last()
        && is_blank(last)
    {
        bytes = rest;
    }
    bytes
}
