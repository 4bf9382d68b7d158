//! The convolution of one plane: everything a backend needs besides the pixels.

use crate::kernel::{Grid, PixelCovariance};
use crate::plan::padding::{fast_column, fast_row};
use crate::plan::spec::{Edge, NanRule, Precision};
use crate::plan::strips::{ColumnMethod, wrapped_row};

/// One plane's convolution, in pixels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Convolution {
    /// The kernel: target minus own beam, FWHM² in px².
    pub kernel: PixelCovariance,
    /// Transfer at zero frequency: Ω_new/Ω_old for a per-beam unit, else 1.
    pub gain: f64,
    /// √(Ω_new/Ω_old), whatever the unit: the mask's gain in [`NanRule::Racs`].
    pub racs_gain: f64,
    /// What lies outside the image.
    pub edge: Edge,
    /// What happens at blank pixels.
    pub nan: NanRule,
    /// The transform's lengths: the image's own with [`Edge::Wrap`], but for rows with a halo;
    /// padded with [`Edge::Zero`].
    pub grid: Grid,
    /// Pixels of the far end of each row that are put before its first one, and as many or more
    /// of the near end after its last: with [`Edge::Wrap`] and rows of the grid that are longer
    /// than the image's. 0 otherwise.
    pub halo_x: usize,
    /// How the columns of the spectrum are convolved. With strips the grid's number of rows has
    /// no meaning.
    pub columns: ColumnMethod,
}

impl Convolution {
    /// The same convolution of images of `nx` × `ny` pixels, by the fastest method that equals it
    /// to this precision of the transform, see
    /// [`NanRule::transform_precision`]: in strips, and on a grid whose lengths are transformed
    /// fast.
    #[must_use]
    pub fn made_fast(self, (nx, ny): (usize, usize), precision: Precision) -> Self {
        let columns = ColumnMethod::choose(&self.kernel, ny, self.edge, precision);
        self.on_fast_lengths((nx, ny), precision, columns)
    }

    /// [`made_fast`](Self::made_fast) with whole columns.
    #[must_use]
    pub fn made_fast_whole(self, size: (usize, usize), precision: Precision) -> Self {
        self.on_fast_lengths(size, precision, ColumnMethod::Full)
    }

    fn on_fast_lengths(
        self,
        (nx, ny): (usize, usize),
        precision: Precision,
        columns: ColumnMethod,
    ) -> Self {
        let (kernel, grid) = (&self.kernel, self.grid);
        let (row, halo_x) = match self.edge {
            Edge::Wrap => wrapped_row(kernel, nx, precision),
            Edge::Zero => (fast_row(nx, kernel, precision).unwrap_or(grid.nx), 0),
        };
        let column = match (self.edge, columns) {
            (Edge::Zero, ColumnMethod::Full) => fast_column(ny, kernel, precision),
            _ => None,
        };
        let grid = Grid {
            nx: row,
            ny: column.unwrap_or(grid.ny),
        };
        Self {
            grid,
            halo_x,
            columns,
            ..self
        }
    }

    /// Whether planes of one size with this convolution and the other can be computed together:
    /// their transforms have one length, and their rules are the same.
    #[must_use]
    pub fn goes_with(&self, other: &Self) -> bool {
        let of = |one: &Self| (one.grid, one.halo_x, one.edge, one.nan, one.columns);
        of(self) == of(other)
    }

    /// The same convolution by the method that needs the least memory; `None` if that is the one
    /// it has.
    #[must_use]
    pub fn made_thrifty(self, precision: Precision) -> Option<Self> {
        if self.columns != ColumnMethod::Full {
            return None;
        }
        let columns = ColumnMethod::thrifty(&self.kernel, self.grid.ny, self.edge, precision)?;
        Some(Self { columns, ..self })
    }
}
