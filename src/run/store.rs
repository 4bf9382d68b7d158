//! How outputs are stored: by which way, and what happens to finished bytes.

use std::io;
use std::sync::{Mutex, PoisonError};

use fits_layout::Sum;

use crate::convolve::vectorised;
use crate::journal::PlaneSums;
pub use crate::map::Io;
use crate::map::{Place, Touch};
use crate::plane::Store;
use crate::run::Stop;
use crate::run::behind::WriteBehind;

/// How outputs are stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Storage {
    /// Mapped or written.
    pub io: Io,
    /// When finished bytes are written to the disk at once and dropped from the page cache.
    pub write_behind: When,
}

/// When something is done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum When {
    /// Where it pays.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

impl Storage {
    /// Whether an output of this length is written behind: above a quarter of the memory, where
    /// the page cache would push out everything else. `memory_bytes` is the machine's.
    pub(super) fn writes_behind(&self, len_bytes: u64, memory_bytes: u64) -> bool {
        match self.write_behind {
            When::Auto => len_bytes > memory_bytes / 4,
            When::Always => true,
            When::Never => false,
        }
    }
}

/// What stands behind one output plane.
#[derive(Debug)]
pub(super) struct PlaneStore<'a> {
    pub place: Place<'a>,
    /// How the pages of a map are made.
    pub touch: Touch,
    /// The sums of what is filled.
    pub sums: Mutex<PlaneSums>,
    /// Whether DATASUM needs one of them.
    pub datasum: bool,
    pub behind: Option<&'a WriteBehind<'a>>,
    /// Looked at before anything is stored.
    pub stop: &'a Stop,
}

impl PlaneStore<'_> {
    /// The sums of all that was filled.
    pub fn sums(&self) -> PlaneSums {
        *self.sums.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Store for PlaneStore<'_> {
    fn origin(&self) -> u64 {
        self.place.start()
    }

    fn expect(&self, at: u64, room: &mut [u8]) -> io::Result<()> {
        self.stop.check()?;
        self.place.make_ready(at, room, self.touch)
    }

    fn write(&self, at: u64, bytes: &[u8]) -> io::Result<()> {
        self.stop.check()?;
        self.place.write(at, bytes)
    }

    /// Sums are of words of four bytes, and samples are one or two of them, so the parts of a
    /// plane add up in any order (FITS 4.0, appendix J).
    fn filled(&self, at: u64, bytes: &[u8]) -> io::Result<()> {
        self.stop.check()?;
        let mut sums = vectorised(
            #[inline(always)]
            || PlaneSums::of_at(at, bytes),
        );
        if self.datasum {
            sums = sums.with_fits(Sum::of(bytes));
        }
        let mut total = self.sums.lock().unwrap_or_else(PoisonError::into_inner);
        *total = total.plus(sums);
        drop(total);
        match self.behind {
            Some(behind) => {
                let at = self.place.start().saturating_add(at);
                behind.filled(at, bytes.len() as u64)
            }
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_outputs_are_written_behind() {
        let storage = |write_behind| Storage {
            write_behind,
            ..Storage::default()
        };
        for (when, at_limit, above) in [
            (When::Auto, false, true),
            (When::Always, true, true),
            (When::Never, false, false),
        ] {
            assert_eq!(storage(when).writes_behind(25, 100), at_limit, "{when:?}");
            assert_eq!(storage(when).writes_behind(26, 100), above, "{when:?}");
        }
    }
}
