//! Work shared out to the threads of a lane. What the work is, is not known here.

use std::sync::{Mutex, PoisonError};

use rayon::prelude::*;

use crate::convolve::BackendError;

/// Does `work` on every item, each worker taking the next one when it is free. With a single
/// worker it is a plain loop on this thread. Which worker gets an item may not matter.
pub(super) fn share<W: Send, I>(
    workers: &mut [W],
    items: I,
    work: impl Fn(&mut W, I::Item) -> Result<(), BackendError> + Sync,
) -> Result<(), BackendError>
where
    I: Iterator + Send,
{
    if let [worker] = workers {
        for item in items {
            work(worker, item)?;
        }
        return Ok(());
    }
    let queue = Mutex::new(items);
    // The lock is held while an item is taken, never while it is worked on.
    let next = || queue.lock().unwrap_or_else(PoisonError::into_inner).next();
    workers
        .par_iter_mut()
        .with_max_len(1)
        .try_for_each(|worker| {
            while let Some(item) = next() {
                work(worker, item)?;
            }
            Ok(())
        })
}
