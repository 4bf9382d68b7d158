//! A FITS file taken apart into cards and data and put together again, whether or not it is right.
//! Written for hostile files: nothing here uses the code under test.

use super::random::Random;

pub type RawCard = [u8; 80];

const BLOCK: usize = 2880;

/// A header with the bytes that follow it.
#[derive(Clone, Debug)]
pub struct Part {
    /// Without END.
    pub cards: Vec<RawCard>,
    /// Up to the next header, padding included.
    pub data: Vec<u8>,
    /// Whether an END card is written.
    pub ends: bool,
}

/// A file to be spoiled.
#[derive(Clone, Debug)]
pub struct HostileFile {
    pub parts: Vec<Part>,
    /// Where it is cut, or up to where it is filled with a hole, bytes.
    pub length: Option<u64>,
}

impl HostileFile {
    /// Takes a file apart, by the blocks that begin with XTENSION.
    pub fn of(bytes: &[u8]) -> Self {
        let mut starts = vec![0];
        let later = (BLOCK..bytes.len()).step_by(BLOCK);
        starts.extend(later.filter(|&at| bytes[at..].starts_with(b"XTENSION")));
        let ends = starts.iter().skip(1).copied().chain([bytes.len()]);
        let parts = starts
            .iter()
            .zip(ends)
            .map(|(&start, end)| Part::of(&bytes[start..end]));
        let parts = parts.collect();
        Self {
            parts,
            length: None,
        }
    }

    /// The bytes, without what [`Self::length`] does to them.
    pub fn bytes(&self) -> Vec<u8> {
        self.parts.iter().flat_map(Part::bytes).collect()
    }

    /// One of the headers; the first, which is mostly the image's, more often.
    pub fn pick(&mut self, random: &mut Random) -> &mut Part {
        let part = if random.one_in(2) {
            0
        } else {
            random.below(self.parts.len())
        };
        &mut self.parts[part]
    }

    /// The first binary table, or any part.
    pub fn table(&mut self, random: &mut Random) -> &mut Part {
        let is_table = |part: &Part| {
            part.cards
                .first()
                .is_some_and(|card| card.starts_with(b"XTENSION= 'BINTABLE"))
        };
        match self.parts.iter().position(is_table) {
            Some(table) => &mut self.parts[table],
            None => self.pick(random),
        }
    }
}

impl Part {
    fn of(bytes: &[u8]) -> Self {
        let cards: Vec<RawCard> = bytes.as_chunks().0.to_vec();
        let end = cards
            .iter()
            .position(|card| card.trim_ascii_end() == b"END");
        let count = end.unwrap_or(cards.len());
        let data = (count * 80 + 80).next_multiple_of(BLOCK).min(bytes.len());
        Self {
            cards: cards[..count].to_vec(),
            data: bytes[data..].to_vec(),
            ends: end.is_some(),
        }
    }

    fn bytes(&self) -> Vec<u8> {
        let mut bytes = self.cards.as_flattened().to_vec();
        if self.ends {
            bytes.extend(card("END"));
        }
        bytes.resize(bytes.len().next_multiple_of(BLOCK), b' ');
        bytes.extend(&self.data);
        bytes
    }

    /// How many bytes, about.
    pub fn bytes_len(&self) -> usize {
        self.cards.len() * 80 + BLOCK + self.data.len()
    }

    /// Sets the first card with this keyword, or puts a new one somewhere.
    pub fn set(&mut self, keyword: &str, value: &str, random: &mut Random) {
        let new = card(&format!("{keyword:<8}= {value:>20}"));
        let name = format!("{keyword:<8}");
        match self
            .cards
            .iter()
            .position(|card| card.starts_with(name.as_bytes()))
        {
            Some(position) => self.cards[position] = new,
            None => self.insert(new, random),
        }
    }

    /// Puts a card somewhere; not often before the mandatory ones.
    pub fn insert(&mut self, card: RawCard, random: &mut Random) {
        let least = if random.one_in(8) {
            0
        } else {
            self.cards.len().min(3 + self.naxis())
        };
        let at = least + random.below(self.cards.len() - least + 1);
        self.cards.insert(at, card);
    }

    fn naxis(&self) -> usize {
        let is_axis = |card: &&RawCard| card.starts_with(b"NAXIS");
        self.cards.iter().filter(is_axis).count()
    }
}

/// A line as a card, cut or filled up to 80 bytes.
pub fn card(line: &str) -> RawCard {
    let mut card = [b' '; 80];
    card.iter_mut()
        .zip(line.bytes())
        .for_each(|(to, from)| *to = from);
    card
}
