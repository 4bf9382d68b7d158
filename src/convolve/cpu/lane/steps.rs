//! The steps of a lane's plane, one by one. No arithmetic: each is the function that the lane
//! calls itself.

use super::{CpuLane, Pass, stored_rows, transform};
use crate::convolve::BackendError;
use crate::convolve::cpu::fft2::BAND_ROWS;
use crate::convolve::cpu::memory::Worker;
use crate::convolve::cpu::parts::{Part, Steps};
use crate::convolve::cpu::samples;
use crate::convolve::cpu::share::share;
use crate::convolve::cpu::simd::Isa;
use crate::convolve::cpu::strips::StripPass;
use crate::plan::{ColumnMethod, Convolution, NanRule};
use crate::plane::{PlaneMut, PlaneRef, Real};

impl<T: Real> Steps for CpuLane<T> {
    fn step(
        &mut self,
        part: Part,
        convolution: &Convolution,
        source: PlaneRef<'_>,
        mut slot: PlaneMut<'_>,
    ) -> Result<(), BackendError> {
        self.begin(convolution, &source, &slot)?;
        let transform = transform(&self.layout, &self.buffers, convolution, &source)?;
        if part == Part::Copy {
            return copy(&mut self.buffers.workers, &source, &mut slot);
        }
        if let ColumnMethod::Strips(strips) = convolution.columns {
            let pass = StripPass {
                convolution,
                source,
                block: transform.ny,
                transform,
                strips,
            };
            return pass.step(part, &mut self.buffers, &mut slot);
        }
        let blanks = self.buffers.row_blanks.iter().take(source.ny());
        let masked = convolution.nan != NanRule::Keep && blanks.sum::<usize>() > 0;
        let mut pass = Pass {
            convolution,
            source,
            transform,
            buffers: &mut self.buffers,
        };
        match part {
            Part::RowsForward => pass.load_image().map(drop),
            Part::Columns => pass.smooth_image(),
            Part::Mask if masked => pass.smooth_mask(),
            Part::RowsBack => pass.store(masked, &mut slot),
            Part::Mask | Part::Copy => Ok(()),
        }
    }
}

/// Rows read and stored as a convolution over the full height reads and stores them.
fn copy<T: Real>(
    workers: &mut [Worker<T>],
    source: &PlaneRef<'_>,
    slot: &mut PlaneMut<'_>,
) -> Result<(), BackendError> {
    let bands = slot.bands(stored_rows(source.ny(), workers.len()));
    share(workers, bands, |worker, (first, mut band)| {
        for top in (0..band.ny()).step_by(BAND_ROWS) {
            let rows = top..(top + BAND_ROWS).min(band.ny());
            band.begin_rows(rows.clone())?;
            for y in rows.clone() {
                let row = &mut worker.row[..source.nx()];
                samples::load(Isa::best(), (source, first + y), row, &mut worker.stored)?;
                samples::store(Isa::best(), row, (&mut band, y), &mut worker.pen)?;
            }
            band.end_rows(rows, &mut worker.pen)?;
        }
        Ok(())
    })
}
