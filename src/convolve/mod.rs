//! One plane in, one smoothed plane out: the seam that every way of computing it stands behind.
//! No file is seen here, and nothing is decided that the plan has not decided.
//!
//! A [`Backend`] makes [`Lane`]s; a lane is all the memory that one plane in flight needs, made
//! once and used for plane after plane. What every backend computes is written down in
//! [`reference`](mod@reference) as plainly as it can be: pixels that are not finite are blank and count as zero;
//! the spectrum of the plane, padded with zeros to the [`Convolution`]'s grid, is multiplied by
//! the [transfer function](crate::kernel::GaussianTransfer), symmetric at the Nyquist bins; then
//! the [`NanRule`](crate::plan::NanRule) says which pixels are blank in the result.

pub mod cpu;
#[cfg(all(feature = "cuda", target_os = "linux"))]
pub mod cuda;
pub mod device;
mod error;
mod open;
pub mod rates;
pub mod reference;

use std::fmt;

pub use cpu::Cpu;
pub(crate) use cpu::vectorised;
pub use error::BackendError;
pub use open::{open_device, time_device};

use device::Availability;
use fits_layout::Bitpix;

use crate::plan::{Convolution, Edge, Precision};
use crate::plane::{PlaneMut, PlaneRef};

/// [`NanRule::Racs`](crate::plan::NanRule::Racs): blank where the mask's gain times the smoothed
/// mask is at least this (RACS-tools 4.5, `convolve_uv`).
pub const RACS_BLANK_FROM: f64 = 0.99;

/// [`NanRule::Interpolate`](crate::plan::NanRule::Interpolate): blank where the smoothed weight
/// is below this.
pub const LEAST_WEIGHT: f64 = 1e-3;

/// Stands between the words of [`Backend::arithmetic`] where a plane may be made by one backend or
/// by another behind it.
pub(crate) const OR_ANOTHER: &str = ", or ";

/// A way of convolving planes, shared by all threads. It is chosen once a run.
pub trait Backend: Send + Sync + fmt::Debug {
    /// The word for it in options and reports, lower case.
    fn name(&self) -> &'static str;

    /// What decides the last bits of a result beside the plan and the processor's family: the
    /// instructions taken. Two machines with equal words make equal bytes of equal plans.
    fn arithmetic(&self) -> &str;

    /// The backend and what it runs on, for reports.
    fn describe(&self) -> String {
        self.name().to_owned()
    }

    /// The bytes that one lane for this workload allocates, exactly; [`u64::MAX`] if they are
    /// beyond counting. Tables that lanes share are not part of it.
    fn lane_bytes(&self, workload: &Workload) -> u64;

    /// At least as many bytes as one lane takes: all of it but what a transform needs for itself.
    /// Nothing is planned for this, so it may be asked for any length. The default is 0.
    fn least_lane_bytes(&self, workload: &Workload) -> u64 {
        let _ = workload;
        0
    }

    /// Of these, the bytes of the spectrum and of the mask's spectrum, which can lie in memory of
    /// the caller's. Nothing is planned for this, so it may be asked for any length.
    /// A backend that cannot be lent anything says 0, which is the default.
    fn spectra_bytes(&self, workload: &Workload) -> [u64; 2] {
        let _ = workload;
        [0; 2]
    }

    /// About as many bytes as the tables of this workload's transforms take, which all lanes
    /// share. Nothing is planned for this either.
    fn table_bytes(&self, workload: &Workload) -> u64 {
        let _ = workload;
        0
    }

    /// How many lanes keep it busy, where that does not follow from the threads, which are then
    /// one a lane and wait most of the time. The default is `None`: it does.
    fn lanes_wanted(&self, threads: usize) -> Option<usize> {
        let _ = threads;
        None
    }

    /// How many planes of this workload a lane takes at once, at most. The default is 1; lanes of
    /// more have [`Lane::batches`].
    fn planes_together(&self, workload: &Workload) -> usize {
        let _ = workload;
        1
    }

    /// Whether it transforms whole columns only, and so knows no
    /// [strips](crate::plan::ColumnMethod). The default is `false`.
    fn whole_columns(&self) -> bool {
        false
    }

    /// What is to be said of the work done so far, each once: memory that was short, failures that
    /// it got over. The default is nothing.
    fn remarks(&self) -> Vec<String> {
        Vec::new()
    }

    /// Makes a lane for this workload: plans its transforms and allocates its memory.
    ///
    /// # Errors
    /// [`BackendError::Memory`] if the memory is not to be had.
    fn lane(&self, workload: &Workload) -> Result<Box<dyn Lane>, BackendError>;

    /// The same with its spectra in memory of the caller's, as long as
    /// [`spectra_bytes`](Self::spectra_bytes) says or longer. No bit of a result depends on it.
    ///
    /// # Errors
    /// [`BackendError::Memory`] if the rest of the memory is not to be had, or this is too short.
    fn lane_in(
        &self,
        workload: &Workload,
        spectra: [Box<dyn Loan>; 2],
    ) -> Result<Box<dyn Lane>, BackendError> {
        drop(spectra);
        self.lane(workload)
    }
}

/// Memory that a lane is lent for its largest buffers. It begins on a multiple of 16 bytes, and
/// what is in it at first does not matter.
pub trait Loan: Send + Sync + fmt::Debug {
    /// All of it.
    fn bytes(&self) -> &[u8];

    /// All of it, to be written.
    fn bytes_mut(&mut self) -> &mut [u8];
}

/// One plane in flight, with all the memory that takes.
pub trait Lane: Send + fmt::Debug {
    /// Convolves `source` as `convolution` says and stores the result in `slot`, which has the
    /// same shape. Nothing is allocated; what earlier planes left in the lane has no influence.
    ///
    /// With several threads a lane this calls rayon, and so belongs inside
    /// [`rayon::ThreadPool::install`] or `broadcast` of the caller's own pool. The result is the
    /// same, bit for bit, for any number of threads.
    ///
    /// # Errors
    /// [`BackendError::Shape`], [`BackendError::Grid`] or [`BackendError::Unplanned`] if the
    /// plane is not one of the lane's workload; the slot is then untouched.
    fn convolve(
        &mut self,
        convolution: &Convolution,
        source: PlaneRef<'_>,
        slot: PlaneMut<'_>,
    ) -> Result<(), BackendError>;

    /// The lane as one that takes several planes at once, if it can.
    fn batches(&mut self) -> Option<&mut dyn Batches> {
        None
    }

    /// The bytes this lane has allocated; what it was lent is not among them.
    fn bytes(&self) -> u64;
}

/// A lane that computes several planes at once, and hands them out one after another.
pub trait Batches {
    /// The most planes at once, at least 1.
    fn most(&self) -> usize;

    /// Computes planes, which are all of one shape and [go together](Convolution::goes_with), for
    /// slots of samples of this kind. The results stay in the lane.
    ///
    /// # Errors
    /// As those of [`Lane::convolve`].
    fn compute(
        &mut self,
        planes: &[(&Convolution, PlaneRef<'_>)],
        bitpix: Bitpix,
    ) -> Result<(), BackendError>;

    /// Stores the plane that was number `at` of those computed last, and is given once more, in
    /// its slot. The slot is untouched before this.
    ///
    /// # Errors
    /// As those of [`Lane::convolve`].
    fn store(
        &mut self,
        at: usize,
        plane: (&Convolution, PlaneRef<'_>),
        slot: PlaneMut<'_>,
    ) -> Result<(), BackendError>;
}

/// What there is to compute with on this machine. No device is begun.
#[must_use]
pub fn availability() -> Availability {
    Availability {
        threads: std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
        instructions: Cpu::new().arithmetic().to_owned(),
        cuda: open::look(),
    }
}

/// One kind of plane in a [`Workload`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PlaneKind {
    /// Pixels in a row.
    pub nx: usize,
    /// Rows.
    pub ny: usize,
    /// What is done with it.
    pub convolution: Convolution,
}

/// Everything that a lane will meet: it decides what is planned and how much is allocated.
#[derive(Clone, Debug, PartialEq)]
pub struct Workload {
    precision: Precision,
    threads_per_lane: usize,
    planes: usize,
    kinds: Vec<PlaneKind>,
}

impl Workload {
    /// No planes yet, one thread a lane. `precision` is that of the transform;
    /// [`NanRule::Interpolate`](crate::plan::NanRule::Interpolate) always runs in `f64`, because
    /// it divides by weights down to [`LEAST_WEIGHT`].
    #[must_use]
    pub fn new(precision: Precision) -> Self {
        Self {
            precision,
            threads_per_lane: 1,
            planes: usize::MAX,
            kinds: Vec::new(),
        }
    }

    /// The same planes with this many threads inside each plane; 0 counts as 1.
    #[must_use]
    pub fn with_threads_per_lane(self, threads: usize) -> Self {
        Self {
            threads_per_lane: threads.max(1),
            ..self
        }
    }

    /// The same planes, of which there are so many in all: lanes that take several at once need no
    /// room for more than their share.
    #[must_use]
    pub fn with_planes(self, planes: usize) -> Self {
        Self { planes, ..self }
    }

    /// Adds a plane of `ny` rows of `nx` pixels. The order does not matter, nor do repetitions.
    pub fn add(&mut self, nx: usize, ny: usize, convolution: Convolution) {
        let kind = PlaneKind {
            nx,
            ny,
            convolution,
        };
        if self.kinds.last() != Some(&kind) {
            self.kinds.push(kind);
        }
    }

    /// The precision of the transform.
    #[must_use]
    pub fn precision(&self) -> Precision {
        self.precision
    }

    /// Threads that share one plane, at least 1.
    #[must_use]
    pub fn threads_per_lane(&self) -> usize {
        self.threads_per_lane
    }

    /// How many planes there are; [`usize::MAX`] if that is not known.
    #[must_use]
    pub fn planes(&self) -> usize {
        self.planes
    }

    /// The kinds of planes.
    #[must_use]
    pub fn kinds(&self) -> &[PlaneKind] {
        &self.kinds
    }
}

/// Refuses planes and slots of different shapes, and grids that do not suit the plane: with
/// wrapping edges they are its own lengths, but for rows with a halo, and with zero edges at least
/// those.
fn check(
    convolution: &Convolution,
    source: &PlaneRef<'_>,
    slot: &PlaneMut<'_>,
) -> Result<(), BackendError> {
    let plane = (source.nx(), source.ny());
    let grid = (convolution.grid.nx, convolution.grid.ny);
    if (slot.nx(), slot.ny()) != plane {
        return Err(BackendError::Shape {
            plane,
            slot: (slot.nx(), slot.ny()),
        });
    }
    let halo = convolution.halo_x;
    let suits = match convolution.edge {
        Edge::Wrap if halo == 0 => grid == plane,
        Edge::Wrap => grid.1 == plane.1 && halo_suits(halo, plane.0, grid.0),
        Edge::Zero => halo == 0 && grid.0 >= plane.0 && grid.1 >= plane.1,
    };
    if suits {
        Ok(())
    } else {
        Err(BackendError::Grid { plane, grid })
    }
}

/// Whether a row of `length` holds `nx` pixels with `halo` or more on either side, none of them
/// more than once round.
fn halo_suits(halo: usize, nx: usize, length: usize) -> bool {
    let behind = length
        .checked_sub(nx)
        .and_then(|rest| rest.checked_sub(halo));
    halo <= nx && behind.is_some_and(|behind| (halo..=nx).contains(&behind))
}
