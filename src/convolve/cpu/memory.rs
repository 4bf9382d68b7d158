//! How large a lane's buffers are, and the buffers. What is in them when is not known here.

use std::mem::size_of;

use bytemuck::allocation::try_zeroed_vec;
use num_complex::Complex;

use super::big::Big;
use super::fft2::BAND_ROWS;
use super::plans::{ColumnPlan, Planner, RowPlan};
use crate::convolve::{BackendError, Loan, PlaneKind, Workload};
use crate::kernel::GaussianTransfer;
use crate::plan::{ColumnMethod, Convolution, NanRule, Strips};
use crate::plane::{Pen, Real};

/// Where transfer functions are cut to zero, as an exponent. What lies below changes nothing in
/// this precision, but in `f32` it would fill the columns with denormal numbers, at a sixth of
/// the speed.
pub(super) fn cut<T: Real>() -> f64 {
    if size_of::<T>() == size_of::<f32>() {
        23.0
    } else {
        41.5
    }
}

/// Columns of the half spectrum that are worked on; the others would be multiplied by zero.
pub(super) fn columns_kept<T: Real>(convolution: &Convolution) -> usize {
    let transfer = GaussianTransfer::new(convolution.kernel, 1.0);
    transfer.columns_above(&convolution.grid, cut::<T>())
}

/// Distance from one column to the next in the spectrum: whole cache lines, but no high power of
/// two, which would put the same rows of all columns into the same few cache sets.
pub(super) fn column_stride(ny: usize) -> Option<usize> {
    let stride = ny.checked_next_multiple_of(8)?;
    if stride.is_multiple_of(64) {
        stride.checked_add(8)
    } else {
        Some(stride)
    }
}

/// Values in a spectrum of `columns` columns of `length` rows.
fn spectrum_length(columns: usize, length: usize) -> Option<usize> {
    column_stride(length)?.checked_mul(columns)
}

/// Rings that strips of `block` rows need: one a thread, as far as there are blocks.
pub(super) fn rings(workers: usize, ny: usize, block: usize) -> usize {
    workers.min(ny.div_ceil(block.max(1)))
}

/// Values in the spectrum of a plane; with strips in all rings together, which lie where the
/// spectrum lies for other planes.
fn spectrum_of<T: Real>(kind: &PlaneKind, workers: usize) -> Option<usize> {
    let kept = columns_kept::<T>(&kind.convolution);
    match kind.convolution.columns {
        ColumnMethod::Full => spectrum_length(kept, kind.convolution.grid.ny),
        ColumnMethod::Strips(strips) => strips.block().map_or(Some(0), |block| {
            spectrum_length(kept, strips.length)?.checked_mul(rings(workers, kind.ny, block))
        }),
    }
}

/// Bytes of the spectrum and of the mask's, for every kind of a workload; [`u64::MAX`] if they are
/// beyond counting.
pub(super) fn spectra_bytes<T: Real>(workload: &Workload) -> [u64; 2] {
    let mut bytes = [0; 2];
    for kind in workload.kinds() {
        let values = spectrum_of::<T>(kind, workload.threads_per_lane());
        let own = values
            .and_then(|values| values.checked_mul(2 * size_of::<T>()))
            .map_or(u64::MAX, |own| own as u64);
        let smooths_mask = kind.convolution.nan != NanRule::Keep;
        bytes[0] = own.max(bytes[0]);
        bytes[1] = if smooths_mask { own } else { 0 }.max(bytes[1]);
    }
    bytes
}

/// The plans and the buffer lengths, in elements, that suit every kind of a workload.
pub(super) struct Layout<T: Real> {
    pub rows: Vec<RowPlan<T>>,
    pub columns: Vec<ColumnPlan<T>>,
    spectrum: usize,
    mask_spectrum: usize,
    row_blanks: usize,
    table: usize,
    workers: usize,
    worker: WorkerLayout,
}

/// Buffer lengths of one thread in the lane.
#[derive(Clone, Copy, Default)]
struct WorkerLayout {
    band: usize,
    mask_band: usize,
    row: usize,
    row_scratch: usize,
    column: usize,
    strip: usize,
    column_scratch: usize,
    /// Bytes of the longest row of a slot, and of any input; zero if there is no plane.
    stored_row_bytes: usize,
}

impl<T: Real> Layout<T> {
    /// `None` if a length overflows. Without a planner nothing is planned, and the working memory
    /// of the transforms is missing.
    pub fn of(workload: &Workload, planner: Option<&Planner<T>>) -> Option<Self> {
        let mut layout = Self {
            rows: Vec::new(),
            columns: Vec::new(),
            spectrum: 0,
            mask_spectrum: 0,
            row_blanks: 0,
            table: 0,
            workers: workload.threads_per_lane(),
            worker: WorkerLayout::default(),
        };
        for kind in workload.kinds() {
            layout.include(kind, planner)?;
        }
        Some(layout)
    }

    fn include(&mut self, kind: &PlaneKind, planner: Option<&Planner<T>>) -> Option<()> {
        let grid = &kind.convolution.grid;
        let spectrum = spectrum_of::<T>(kind, self.workers)?;
        match kind.convolution.columns {
            ColumnMethod::Full => self.include_column(grid.ny, planner),
            ColumnMethod::Strips(strips) => self.include_strips(kind, strips, planner)?,
        }
        let band = grid.half_columns().checked_mul(BAND_ROWS)?;
        self.spectrum = self.spectrum.max(spectrum);
        self.row_blanks = self.row_blanks.max(kind.ny);
        self.worker.band = self.worker.band.max(band);
        // Slots hold f32 or f64, whatever the transform runs in.
        let stored_row = kind.nx.checked_mul(size_of::<f64>())?;
        self.worker.stored_row_bytes = self.worker.stored_row_bytes.max(stored_row);
        if kind.convolution.nan != NanRule::Keep {
            self.mask_spectrum = self.mask_spectrum.max(spectrum);
            self.worker.mask_band = self.worker.mask_band.max(band);
        }
        self.include_row(grid.nx, planner);
        Some(())
    }

    fn include_strips(
        &mut self,
        kind: &PlaneKind,
        strips: Strips,
        planner: Option<&Planner<T>>,
    ) -> Option<()> {
        if strips.block().is_none() {
            // The lane refuses the plane when it comes.
            return Some(());
        }
        let kept = columns_kept::<T>(&kind.convolution);
        self.include_column(strips.length, planner);
        self.worker.strip = self.worker.strip.max(strips.length);
        self.table = self.table.max(kept.checked_mul(strips.length)?);
        Some(())
    }

    fn include_row(&mut self, length: usize, planner: Option<&Planner<T>>) {
        self.worker.row = self.worker.row.max(length);
        if let Some(planner) = planner.filter(|_| self.row(length).is_none()) {
            let plan = planner.row(length);
            self.worker.row_scratch = self.worker.row_scratch.max(plan.scratch_length());
            self.rows.push(plan);
        }
    }

    fn include_column(&mut self, length: usize, planner: Option<&Planner<T>>) {
        self.worker.column = self.worker.column.max(length);
        if let Some(planner) = planner.filter(|_| self.column(length).is_none()) {
            let plan = planner.column(length);
            self.worker.column_scratch = self.worker.column_scratch.max(plan.scratch_length());
            self.columns.push(plan);
        }
    }

    /// The plan for rows of this length.
    pub fn row(&self, length: usize) -> Option<&RowPlan<T>> {
        self.rows.iter().find(|plan| plan.length == length)
    }

    /// The plan for columns of this length.
    pub fn column(&self, length: usize) -> Option<&ColumnPlan<T>> {
        self.columns.iter().find(|plan| plan.length == length)
    }

    /// Bytes of all buffers; `None` if they are beyond counting.
    pub fn bytes<V>(&self) -> Option<u64> {
        let worker = &self.worker;
        let complex_each = [worker.band, worker.mask_band, worker.row_scratch]
            .into_iter()
            .chain([worker.column, worker.strip, worker.column_scratch])
            .try_fold(0_usize, usize::checked_add)?;
        let real_each = worker.row.checked_mul(2)?.checked_add(worker.column)?;
        let each = complex_each.checked_mul(2)?.checked_add(real_each)?;
        let spectra = self
            .spectrum
            .checked_add(self.mask_spectrum)?
            .checked_mul(2)?;
        let shared = spectra.checked_add(self.table)?;
        let values = self.workers.checked_mul(each)?.checked_add(shared)?;
        let flags = self.row_blanks.checked_mul(size_of::<usize>())?;
        let pens = Pen::bytes_for(worker.stored_row_bytes);
        let pens = pens.checked_add(worker.stored_row_bytes)?;
        let pens = pens.checked_mul(self.workers)?;
        let bytes = values.checked_mul(size_of::<V>())?.checked_add(flags)?;
        u64::try_from(bytes.checked_add(pens)?).ok()
    }

    /// Allocates what [`bytes`](Self::bytes) counts.
    pub fn allocate(&self) -> Result<Buffers<T>, BackendError> {
        let memory = BackendError::Memory {
            bytes: self.bytes::<T>().unwrap_or(u64::MAX),
        };
        self.try_allocate().ok_or(memory)
    }

    /// Allocates the same but for the spectra, which are lent.
    pub fn allocate_in(
        &self,
        [spectrum, mask_spectrum]: [Box<dyn Loan>; 2],
    ) -> Result<Buffers<T>, BackendError> {
        let memory = BackendError::Memory {
            bytes: self.bytes::<T>().unwrap_or(u64::MAX),
        };
        let spectrum = Big::lent(spectrum, self.spectrum);
        let mask_spectrum = Big::lent(mask_spectrum, self.mask_spectrum);
        spectrum
            .zip(mask_spectrum)
            .and_then(|(spectrum, mask)| self.with_spectra(spectrum, mask))
            .ok_or(memory)
    }

    fn try_allocate(&self) -> Option<Buffers<T>> {
        let spectrum = Big::Own(zeros(self.spectrum)?);
        // Planes without blanks never touch it: its pages come when they are needed.
        let mask_spectrum = try_zeroed_vec(self.mask_spectrum).ok()?;
        self.with_spectra(spectrum, Big::Own(mask_spectrum))
    }

    fn with_spectra(&self, spectrum: Big<T>, mask_spectrum: Big<T>) -> Option<Buffers<T>> {
        let mut workers = Vec::new();
        workers.try_reserve_exact(self.workers).ok()?;
        for _ in 0..self.workers {
            workers.push(self.worker.allocate()?);
        }
        Some(Buffers {
            spectrum,
            mask_spectrum,
            row_blanks: zeros(self.row_blanks)?,
            table: zeros(self.table)?,
            workers,
        })
    }
}

impl WorkerLayout {
    fn allocate<T: Real>(&self) -> Option<Worker<T>> {
        Some(Worker {
            band: zeros(self.band)?,
            mask_band: zeros(self.mask_band)?,
            row: zeros(self.row)?,
            other_row: zeros(self.row)?,
            row_scratch: zeros(self.row_scratch)?,
            column: zeros(self.column)?,
            factors: zeros(self.column)?,
            strip: zeros(self.strip)?,
            column_scratch: zeros(self.column_scratch)?,
            pen: Pen::new(self.stored_row_bytes)?,
            stored: zeros(self.stored_row_bytes)?,
        })
    }
}

/// A lane's memory.
pub(super) struct Buffers<T> {
    /// The half spectrum, column by column; or the rings of all workers one after another.
    pub spectrum: Big<T>,
    /// The same of the mask, for the rules that smooth it.
    pub mask_spectrum: Big<T>,
    /// How many pixels of each row of the plane are blank.
    pub row_blanks: Vec<usize>,
    /// The transfer function on the columns of a strip, column by column.
    pub table: Vec<T>,
    /// One for each thread.
    pub workers: Vec<Worker<T>>,
}

/// What one thread works in.
pub(super) struct Worker<T> {
    /// [`BAND_ROWS`] rows of half spectra.
    pub band: Vec<Complex<T>>,
    /// The same of the mask.
    pub mask_band: Vec<Complex<T>>,
    /// A padded row of pixels.
    pub row: Vec<T>,
    /// Another, for the mask or the input beside the output.
    pub other_row: Vec<T>,
    /// For the row transforms.
    pub row_scratch: Vec<Complex<T>>,
    /// A transformed column.
    pub column: Vec<Complex<T>>,
    /// The transfer function on a column.
    pub factors: Vec<T>,
    /// A convolved column of a strip.
    pub strip: Vec<Complex<T>>,
    /// For the column transforms.
    pub column_scratch: Vec<Complex<T>>,
    /// Gathers rows for slots that are written by position.
    pub pen: Pen,
    /// A row as it is stored in the input, for inputs that are read by position.
    pub stored: Vec<u8>,
}

impl<T> Buffers<T> {
    /// Bytes allocated.
    pub fn bytes(&self) -> u64 {
        let shared = self.spectrum.own_bytes() + self.mask_spectrum.own_bytes();
        let workers: usize = self.workers.iter().map(Worker::bytes).sum();
        (shared + bytes_of(&self.table) + bytes_of(&self.row_blanks) + workers) as u64
    }
}

impl<T> Worker<T> {
    fn bytes(&self) -> usize {
        let complex = [&self.band, &self.mask_band, &self.row_scratch, &self.column];
        let real = [&self.row, &self.other_row, &self.factors];
        complex.into_iter().map(bytes_of).sum::<usize>()
            + bytes_of(&self.strip)
            + bytes_of(&self.column_scratch)
            + self.pen.bytes()
            + bytes_of(&self.stored)
            + real.into_iter().map(bytes_of).sum::<usize>()
    }
}

fn bytes_of<V>(buffer: &Vec<V>) -> usize {
    buffer.capacity() * size_of::<V>()
}

/// A buffer of exactly `length` zeros, its pages touched; `None` if there is no memory for it.
fn zeros<V: Clone + Default>(length: usize) -> Option<Vec<V>> {
    let mut buffer = Vec::new();
    buffer.try_reserve_exact(length).ok()?;
    buffer.resize(length, V::default());
    Some(buffer)
}
