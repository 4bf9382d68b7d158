//! How much the tables of the transforms take, estimated from their lengths alone: nothing is
//! planned for it, so that absurd lengths can be refused before their tables fill the memory.

use std::mem::size_of;

use crate::convolve::Workload;
use crate::plan::ColumnMethod;

/// Factors that RustFFT 6.4 splits off; what is left of a length may go through a longer one.
const FACTORS: [usize; 5] = [2, 3, 5, 7, 11];

/// Bytes of all tables of a workload that is transformed in `T`; [`u64::MAX`] if they are beyond
/// counting.
pub(super) fn bytes<T>(workload: &Workload) -> u64 {
    let mut lengths: Vec<(usize, bool)> = Vec::new();
    for kind in workload.kinds() {
        let grid = &kind.convolution.grid;
        let column = match kind.convolution.columns {
            ColumnMethod::Full => grid.ny,
            ColumnMethod::Strips(strips) => strips.length,
        };
        for length in [(grid.nx, true), (column, false)] {
            if !lengths.contains(&length) {
                lengths.push(length);
            }
        }
    }
    let values = lengths.into_iter().map(|(length, is_row)| {
        if is_row {
            row_values(length)
        } else {
            complex_values(length)
        }
    });
    let values = values.fold(0_u64, u64::saturating_add);
    values.saturating_mul(2 * size_of::<T>() as u64)
}

/// Complex values for rows of this length and back.
fn row_values(length: usize) -> u64 {
    let half = (length / 2) as u64;
    if length.is_multiple_of(2) {
        // A transform of half the length, and the factors of its pairs of bins.
        complex_values(length / 2).saturating_add(half / 2)
    } else {
        complex_values(length)
    }
}

/// Complex values for columns of this length and back.
fn complex_values(length: usize) -> u64 {
    let mut rest = length.max(1);
    for factor in FACTORS {
        while rest.is_multiple_of(factor) {
            rest /= factor;
        }
    }
    let (length, rest) = (length as u64, rest as u64);
    // The twiddle factors of each level; a level has a fifth or less of the one above it.
    let levels = length.saturating_add(length / 4);
    // Bluestein's chirp over the next length from twice on, and that one's own tables.
    let awkward = if rest == 1 { 0 } else { rest.saturating_mul(6) };
    levels.saturating_add(awkward).saturating_mul(2)
}
