//! The ordered cards of a header: reading and look-up. Editing is in `edit`, values in `card`.

mod edit;
mod index;

use crate::block::{BLOCK_BYTES, CARD_BYTES, padded_bytes};
use crate::card::{Card, Value, value::as_real};
use crate::error::LayoutError;
use index::Index;
use std::sync::OnceLock;

/// How far END is looked for: 800 000 cards. A file without END is not read to its end.
const MAX_HEADER_BYTES: usize = 64_000_000;

/// The cards of one header, in order, END excluded (FITS 4.0, 4).
///
/// Look-ups take keywords in any case and use an index that is built once; only a card that is
/// asked for is parsed. A header that was not edited is [rendered](Header::render) byte for byte.
///
/// ```
/// use fits_layout::Header;
///
/// let mut header = Header::new();
/// header.set("OBJECT", "M 31", Some("target"))?;
/// header.set("OBJECT", "M 33", None)?;
/// header.push_commentary("HISTORY", "smoothed");
/// assert_eq!(header.text("OBJECT")?.as_deref(), Some("M 33"));
/// assert_eq!(header.integer("NAXIS")?, None);
/// assert_eq!(header.render().len(), 2880);
/// # Ok::<(), fits_layout::LayoutError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Header {
    cards: Vec<Card>,
    /// Where the header begins in the file.
    offset: u64,
    /// The END card and what follows it in its block, as read; empty once edited.
    tail: Vec<u8>,
    index: OnceLock<Index>,
}

impl Header {
    /// A header without cards.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Reads the header at the start of `bytes`, which lies at `offset` in its file, and says how
    /// many bytes it spans: whole blocks, fewer only where `bytes` end sooner.
    ///
    /// Costs one pass to END; no card is parsed.
    ///
    /// # Errors
    /// [`LayoutError::MissingEnd`] without an END card in `bytes` or their first 64 MB.
    pub fn parse(bytes: &[u8], offset: u64) -> Result<(Self, u64), LayoutError> {
        Self::parse_within(bytes, offset, u64::MAX)
    }

    /// The same, refusing a header that spans more than `limit_bytes` before any card is kept.
    pub(crate) fn parse_within(
        bytes: &[u8],
        offset: u64,
        limit_bytes: u64,
    ) -> Result<(Self, u64), LayoutError> {
        let searched = bytes.len().min(MAX_HEADER_BYTES);
        let missing = LayoutError::MissingEnd {
            offset,
            searched_bytes: searched as u64,
        };
        let (all, _) = bytes.as_chunks::<CARD_BYTES>();
        let mut all = all.iter().take(searched.div_euclid(CARD_BYTES));
        let Some(count) = all.position(|card| Card::from_bytes(*card).is_end()) else {
            return Err(missing);
        };
        let end = count.saturating_mul(CARD_BYTES);
        let used = end.saturating_add(CARD_BYTES);
        let span = used.next_multiple_of(BLOCK_BYTES).min(bytes.len());
        if span as u64 > limit_bytes {
            return Err(LayoutError::HeadersTooLong {
                offset,
                limit_bytes,
            });
        }
        let (cards, _) = bytes
            .get(..end)
            .unwrap_or_default()
            .as_chunks::<CARD_BYTES>();
        let header = Self {
            cards: cards.iter().copied().map(Card::from_bytes).collect(),
            offset,
            tail: bytes.get(end..span).unwrap_or_default().to_vec(),
            index: OnceLock::new(),
        };
        Ok((header, span as u64))
    }

    /// The cards in order, END excluded.
    #[must_use]
    pub fn cards(&self) -> &[Card] {
        &self.cards
    }

    /// Where the header begins in its file, in bytes; 0 for a new one.
    #[must_use]
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// The first card with this keyword.
    #[must_use]
    pub fn first(&self, keyword: &str) -> Option<&Card> {
        self.all(keyword).next()
    }

    /// The last card with this keyword.
    #[must_use]
    pub fn last(&self, keyword: &str) -> Option<&Card> {
        self.all(keyword).last()
    }

    /// Whether there is a card with this keyword.
    #[must_use]
    pub fn contains(&self, keyword: &str) -> bool {
        self.first(keyword).is_some()
    }

    /// All cards with this keyword, in order.
    pub fn all<'a>(&'a self, keyword: &str) -> impl Iterator<Item = &'a Card> + use<'a> {
        self.positions(keyword)
            .into_iter()
            .filter_map(|position| self.cards.get(position))
    }

    /// What the commentary cards with this keyword say, in order: HISTORY, COMMENT or blank
    /// (FITS 4.0, 4.4.2.4).
    pub fn commentary<'a>(&'a self, keyword: &str) -> impl Iterator<Item = String> + use<'a> {
        self.all(keyword)
            .filter(|card| !card.has_value())
            .map(|card| card.body().into_owned())
    }

    /// Positions of the cards with this keyword.
    fn positions(&self, keyword: &str) -> Vec<usize> {
        let name = keyword
            .strip_prefix("HIERARCH ")
            .unwrap_or(keyword)
            .trim_ascii()
            .as_bytes();
        let index = self.index.get_or_init(|| Index::of(&self.cards));
        let named = |position: &usize| {
            let card = self.cards.get(*position);
            card.is_some_and(|card| card.name().eq_ignore_ascii_case(name))
        };
        index
            .positions(name)
            .iter()
            .copied()
            .filter(named)
            .collect()
    }

    /// Byte of the file where card `position` stands (of the header as it is now, once edited).
    fn card_offset(&self, position: usize) -> Option<u64> {
        self.offset
            .checked_add((position as u64).checked_mul(CARD_BYTES as u64)?)
    }

    /// Position and value of the first card with this keyword that has a value indicator.
    fn valued(&self, keyword: &str) -> Result<Option<(usize, Value)>, LayoutError> {
        for position in self.positions(keyword) {
            let Some(card) = self.cards.get(position).filter(|card| card.has_value()) else {
                continue;
            };
            let value = card
                .value()
                .map_err(|error| error.at(self.card_offset(position)))?;
            return Ok((value != Value::Undefined).then_some((position, value)));
        }
        Ok(None)
    }

    /// The error of a card that holds another type.
    pub(crate) fn bad_card(&self, position: usize, expected: &'static str) -> LayoutError {
        let offset = self.card_offset(position);
        let card = self
            .cards
            .get(position)
            .copied()
            .unwrap_or(Card::from_slice(b""));
        card.bad_value(expected, offset)
    }

    /// The error of the first card with this keyword, for a value that its reader cannot take.
    #[must_use]
    pub fn bad_value(&self, keyword: &str, expected: &'static str) -> LayoutError {
        match self.positions(keyword).first() {
            Some(&position) => self.bad_card(position, expected),
            None => LayoutError::MissingKeyword {
                keyword: keyword.to_owned(),
                offset: self.offset,
            },
        }
    }

    /// The logical of the first card with this keyword; `None` if absent or undefined.
    ///
    /// # Errors
    /// [`LayoutError::BadValue`] for any other type or a malformed value.
    pub fn logical(&self, keyword: &str) -> Result<Option<bool>, LayoutError> {
        match self.valued(keyword)? {
            None => Ok(None),
            Some((_, Value::Logical(value))) => Ok(Some(value)),
            Some((position, _)) => Err(self.bad_card(position, "a logical, T or F")),
        }
    }

    /// The integer of the first card with this keyword; `None` if absent or undefined.
    ///
    /// # Errors
    /// [`LayoutError::BadValue`] for any other type, a malformed value, or more than 64 bits.
    pub fn integer(&self, keyword: &str) -> Result<Option<i64>, LayoutError> {
        match self.valued(keyword)? {
            None => Ok(None),
            Some((_, Value::Integer(value))) => Ok(Some(value)),
            Some((position, _)) => Err(self.bad_card(position, "an integer of at most 64 bits")),
        }
    }

    /// The real of the first card with this keyword, which may be written as an integer; `None` if
    /// absent or undefined.
    ///
    /// # Errors
    /// [`LayoutError::BadValue`] for any other type or a malformed value.
    pub fn real(&self, keyword: &str) -> Result<Option<f64>, LayoutError> {
        let Some((position, value)) = self.valued(keyword)? else {
            return Ok(None);
        };
        match as_real(&value) {
            Some(real) => Ok(Some(real)),
            None => Err(self.bad_card(position, "a number")),
        }
    }

    /// The string of the first card with this keyword, with what CONTINUE cards add to it
    /// (FITS 4.0, 4.2.1.2) and without trailing blanks; `None` if absent or undefined.
    ///
    /// # Errors
    /// [`LayoutError::BadValue`] for any other type or a malformed value.
    pub fn text(&self, keyword: &str) -> Result<Option<String>, LayoutError> {
        let (position, mut text) = match self.valued(keyword)? {
            None => return Ok(None),
            Some((position, Value::Text(text))) => (position, text),
            Some((position, _)) => return Err(self.bad_card(position, "a quoted string")),
        };
        for more in self.continued(position, &text) {
            text.pop();
            text.push_str(&more);
        }
        text.truncate(text.trim_end_matches(' ').len());
        Ok(Some(text))
    }

    /// How many CONTINUE cards belong to the card at `position`.
    fn trail(&self, position: usize) -> usize {
        match self.cards.get(position).map(Card::value) {
            Some(Ok(Value::Text(text))) => self.continued(position, &text).count(),
            _ => 0,
        }
    }

    /// The strings of the CONTINUE cards that belong to the card at `position`, whose own string is
    /// `first`: each follows one that ends with an ampersand, which is no part of it.
    fn continued<'a>(
        &'a self,
        position: usize,
        first: &str,
    ) -> impl Iterator<Item = String> + use<'a> {
        let mut goes_on = first.ends_with('&');
        let after = self.cards.iter().skip(position.saturating_add(1));
        after.map_while(move |card| {
            let more = card.continued_text().filter(|_| goes_on)?;
            goes_on = more.ends_with('&');
            Some(more)
        })
    }

    /// The header as whole blocks, END and blanks after it included; the very bytes that were
    /// parsed if nothing was edited (FITS 4.0, 4.4.1.1).
    #[must_use]
    pub fn render(&self) -> Vec<u8> {
        let bytes = self.cards.len().saturating_mul(CARD_BYTES);
        let whole = padded_bytes(bytes.saturating_add(CARD_BYTES) as u64);
        let whole = whole
            .and_then(|whole| usize::try_from(whole).ok())
            .unwrap_or(bytes);
        let mut rendered = Vec::with_capacity(whole);
        for card in &self.cards {
            rendered.extend_from_slice(card.as_bytes());
        }
        let end: &[u8] = if self.tail.is_empty() {
            b"END"
        } else {
            &self.tail
        };
        rendered.extend_from_slice(end);
        rendered.resize(whole.max(rendered.len()), b' ');
        rendered
    }
}
