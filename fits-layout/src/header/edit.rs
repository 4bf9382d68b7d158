//! Editing a header: replace, insert, remove, append. Only touched cards change.

use super::Header;
use crate::card::{Card, Value, format, format::Comment};
use crate::error::LayoutError;
use std::sync::OnceLock;

impl Header {
    /// Sets a keyword: the first card with it is replaced in place, further ones are removed with
    /// their CONTINUE cards; without one, a card is appended. With `comment` `None` the old comment
    /// stays. A string too long for a card goes on in CONTINUE cards (FITS 4.0, 4.2.1.2).
    ///
    /// # Errors
    /// As [`Card::new`]; the header is then as it was.
    pub fn set(
        &mut self,
        keyword: &str,
        value: impl Into<Value>,
        comment: Option<&str>,
    ) -> Result<(), LayoutError> {
        let value = value.into();
        let positions = self.positions(keyword);
        let old = positions
            .first()
            .and_then(|&position| self.old_comment(position));
        let comment = match (comment, &old) {
            (Some(comment), _) => Comment::New(comment),
            (None, Some(old)) => Comment::Old(old),
            (None, None) => Comment::None,
        };
        let cards = format::cards(keyword, &value, comment)?;
        let Some((&first, more)) = positions.split_first() else {
            cards.into_iter().for_each(|card| self.push(card));
            return Ok(());
        };
        let in_place = more.is_empty() && self.trail(first) == 0;
        match (cards.as_slice(), self.cards.get_mut(first)) {
            (&[card], Some(slot)) if in_place => {
                *slot = card;
                self.tail.clear();
            }
            _ => self.splice(&positions, cards),
        }
        Ok(())
    }

    /// The comment of a card, or of the last CONTINUE card that belongs to it.
    fn old_comment(&self, position: usize) -> Option<Vec<u8>> {
        let last = position.checked_add(self.trail(position))?;
        let card = self.cards.get(last)?;
        card.comment_bytes().map(<[u8]>::to_vec)
    }

    /// Puts `new` in place of the first of `positions` and removes the others, with their trails.
    fn splice(&mut self, positions: &[usize], mut new: Vec<Card>) {
        let mut gone = vec![false; self.cards.len()];
        for &position in positions {
            let end = position.saturating_add(self.trail(position));
            gone.iter_mut()
                .take(end.saturating_add(1))
                .skip(position)
                .for_each(|gone| *gone = true);
        }
        let first = positions.first().copied();
        let mut cards = Vec::with_capacity(self.cards.len().saturating_add(new.len()));
        for (position, (card, gone)) in self.cards.iter().zip(gone).enumerate() {
            if Some(position) == first {
                cards.append(&mut new);
            }
            if !gone {
                cards.push(*card);
            }
        }
        self.cards = cards;
        self.touch();
    }

    /// Forgets what an edit made stale.
    fn touch(&mut self) {
        self.tail.clear();
        self.index = OnceLock::new();
    }

    /// Removes every card with this keyword, with its CONTINUE cards, and says how many cards had
    /// the keyword.
    pub fn remove(&mut self, keyword: &str) -> usize {
        let positions = self.positions(keyword);
        if !positions.is_empty() {
            self.splice(&positions, Vec::new());
        }
        positions.len()
    }

    /// Removes every card that `unwanted` picks, with its CONTINUE cards, in one pass, and says how
    /// many it picked: the way to remove many keywords from a long header.
    pub fn remove_where(&mut self, mut unwanted: impl FnMut(&Card) -> bool) -> usize {
        let picked = |(position, card): (usize, &Card)| unwanted(card).then_some(position);
        let positions: Vec<usize> = self.cards.iter().enumerate().filter_map(picked).collect();
        if !positions.is_empty() {
            self.splice(&positions, Vec::new());
        }
        positions.len()
    }

    /// Inserts a card after the last one with keyword `anchor` and its CONTINUE cards; at the end
    /// if there is none. An END card is ignored.
    pub fn insert_after(&mut self, anchor: &str, card: Card) {
        let Some(&position) = self.positions(anchor).last() else {
            return self.push(card);
        };
        if card.is_end() {
            return;
        }
        let after = position
            .saturating_add(self.trail(position))
            .saturating_add(1);
        self.cards.insert(after.min(self.cards.len()), card);
        self.touch();
    }

    /// Appends a card, before END. An END card is ignored: [`Header::render`] writes it.
    pub fn push(&mut self, card: Card) {
        if card.is_end() {
            return;
        }
        let position = self.cards.len();
        if let Some(index) = self.index.get_mut() {
            index.add(&card, position);
        }
        self.cards.push(card);
        self.tail.clear();
    }

    /// Appends commentary (HISTORY, COMMENT or blank), wrapped at blanks to the 72 bytes a card
    /// has for it (FITS 4.0, 4.4.2.4); a line break begins a new card.
    pub fn push_commentary(&mut self, keyword: &str, text: &str) {
        for line in text.split('\n') {
            for part in wrapped(line) {
                self.push(Card::commentary(keyword, &part));
            }
        }
    }
}

/// A line cut to parts of at most 72 letters, at the last blank where there is one.
fn wrapped(line: &str) -> Vec<String> {
    const WIDTH: usize = 72;
    let mut letters: &[char] = &line.chars().collect::<Vec<_>>();
    let mut parts = Vec::new();
    // a blank may stand where the next card would begin
    while let Some((front, _)) = letters.split_at_checked(WIDTH.saturating_add(1)) {
        let blank = front
            .iter()
            .rposition(|&letter| letter == ' ')
            .filter(|&at| at > 0);
        let (part, rest) = letters.split_at(blank.unwrap_or(WIDTH));
        parts.push(part.iter().collect());
        letters = rest.strip_prefix(&[' ']).unwrap_or(rest);
    }
    parts.push(letters.iter().collect());
    parts
}
