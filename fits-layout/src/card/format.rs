//! Cards from values: fixed format, long strings in CONTINUE cards. Nothing is read here.

use super::{Card, Value};
use crate::block::CARD_BYTES;
use crate::error::LayoutError;

/// What a string may take of a card between its quotes, without and with a final ampersand.
const TEXT_BYTES: usize = 68;
const PART_BYTES: usize = 67;

/// Where value and comment begin in fixed format, from 0.
const VALUE_COLUMN: usize = 10;
const COMMENT_COLUMN: usize = 30;

/// How the comment of a card is given.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Comment<'a> {
    /// None at all.
    None,
    /// New text, which must be printable ASCII.
    New(&'a str),
    /// Bytes of an older card, carried over as they are.
    Old(&'a [u8]),
}

impl Comment<'_> {
    /// Its bytes, or what is wrong with them.
    fn bytes(&self, keyword: &str) -> Result<&[u8], LayoutError> {
        match self {
            Self::None => Ok(b""),
            Self::New(text) => printable(keyword, text).map(str::as_bytes),
            Self::Old(bytes) => Ok(bytes),
        }
    }
}

/// One card, an error if the value does not fit.
pub(super) fn single(keyword: &str, value: &Value, comment: Comment) -> Result<Card, LayoutError> {
    let text = value_text(keyword, value)?;
    let prefix = prefix(keyword)?;
    assemble(keyword, prefix, &text, comment.bytes(keyword)?)
}

/// As many cards as it takes: a long string goes on in CONTINUE cards (FITS 4.0, 4.2.1.2). One that
/// ends with an ampersand is closed by an empty one, lest a CONTINUE card that comes after it by
/// chance be taken for its own.
pub(crate) fn cards(
    keyword: &str,
    value: &Value,
    comment: Comment,
) -> Result<Vec<Card>, LayoutError> {
    let Value::Text(text) = value else {
        return Ok(vec![single(keyword, value, comment)?]);
    };
    let first = prefix(keyword)?;
    // a HIERARCH name takes room from its string, which then must fit one card
    let fits = first.len() != VALUE_COLUMN || quoted_len(text) <= TEXT_BYTES;
    let open = text.trim_end_matches(' ').ends_with('&');
    if fits && !open {
        return Ok(vec![single(keyword, value, comment)?]);
    }
    let mut parts = parts(printable(keyword, text)?);
    if open {
        parts.push(String::new());
    }
    let last = parts.len().saturating_sub(1);
    let comment = comment.bytes(keyword)?;
    let mut cards = Vec::with_capacity(parts.len());
    for (index, part) in parts.iter().enumerate() {
        let prefix = if index == 0 {
            first.clone()
        } else {
            "CONTINUE  ".to_owned()
        };
        let (end, comment) = if index == last {
            ("'", comment)
        } else {
            ("&'", &b""[..])
        };
        cards.push(assemble(
            keyword,
            prefix,
            &format!("'{part}{end}"),
            comment,
        )?);
    }
    Ok(cards)
}

/// Bytes of a string once its quotes are doubled.
fn quoted_len(text: &str) -> usize {
    text.len()
        .saturating_add(text.bytes().filter(|&byte| byte == b'\'').count())
}

/// A string cut into parts that fit a card with an ampersand; no doubled quote is cut.
fn parts(text: &str) -> Vec<String> {
    let mut parts = Vec::new();
    let mut part = String::new();
    for letter in text.chars() {
        let need = if letter == '\'' { 2_usize } else { 1 };
        if part.len().saturating_add(need) > PART_BYTES {
            parts.push(std::mem::take(&mut part));
        }
        if letter == '\'' {
            part.push('\'');
        }
        part.push(letter);
    }
    parts.push(part);
    parts
}

/// What stands before the value: `KEYWORD = ` or `HIERARCH long name = `.
fn prefix(keyword: &str) -> Result<String, LayoutError> {
    let standard = |byte: u8| {
        byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'-' || byte == b'_'
    };
    let commentary = ["", "COMMENT", "HISTORY", "CONTINUE", "END"].contains(&keyword);
    if !commentary && keyword.len() <= 8 && keyword.bytes().all(standard) {
        return Ok(format!("{keyword:<8}= "));
    }
    let (name, long) = match keyword.strip_prefix("HIERARCH ") {
        Some(name) => (name, true),
        None => (keyword, keyword.len() > 8 || keyword.contains(' ')),
    };
    let legal = |byte: u8| byte == b' ' || (byte.is_ascii_graphic() && byte != b'=');
    if long && !name.is_empty() && name.trim() == name && name.bytes().all(legal) {
        return Ok(format!("HIERARCH {name} = "));
    }
    Err(LayoutError::IllegalKeyword {
        keyword: keyword.to_owned(),
    })
}

/// Prefix, value and as much of the comment as fits.
fn assemble(
    keyword: &str,
    prefix: String,
    value: &str,
    comment: &[u8],
) -> Result<Card, LayoutError> {
    // the columns of fixed format mean nothing after a long name
    let value = if prefix.len() == VALUE_COLUMN {
        value
    } else {
        value.trim_start()
    };
    let mut bytes = prefix.into_bytes();
    bytes.extend_from_slice(value.as_bytes());
    if bytes.len() > CARD_BYTES {
        return Err(LayoutError::TooLong {
            keyword: keyword.to_owned(),
            needed_bytes: bytes.len(),
        });
    }
    if !comment.is_empty() {
        bytes.resize(bytes.len().max(COMMENT_COLUMN), b' ');
        bytes.extend_from_slice(b" / ");
        bytes.extend_from_slice(comment);
    }
    Ok(Card::from_slice(&bytes))
}

/// The value in fixed format (FITS 4.0, 4.2): numbers end at column 30, strings begin at 11.
fn value_text(keyword: &str, value: &Value) -> Result<String, LayoutError> {
    Ok(match value {
        Value::Undefined => String::new(),
        Value::Logical(true) => format!("{:>20}", "T"),
        Value::Logical(false) => format!("{:>20}", "F"),
        Value::Integer(integer) => format!("{integer:>20}"),
        Value::Real(real) => format!("{:>20}", real_text(keyword, *real)?),
        Value::ComplexInteger(re, im) => format!("({re}, {im})"),
        Value::Complex(re, im) => {
            format!(
                "({}, {})",
                real_text(keyword, *re)?,
                real_text(keyword, *im)?
            )
        }
        Value::Text(text) => format!("'{:<8}'", printable(keyword, text)?.replace('\'', "''")),
    })
}

/// The shortest digits that read back as the same real, with a decimal point.
fn real_text(keyword: &str, real: f64) -> Result<String, LayoutError> {
    if !real.is_finite() {
        return Err(LayoutError::NotFinite {
            keyword: keyword.to_owned(),
        });
    }
    let size = real.abs();
    if size == 0.0 || (1e-4..1e15).contains(&size) {
        let text = format!("{real}");
        return Ok(if text.contains('.') {
            text
        } else {
            text + ".0"
        });
    }
    let text = format!("{real:E}");
    Ok(if text.contains('.') {
        text
    } else {
        text.replacen('E', ".0E", 1)
    })
}

/// `text` if it may stand in a header (FITS 4.0, 4.1.2.3).
fn printable<'a>(keyword: &str, text: &'a str) -> Result<&'a str, LayoutError> {
    if text.bytes().all(|byte| (0x20..0x7f).contains(&byte)) {
        return Ok(text);
    }
    Err(LayoutError::IllegalText {
        keyword: keyword.to_owned(),
        found: text.to_owned(),
    })
}
