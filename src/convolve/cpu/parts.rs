//! A plane's way through a lane, one step at a time, for benches and for whoever wants to know
//! what a machine spends where; and the bare transforms of a plane, which are the floor under
//! all of that. The steps are the lane's own: nothing is computed here that a lane would not.

use std::fmt;

use num_complex::Complex;
use rustfft::FftPlanner;

use super::lane::CpuLane;
use super::memory::{columns_kept, cut};
use super::simd::Isa;
use super::{Cpu, transform_precision};
use crate::convolve::{BackendError, PlaneKind, Workload};
use crate::kernel::{GaussianTransfer, Grid};
use crate::plan::{ColumnMethod, Convolution, Edge, NanRule, Precision};
use crate::plane::{PlaneMut, PlaneRef, Real};

/// A step of a plane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Rows read, blanks made zero, and stored: no transform. Not a step of a convolution, but
    /// what its reading and writing alone would cost.
    Copy,
    /// Rows read, transformed, and turned into columns of the spectrum.
    RowsForward,
    /// Every column transformed, multiplied by the transfer function, transformed back.
    Columns,
    /// All of that for the mask, if there are blank pixels and the rule smooths the mask. In
    /// strips the mask goes along with the other steps, and this does nothing.
    Mask,
    /// Columns turned back into rows, those transformed, the rule for blanks applied, and stored.
    RowsBack,
}

/// The steps of a convolution, in order.
pub const STEPS: [Part; 4] = [Part::RowsForward, Part::Columns, Part::Mask, Part::RowsBack];

/// A lane that takes planes by single steps.
///
/// Over the full height [`STEPS`] in order are [`Lane::convolve`](crate::convolve::Lane::convolve),
/// bit for bit. In strips a lane goes through all steps block by block, on a ring that holds one
/// of them; here each step does all blocks before the next begins, which is the same work on the
/// same memory, but leaves no image (unless one block is the whole plane).
pub struct Parts {
    lane: Box<dyn Steps>,
}

/// A lane that can do steps.
pub(super) trait Steps: Send {
    fn step(
        &mut self,
        part: Part,
        convolution: &Convolution,
        source: PlaneRef<'_>,
        slot: PlaneMut<'_>,
    ) -> Result<(), BackendError>;
}

impl fmt::Debug for Parts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Parts").finish_non_exhaustive()
    }
}

impl Parts {
    /// Allocates a lane for this workload, see [`Backend::lane`](crate::convolve::Backend::lane).
    ///
    /// # Errors
    /// [`BackendError::Memory`] if the memory is not to be had.
    pub fn new(cpu: &Cpu, workload: &Workload) -> Result<Self, BackendError> {
        let lane: Box<dyn Steps> = match transform_precision(workload) {
            Precision::F32 => Box::new(CpuLane::new(workload, &cpu.single)?),
            Precision::F64 => Box::new(CpuLane::new(workload, &cpu.double)?),
        };
        Ok(Self { lane })
    }

    /// Does one step on what the steps before it have left in the lane.
    ///
    /// # Errors
    /// As [`Lane::convolve`](crate::convolve::Lane::convolve).
    pub fn run(
        &mut self,
        part: Part,
        convolution: &Convolution,
        source: PlaneRef<'_>,
        slot: PlaneMut<'_>,
    ) -> Result<(), BackendError> {
        self.lane.step(part, convolution, source, slot)
    }
}

/// The transfer function on column `kx` of a half spectrum, as a lane fills it in: see
/// [`GaussianTransfer::fill_column`]. `factors` has the grid's `ny` values.
pub fn fill_transfer<T: Real>(
    transfer: &GaussianTransfer,
    grid: &Grid,
    kx: usize,
    factors: &mut [T],
) {
    Isa::best().run(
        #[inline(always)]
        || transfer.fill_column(grid, kx, cut::<T>(), factors),
    );
}

/// How many transforms of which lengths a plane takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transforms {
    /// Length of a complex transform of a row: half of the row where that is even.
    pub row_length: usize,
    /// Of rows, there.
    pub rows_forward: usize,
    /// Of rows, and back.
    pub rows_back: usize,
    /// Length of a column.
    pub column_length: usize,
    /// Of columns, there; and as many back.
    pub columns: usize,
}

impl Transforms {
    /// Those of a plane of this kind, with its mask if `masked` says that it has blank pixels
    /// (all of whose rows have some) and the rule smooths the mask. `None` if strips have
    /// impossible lengths.
    #[must_use]
    pub fn of(kind: &PlaneKind, precision: Precision, masked: bool) -> Option<Self> {
        let convolution = &kind.convolution;
        let kept = match convolution.nan.transform_precision(precision) {
            Precision::F32 => columns_kept::<f32>(convolution),
            Precision::F64 => columns_kept::<f64>(convolution),
        };
        let (column_length, blocks, again) = match convolution.columns {
            ColumnMethod::Full => (convolution.grid.ny, 1, 0),
            ColumnMethod::Strips(strips) => {
                let blocks = kind.ny.div_ceil(strips.block()?);
                let wraps = convolution.edge == Edge::Wrap;
                (
                    strips.length,
                    blocks,
                    if wraps { 2 * strips.halo } else { 0 },
                )
            }
        };
        let images = if masked && convolution.nan != NanRule::Keep {
            2
        } else {
            1
        };
        let row = convolution.grid.nx;
        Some(Self {
            row_length: if row.is_multiple_of(2) { row / 2 } else { row },
            rows_forward: images * (kind.ny + again),
            rows_back: images * kind.ny,
            column_length,
            columns: images * kept * blocks,
        })
    }
}

/// Bare transforms on buffers that stay in the cache: no pixel is read, moved or stored, so no
/// convolution by these transforms can be faster.
pub struct BareTransforms {
    work: Box<dyn FnMut(&Transforms) + Send>,
}

impl fmt::Debug for BareTransforms {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BareTransforms").finish_non_exhaustive()
    }
}

impl BareTransforms {
    /// In this precision.
    #[must_use]
    pub fn new(precision: Precision) -> Self {
        Self {
            work: match precision {
                Precision::F32 => bare::<f32>(),
                Precision::F64 => bare::<f64>(),
            },
        }
    }

    /// Does as many transforms as a plane takes.
    pub fn run(&mut self, transforms: &Transforms) {
        (self.work)(transforms);
    }
}

fn bare<T: Real>() -> Box<dyn FnMut(&Transforms) + Send> {
    let mut planner = FftPlanner::<T>::new();
    let (mut from, mut to, mut scratch) = (Vec::new(), Vec::new(), Vec::new());
    Box::new(move |transforms| {
        let &Transforms {
            row_length,
            column_length,
            ..
        } = transforms;
        for (fft, count) in [
            (
                planner.plan_fft_forward(row_length),
                transforms.rows_forward,
            ),
            (planner.plan_fft_forward(column_length), transforms.columns),
            (planner.plan_fft_inverse(column_length), transforms.columns),
            (planner.plan_fft_inverse(row_length), transforms.rows_back),
        ] {
            from.resize(fft.len(), Complex::<T>::default());
            to.resize(fft.len(), Complex::default());
            scratch.resize(fft.get_outofplace_scratch_len(), Complex::default());
            for _ in 0..count {
                fft.process_outofplace_with_scratch(&mut from, &mut to, &mut scratch);
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::convolve::Backend;
    use crate::kernel::PixelCovariance;
    use crate::plan::{Strips, padded_grid};
    use crate::plane::Codec;
    use fits_layout::Bitpix;

    const SIZE: (usize, usize) = (61, 74);

    fn kind(nan: NanRule, edge: Edge, columns: ColumnMethod) -> PlaneKind {
        let kernel = PixelCovariance {
            xx: 30.0,
            xy: 5.0,
            yy: 40.0,
        };
        let (nx, ny) = SIZE;
        let convolution = Convolution {
            kernel,
            gain: 1.5,
            racs_gain: 1.2,
            edge,
            nan,
            grid: padded_grid(edge, nx, ny, &kernel).unwrap(),
            halo_x: 0,
            columns,
        };
        PlaneKind {
            nx,
            ny,
            convolution,
        }
    }

    /// Every seventh pixel is blank.
    fn stored() -> Vec<u8> {
        let value = |i: usize| match i % 7 {
            3 => f32::NAN,
            _ => (i * i % 101) as f32,
        };
        (0..SIZE.0 * SIZE.1)
            .flat_map(|i| value(i).to_be_bytes())
            .collect()
    }

    fn by_steps(kind: &PlaneKind, steps: &[Part], threads: usize) -> Vec<u8> {
        let bytes = stored();
        let (nx, ny) = SIZE;
        let source = PlaneRef::new(&bytes, nx, ny, Codec::plain(Bitpix::F32)).unwrap();
        let mut workload = Workload::new(Precision::F32).with_threads_per_lane(threads);
        workload.add(nx, ny, kind.convolution);
        let mut parts = Parts::new(&Cpu::new(), &workload).unwrap();
        let mut out = vec![0; bytes.len()];
        for &part in steps {
            let slot = PlaneMut::new(&mut out, nx, ny, Bitpix::F32).unwrap();
            parts.run(part, &kind.convolution, source, slot).unwrap();
        }
        out
    }

    fn at_once(kind: &PlaneKind) -> Vec<u8> {
        let bytes = stored();
        let (nx, ny) = SIZE;
        let source = PlaneRef::new(&bytes, nx, ny, Codec::plain(Bitpix::F32)).unwrap();
        let mut workload = Workload::new(Precision::F32);
        workload.add(nx, ny, kind.convolution);
        let mut lane = Cpu::new().lane(&workload).unwrap();
        let mut out = vec![0; bytes.len()];
        let slot = PlaneMut::new(&mut out, nx, ny, Bitpix::F32).unwrap();
        lane.convolve(&kind.convolution, source, slot).unwrap();
        out
    }

    #[test]
    fn steps_in_order_are_the_convolution() {
        let one_block = ColumnMethod::Strips(Strips {
            length: 128,
            halo: 16,
        });
        for nan in [NanRule::Keep, NanRule::Racs, NanRule::Interpolate] {
            for edge in [Edge::Zero, Edge::Wrap] {
                for columns in [ColumnMethod::Full, one_block] {
                    let kind = kind(nan, edge, columns);
                    for threads in [1, 3] {
                        let found = by_steps(&kind, &STEPS, threads);
                        assert!(found == at_once(&kind), "{nan:?} {edge:?} {columns:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_copy_has_zeros_for_blanks() {
        let kind = kind(NanRule::Keep, Edge::Zero, ColumnMethod::Full);
        let zeroed: Vec<u8> = stored()
            .as_chunks()
            .0
            .iter()
            .flat_map(|&sample| {
                let value = f32::from_be_bytes(sample);
                if value.is_nan() { 0.0 } else { value }.to_be_bytes()
            })
            .collect();
        assert_eq!(by_steps(&kind, &[Part::Copy], 2), zeroed);
    }

    #[test]
    fn transforms_are_counted() {
        let full = kind(NanRule::Racs, Edge::Zero, ColumnMethod::Full);
        let grid = full.convolution.grid;
        let found = Transforms::of(&full, Precision::F32, true).unwrap();
        assert_eq!((found.rows_forward, found.rows_back), (148, 148));
        assert_eq!(found.column_length, grid.ny);
        assert!(found.columns <= 2 * grid.half_columns());
        let strips = Strips {
            length: 64,
            halo: 16,
        };
        let strips = kind(NanRule::Keep, Edge::Wrap, ColumnMethod::Strips(strips));
        let found = Transforms::of(&strips, Precision::F64, true).unwrap();
        assert_eq!((found.rows_forward, found.rows_back), (74 + 32, 74));
        assert_eq!((found.row_length, found.column_length), (61, 64));
        assert_eq!(found.columns % 3, 0, "74 rows are three blocks of 32");
        BareTransforms::new(Precision::F64).run(&found);
    }
}
