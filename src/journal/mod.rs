//! Which planes of an output are stored, in memory and on the disk. The gate before publishing: an
//! output whose journal lacks a plane gets no final name. What an interrupted run stored is known
//! from here when it goes on.

mod error;
mod folder;
mod job;
mod record;
mod sums;
mod writer;

pub use error::JournalError;
pub use folder::{Folder, Stored, is_listed};
pub use job::{Difference, Job, MADE_BY};
pub use record::Record;
pub use sums::PlaneSums;
pub use writer::{Opening, Writer, boot};

use std::sync::{Mutex, MutexGuard, PoisonError};

use fits_layout::Sum;

/// The planes stored so far. Threads record into it in any order.
#[derive(Debug)]
pub struct Journal {
    stored: Mutex<Vec<Option<Sum>>>,
    /// How many of them are in journals of earlier runs.
    known: u64,
    /// Where records go, so that they outlive this process.
    writer: Option<Mutex<Writer>>,
}

impl Journal {
    /// A journal of `planes` planes, none of them stored, that ends with this process.
    #[must_use]
    pub fn new(planes: usize) -> Self {
        Self {
            stored: Mutex::new(vec![None; planes]),
            known: 0,
            writer: None,
        }
    }

    /// The same with a file for what is stored from now on.
    #[must_use]
    pub fn kept_in(self, writer: Writer) -> Self {
        Self {
            known: self.count(),
            writer: Some(Mutex::new(writer)),
            ..self
        }
    }

    /// A plane was stored by an earlier run.
    pub fn know(&self, record: &Record) {
        self.mark(record);
    }

    /// A plane is stored: all its `plane_bytes` bytes are in its file, but for those that the
    /// record holds.
    ///
    /// # Errors
    /// [`JournalError::Write`]; the plane does not count as stored then.
    pub fn record(&self, record: &Record, plane_bytes: u64) -> Result<(), JournalError> {
        if let Some(writer) = &self.writer {
            let mut writer = writer.lock().unwrap_or_else(PoisonError::into_inner);
            writer.append(record, plane_bytes)?;
        }
        self.mark(record);
        Ok(())
    }

    /// Writes the records that wait for the disk.
    ///
    /// # Errors
    /// [`JournalError::Write`].
    pub fn flush(&self) -> Result<(), JournalError> {
        match &self.writer {
            Some(writer) => writer
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .flush(),
            None => Ok(()),
        }
    }

    fn mark(&self, record: &Record) {
        let place = usize::try_from(record.plane).unwrap_or(usize::MAX);
        if let Some(place) = self.planes().get_mut(place) {
            *place = Some(record.sums.fits());
        }
    }

    /// Whether this plane is stored.
    #[must_use]
    pub fn has(&self, plane: usize) -> bool {
        self.planes().get(plane).is_some_and(Option::is_some)
    }

    /// How many planes are stored.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.planes().iter().flatten().count() as u64
    }

    /// How many planes a later run would find stored.
    #[must_use]
    pub fn kept(&self) -> u64 {
        let Some(writer) = &self.writer else {
            return self.count();
        };
        let writer = writer.lock().unwrap_or_else(PoisonError::into_inner);
        self.known + writer.written()
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

    fn record(plane: u64, bytes: &[u8]) -> Record {
        Record {
            plane,
            sums: PlaneSums::of_at(0, bytes).with_fits(Sum::of(bytes)),
            ..Record::default()
        }
    }

    #[test]
    fn what_is_not_recorded_is_missing() {
        let journal = Journal::new(3);
        assert_eq!(journal.missing(), [0, 1, 2]);
        journal.record(&record(1, &[0, 0, 0, 5]), 4).unwrap();
        journal.know(&record(0, &[0, 0, 0, 7]));
        journal.know(&record(9, &[]));
        assert_eq!(journal.missing(), [2]);
        assert!(journal.has(1) && !journal.has(2) && !journal.has(9));
        assert_eq!(journal.count(), 2);
        assert_eq!(journal.sum(), Sum::of(&[0, 0, 0, 12]));
    }
}
