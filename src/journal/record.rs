//! One line of a journal: a plane that is stored, its sums, and those of its bytes that are not in
//! the file yet.
//!
//! A journal file is a line of text, then records one after another, all numbers little-endian:
//! a mark of 4 bytes, the plane (u64), the sums of its bytes (u64, u64, u32), the lengths of head
//! and tail (u32, u32), both of them, and the XXH3 of everything before in the record (u64).
//! A record that is torn, as the last one of a process that died, ends the reading.

use fits_layout::Sum;
use xxhash_rust::xxh3::xxh3_64;

use super::PlaneSums;

const MARK: [u8; 4] = *b"mcJ1";
const FIXED_BYTES: usize = 4 + 8 + 8 + 8 + 4 + 4 + 4;
const CHECK_BYTES: usize = 8;

/// No block of a file is larger, so no head or tail is: a longer one is torn.
const LONGEST_EDGE: usize = 16 << 20;

/// A plane that is stored.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Record {
    /// Its number in file order.
    pub plane: u64,
    /// The sums of all of its bytes.
    pub sums: PlaneSums,
    /// Its first bytes, where they are not in the file: they share a block with others.
    pub head: Vec<u8>,
    /// Its last bytes, likewise.
    pub tail: Vec<u8>,
}

impl Record {
    /// Adds the bytes of this record.
    pub fn render(&self, bytes: &mut Vec<u8>) {
        let start = bytes.len();
        let (words, places, fits) = self.sums.numbers();
        bytes.extend(MARK);
        bytes.extend(self.plane.to_le_bytes());
        bytes.extend(words.to_le_bytes());
        bytes.extend(places.to_le_bytes());
        bytes.extend(fits.value().to_le_bytes());
        for edge in [&self.head, &self.tail] {
            // Edges are shorter than a block, see `LONGEST_EDGE`.
            bytes.extend((edge.len() as u32).to_le_bytes());
        }
        bytes.extend(&self.head);
        bytes.extend(&self.tail);
        let check = xxh3_64(bytes.get(start..).unwrap_or_default());
        bytes.extend(check.to_le_bytes());
    }

    /// The record that `bytes` begin with and how many bytes it has; `None` if they begin with no
    /// whole record.
    #[must_use]
    pub fn parse(bytes: &[u8]) -> Option<(Self, usize)> {
        let mut rest = bytes;
        if take(&mut rest)? != MARK {
            return None;
        }
        let mut record = Self {
            plane: u64::from_le_bytes(take(&mut rest)?),
            ..Self::default()
        };
        let words = u64::from_le_bytes(take(&mut rest)?);
        let places = u64::from_le_bytes(take(&mut rest)?);
        let fits = Sum::from_value(u32::from_le_bytes(take(&mut rest)?));
        record.sums = PlaneSums::from_numbers(words, places, fits);
        let head = u32::from_le_bytes(take(&mut rest)?) as usize;
        let tail = u32::from_le_bytes(take(&mut rest)?) as usize;
        if head > LONGEST_EDGE || tail > LONGEST_EDGE {
            return None;
        }
        let length = FIXED_BYTES + head + tail;
        let check = bytes.get(length..length + CHECK_BYTES)?;
        if xxh3_64(bytes.get(..length)?).to_le_bytes() != *check {
            return None;
        }
        record.head = bytes.get(FIXED_BYTES..FIXED_BYTES + head)?.to_vec();
        record.tail = bytes.get(FIXED_BYTES + head..length)?.to_vec();
        Some((record, length + CHECK_BYTES))
    }
}

/// Takes the first bytes off.
fn take<const N: usize>(bytes: &mut &[u8]) -> Option<[u8; N]> {
    let (first, rest) = bytes.split_first_chunk::<N>()?;
    *bytes = rest;
    Some(*first)
}

/// The whole records at the beginning of `bytes`, and whether something else follows them.
pub(super) fn parse_all(mut bytes: &[u8]) -> (Vec<Record>, bool) {
    let mut records = Vec::new();
    while let Some((record, length)) = Record::parse(bytes) {
        records.push(record);
        bytes = bytes.get(length..).unwrap_or_default();
    }
    (records, !bytes.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn records() -> Vec<Record> {
        let edges = [(0, 0), (3, 0), (0, 4095), (17, 4000)];
        let record = |(plane, (head, tail)): (u64, (usize, usize))| Record {
            plane,
            sums: PlaneSums::from_numbers(plane << 40, !plane, Sum::from_value(7)),
            head: vec![1; head],
            tail: vec![2; tail],
        };
        (0..).zip(edges).map(record).collect()
    }

    fn rendered(records: &[Record]) -> Vec<u8> {
        let mut bytes = Vec::new();
        records.iter().for_each(|record| record.render(&mut bytes));
        bytes
    }

    #[test]
    fn what_is_written_is_read() {
        assert_eq!(parse_all(&rendered(&records())), (records(), false));
    }

    #[test]
    fn a_torn_end_takes_the_torn_record_only() {
        let (whole, bytes) = (records(), rendered(&records()));
        let mut ends = vec![0];
        for record in whole.chunks(1) {
            ends.push(ends.last().unwrap() + rendered(record).len());
        }
        for length in 0..bytes.len() {
            let (read, torn) = parse_all(&bytes[..length]);
            let count = ends.iter().rposition(|&end| end <= length).unwrap();
            assert_eq!(read, whole[..count], "{length}");
            assert_eq!(torn, length != ends[count]);
        }
    }

    #[test]
    fn no_changed_byte_is_believed() {
        let bytes = rendered(&records()[3..]);
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 0x10;
            assert_eq!(Record::parse(&changed), None, "{at}");
        }
    }
}
