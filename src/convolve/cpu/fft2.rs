//! The two-dimensional transform on one working buffer: rows, then columns times the transfer
//! function, then rows again. What is blank, and where rows come from and go to, is not known
//! here.
//!
//! The half spectrum lies column by column. A band of rows is transformed in a small buffer and
//! turned into the columns; each column is then contiguous, is transformed, multiplied and
//! transformed back while it is in the cache; and bands are turned back the same way. Each row
//! and each column is computed by itself, so the result does not depend on how many threads take
//! part. The factor 1 / (nx ny) of the inverse is part of the transfer function.

use num_complex::Complex;
use rayon::prelude::*;

use super::memory::{Worker, cut};
use super::plans::{ColumnPlan, RowPlan};
use super::share::share;
use super::simd::Isa;
use super::turn::{Lines, TILE_COLUMNS, columns_to_rows, rows_to_columns};
use crate::convolve::BackendError;
use crate::kernel::{GaussianTransfer, Grid};
use crate::plane::Real;

/// Rows that are turned into columns at once: two cache lines of a column in `f32`.
pub(super) const BAND_ROWS: usize = 16;

/// Columns that a thread takes at once.
const COLUMN_GROUP: usize = 8;

/// The transforms of one plane.
pub(super) struct Transform<'a, T: Real> {
    /// Their lengths.
    pub grid: Grid,
    /// Pixels in a row of the plane; the rest of the grid's row is zero, or with a halo repeats
    /// the plane.
    pub nx: usize,
    /// Pixels of its far end that stand before a row's first one; 0 if the rest is zero.
    pub halo_x: usize,
    /// Rows of the plane, the rest of the grid's rows being zero; or rows of a block, with strips.
    pub ny: usize,
    /// Columns of the half spectrum that are worked on.
    pub kept: usize,
    /// Distance of columns in the spectrum.
    pub stride: usize,
    /// For rows.
    pub row: &'a RowPlan<T>,
    /// For columns.
    pub column: &'a ColumnPlan<T>,
}

impl<T: Real> Transform<'_, T> {
    /// Values of the spectrum in use.
    pub fn spectrum_length(&self) -> usize {
        self.kept * self.stride
    }

    /// Rows of the plane into the first `ny` rows of the spectrum's columns.
    ///
    /// `load` gets a row's number, its `nx` values to fill, and its place in `notes`, which has
    /// one for each row and is the caller's; it says whether any value is not zero.
    pub fn forward<L>(
        &self,
        workers: &mut [Worker<T>],
        spectrum: &mut [Complex<T>],
        notes: &mut [usize],
        load: L,
    ) -> Result<(), BackendError>
    where
        L: Fn(usize, (&mut [T], &mut [u8]), &mut usize) -> Result<bool, BackendError> + Sync,
    {
        let round = BAND_ROWS * workers.len();
        for (number, notes) in notes[..self.ny].chunks_mut(round).enumerate() {
            let first = number * round;
            self.load_bands(workers, (first, notes), &load)?;
            self.turn_bands(workers, (first, notes.len()), spectrum);
        }
        Ok(())
    }

    /// Loads and transforms one band of rows in each worker.
    fn load_bands<L>(
        &self,
        workers: &mut [Worker<T>],
        (first, notes): (usize, &mut [usize]),
        load: &L,
    ) -> Result<(), BackendError>
    where
        L: Fn(usize, (&mut [T], &mut [u8]), &mut usize) -> Result<bool, BackendError> + Sync,
    {
        let band = |(number, (worker, notes)): (usize, (&mut Worker<T>, &mut [usize]))| {
            for (r, note) in notes.iter_mut().enumerate() {
                let y = first + number * BAND_ROWS + r;
                self.load_row(worker, r, |row| load(y, row, note))?;
            }
            Ok(())
        };
        if workers.len() == 1 {
            let bands = workers.iter_mut().zip(notes.chunks_mut(BAND_ROWS));
            bands.enumerate().try_for_each(band)
        } else {
            let bands = workers.par_iter_mut().zip(notes.par_chunks_mut(BAND_ROWS));
            bands.enumerate().try_for_each(band)
        }
    }

    /// The pixels of the plane in a row of the grid.
    pub fn pixels<'r>(&self, row: &'r mut [T]) -> &'r mut [T] {
        &mut row[self.halo_x..self.halo_x + self.nx]
    }

    /// Fills the rest of the grid's row beside the pixels.
    fn extend(&self, row: &mut [T]) {
        if self.halo_x == 0 {
            row[self.nx..].fill(T::ZERO);
            return;
        }
        let (first, end) = (self.halo_x, self.halo_x + self.nx);
        let behind = row.len() - end;
        row.copy_within(first..first + behind, end);
        row.copy_within(self.nx..end, 0);
    }

    /// Loads and transforms row `r` of a worker's band. `load` gets the pixels, and room for their
    /// stored bytes.
    pub fn load_row(
        &self,
        worker: &mut Worker<T>,
        r: usize,
        load: impl FnOnce((&mut [T], &mut [u8])) -> Result<bool, BackendError>,
    ) -> Result<(), BackendError> {
        let width = self.grid.half_columns();
        let bins = &mut worker.band[r * width..(r + 1) * width];
        let row = &mut worker.row[..self.grid.nx];
        if !load((self.pixels(row), &mut worker.stored))? {
            bins.fill(Complex::default());
            return Ok(());
        }
        self.extend(row);
        self.row.forward(row, bins, &mut worker.row_scratch)
    }

    /// Turns the bands of all workers, `count` rows from row `first` on, into the columns.
    fn turn_bands(
        &self,
        workers: &[Worker<T>],
        (first, count): (usize, usize),
        spectrum: &mut [Complex<T>],
    ) {
        let width = self.grid.half_columns();
        let turn = |(group, columns): (usize, &mut [Complex<T>])| {
            for (number, worker) in workers.iter().enumerate() {
                let before = number * BAND_ROWS;
                if before >= count {
                    break;
                }
                let rows = (count - before).min(BAND_ROWS);
                let band = Lines {
                    values: &worker.band[..rows * width],
                    distance: width,
                };
                let mut columns = Lines {
                    values: &mut *columns,
                    distance: self.stride,
                };
                let origin = (group * TILE_COLUMNS, first + before);
                rows_to_columns(Isa::best(), &band, &mut columns, origin);
            }
        };
        let used = &mut spectrum[..self.spectrum_length()];
        let group = self.stride * TILE_COLUMNS;
        if workers.len() == 1 {
            used.chunks_mut(group).enumerate().for_each(turn);
        } else {
            used.par_chunks_mut(group).enumerate().for_each(turn);
        }
    }

    /// Every column transformed, multiplied and transformed back. The rows of `transfer` below
    /// the plane are zero before, and of no use after.
    pub fn columns(
        &self,
        workers: &mut [Worker<T>],
        spectrum: &mut [Complex<T>],
        transfer: &GaussianTransfer,
    ) -> Result<(), BackendError> {
        let groups = spectrum[..self.spectrum_length()].chunks_mut(self.stride * COLUMN_GROUP);
        share(workers, groups.enumerate(), |worker, (group, columns)| {
            for (i, column) in columns.chunks_exact_mut(self.stride).enumerate() {
                let kx = group * COLUMN_GROUP + i;
                self.filter(worker, kx, &mut column[..self.grid.ny], transfer);
            }
            Ok(())
        })
    }

    fn filter(
        &self,
        worker: &mut Worker<T>,
        kx: usize,
        column: &mut [Complex<T>],
        transfer: &GaussianTransfer,
    ) {
        column[self.ny..].fill(Complex::default());
        let bins = &mut worker.column[..self.grid.ny];
        let factors = &mut worker.factors[..self.grid.ny];
        let (forward, inverse) = (&self.column.forward, &self.column.inverse);
        let scratch = &mut worker.column_scratch;
        forward.process_outofplace_with_scratch(
            column,
            bins,
            &mut scratch[..forward.get_outofplace_scratch_len()],
        );
        let grid = &self.grid;
        Isa::best().run(
            #[inline(always)]
            || {
                transfer.fill_column(grid, kx, cut::<T>(), factors);
                for (bin, &factor) in bins.iter_mut().zip(factors.iter()) {
                    *bin = bin.scale(factor);
                }
            },
        );
        inverse.process_outofplace_with_scratch(
            bins,
            column,
            &mut scratch[..inverse.get_outofplace_scratch_len()],
        );
    }

    /// Turns `rows` rows of the columns, from `first` on, into a band.
    pub fn turn_back(
        &self,
        spectrum: &[Complex<T>],
        (first, rows): (usize, usize),
        band: &mut [Complex<T>],
    ) {
        let width = self.grid.half_columns();
        let columns = Lines {
            values: &spectrum[..self.spectrum_length()],
            distance: self.stride,
        };
        let mut band = Lines {
            values: &mut band[..rows * width],
            distance: width,
        };
        columns_to_rows(Isa::best(), &columns, first, &mut band);
    }

    /// Transforms row `r` of a band back into pixels: `row` is filled as far as the grid goes,
    /// and [`pixels`](Self::pixels) are the plane's.
    pub fn inverse_row(
        &self,
        band: &mut [Complex<T>],
        r: usize,
        row: &mut [T],
        scratch: &mut [Complex<T>],
    ) -> Result<(), BackendError> {
        let width = self.grid.half_columns();
        let bins = &mut band[r * width..(r + 1) * width];
        self.row.inverse(bins, &mut row[..self.grid.nx], scratch)
    }
}
