//! The steps of a plane in strips, one by one: each does all blocks, where a convolution goes
//! through all steps block by block. No arithmetic.

use super::{Band, StripPass};
use crate::convolve::BackendError;
use crate::convolve::cpu::fft2::BAND_ROWS;
use crate::convolve::cpu::memory::{Buffers, Worker};
use crate::convolve::cpu::parts::Part;
use crate::plan::NanRule;
use crate::plane::{PlaneMut, Real};

impl<T: Real> StripPass<'_, T> {
    /// One step. The lane has checked that every buffer is large enough.
    pub fn step(
        &self,
        part: Part,
        buffers: &mut Buffers<T>,
        slot: &mut PlaneMut<'_>,
    ) -> Result<(), BackendError> {
        let masked = self.masked(part, buffers)?;
        if part == Part::Columns {
            self.fill_table(&mut buffers.workers, &mut buffers.table)?;
        }
        self.for_bands(masked, buffers, slot, |worker, band, table| {
            self.band_step(part, worker, band, table)
        })
    }

    /// Whether the mask goes along. The first step finds out; the others see its counts.
    fn masked(&self, part: Part, buffers: &mut Buffers<T>) -> Result<bool, BackendError> {
        if self.convolution.nan == NanRule::Keep {
            return Ok(false);
        }
        if part == Part::RowsForward {
            return Ok(self.survey(&mut buffers.workers)?.blank);
        }
        let mut counts = buffers.row_blanks.iter().take(self.source.ny());
        Ok(counts.any(|&blanks| blanks > 0))
    }

    fn band_step(
        &self,
        part: Part,
        worker: &mut Worker<T>,
        band: &mut Band<'_, T>,
        table: &[T],
    ) -> Result<(), BackendError> {
        let shared = 2 * self.strips.halo;
        let blocks = band.out.ny().div_ceil(self.block);
        if part == Part::RowsForward {
            for slot in (0..shared).step_by(BAND_ROWS) {
                self.take(worker, band, slot, slot)?;
            }
        }
        for block in 0..blocks {
            if part == Part::Columns {
                self.filter(worker, band.ring, table, self.convolution.gain);
                self.filter(worker, band.mask_ring, table, 1.0);
            }
            for slot in (shared..self.strips.length).step_by(BAND_ROWS) {
                let place = block * self.block + slot;
                match part {
                    Part::RowsForward => self.take(worker, band, slot, place)?,
                    Part::RowsBack => self.give(worker, band, slot, place - shared)?,
                    Part::Columns | Part::Mask | Part::Copy => {}
                }
            }
        }
        Ok(())
    }
}
