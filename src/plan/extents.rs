//! Where everything lies in the output file, before a byte of it exists.

use std::ops::Range;

use fits_layout::padded_bytes;

use crate::plan::PlanError;

/// One stretch of the output, in file order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// An HDU of the input, byte for byte: its number and its bytes there.
    Kept {
        /// Number of the HDU.
        hdu: usize,
        /// Its bytes in the input, without what is missing of its last block.
        input: Range<u64>,
        /// What fills a missing end: blanks in an ASCII table, else zeros (FITS 4.0, 7.2.3).
        fill: u8,
    },
    /// The image's header: whole blocks.
    Header {
        /// Its length.
        bytes: u64,
    },
    /// The image's planes.
    Data {
        /// Their length without padding.
        bytes: u64,
    },
    /// The new beam table, a whole HDU.
    BeamTable {
        /// Its length.
        bytes: u64,
    },
}

impl Part {
    fn bytes(&self) -> Option<u64> {
        match self {
            Self::Kept { input, .. } => input.end.checked_sub(input.start),
            Self::Header { bytes } | Self::Data { bytes } | Self::BeamTable { bytes } => {
                Some(*bytes)
            }
        }
    }
}

/// The parts of an output and where they go.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Extents {
    placed: Vec<(Part, Range<u64>)>,
    len_bytes: u64,
}

impl Extents {
    /// Puts the parts one after another, each padded to whole blocks (FITS 4.0, 3.1).
    ///
    /// # Errors
    /// The sum does not fit 64 bits.
    pub fn new(parts: Vec<Part>) -> Result<Self, PlanError> {
        let mut extents = Self::default();
        for part in parts {
            extents.push(part).ok_or(PlanError::TooLarge)?;
        }
        Ok(extents)
    }

    fn push(&mut self, part: Part) -> Option<()> {
        let start = self.len_bytes;
        let bytes = part.bytes()?;
        self.len_bytes = start.checked_add(padded_bytes(bytes)?)?;
        self.placed.push((part, start..start.checked_add(bytes)?));
        Some(())
    }

    /// The parts and their bytes in the output, padding not counted.
    pub fn parts(&self) -> impl Iterator<Item = (&Part, Range<u64>)> {
        self.placed
            .iter()
            .map(|(part, range)| (part, range.clone()))
    }

    /// Where the image's header lies.
    #[must_use]
    pub fn header(&self) -> Option<Range<u64>> {
        self.find(|part| matches!(part, Part::Header { .. }))
    }

    /// Where the image's planes lie.
    #[must_use]
    pub fn data(&self) -> Option<Range<u64>> {
        self.find(|part| matches!(part, Part::Data { .. }))
    }

    /// Length of the whole output, bytes.
    #[must_use]
    pub fn len_bytes(&self) -> u64 {
        self.len_bytes
    }

    fn find(&self, wanted: impl Fn(&Part) -> bool) -> Option<Range<u64>> {
        self.parts()
            .find(|(part, _)| wanted(part))
            .map(|(_, range)| range)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_follow_each_other_in_whole_blocks() {
        let kept = Part::Kept {
            hdu: 1,
            input: 2880..2890,
            fill: 0,
        };
        let parts = vec![Part::Header { bytes: 2880 }, Part::Data { bytes: 1 }, kept];
        let extents = Extents::new(parts).unwrap();
        assert_eq!(extents.header(), Some(0..2880));
        assert_eq!(extents.data(), Some(2880..2881));
        assert_eq!(
            extents.parts().last().map(|(_, range)| range),
            Some(5760..5770)
        );
        assert_eq!(extents.len_bytes(), 8640);
    }

    #[test]
    fn sizes_beyond_64_bits_are_an_error() {
        let parts = vec![
            Part::Data {
                bytes: u64::MAX - 3000,
            },
            Part::Data { bytes: 2880 },
        ];
        assert!(matches!(Extents::new(parts), Err(PlanError::TooLarge)));
    }
}
