//! Which planes of an output are stored, and their checksums. The gate before publishing: an
//! output whose journal lacks a plane gets no final name.

use std::sync::{Mutex, MutexGuard, PoisonError};

use fits_layout::Sum;

/// The planes stored so far. Threads record into it in any order.
#[derive(Debug)]
pub struct Journal {
    stored: Mutex<Vec<Option<Sum>>>,
}

impl Journal {
    /// A journal of `planes` planes, none of them stored.
    #[must_use]
    pub fn new(planes: usize) -> Self {
        Self {
            stored: Mutex::new(vec![None; planes]),
        }
    }

    /// Plane `plane` is stored, and `sum` is what its bytes add to the data's checksum (zero
    /// where nobody asked for one).
    pub fn record(&self, plane: usize, sum: Sum) {
        if let Some(place) = self.planes().get_mut(plane) {
            *place = Some(sum);
        }
    }

    /// The planes that are not stored.
    #[must_use]
    pub fn missing(&self) -> Vec<u64> {
        let planes = self.planes();
        (0..)
            .zip(planes.iter())
            .filter(|(_, sum)| sum.is_none())
            .map(|(plane, _)| plane)
            .collect()
    }

    /// The checksum of all stored planes together; ones'-complement sums add in any order
    /// (FITS 4.0, appendix J).
    #[must_use]
    pub fn sum(&self) -> Sum {
        self.planes()
            .iter()
            .flatten()
            .fold(Sum::default(), |total, sum| total.plus(*sum))
    }

    /// A thread that panicked while it held the lock had finished its one assignment or not
    /// begun it, so the list is good either way.
    fn planes(&self) -> MutexGuard<'_, Vec<Option<Sum>>> {
        self.stored.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_recorded_is_missing() {
        let journal = Journal::new(3);
        assert_eq!(journal.missing(), [0, 1, 2]);
        journal.record(1, Sum::of(&[0, 0, 0, 5]));
        journal.record(0, Sum::of(&[0, 0, 0, 7]));
        journal.record(9, Sum::default());
        assert_eq!(journal.missing(), [2]);
        assert_eq!(journal.sum(), Sum::of(&[0, 0, 0, 12]));
    }
}
