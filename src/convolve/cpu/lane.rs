//! One plane through the transforms, with its blanks taken out before and put back after.

mod steps;

use std::fmt;

use super::blank;
use super::fft2::{BAND_ROWS, Transform};
use super::memory::{Buffers, Layout, Worker, column_stride, columns_kept, rings};
use super::plans::Planner;
use super::samples;
use super::share::share;
use super::simd::Isa;
use super::strips::StripPass;
use crate::convolve::{BackendError, Lane, Loan, Workload, check};
use crate::kernel::{GaussianTransfer, Grid};
use crate::plan::{ColumnMethod, Convolution, NanRule};
use crate::plane::{PlaneMut, PlaneRef, Real};

/// A lane of the CPU backend that computes in `T`.
pub(super) struct CpuLane<T: Real> {
    layout: Layout<T>,
    buffers: Buffers<T>,
}

impl<T: Real> CpuLane<T> {
    pub fn new(workload: &Workload, planner: &Planner<T>) -> Result<Self, BackendError> {
        let beyond = BackendError::Memory { bytes: u64::MAX };
        let layout = Layout::of(workload, Some(planner)).ok_or(beyond)?;
        let buffers = layout.allocate()?;
        Ok(Self { layout, buffers })
    }

    /// The same with lent spectra.
    pub fn new_in(
        workload: &Workload,
        planner: &Planner<T>,
        spectra: [Box<dyn Loan>; 2],
    ) -> Result<Self, BackendError> {
        let beyond = BackendError::Memory { bytes: u64::MAX };
        let layout = Layout::of(workload, Some(planner)).ok_or(beyond)?;
        let buffers = layout.allocate_in(spectra)?;
        Ok(Self { layout, buffers })
    }

    /// Refuses what is no plane of this lane, and forgets rows of one that was given up.
    fn begin(
        &mut self,
        convolution: &Convolution,
        source: &PlaneRef<'_>,
        slot: &PlaneMut<'_>,
    ) -> Result<(), BackendError> {
        check(convolution, source, slot)?;
        for worker in &mut self.buffers.workers {
            worker.pen.clear();
        }
        Ok(())
    }
}

impl<T: Real> fmt::Debug for CpuLane<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut lane = f.debug_struct("CpuLane");
        lane.field("bitpix", &T::BITPIX.code())
            .field("bytes", &self.buffers.bytes());
        lane.finish_non_exhaustive()
    }
}

impl<T: Real> Lane for CpuLane<T> {
    fn convolve(
        &mut self,
        convolution: &Convolution,
        source: PlaneRef<'_>,
        mut slot: PlaneMut<'_>,
    ) -> Result<(), BackendError> {
        self.begin(convolution, &source, &slot)?;
        let transform = transform(&self.layout, &self.buffers, convolution, &source)?;
        if let ColumnMethod::Strips(strips) = convolution.columns {
            let pass = StripPass {
                convolution,
                source,
                block: transform.ny,
                transform,
                strips,
            };
            return pass.run(&mut self.buffers, &mut slot);
        }
        let mut pass = Pass {
            convolution,
            source,
            transform,
            buffers: &mut self.buffers,
        };
        let blanks = pass.load_image()?;
        if blanks == source.nx() * source.ny() {
            return Ok(slot.fill_blank()?);
        }
        let masked = blanks > 0 && convolution.nan != NanRule::Keep;
        pass.smooth_image()?;
        if masked {
            pass.smooth_mask()?;
        }
        pass.store(masked, &mut slot)
    }

    fn bytes(&self) -> u64 {
        self.buffers.bytes()
    }
}

/// The transform of a plane, after a check that everything it needs was planned and allocated.
fn transform<'a, T: Real>(
    layout: &'a Layout<T>,
    buffers: &Buffers<T>,
    convolution: &Convolution,
    source: &PlaneRef<'_>,
) -> Result<Transform<'a, T>, BackendError> {
    let nx = convolution.grid.nx;
    let (length, ny) = match convolution.columns {
        ColumnMethod::Full => (convolution.grid.ny, Some(source.ny())),
        ColumnMethod::Strips(strips) => (strips.length, strips.block()),
    };
    let unplanned = BackendError::Unplanned { grid: (nx, length) };
    let grid = Grid { nx, ny: length };
    let transform = Transform {
        grid,
        nx: source.nx(),
        halo_x: convolution.halo_x,
        ny: ny.ok_or(unplanned.clone())?,
        kept: columns_kept::<T>(convolution),
        stride: column_stride(grid.ny).ok_or(unplanned.clone())?,
        row: layout.row(grid.nx).ok_or(unplanned.clone())?,
        column: layout.column(grid.ny).ok_or(unplanned.clone())?,
    };
    let (spectra, table) = match convolution.columns {
        ColumnMethod::Full => (1, 0),
        ColumnMethod::Strips(_) => (
            rings(buffers.workers.len(), source.ny(), transform.ny),
            transform.kept * length,
        ),
    };
    let spectrum = spectra * transform.spectrum_length();
    let masks = if convolution.nan == NanRule::Keep {
        0
    } else {
        spectrum
    };
    let fits = spectrum <= buffers.spectrum.len()
        && masks <= buffers.mask_spectrum.len()
        && table <= buffers.table.len()
        && source.ny() <= buffers.row_blanks.len()
        && buffers
            .workers
            .iter()
            .all(|worker| holds_bands(worker, convolution));
    if fits { Ok(transform) } else { Err(unplanned) }
}

/// Whether a worker has room for a band of rows, and where the rule asks for it of the mask.
fn holds_bands<T>(worker: &Worker<T>, convolution: &Convolution) -> bool {
    let band = convolution.grid.half_columns() * BAND_ROWS;
    let masked = convolution.nan != NanRule::Keep;
    band <= worker.band.len() && (!masked || band <= worker.mask_band.len())
}

/// One plane on its way.
struct Pass<'a, T: Real> {
    convolution: &'a Convolution,
    source: PlaneRef<'a>,
    transform: Transform<'a, T>,
    buffers: &'a mut Buffers<T>,
}

impl<T: Real> Pass<'_, T> {
    /// Rows of the plane into the spectrum, blanks as zeros; how many blanks there are.
    fn load_image(&mut self) -> Result<usize, BackendError> {
        let source = self.source;
        let Buffers {
            spectrum,
            row_blanks,
            workers,
            ..
        } = &mut *self.buffers;
        self.transform
            .forward(workers, spectrum, row_blanks, |y, (row, stored), blanks| {
                *blanks = samples::load(Isa::best(), (&source, y), row, stored)?;
                Ok(*blanks < row.len())
            })?;
        Ok(row_blanks.iter().take(source.ny()).sum())
    }

    fn smooth_image(&mut self) -> Result<(), BackendError> {
        let transfer = self.transfer(self.convolution.gain);
        let Buffers {
            spectrum, workers, ..
        } = &mut *self.buffers;
        self.transform.columns(workers, spectrum, &transfer)
    }

    /// The mask, one on blanks and zero elsewhere, through the kernel with unit sum.
    fn smooth_mask(&mut self) -> Result<(), BackendError> {
        let source = self.source;
        let transfer = self.transfer(1.0);
        let Buffers {
            mask_spectrum,
            row_blanks,
            workers,
            ..
        } = &mut *self.buffers;
        self.transform.forward(
            workers,
            mask_spectrum,
            row_blanks,
            |y, (row, stored), blanks| {
                if *blanks > 0 {
                    source.read_row_in(y, row, stored)?;
                    blank::mark_blanks(row);
                }
                Ok(*blanks > 0)
            },
        )?;
        self.transform.columns(workers, mask_spectrum, &transfer)
    }

    fn transfer(&self, gain: f64) -> GaussianTransfer {
        GaussianTransfer::new(self.convolution.kernel, gain / self.transform.grid.bins())
    }

    /// The spectra back into rows, the rule for blanks applied, into the slot.
    fn store(&mut self, masked: bool, slot: &mut PlaneMut<'_>) -> Result<(), BackendError> {
        let Buffers {
            spectrum,
            mask_spectrum,
            row_blanks,
            workers,
            ..
        } = &mut *self.buffers;
        let (transform, row_blanks) = (&self.transform, &*row_blanks);
        let Self {
            convolution,
            source,
            ..
        } = *self;
        let rows = Rows {
            convolution,
            source,
            transform,
            masked,
        };
        let bands = slot.bands(stored_rows(source.ny(), workers.len()));
        share(workers, bands, |worker, (first, mut band)| {
            for top in (0..band.ny()).step_by(BAND_ROWS) {
                let count = (band.ny() - top).min(BAND_ROWS);
                transform.turn_back(spectrum, (first + top, count), &mut worker.band);
                if masked {
                    let mask_band = &mut worker.mask_band;
                    transform.turn_back(mask_spectrum, (first + top, count), mask_band);
                }
                band.begin_rows(top..top + count)?;
                for r in 0..count {
                    let y = first + top + r;
                    let blanks = row_blanks.get(y).copied().unwrap_or_default();
                    rows.finish(worker, r, y, blanks)?;
                    let row = transform.pixels(&mut worker.row);
                    samples::store(Isa::best(), row, (&mut band, top + r), &mut worker.pen)?;
                }
                band.end_rows(top..top + count, &mut worker.pen)?;
            }
            Ok(())
        })
    }
}

/// Rows that a thread stores in one go: many, so that pieces of the file are whole, but so few that
/// every thread gets several such bands.
fn stored_rows(ny: usize, threads: usize) -> usize {
    const BANDS: usize = 4;
    if threads == 1 {
        return ny;
    }
    (ny / (BANDS * threads.max(1)))
        .next_multiple_of(BAND_ROWS)
        .max(BAND_ROWS)
}

/// The last step of each row of a plane.
pub(super) struct Rows<'a, T: Real> {
    pub convolution: &'a Convolution,
    pub source: PlaneRef<'a>,
    pub transform: &'a Transform<'a, T>,
    /// Whether the mask is smoothed too.
    pub masked: bool,
}

impl<T: Real> Rows<'_, T> {
    /// Leaves the pixels of row `y` of the plane, row `r` of the worker's bands, in the worker's
    /// row. `blanks` of them are blank in the input.
    pub fn finish(
        &self,
        worker: &mut Worker<T>,
        r: usize,
        y: usize,
        blanks: usize,
    ) -> Result<(), BackendError> {
        let Worker {
            band,
            mask_band,
            row,
            other_row,
            row_scratch,
            stored,
            ..
        } = worker;
        self.transform.inverse_row(band, r, row, row_scratch)?;
        let values = self.transform.pixels(row);
        if self.masked {
            self.transform
                .inverse_row(mask_band, r, other_row, row_scratch)?;
            let mask = self.transform.pixels(other_row);
            match self.convolution.nan {
                NanRule::Racs => blank::racs(values, mask, self.convolution.racs_gain),
                NanRule::Interpolate => blank::interpolate(values, mask),
                NanRule::Keep => {}
            }
        } else if blanks > 0 {
            let room = &mut other_row[..self.transform.nx];
            samples::keep(Isa::best(), (&self.source, y), values, (room, stored))?;
        }
        Ok(())
    }
}
