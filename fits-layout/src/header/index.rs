//! Where each keyword stands, so that a look-up costs no pass over the cards. No values here.

use crate::card::Card;
use std::collections::HashMap;

/// Positions of cards by a 64-bit key of their keyword; equal keys are told apart by the cards.
#[derive(Clone, Debug, Default)]
pub(super) struct Index(HashMap<u64, Vec<usize>>);

impl Index {
    /// One pass over the cards.
    pub(super) fn of(cards: &[Card]) -> Self {
        let mut index = Self::default();
        for (position, card) in cards.iter().enumerate() {
            index.add(card, position);
        }
        index
    }

    /// Takes in a card that was appended.
    pub(super) fn add(&mut self, card: &Card, position: usize) {
        self.0.entry(key(card.name())).or_default().push(position);
    }

    /// Positions, in order, of the cards that may be named `name`.
    pub(super) fn positions(&self, name: &[u8]) -> &[usize] {
        self.0.get(&key(name)).map_or(&[], Vec::as_slice)
    }
}

/// A key that does not know upper from lower case.
fn key(name: &[u8]) -> u64 {
    // FNV-1a; names of up to 8 bytes are the rule
    name.iter().fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
        (hash ^ u64::from(byte.to_ascii_uppercase())).wrapping_mul(0x0100_0000_01b3)
    })
}
