//! What a kind of planes needs of a device and of the host, in bytes, and the steps by which it
//! needs less. Nothing is allocated here.

use super::super::Workload;
use super::LEAST_LANES;
use super::staging::Staging;
use crate::kernel::Grid;
use crate::plan::{NanRule, Precision};

/// Small planes go through the device together, up to this many bytes of samples: a call to the
/// driver takes about as long as the copy of 100 KiB.
pub(super) const BATCH_BYTES: u64 = 32 << 20;

/// The most planes that go together.
const MOST_PLANES: u64 = 4096;

/// Numbers that a plane's kernel is described by: `a`, `b`, `c` of the exponent, the gain, the
/// mask's gain, and the gain that `racs` compares with.
pub(super) const COEFFICIENTS: usize = 6;

/// What one kind of planes needs.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Needs {
    pub nx: usize,
    pub ny: usize,
    /// Whether the transform is in double precision.
    pub double: bool,
    /// Whether the result is.
    double_output: bool,
    /// All the grids, each once.
    pub grids: Vec<Grid>,
    /// Whether pixels are divided by weights, which have to be kept meanwhile.
    weighs: bool,
    /// The planes that go together at most.
    planes: usize,
}

/// One way of using the device's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rung {
    /// Planes that go together.
    pub planes: usize,
    /// Sets of memory that take turns.
    pub sets: usize,
    /// Whether the result lies where the samples lay.
    pub shared: bool,
}

impl Needs {
    /// `None` if a length is beyond what the kernels count with, which is 31 bits.
    pub fn of(workload: &Workload, batch_bytes: u64) -> Option<Self> {
        let first = workload.kinds().first()?;
        let pixels = workload.precision();
        let rules = || workload.kinds().iter().map(|kind| kind.convolution.nan);
        let precision = rules()
            .map(|rule| rule.transform_precision(pixels))
            .fold(pixels, Precision::max);
        let mut grids: Vec<Grid> = Vec::new();
        for kind in workload.kinds() {
            if (kind.nx, kind.ny) != (first.nx, first.ny) {
                return None;
            }
            let grid = kind.convolution.grid;
            if !grids.contains(&grid) {
                grids.push(grid);
            }
        }
        let mut needs = Self {
            nx: first.nx,
            ny: first.ny,
            double: precision == Precision::F64,
            double_output: pixels == Precision::F64,
            grids,
            weighs: rules().any(|rule| rule == NanRule::Interpolate),
            planes: 1,
        };
        let lengths = needs.grids.iter().flat_map(|grid| {
            let reals = grid.half_columns().saturating_mul(2);
            [reals, grid.ny.saturating_add(1)]
        });
        let halo = workload.kinds().iter().map(|kind| kind.convolution.halo_x);
        let longest = lengths.chain(halo).chain([needs.nx, needs.ny]).max()?;
        // Twice: the kernels add two of them.
        let counts = longest
            .checked_mul(2)
            .is_some_and(|n| i32::try_from(n).is_ok());
        let plane = needs.pixels().checked_mul(needs.sample_bytes())?;
        if !counts || plane == 0 {
            return None;
        }
        let planes = (batch_bytes / plane as u64).clamp(1, MOST_PLANES) as usize;
        let share = workload.planes().div_ceil(LEAST_LANES).max(1);
        needs.planes = planes.min(share);
        Some(needs)
    }

    /// The planes that go together at most.
    pub fn planes(&self) -> usize {
        self.planes
    }

    /// Of a plane.
    pub fn pixels(&self) -> usize {
        self.nx.saturating_mul(self.ny)
    }

    /// Of the transform, which what goes in is at most as long as.
    pub fn sample_bytes(&self) -> usize {
        if self.double { 8 } else { 4 }
    }

    /// Of the result.
    pub fn output_sample_bytes(&self) -> usize {
        if self.double_output { 8 } else { 4 }
    }

    /// From the fastest to that with the least memory.
    pub fn rungs(&self) -> Vec<Rung> {
        let rung = |planes, sets, shared| Rung {
            planes,
            sets,
            shared,
        };
        let mut rungs = vec![rung(self.planes, 2, false)];
        for smaller in [rung(1, 2, false), rung(1, 1, false), rung(1, 1, true)] {
            if !rungs.contains(&smaller) {
                rungs.push(smaller);
            }
        }
        rungs
    }

    /// What a lane has to have on the host.
    pub fn staging_bytes(&self) -> u64 {
        let samples = self.coefficients_at() as u64;
        let coefficients = (self.planes * COEFFICIENTS * size_of::<f64>()) as u64;
        samples.saturating_add(coefficients)
    }

    /// [`staging_bytes`](Self::staging_bytes) with all that is taken for it.
    pub fn lane_bytes(&self) -> u64 {
        Staging::bytes_for(self.staging_bytes())
    }

    /// Where the coefficients stand in it: behind the samples, which are words of 4 or 8 bytes.
    pub fn coefficients_at(&self) -> usize {
        let samples = self.pixels().saturating_mul(self.sample_bytes());
        samples.saturating_mul(self.planes).saturating_add(7) / 8 * 8
    }

    pub fn input_bytes(&self, rung: &Rung) -> u64 {
        self.all_pixels(rung, self.sample_bytes())
    }

    /// 0 where the result lies where the samples lay.
    pub fn output_bytes(&self, rung: &Rung) -> u64 {
        if rung.shared {
            return 0;
        }
        self.all_pixels(rung, self.output_sample_bytes())
    }

    pub fn coefficient_bytes(&self, rung: &Rung) -> u64 {
        (rung.planes * COEFFICIENTS * size_of::<f64>()) as u64
    }

    /// The largest spectrum of a batch.
    pub fn work_bytes(&self, rung: &Rung) -> u64 {
        let reals = |grid: &Grid| 2 * grid.half_columns() as u64 * grid.ny as u64;
        let largest = self.grids.iter().map(reals).max().unwrap_or(0);
        largest
            .saturating_mul(self.sample_bytes() as u64)
            .saturating_mul(rung.planes as u64)
    }

    /// What is kept of each pixel beside the spectrum: whether it is blank, or its weight.
    pub fn aside_bytes(&self, rung: &Rung) -> u64 {
        self.all_pixels(rung, if self.weighs { size_of::<f64>() } else { 1 })
    }

    /// All memory of the device, with so much for the transforms to work in.
    pub fn bytes(&self, rung: &Rung, area_bytes: u64) -> u64 {
        let set = [
            self.input_bytes(rung),
            self.output_bytes(rung),
            self.coefficient_bytes(rung),
        ];
        let sets = sum(set).saturating_mul(rung.sets as u64);
        sum([
            sets,
            self.work_bytes(rung),
            self.aside_bytes(rung),
            area_bytes,
        ])
    }

    fn all_pixels(&self, rung: &Rung, bytes: usize) -> u64 {
        (self.pixels() as u64)
            .saturating_mul(bytes as u64)
            .saturating_mul(rung.planes as u64)
    }
}

fn sum(bytes: impl IntoIterator<Item = u64>) -> u64 {
    bytes.into_iter().fold(0, u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::PixelCovariance;
    use crate::plan::{ColumnMethod, Convolution, Edge};

    fn workload(nx: usize, ny: usize, nan: NanRule) -> Workload {
        let mut workload = Workload::new(Precision::F32);
        workload.add(
            nx,
            ny,
            Convolution {
                kernel: PixelCovariance {
                    xx: 9.0,
                    xy: 0.0,
                    yy: 9.0,
                },
                gain: 1.0,
                racs_gain: 1.0,
                edge: Edge::Wrap,
                nan,
                grid: Grid { nx, ny },
                halo_x: 0,
                columns: ColumnMethod::Full,
            },
        );
        workload
    }

    /// The shares of the largest plane: 4.25 with one set, 3.25 where it is shared, 6.25 with two,
    /// if cuFFT needs as much as the spectrum has.
    #[test]
    fn the_rungs_take_what_they_say() {
        let needs = Needs::of(&workload(4096, 4096, NanRule::Keep), BATCH_BYTES).unwrap();
        let plane = 4 * 4096 * 4096;
        let shares = needs.rungs().into_iter().map(|rung| {
            let area = needs.work_bytes(&rung);
            needs.bytes(&rung, area) as f64 / f64::from(plane)
        });
        for (share, expected) in shares.zip([6.25, 4.25, 3.25]) {
            assert!((share - expected).abs() < 2e-3, "{share} for {expected}");
        }
        assert_eq!(needs.rungs().len(), 3);
    }

    #[test]
    fn small_planes_go_together() {
        let needs = Needs::of(&workload(512, 256, NanRule::Racs), BATCH_BYTES).unwrap();
        assert_eq!(needs.rungs()[0].planes, 64);
        assert_eq!(needs.rungs()[1].planes, 1);
        assert_eq!(needs.staging_bytes(), (32 << 20) + 64 * 48);
        let needs = Needs::of(&workload(3, 5, NanRule::Interpolate), BATCH_BYTES).unwrap();
        assert_eq!(needs.rungs()[0].planes, 4096);
        assert!(needs.double && needs.weighs && !needs.double_output);
        let none = Needs::of(&workload(1 << 30, 2, NanRule::Keep), BATCH_BYTES);
        assert_eq!(none, None, "beyond 31 bits");
    }
}
