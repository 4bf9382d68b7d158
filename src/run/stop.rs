//! Asking a job to end before its time. A handle, and nothing about signals: who asks, and why,
//! is the caller's affair.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

const NEVER: u8 = 0;
const AFTER_PLANES: u8 = 1;
const NOW: u8 = 2;

/// Asks a job to stop, from any thread; all clones are one. The default asks for nothing.
///
/// A job that is stopped answers with [`Stage::Interrupted`](crate::Stage::Interrupted), unless
/// all planes of its last file were stored by then: that file is finished and published.
///
/// ```
/// use mmfits::run::{Request, Stop};
///
/// let stop = Stop::default();
/// let request = Request { stop: stop.clone(), ..Request::default() };
/// stop.after_planes(); // planes in hand are finished, no more are taken
/// stop.now(); // those in hand are given up
/// assert!(request.stop.is_asked());
/// ```
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<AtomicU8>);

impl Stop {
    /// No more planes are begun; those in hand are finished and recorded.
    pub fn after_planes(&self) {
        self.0.fetch_max(AFTER_PLANES, Ordering::Relaxed);
    }

    /// Planes in hand are given up as well, at the next rows that would be stored. It cannot be
    /// taken back.
    pub fn now(&self) {
        self.0.fetch_max(NOW, Ordering::Relaxed);
    }

    /// Whether either was asked for.
    #[must_use]
    pub fn is_asked(&self) -> bool {
        self.0.load(Ordering::Relaxed) != NEVER
    }

    /// Between rows of a plane.
    ///
    /// # Errors
    /// [`io::ErrorKind::Interrupted`]: the plane is to be given up.
    pub(super) fn check(&self) -> io::Result<()> {
        if self.0.load(Ordering::Relaxed) == NOW {
            return Err(io::ErrorKind::Interrupted.into());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn planes_in_hand_are_given_up_only_when_asked() {
        let stop = Stop::default();
        assert!(!stop.is_asked() && stop.check().is_ok());
        stop.clone().after_planes();
        assert!(stop.is_asked() && stop.check().is_ok());
        stop.now();
        stop.after_planes();
        let error = stop.check().unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::Interrupted);
    }
}
