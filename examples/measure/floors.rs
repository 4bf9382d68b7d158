//! The floor of the transforms under a job: as many, of the same lengths, on buffers that stay in
//! the cache. It is run in a process of its own, so that it is measured as the job is. The other
//! floor, copying, is the one of `mmconv bench`. Prints nothing.

use std::sync::{Mutex, PoisonError};

use mmfits::convolve::PlaneKind;
use mmfits::convolve::cpu::parts::{BareTransforms, Transforms};
use mmfits::plan::FilePlan;

use super::copy::{Failure, in_threads};

/// Does the bare transforms of every plane that is convolved; `masked` says that planes have
/// blank pixels.
pub fn transforms(plan: &FilePlan, masked: bool, threads: usize) -> Result<(), Failure> {
    let facts = &plan.facts;
    let kinds = plan.convolutions().map(|&convolution| PlaneKind {
        nx: facts.nx,
        ny: facts.ny,
        convolution,
    });
    let counts = kinds.map(|kind| Transforms::of(&kind, plan.precision, masked));
    let counts = counts.collect::<Option<Vec<_>>>();
    let queue = Mutex::new(counts.ok_or("strips of impossible lengths")?.into_iter());
    let nan = plan.convolutions().next().map(|first| first.nan);
    let precision = nan.unwrap_or_default().transform_precision(plan.precision);
    in_threads(threads, threads, || {
        let mut bare = BareTransforms::new(precision);
        let next = || queue.lock().unwrap_or_else(PoisonError::into_inner).next();
        while let Some(counts) = next() {
            bare.run(&counts);
        }
        Ok(())
    })
}
