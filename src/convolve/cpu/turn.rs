//! Rows of a band into columns of the spectrum and back, through a tile that fits the first
//! cache, so that both sides are touched in whole cache lines. No arithmetic.

use num_complex::Complex;

use super::fft2::BAND_ROWS;
use super::simd::{will_read, will_write};
use crate::plane::Real;

/// Columns of a tile: one cache line of a row in `f32`.
pub(super) const TILE_COLUMNS: usize = 8;

/// The cache is told of the columns that come this many tiles later. A column's rows of a band are
/// far from those of the next column, so no processor foresees them by itself.
const TILES_AHEAD: usize = 1;

/// Of every processor that this is likely to run on; on another a hint is lost.
const CACHE_LINE_BYTES: usize = 64;

type Tile<T> = [[Complex<T>; BAND_ROWS]; TILE_COLUMNS];

/// Stores part of a band in at most [`TILE_COLUMNS`] columns of the spectrum.
///
/// `band` holds at most [`BAND_ROWS`] rows of `width` values; `columns` are columns of the
/// spectrum, `stride` values apart; `first` is the number of the first column in the band's rows,
/// and of the band's first row in the columns.
pub(super) fn rows_to_columns<T: Real>(
    band: &[Complex<T>],
    width: usize,
    columns: &mut [Complex<T>],
    stride: usize,
    first: (usize, usize),
) {
    let mut tile: Tile<T> = [[Complex::default(); BAND_ROWS]; TILE_COLUMNS];
    let rows = band.len() / width;
    let count = columns.len() / stride;
    for_lines_ahead(columns, stride, first.1, will_write);
    for (r, row) in band.chunks_exact(width).take(BAND_ROWS).enumerate() {
        let row = &row[first.0..first.0 + count];
        // Whole tiles have lengths that the compiler knows, which spares calls of memcpy.
        if let Some(run) = row.first_chunk::<TILE_COLUMNS>() {
            for (column, &value) in tile.iter_mut().zip(run) {
                column[r] = value;
            }
            continue;
        }
        for (column, &value) in tile.iter_mut().zip(row) {
            column[r] = value;
        }
    }
    for (column, values) in columns.chunks_exact_mut(stride).zip(&tile) {
        let column = &mut column[first.1..first.1 + rows];
        match column.first_chunk_mut::<BAND_ROWS>() {
            Some(run) => *run = *values,
            None => column.copy_from_slice(&values[..rows]),
        }
    }
}

/// Fills a band from the spectrum: the inverse of [`rows_to_columns`] for all columns at once.
/// `spectrum` holds the columns that were kept, `stride` values apart; the rest of each row of
/// the band becomes zero. `first_row` is the number of the band's first row in the columns.
pub(super) fn columns_to_rows<T: Real>(
    spectrum: &[Complex<T>],
    stride: usize,
    first_row: usize,
    band: &mut [Complex<T>],
    width: usize,
) {
    let mut tile: Tile<T> = [[Complex::default(); BAND_ROWS]; TILE_COLUMNS];
    let rows = band.len() / width;
    for (group, columns) in spectrum.chunks(stride * TILE_COLUMNS).enumerate() {
        let count = columns.len() / stride;
        for_lines_ahead(columns, stride, first_row, will_read);
        for (values, column) in tile.iter_mut().zip(columns.chunks_exact(stride)) {
            let column = &column[first_row..first_row + rows];
            match column.first_chunk::<BAND_ROWS>() {
                Some(run) => *values = *run,
                None => values[..rows].copy_from_slice(column),
            }
        }
        let first = group * TILE_COLUMNS;
        for (r, row) in band.chunks_exact_mut(width).take(BAND_ROWS).enumerate() {
            let row = &mut row[first..first + count];
            if let Some(run) = row.first_chunk_mut::<TILE_COLUMNS>() {
                for (value, column) in run.iter_mut().zip(&tile) {
                    *value = column[r];
                }
                continue;
            }
            for (value, column) in row.iter_mut().zip(&tile) {
                *value = column[r];
            }
        }
    }
    let kept = spectrum.len() / stride;
    for row in band.chunks_exact_mut(width) {
        row[kept..].fill(Complex::default());
    }
}

/// Gives the address of each cache line that a band's rows, from `first_row` on, have in the
/// columns [`TILES_AHEAD`] of these. It may lie beyond the end of the spectrum.
#[inline]
fn for_lines_ahead<T>(
    columns: &[Complex<T>],
    stride: usize,
    first_row: usize,
    hint: impl Fn(*const Complex<T>),
) {
    let line = CACHE_LINE_BYTES / size_of::<Complex<T>>();
    for column in columns.chunks_exact(stride) {
        let ahead = TILES_AHEAD * columns.len() + first_row;
        let rows = column.as_ptr().wrapping_add(ahead);
        for row in (0..BAND_ROWS).step_by(line) {
            hint(rows.wrapping_add(row));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_band_goes_into_columns_and_comes_back() {
        let (width, kept, rows, stride, first_row) = (21, 19, 13, 48, 16);
        let value = |r: usize, c: usize| Complex::new(r as f32, c as f32);
        let band: Vec<_> = (0..rows * width)
            .map(|i| value(i / width, i % width))
            .collect();
        let mut spectrum = vec![Complex::new(-1.0, -1.0); kept * stride];
        for (group, columns) in spectrum.chunks_mut(stride * TILE_COLUMNS).enumerate() {
            rows_to_columns(
                &band,
                width,
                columns,
                stride,
                (group * TILE_COLUMNS, first_row),
            );
        }
        for (i, found) in spectrum.iter().enumerate() {
            let (column, row) = (i / stride, i % stride);
            let inside = (first_row..first_row + rows).contains(&row);
            let expected = if inside {
                value(row - first_row, column)
            } else {
                Complex::new(-1.0, -1.0)
            };
            assert_eq!(*found, expected, "column {column} row {row}");
        }
        let mut back = vec![Complex::new(7.0, 7.0); rows * width];
        columns_to_rows(&spectrum, stride, first_row, &mut back, width);
        for (i, (found, original)) in back.iter().zip(&band).enumerate() {
            let expected = if i % width < kept {
                *original
            } else {
                Complex::default()
            };
            assert_eq!(*found, expected);
        }
    }
}
