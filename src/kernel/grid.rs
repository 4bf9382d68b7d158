//! The grid of frequencies that a plane is transformed on: its lengths, the frequency of each
//! bin, and which bins are Nyquist bins. What stands on the grid is not known here.

/// The lengths of a two-dimensional transform: the plane's own, or padded ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Grid {
    /// Length of a row.
    pub nx: usize,
    /// Number of rows.
    pub ny: usize,
}

impl Grid {
    /// Columns of the half spectrum of a real plane: `nx / 2 + 1`.
    #[must_use]
    pub fn half_columns(&self) -> usize {
        self.nx / 2 + 1
    }

    /// Number of bins of the full spectrum, as a factor: `nx · ny`.
    #[must_use]
    pub fn bins(&self) -> f64 {
        self.nx as f64 * self.ny as f64
    }

    /// Frequency of column `kx` of the full spectrum, cycles/px, in [-1/2, 1/2).
    #[must_use]
    pub fn u(&self, kx: usize) -> f64 {
        frequency(kx, self.nx)
    }

    /// Frequency of row `ky`, cycles/px, in [-1/2, 1/2).
    #[must_use]
    pub fn v(&self, ky: usize) -> f64 {
        frequency(ky, self.ny)
    }

    /// Whether column `kx` is the Nyquist column, which only an even length has.
    #[must_use]
    pub fn is_nyquist_column(&self, kx: usize) -> bool {
        is_nyquist(kx, self.nx)
    }

    /// Whether row `ky` is the Nyquist row, which only an even length has.
    #[must_use]
    pub fn is_nyquist_row(&self, ky: usize) -> bool {
        is_nyquist(ky, self.ny)
    }

    /// Rows with a frequency of zero or more; the others follow, the most negative first.
    #[must_use]
    pub fn positive_rows(&self) -> usize {
        self.ny.div_ceil(2)
    }
}

/// Frequency of bin `k` of `n`: 0, 1/n, … and from the middle on negative, as in numpy's
/// `fftfreq`; the Nyquist bin of an even length is -1/2.
fn frequency(k: usize, n: usize) -> f64 {
    if k < n.div_ceil(2) {
        k as f64 / n as f64
    } else {
        -((n - k) as f64 / n as f64)
    }
}

fn is_nyquist(k: usize, n: usize) -> bool {
    n.is_multiple_of(2) && k == n / 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frequencies_are_those_of_numpy() {
        let odd: Vec<f64> = (0..5).map(|k| frequency(k, 5)).collect();
        assert_eq!(odd, [0.0, 0.2, 0.4, -0.4, -0.2]);
        let even: Vec<f64> = (0..4).map(|k| frequency(k, 4)).collect();
        assert_eq!(even, [0.0, 0.25, -0.5, -0.25]);
        assert_eq!(frequency(0, 1), 0.0);
    }

    #[test]
    fn only_even_lengths_have_nyquist_bins() {
        let grid = Grid { nx: 6, ny: 5 };
        assert_eq!(
            (0..6)
                .filter(|&k| grid.is_nyquist_column(k))
                .collect::<Vec<_>>(),
            [3]
        );
        assert_eq!((0..5).filter(|&k| grid.is_nyquist_row(k)).count(), 0);
        assert_eq!((grid.half_columns(), grid.positive_rows()), (4, 3));
        assert!(!Grid { nx: 1, ny: 1 }.is_nyquist_column(0));
    }
}
