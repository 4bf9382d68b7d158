//! Rows of a band into columns of the spectrum and back, a tile at a time, so that both sides are
//! touched in whole cache lines; tiles of full size in registers where the machine has vectors for
//! that. No arithmetic.

use num_complex::Complex;

use super::fft2::BAND_ROWS;
use super::simd::{Isa, will_read, will_write};
use crate::plane::Real;

/// Columns of a tile: one cache line of a row in `f32`.
pub(super) const TILE_COLUMNS: usize = 8;

/// The cache is told of the columns that come this many tiles later. A column's rows of a band are
/// far from those of the next column, so no processor foresees them by itself.
const TILES_AHEAD: usize = 1;

/// Of every processor that this is likely to run on; on another a hint is lost.
pub(super) const CACHE_LINE_BYTES: usize = 64;

/// Values that lie `distance` apart, row after row or column after column.
pub(super) struct Lines<V> {
    /// All of them.
    pub values: V,
    /// From the beginning of one row or column to that of the next.
    pub distance: usize,
}

/// Stores part of a band in at most [`TILE_COLUMNS`] columns of the spectrum.
///
/// `band` holds at most [`BAND_ROWS`] rows; `columns` are columns of the spectrum; `first` is the
/// number of the first column in the band's rows, and of the band's first row in the columns.
pub(super) fn rows_to_columns<T: Real>(
    isa: Isa,
    band: &Lines<&[Complex<T>]>,
    columns: &mut Lines<&mut [Complex<T>]>,
    first: (usize, usize),
) {
    let rows = band.values.len() / band.distance;
    let count = columns.values.len() / columns.distance;
    for_lines_ahead(columns.values, columns.distance, first.1, will_write);
    if (rows, count) == (BAND_ROWS, TILE_COLUMNS) && isa.turn_in(band, columns, first) {
        return;
    }
    for (c, column) in columns
        .values
        .chunks_exact_mut(columns.distance)
        .enumerate()
    {
        let column = &mut column[first.1..first.1 + rows];
        let from = band.values[first.0 + c..].iter().step_by(band.distance);
        for (value, &bin) in column.iter_mut().zip(from) {
            *value = bin;
        }
    }
}

/// Fills a band from the spectrum: the inverse of [`rows_to_columns`] for all columns at once.
/// `columns` are those that were kept; the rest of each row of the band becomes zero. `first_row`
/// is the number of the band's first row in the columns.
pub(super) fn columns_to_rows<T: Real>(
    isa: Isa,
    columns: &Lines<&[Complex<T>]>,
    first_row: usize,
    band: &mut Lines<&mut [Complex<T>]>,
) {
    let rows = band.values.len() / band.distance;
    let stride = columns.distance;
    for (group, tile) in columns.values.chunks(stride * TILE_COLUMNS).enumerate() {
        let (first, count) = (group * TILE_COLUMNS, tile.len() / stride);
        for_lines_ahead(tile, stride, first_row, will_read);
        let from = Lines {
            values: tile,
            distance: stride,
        };
        let whole = (rows, count) == (BAND_ROWS, TILE_COLUMNS);
        if whole && isa.turn_out(&from, band, (first, first_row)) {
            continue;
        }
        for (c, column) in tile.chunks_exact(stride).enumerate() {
            let column = &column[first_row..first_row + rows];
            let into = band.values[first + c..].iter_mut().step_by(band.distance);
            for (bin, &value) in into.zip(column) {
                *bin = value;
            }
        }
    }
    let kept = columns.values.len() / stride;
    for row in band.values.chunks_exact_mut(band.distance) {
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

    /// A band of `rows` rows into columns and back, by both kinds of instructions.
    fn goes_and_comes_back<T: Real>((width, kept, rows): (usize, usize, usize)) {
        let (stride, first_row) = (48, 16);
        let value = |r: usize, c: usize| Complex::new(T::rounded(r as f64), T::rounded(c as f64));
        let other = Complex::new(T::BLANK, T::ONE);
        let band: Vec<_> = (0..rows * width)
            .map(|i| value(i / width, i % width))
            .collect();
        for isa in [Isa::PORTABLE, Isa::best()] {
            let mut spectrum = vec![other; kept * stride];
            for (group, columns) in spectrum.chunks_mut(stride * TILE_COLUMNS).enumerate() {
                let from = Lines {
                    values: &band[..],
                    distance: width,
                };
                let mut into = Lines {
                    values: columns,
                    distance: stride,
                };
                let first = (group * TILE_COLUMNS, first_row);
                rows_to_columns(isa, &from, &mut into, first);
            }
            for (i, found) in spectrum.iter().enumerate() {
                let (column, row) = (i / stride, i % stride);
                let inside = (first_row..first_row + rows).contains(&row);
                assert_eq!(found.re.is_finite(), inside, "column {column} row {row}");
                assert!(!inside || *found == value(row - first_row, column));
            }
            let mut back = vec![other; rows * width];
            let from = Lines {
                values: &spectrum[..],
                distance: stride,
            };
            let mut into = Lines {
                values: &mut back[..],
                distance: width,
            };
            columns_to_rows(isa, &from, first_row, &mut into);
            for (i, (found, &original)) in back.iter().zip(&band).enumerate() {
                let kept = i % width < kept;
                let expected = if kept { original } else { Complex::default() };
                assert_eq!(*found, expected);
            }
        }
    }

    #[test]
    fn bands_go_into_columns_and_come_back() {
        for lengths in [
            (21, 19, 13),
            (21, 19, 16),
            (33, 33, 16),
            (8, 8, 16),
            (5, 4, 1),
        ] {
            goes_and_comes_back::<f32>(lengths);
            goes_and_comes_back::<f64>(lengths);
        }
    }
}
