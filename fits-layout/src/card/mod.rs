//! One header card: 80 bytes, parsed only when asked. Order and look-up are in `header`.

pub(crate) mod format;
mod scan;
pub(crate) mod value;

pub use value::Value;

use crate::block::CARD_BYTES;
use crate::error::LayoutError;
use std::borrow::Cow;
use std::fmt;

/// Bytes 1 to 8 of an END card.
const END: &[u8] = b"END     ";

/// An 80-byte card of a header, kept as it was read (FITS 4.0, 4.1).
///
/// ```
/// use fits_layout::{Card, Value};
///
/// let card = Card::new("BMAJ", &Value::Real(0.004), Some("[deg] major axis"))?;
/// assert_eq!(card.keyword(), "BMAJ");
/// assert_eq!(card.value()?, Value::Real(0.004));
/// assert_eq!(card.comment().as_deref(), Some("[deg] major axis"));
/// assert_eq!(card.as_bytes()[..30], *b"BMAJ    =                0.004");
/// # Ok::<(), fits_layout::LayoutError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Card([u8; CARD_BYTES]);

impl Card {
    /// Any 80 bytes are a card; nothing is checked.
    #[must_use]
    pub fn from_bytes(bytes: [u8; CARD_BYTES]) -> Self {
        Self(bytes)
    }

    /// A card from fewer bytes, blanks added; what is beyond 80 bytes is cut.
    pub(crate) fn from_slice(bytes: &[u8]) -> Self {
        let mut card = [b' '; CARD_BYTES];
        card.iter_mut()
            .zip(bytes)
            .for_each(|(to, from)| *to = *from);
        Self(card)
    }

    /// A card with a value in fixed format (FITS 4.0, 4.2), reals with the fewest digits that read
    /// back as the same number, and as much of the comment as fits.
    ///
    /// A keyword longer than eight bytes, or with blanks, makes a HIERARCH card.
    ///
    /// # Errors
    /// [`LayoutError::IllegalKeyword`], [`LayoutError::IllegalText`] (not printable ASCII),
    /// [`LayoutError::NotFinite`], or [`LayoutError::TooLong`] for a string beyond 68 bytes, which
    /// [`Header::set`](crate::Header::set) spreads over CONTINUE cards.
    pub fn new(keyword: &str, value: &Value, comment: Option<&str>) -> Result<Self, LayoutError> {
        let comment = comment.map_or(format::Comment::None, format::Comment::New);
        format::single(keyword, value, comment)
    }

    /// A card without a value, as HISTORY, COMMENT and blank keyword are (FITS 4.0, 4.4.2.4).
    ///
    /// `keyword` is cut at 8 bytes, `text` at 72; bytes that are not printable ASCII become `?`.
    #[must_use]
    pub fn commentary(keyword: &str, text: &str) -> Self {
        let ascii = |letter: char| {
            if (' '..='~').contains(&letter) {
                letter
            } else {
                '?'
            }
        };
        let keyword: String = keyword.chars().map(ascii).take(8).collect();
        let text: String = text.chars().map(ascii).collect();
        Self::from_slice(format!("{keyword:<8}{text}").as_bytes())
    }

    /// The 80 bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8; CARD_BYTES] {
        &self.0
    }

    /// The keyword without trailing blanks, whatever its bytes; for a HIERARCH card the whole name
    /// after `HIERARCH`, as in `ESO DET NAME`.
    #[must_use]
    pub fn keyword(&self) -> Cow<'_, str> {
        scan::text_of(self.name())
    }

    /// The keyword's bytes, as [`Card::keyword`] gives them.
    pub(crate) fn name(&self) -> &[u8] {
        match self.hierarch() {
            Some((name, _)) => name,
            None => scan::trim_end(self.part(0, 8)),
        }
    }

    /// Whether there is a value indicator, so that the card may have a value (FITS 4.0, 4.1.2.2).
    #[must_use]
    pub fn has_value(&self) -> bool {
        self.field().is_some()
    }

    /// The value, in fixed or free format; [`Value::Undefined`] for a blank field or a card
    /// without value indicator.
    ///
    /// A string is that of this card alone; see [`Header::text`](crate::Header::text) for one that
    /// goes on in CONTINUE cards.
    ///
    /// # Errors
    /// [`LayoutError::BadValue`] for a field that is none of the forms of FITS 4.0, 4.2.
    pub fn value(&self) -> Result<Value, LayoutError> {
        let Some(field) = self.field() else {
            return Ok(Value::Undefined);
        };
        let (raw, _) = scan::split(field);
        scan::value(raw).map_err(|expected| self.bad_value(expected, None))
    }

    /// The comment after the slash, blanks around it gone; `None` without a slash.
    #[must_use]
    pub fn comment(&self) -> Option<Cow<'_, str>> {
        self.comment_bytes().map(scan::text_of)
    }

    /// The comment's bytes.
    pub(crate) fn comment_bytes(&self) -> Option<&[u8]> {
        let field = self
            .field()
            .or_else(|| self.is_continue().then(|| self.part(8, 80)))?;
        let (_, comment) = scan::split(field);
        comment.map(|comment| scan::trim_end(scan::trim_start(comment)))
    }

    /// Bytes 9 to 80 as text without trailing blanks: what a commentary card says.
    #[must_use]
    pub fn body(&self) -> Cow<'_, str> {
        scan::text_of(scan::trim_end(self.part(8, 80)))
    }

    /// Whether this is END (FITS 4.0, 4.4.1.1), whatever follows byte 8.
    #[must_use]
    pub fn is_end(&self) -> bool {
        self.0.starts_with(END)
    }

    /// Whether this goes on with the string of the card before (FITS 4.0, 4.2.1.2).
    #[must_use]
    pub fn is_continue(&self) -> bool {
        self.0.starts_with(b"CONTINUE  ")
    }

    /// The string of a CONTINUE card.
    pub(crate) fn continued_text(&self) -> Option<String> {
        if !self.is_continue() {
            return None;
        }
        match scan::value(scan::split(self.part(8, 80)).0) {
            Ok(Value::Text(text)) => Some(text),
            _ => None,
        }
    }

    /// The value field, if there is a value indicator.
    fn field(&self) -> Option<&[u8]> {
        if let Some((_, field)) = self.hierarch() {
            return Some(field);
        }
        let commentary = [&b"COMMENT "[..], b"HISTORY ", b"        "].contains(&self.part(0, 8));
        (self.part(8, 10) == b"= " && !commentary).then(|| self.part(10, 80))
    }

    /// Long name and value field of a HIERARCH card (the ESO convention).
    fn hierarch(&self) -> Option<(&[u8], &[u8])> {
        let rest = self.0.strip_prefix(b"HIERARCH ")?;
        let equals = rest.iter().position(|&byte| byte == b'=')?;
        let name = scan::trim_end(scan::trim_start(rest.get(..equals)?));
        let field = rest.get(equals.checked_add(1)?..)?;
        (!name.is_empty()).then_some((name, field))
    }

    /// Bytes `from..to`, which every card has.
    fn part(&self, from: usize, to: usize) -> &[u8] {
        self.0.get(from..to).unwrap_or_default()
    }

    /// The error of a value that is not what was expected.
    pub(crate) fn bad_value(&self, expected: &'static str, offset: Option<u64>) -> LayoutError {
        let field = self.field().unwrap_or_default();
        let found = match scan::split(field) {
            (scan::Raw::Bare(token), _) => token,
            _ => scan::trim_end(scan::trim_start(field)),
        };
        LayoutError::BadValue {
            keyword: self.keyword().into_owned(),
            offset,
            found: printable(&scan::text_of(found)),
            expected,
        }
    }
}

/// Text with control characters escaped, for an error.
fn printable(text: &str) -> String {
    let mut printable = String::new();
    for letter in text.chars() {
        match letter.is_control() {
            true => printable.extend(letter.escape_default()),
            false => printable.push(letter),
        }
    }
    printable
}

impl fmt::Debug for Card {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Card({:?})", scan::text_of(scan::trim_end(&self.0)))
    }
}
