//! One plane by strips: rows are transformed once, from top to bottom, and the columns of their
//! spectra are convolved block by block on a short ring (overlap-save). Which lengths do for
//! which kernel is the plan's business.
//!
//! A ring has [`Strips::length`] slots a column. Slots 0 to twice the halo hold the spectra of
//! the rows that the next block shares with the last one; the others hold the last block's results
//! until they are turned into rows of the output, and then, in the same places and while those
//! are in the cache, the next rows of the input.
//!
//! Blocks lie on a grid that begins with row 0 of the plane, and each is computed from its own
//! rows alone. A band of whole blocks goes to each thread, so the number of threads changes no
//! bit; the rows of a halo between two bands are transformed twice.

mod steps;

use num_complex::Complex;

use super::blank;
use super::fft2::{BAND_ROWS, Transform};
use super::lane::Rows;
use super::memory::{Buffers, Worker, cut};
use super::samples;
use super::share::share;
use super::simd::Isa;
use super::turn::{Lines, TILE_COLUMNS, rows_to_columns};
use crate::convolve::BackendError;
use crate::kernel::GaussianTransfer;
use crate::plan::{Convolution, Edge, NanRule, Strips};
use crate::plane::{PlaneMut, PlaneRef, Real};

/// One plane on its way.
pub(super) struct StripPass<'a, T: Real> {
    pub convolution: &'a Convolution,
    pub source: PlaneRef<'a>,
    /// Its columns are as long as a strip.
    pub transform: Transform<'a, T>,
    pub strips: Strips,
    /// Rows of a block.
    pub block: usize,
}

/// What a plane is made of.
struct Survey {
    finite: bool,
    blank: bool,
}

/// Whole blocks of a plane, and what they are computed in.
struct Band<'b, T> {
    /// Number of its first row in the plane.
    first: usize,
    /// Its part of the slot.
    out: PlaneMut<'b>,
    /// How many pixels of each of its rows are blank in the input.
    blanks: &'b mut [usize],
    ring: &'b mut [Complex<T>],
    /// The same of the mask; empty where none is wanted.
    mask_ring: &'b mut [Complex<T>],
}

impl<T: Real> StripPass<'_, T> {
    /// The whole plane. The lane has checked that every buffer is large enough.
    pub fn run(
        &self,
        buffers: &mut Buffers<T>,
        slot: &mut PlaneMut<'_>,
    ) -> Result<(), BackendError> {
        let Buffers { table, workers, .. } = buffers;
        let survey = self.survey(workers)?;
        if !survey.finite {
            return Ok(slot.fill_blank()?);
        }
        let masked = survey.blank && self.convolution.nan != NanRule::Keep;
        self.fill_table(workers, table)?;
        self.for_bands(masked, buffers, slot, |worker, band, table| {
            self.band(worker, band, table)
        })
    }

    /// Shares whole blocks out to the threads, each with its ring, with that of the mask if it goes
    /// along, and with the table of the filter.
    fn for_bands(
        &self,
        masked: bool,
        buffers: &mut Buffers<T>,
        slot: &mut PlaneMut<'_>,
        work: impl Fn(&mut Worker<T>, &mut Band<'_, T>, &[T]) -> Result<(), BackendError> + Sync,
    ) -> Result<(), BackendError> {
        let Buffers {
            spectrum,
            mask_spectrum,
            row_blanks,
            table,
            workers,
        } = buffers;
        let table = &table[..self.transform.kept * self.strips.length];
        let rows = self.band_rows(workers.len());
        let ring = self.transform.spectrum_length();
        let masks = if masked {
            &mut mask_spectrum[..]
        } else {
            &mut []
        };
        let bands = slot
            .bands(rows)
            .zip(row_blanks.chunks_mut(rows))
            .zip(spectrum.chunks_mut(ring).zip(pieces(masks, ring)))
            .map(|(((first, out), blanks), (ring, mask_ring))| Band {
                first,
                out,
                blanks,
                ring,
                mask_ring,
            });
        share(workers, bands, |worker, mut band| {
            work(worker, &mut band, table)
        })
    }

    /// Whether any pixel is finite and, for the rules that have to know, whether any is blank.
    fn survey(&self, workers: &mut [Worker<T>]) -> Result<Survey, BackendError> {
        let mut survey = Survey {
            finite: false,
            blank: self.convolution.nan == NanRule::Keep,
        };
        let Some(worker) = workers.first_mut() else {
            return Ok(survey);
        };
        let row = &mut worker.row[..self.source.nx()];
        for y in 0..self.source.ny() {
            let blanks = samples::load(Isa::best(), (&self.source, y), row, &mut worker.stored)?;
            survey.finite |= blanks < row.len();
            survey.blank |= blanks > 0;
            if survey.finite && survey.blank {
                break;
            }
        }
        Ok(survey)
    }

    /// The transfer function of unit sum for every kept column; blocks have it in common.
    fn fill_table(&self, workers: &mut [Worker<T>], table: &mut [T]) -> Result<(), BackendError> {
        let grid = &self.transform.grid;
        let transfer = GaussianTransfer::new(self.convolution.kernel, 1.0 / grid.bins());
        let used = &mut table[..self.transform.kept * grid.ny];
        let columns = used.chunks_exact_mut(grid.ny).enumerate();
        share(workers, columns, |_, (kx, factors)| {
            Isa::best().run(
                #[inline(always)]
                || transfer.fill_column(grid, kx, cut::<T>(), factors),
            );
            Ok(())
        })
    }

    /// Rows of each thread's band: whole blocks, as even as they can be.
    fn band_rows(&self, threads: usize) -> usize {
        let blocks = self.source.ny().div_ceil(self.block);
        blocks.div_ceil(threads.max(1)) * self.block
    }

    fn band(
        &self,
        worker: &mut Worker<T>,
        band: &mut Band<'_, T>,
        table: &[T],
    ) -> Result<(), BackendError> {
        let shared = 2 * self.strips.halo;
        for slot in (0..shared).step_by(BAND_ROWS) {
            self.take(worker, band, slot, slot)?;
        }
        let blocks = band.out.ny().div_ceil(self.block);
        for block in 0..=blocks {
            for slot in (shared..self.strips.length).step_by(BAND_ROWS) {
                if block > 0 {
                    self.give(worker, band, slot, (block - 1) * self.block + slot - shared)?;
                }
                if block < blocks {
                    self.take(worker, band, slot, block * self.block + slot)?;
                }
            }
            if block < blocks {
                self.filter(worker, band.ring, table, self.convolution.gain);
                self.filter(worker, band.mask_ring, table, 1.0);
            }
        }
        Ok(())
    }

    /// Loads [`BAND_ROWS`] rows of the input into the ring, from `slot` on. `place` counts rows
    /// from the beginning of the halo above the band.
    fn take(
        &self,
        worker: &mut Worker<T>,
        band: &mut Band<'_, T>,
        slot: usize,
        place: usize,
    ) -> Result<(), BackendError> {
        let rows: [_; BAND_ROWS] = std::array::from_fn(|r| self.source_row(band.first + place + r));
        let mut blanks = [0; BAND_ROWS];
        for (r, (row, blanks)) in rows.into_iter().zip(&mut blanks).enumerate() {
            self.transform.load_row(worker, r, |(pixels, stored)| {
                let Some(y) = row else { return Ok(false) };
                *blanks = samples::load(Isa::best(), (&self.source, y), pixels, stored)?;
                Ok(*blanks < pixels.len())
            })?;
            let own = (place + r).checked_sub(self.strips.halo);
            if let Some(note) = own.and_then(|own| band.blanks.get_mut(own)) {
                *note = *blanks;
            }
        }
        self.turn(worker, band.ring, slot);
        if band.mask_ring.is_empty() {
            return Ok(());
        }
        for (r, (row, blanks)) in rows.into_iter().zip(blanks).enumerate() {
            self.transform.load_row(worker, r, |(pixels, stored)| {
                let Some(y) = row.filter(|_| blanks > 0) else {
                    return Ok(false);
                };
                self.source.read_row_in(y, pixels, stored)?;
                blank::mark_blanks(pixels);
                Ok(true)
            })?;
        }
        self.turn(worker, band.mask_ring, slot);
        Ok(())
    }

    /// The row of the plane that is `halo` rows above `below`; `None` where there is nothing, or
    /// nothing that a row of the plane is computed from.
    fn source_row(&self, below: usize) -> Option<usize> {
        let (ny, halo) = (self.source.ny(), self.strips.halo);
        match self.convolution.edge {
            Edge::Zero => below.checked_sub(halo).filter(|&y| y < ny),
            Edge::Wrap => (below < ny + 2 * halo).then(|| (below + ny - halo % ny) % ny),
        }
    }

    /// Turns the worker's band into the ring's columns.
    fn turn(&self, worker: &Worker<T>, ring: &mut [Complex<T>], slot: usize) {
        let (width, stride) = (self.transform.grid.half_columns(), self.transform.stride);
        let rows = Lines {
            values: &worker.band[..BAND_ROWS * width],
            distance: width,
        };
        for (group, columns) in ring.chunks_mut(stride * TILE_COLUMNS).enumerate() {
            let mut columns = Lines {
                values: columns,
                distance: stride,
            };
            rows_to_columns(
                Isa::best(),
                &rows,
                &mut columns,
                (group * TILE_COLUMNS, slot),
            );
        }
    }

    /// Convolves every column of a ring: the last block's results take the place of its rows, and
    /// the rows that the next block shares with it go to the front.
    fn filter(&self, worker: &mut Worker<T>, ring: &mut [Complex<T>], table: &[T], gain: f64) {
        let Strips { length, halo } = self.strips;
        let (forward, inverse) = (
            &self.transform.column.forward,
            &self.transform.column.inverse,
        );
        let (bins, results) = (&mut worker.column[..length], &mut worker.strip[..length]);
        let scratch = &mut worker.column_scratch;
        let gain = T::rounded(gain);
        let columns = ring.chunks_exact_mut(self.transform.stride);
        for (column, factors) in columns.zip(table.chunks_exact(length)) {
            let column = &mut column[..length];
            let needed = forward.get_immutable_scratch_len();
            forward.process_immutable_with_scratch(column, bins, &mut scratch[..needed]);
            column.copy_within(self.block.., 0);
            Isa::best().run(
                #[inline(always)]
                || {
                    for (bin, &factor) in bins.iter_mut().zip(factors) {
                        *bin = bin.scale(factor * gain);
                    }
                },
            );
            let needed = inverse.get_outofplace_scratch_len();
            inverse.process_outofplace_with_scratch(bins, results, &mut scratch[..needed]);
            column[2 * halo..].copy_from_slice(&results[halo..halo + self.block]);
        }
    }

    /// Stores up to [`BAND_ROWS`] rows of results, from `slot` on: rows of the band from `first`
    /// on.
    fn give(
        &self,
        worker: &mut Worker<T>,
        band: &mut Band<'_, T>,
        slot: usize,
        first: usize,
    ) -> Result<(), BackendError> {
        let count = band.out.ny().saturating_sub(first).min(BAND_ROWS);
        if count == 0 {
            return Ok(());
        }
        self.transform
            .turn_back(band.ring, (slot, count), &mut worker.band);
        let masked = !band.mask_ring.is_empty();
        if masked {
            self.transform
                .turn_back(band.mask_ring, (slot, count), &mut worker.mask_band);
        }
        let rows = Rows {
            convolution: self.convolution,
            source: self.source,
            transform: &self.transform,
            masked,
        };
        band.out.begin_rows(first..first + count)?;
        for r in 0..count {
            let blanks = band.blanks.get(first + r).copied().unwrap_or_default();
            rows.finish(worker, r, band.first + first + r, blanks)?;
            let pixels = self.transform.pixels(&mut worker.row);
            samples::store(
                Isa::best(),
                pixels,
                (&mut band.out, first + r),
                &mut worker.pen,
            )?;
        }
        Ok(band.out.end_rows(first..first + count, &mut worker.pen)?)
    }
}

/// Pieces of `length` values, and empty ones without end where there are no more.
fn pieces<V: Send>(mut values: &mut [V], length: usize) -> impl Iterator<Item = &mut [V]> + Send {
    std::iter::from_fn(move || {
        let next = length.min(values.len());
        let (piece, rest) = std::mem::take(&mut values).split_at_mut(next);
        values = rest;
        Some(piece)
    })
}
