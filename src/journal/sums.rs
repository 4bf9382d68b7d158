//! What a plane's bytes are checked by: two running sums that add up in any order.

use fits_layout::Sum;

/// Sums of a plane's bytes, or of a part of them, whose parts may be added in any order and by any
/// thread: J. G. Fletcher's checksum (IEEE Trans. Commun. 30, 1982, 247), of 32-bit little-endian
/// words with 64-bit sums. One lost, swapped or changed piece of a plane changes them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PlaneSums {
    /// Σ wᵢ
    words: u64,
    /// Σ i wᵢ modulo 2⁶⁴
    places: u64,
    /// What DATASUM needs, where anybody asked for it.
    fits: Sum,
}

/// Words that are summed side by side.
const LANES: usize = 8;

impl PlaneSums {
    /// The sums of `bytes`, which stand at byte `at` of the plane; both are multiples of 4, as all
    /// floating-point samples are. Bytes beyond the last whole word do not count.
    #[must_use]
    #[inline(always)]
    pub fn of_at(at: u64, bytes: &[u8]) -> Self {
        let (blocks, rest) = bytes.as_chunks::<{ 4 * LANES }>();
        let (words, places) = of_blocks(blocks);
        let first = (blocks.len() * LANES) as u64;
        let (rest_words, rest_places) = of_rest(first, rest);
        let words = words.wrapping_add(rest_words);
        let places = places.wrapping_add(rest_places);
        Self {
            words,
            places: places.wrapping_add(words.wrapping_mul(at / 4)),
            fits: Sum::default(),
        }
    }

    /// The same with what DATASUM needs (FITS 4.0, appendix J).
    #[must_use]
    pub fn with_fits(self, fits: Sum) -> Self {
        Self { fits, ..self }
    }

    /// Sums that were kept as numbers: those of a record.
    #[must_use]
    pub fn from_numbers(words: u64, places: u64, fits: Sum) -> Self {
        Self {
            words,
            places,
            fits,
        }
    }

    /// Both sums, and DATASUM's.
    #[must_use]
    pub fn numbers(&self) -> (u64, u64, Sum) {
        (self.words, self.places, self.fits)
    }

    /// The sums of the same bytes, `bytes` further on: a multiple of 4.
    #[must_use]
    pub fn moved(self, bytes: u64) -> Self {
        let further = self.words.wrapping_mul(bytes / 4);
        Self {
            places: self.places.wrapping_add(further),
            ..self
        }
    }

    /// Both parts together.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            words: self.words.wrapping_add(other.words),
            places: self.places.wrapping_add(other.places),
            fits: self.fits.plus(other.fits),
        }
    }

    /// What the bytes add to DATASUM; zero where nobody asked for it.
    #[must_use]
    pub fn fits(&self) -> Sum {
        self.fits
    }

    /// Whether both are of the same bytes, as far as can be told.
    #[must_use]
    pub fn agree(&self, other: &Self) -> bool {
        (self.words, self.places) == (other.words, other.places)
    }
}

/// Σ w and Σ i w. The second is made without a multiplication: the sum of all running sums counts
/// word i of n as often as running sums follow it, n - i times.
#[inline(always)]
fn of_blocks(blocks: &[[u8; 4 * LANES]]) -> (u64, u64) {
    let mut sums = [0_u64; LANES];
    let mut running = [0_u64; LANES];
    for block in blocks {
        let (words, _) = block.as_chunks::<4>();
        for ((sum, running), word) in sums.iter_mut().zip(&mut running).zip(words) {
            *sum = sum.wrapping_add(u64::from(u32::from_le_bytes(*word)));
            *running = running.wrapping_add(*sum);
        }
    }
    let count = blocks.len() as u64;
    let mut words = 0_u64;
    let mut places = 0_u64;
    for ((lane, sum), running) in (0_u64..).zip(sums).zip(running) {
        let blocks_before = count.wrapping_mul(sum).wrapping_sub(running);
        words = words.wrapping_add(sum);
        places = places
            .wrapping_add(blocks_before.wrapping_mul(LANES as u64))
            .wrapping_add(lane.wrapping_mul(sum));
    }
    (words, places)
}

/// As above for the words after the last whole block, of which the first has number `first`.
fn of_rest(first: u64, bytes: &[u8]) -> (u64, u64) {
    let (words, _) = bytes.as_chunks::<4>();
    let words = (first..).zip(
        words
            .iter()
            .map(|word| u64::from(u32::from_le_bytes(*word))),
    );
    words.fold((0, 0), |(sum, places): (u64, u64), (place, word)| {
        let weighed = place.wrapping_mul(word);
        (sum.wrapping_add(word), places.wrapping_add(weighed))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(count: usize) -> Vec<u8> {
        let value = |i: usize| (i.wrapping_mul(2_654_435_761) >> 7) as u8;
        (0..count).map(value).collect()
    }

    fn naive(bytes: &[u8]) -> (u64, u64) {
        let words = bytes.chunks_exact(4);
        let words = words.map(|word| u64::from(u32::from_le_bytes(word.try_into().unwrap())));
        (0_u64..)
            .zip(words)
            .fold((0, 0), |(sum, places), (i, word)| {
                (sum + word, places + i * word)
            })
    }

    #[test]
    fn they_are_what_the_formula_says() {
        for words in [0, 1, 7, 8, 9, 16, 77, 1000] {
            let bytes = bytes(4 * words);
            let sums = PlaneSums::of_at(0, &bytes);
            assert_eq!((sums.words, sums.places), naive(&bytes), "{words}");
        }
    }

    #[test]
    fn parts_add_up_in_any_order() {
        let bytes = bytes(4 * 301);
        let whole = PlaneSums::of_at(0, &bytes);
        for seam in [4, 32, 400, 1000, 1200] {
            let (front, back) = bytes.split_at(seam);
            let back = PlaneSums::of_at(seam as u64, back);
            assert_eq!(back.plus(PlaneSums::of_at(0, front)), whole, "{seam}");
            let moved = PlaneSums::of_at(0, &bytes[seam..]).moved(seam as u64);
            assert_eq!(moved, back);
        }
    }

    #[test]
    fn what_is_lost_swapped_or_changed_shows() {
        let good = bytes(4096);
        let sums = PlaneSums::of_at(0, &good);
        let mut lost = good.clone();
        lost[2000..2880].fill(0);
        let mut swapped = good.clone();
        swapped.rotate_left(1024);
        let mut changed = good.clone();
        changed[4095] ^= 1;
        for other in [lost, swapped, changed] {
            assert!(!PlaneSums::of_at(0, &other).agree(&sums));
        }
        assert!(sums.with_fits(Sum::of(&good)).agree(&sums));
    }
}
