//! A lane with all its memory: its spectra in a file where the plan says so.

use std::path::Path;

use crate::convolve::{Backend, Lane, Loan, Workload};
use crate::error::Stage;
use crate::map::Scratch;

impl Loan for Scratch {
    fn bytes(&self) -> &[u8] {
        self.bytes()
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        self.bytes_mut()
    }
}

/// Makes a lane; with a folder for `scratch` its spectra lie there.
pub(super) fn lane(
    backend: &dyn Backend,
    workload: &Workload,
    scratch: Option<&Path>,
) -> Result<Box<dyn Lane>, Stage> {
    let Some(folder) = scratch else {
        return Ok(backend.lane(workload)?);
    };
    let [image, mask] = backend.spectra_bytes(workload);
    let image: Box<dyn Loan> = Box::new(Scratch::create(folder, image)?);
    let mask = Box::new(Scratch::create(folder, mask)?);
    Ok(backend.lane_in(workload, [image, mask])?)
}
