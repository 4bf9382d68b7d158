//! What will be computed, as plain data. Nothing here opens a file or runs a transform.
//!
//! [`Facts`] are what was found out about one input; [`FilePlan::new`] turns them and a
//! [`Spec`] into one [`Task`] per plane. [`target`] decides the target beams over all inputs.

pub mod convolution;
mod error;
pub mod extents;
mod lengths;
pub mod note;
mod padding;
pub mod shard;
pub mod spec;
mod strips;
pub mod target;

use std::path::PathBuf;

pub use convolution::Convolution;
pub use error::PlanError;
pub use note::Note;
pub use padding::{padded_grid, padded_length};
pub use shard::{Blocks, Shard};
pub use spec::{
    Edge, HduChoice, Mode, NanRule, Precision, RefChannel, Rounding, Spec, TargetChoice, UnitChoice,
};
pub use strips::{ColumnMethod, Strips, wrapped_row};
pub use target::Targets;

use fits_layout::Bitpix;

use crate::beam::source::BeamSource;
use crate::beam::{Beam, Relation, TOLERANCE};
use crate::kernel::{Grid, PixelCovariance};
use crate::sky::{Axes, Brightness, PixelToSky};

/// What was found out about one input before anything is planned.
#[derive(Clone, Debug)]
pub struct Facts {
    /// The input's path.
    pub input: PathBuf,
    /// Where its output goes.
    pub output: PathBuf,
    /// The output is there already and is to be left as it is.
    pub skipped: bool,
    /// Sample format of the input.
    pub bitpix: Bitpix,
    /// NAXIS1.
    pub nx: usize,
    /// NAXIS2.
    pub ny: usize,
    /// Number of planes.
    pub planes: u64,
    /// What the axes mean.
    pub axes: Axes,
    /// Pixel steps on the sky.
    pub sky: PixelToSky,
    /// What BUNIT says.
    pub brightness: Brightness,
    /// The beam of each channel and Stokes, `channel * stokes + s`, as the source gives it.
    pub beams: Vec<Option<Beam>>,
    /// Where the beams come from.
    pub beam_source: BeamSource,
    /// What is worth telling so far.
    pub notes: Vec<Note>,
}

impl Facts {
    /// Number of channels.
    #[must_use]
    pub fn channels(&self) -> u64 {
        self.axes.channels()
    }

    /// Number of Stokes planes per channel.
    #[must_use]
    pub fn stokes(&self) -> u64 {
        self.axes.stokes_count()
    }

    /// The beam of one plane, planes counted in file order.
    #[must_use]
    pub fn plane_beam(&self, plane: u64) -> Option<Beam> {
        self.beams.get(self.place(plane)?).copied().flatten()
    }

    /// Where a plane's beam stands in the list.
    fn place(&self, plane: u64) -> Option<usize> {
        let index = self.axes.plane(plane);
        let row = index.channel.checked_mul(self.stokes())?;
        usize::try_from(row.checked_add(index.stokes)?).ok()
    }

    /// Forgets every beam with BMAJ above `cutoff_arcsec`: those planes will be blank.
    pub fn cut_off(&mut self, cutoff_arcsec: f64) {
        // Float32 tables and cards in degrees round at 1e-7: a beam at the cutoff is not above it.
        let most_arcsec = cutoff_arcsec * (1.0 + TOLERANCE);
        let stokes = self.stokes().max(1);
        let mut channels = Vec::new();
        for (place, beam) in (0_u64..).zip(&mut self.beams) {
            if beam.is_some_and(|beam| beam.bmaj_arcsec() > most_arcsec) {
                *beam = None;
                channels.push(place / stokes);
            }
        }
        channels.dedup();
        if !channels.is_empty() {
            self.notes.push(Note::CutOff {
                cutoff_arcsec,
                channels,
            });
        }
    }
}

/// What is done with one plane.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Task {
    /// Its beam is the target: stored as it is.
    Copy,
    /// It has no beam or no target: stored blank.
    Blank,
    /// It is convolved.
    Convolve(Convolution),
}

/// What will be done with one input.
#[derive(Clone, Debug)]
pub struct FilePlan {
    /// What it rests on.
    pub facts: Facts,
    /// The target of every plane.
    pub targets: Targets,
    /// One task a plane, in file order.
    pub tasks: Vec<Task>,
    /// Floating-point type of the transform and the output.
    pub precision: Precision,
    /// Whether pixels scale by Ω_new/Ω_old.
    pub per_beam: bool,
    /// What a user should know.
    pub notes: Vec<Note>,
    /// Length of the output file, bytes.
    pub bytes: u64,
    /// Predicted anonymous memory of the process while it works on this file, bytes: lanes,
    /// tables, threads and what is known of all files; 0 until the machine has been looked at.
    pub memory_bytes: u64,
    /// Planes in flight at once; 0 until the machine has been looked at.
    pub lanes: usize,
    /// Threads that work on one plane; 0 until the machine has been looked at.
    pub threads_per_lane: usize,
    /// The part of a lane that lies in a file, bytes.
    pub scratch_bytes: u64,
}

impl FilePlan {
    /// Plans every plane of one input.
    ///
    /// # Errors
    /// A plane cannot reach its target, or BUNIT is unknown and nothing overrules it.
    pub fn new(facts: Facts, targets: Targets, spec: &Spec) -> Result<Self, PlanError> {
        let mut notes = facts.notes.clone();
        let per_beam = per_beam(&facts.brightness, spec.unit, &mut notes)?;
        let precision = spec
            .precision
            .unwrap_or_else(|| native_precision(facts.bitpix));
        if !facts.bitpix.is_float() {
            notes.push(Note::IntegerInput {
                bitpix: facts.bitpix,
                precision,
            });
        }
        let planner = Planner {
            facts: &facts,
            targets: &targets,
            spec,
            per_beam,
            precision: spec.nan.transform_precision(precision),
        };
        let tasks = (0..facts.planes)
            .map(|plane| planner.task(plane))
            .collect::<Result<Vec<_>, _>>()?;
        note_tasks(&facts, &tasks, &mut notes);
        Ok(Self {
            facts,
            targets,
            tasks,
            precision,
            per_beam,
            notes,
            bytes: 0,
            memory_bytes: 0,
            lanes: 0,
            threads_per_lane: 0,
            scratch_bytes: 0,
        })
    }

    /// Takes the method with the least memory for every convolution that is `too_large`, as far
    /// as there is one; returns how many planes were changed.
    pub fn make_thrifty(&mut self, mut too_large: impl FnMut(&Convolution) -> bool) -> u64 {
        let mut changed = 0;
        for task in &mut self.tasks {
            let Task::Convolve(convolution) = task else {
                continue;
            };
            let precision = convolution.nan.transform_precision(self.precision);
            let thrifty = convolution.made_thrifty(precision);
            if let Some(thrifty) = thrifty.filter(|_| too_large(convolution)) {
                *convolution = thrifty;
                changed += 1;
            }
        }
        changed
    }

    /// Takes the fastest method with whole columns for every convolution, for backends that know no
    /// other.
    pub fn make_whole(&mut self) {
        let size = (self.facts.nx, self.facts.ny);
        for task in &mut self.tasks {
            let Task::Convolve(convolution) = task else {
                continue;
            };
            let precision = convolution.nan.transform_precision(self.precision);
            let (edge, kernel) = (convolution.edge, &convolution.kernel);
            // There was one before.
            if let Some(grid) = padded_grid(edge, size.0, size.1, kernel) {
                let halo_x = 0;
                let plain = Convolution {
                    grid,
                    halo_x,
                    ..*convolution
                };
                *convolution = plain.made_fast_whole(size, precision);
            }
        }
    }

    /// The planes that will be blank.
    #[must_use]
    pub fn blank_planes(&self) -> Vec<u64> {
        self.planes_where(|task| matches!(task, Task::Blank))
    }

    /// How many planes are stored as they are.
    #[must_use]
    pub fn passed_through(&self) -> u64 {
        self.planes_where(|task| matches!(task, Task::Copy)).len() as u64
    }

    /// The convolutions of the planes that have one.
    pub fn convolutions(&self) -> impl Iterator<Item = &Convolution> {
        self.tasks.iter().filter_map(|task| match task {
            Task::Convolve(convolution) => Some(convolution),
            Task::Copy | Task::Blank => None,
        })
    }

    /// The beam each channel and Stokes has in the output, at `channel * stokes + s`; `None` where
    /// its planes are blank.
    #[must_use]
    pub fn stored_beams(&self) -> Vec<Option<Beam>> {
        let mut stored = vec![None; self.facts.beams.len()];
        for (plane, task) in (0..).zip(&self.tasks) {
            let place = self
                .facts
                .place(plane)
                .and_then(|place| stored.get_mut(place));
            if let (Some(place), false) = (place, *task == Task::Blank) {
                *place = self.targets.of(self.facts.axes.plane(plane).channel);
            }
        }
        stored
    }

    /// The beam each channel has in the output; `None` where all its planes are blank.
    #[must_use]
    pub fn stored_by_channel(&self) -> Vec<Option<Beam>> {
        let stokes = usize::try_from(self.facts.stokes())
            .unwrap_or(usize::MAX)
            .max(1);
        let stored = self.stored_beams();
        stored
            .chunks(stokes)
            .map(|row| row.iter().find_map(|beam| *beam))
            .collect()
    }

    /// The kernel of one plane as an ellipse on the sky; `None` where nothing is convolved.
    #[must_use]
    pub fn kernel(&self, plane: u64) -> Option<Beam> {
        let target = self.targets.of(self.facts.axes.plane(plane).channel)?;
        match Relation::between(&self.facts.plane_beam(plane)?, &target) {
            Relation::Reachable(kernel) => kernel.to_beam().ok(),
            Relation::Equal | Relation::Unreachable { .. } => None,
        }
    }

    fn planes_where(&self, wanted: impl Fn(&Task) -> bool) -> Vec<u64> {
        (0..)
            .zip(&self.tasks)
            .filter(|(_, task)| wanted(task))
            .map(|(plane, _)| plane)
            .collect()
    }
}

/// Integers of 32 and 64 bits need a double to keep their digits; everything else keeps its own.
fn native_precision(bitpix: Bitpix) -> Precision {
    match bitpix {
        Bitpix::U8 | Bitpix::I16 | Bitpix::F32 => Precision::F32,
        Bitpix::I32 | Bitpix::I64 | Bitpix::F64 => Precision::F64,
    }
}

/// Whether pixels scale with the beam, from BUNIT or the user's word.
fn per_beam(
    brightness: &Brightness,
    choice: Option<UnitChoice>,
    notes: &mut Vec<Note>,
) -> Result<bool, PlanError> {
    if let Some(choice) = choice {
        return Ok(choice == UnitChoice::PerBeam);
    }
    match brightness {
        Brightness::PerBeam => Ok(true),
        Brightness::Surface => Ok(false),
        Brightness::Absent => {
            notes.push(Note::NoUnit);
            Ok(true)
        }
        Brightness::Unknown(bunit) => Err(PlanError::UnknownUnit {
            bunit: bunit.clone(),
        }),
    }
}

fn note_tasks(facts: &Facts, tasks: &[Task], notes: &mut Vec<Note>) {
    let count = |wanted: fn(&Task) -> bool| tasks.iter().filter(|task| wanted(task)).count();
    if count(|task| matches!(task, Task::Blank)) == tasks.len() {
        notes.push(Note::AllBlank);
    } else if facts.beams.iter().any(Option::is_none) {
        notes.push(Note::SomeBlank {
            planes: count(|task| matches!(task, Task::Blank)) as u64,
        });
    }
}

/// What the tasks of one file have in common.
struct Planner<'a> {
    facts: &'a Facts,
    targets: &'a Targets,
    spec: &'a Spec,
    per_beam: bool,
    /// Of the transform.
    precision: Precision,
}

impl Planner<'_> {
    fn task(&self, plane: u64) -> Result<Task, PlanError> {
        let channel = self.facts.axes.plane(plane).channel;
        let (Some(beam), Some(target)) = (self.facts.plane_beam(plane), self.targets.of(channel))
        else {
            return Ok(Task::Blank);
        };
        match Relation::between(&beam, &target) {
            Relation::Equal => Ok(Task::Copy),
            Relation::Reachable(kernel) => {
                let kernel = PixelCovariance::carry(&kernel, &self.facts.sky.inverse());
                self.convolution(&beam, &target, kernel).map(Task::Convolve)
            }
            Relation::Unreachable { least_eigenvalue } => Err(PlanError::Unreachable {
                plane,
                channel,
                beam,
                target,
                least_eigenvalue,
            }),
        }
    }

    fn convolution(
        &self,
        beam: &Beam,
        target: &Beam,
        kernel: PixelCovariance,
    ) -> Result<Convolution, PlanError> {
        let area_ratio = target.area_arcsec2() / beam.area_arcsec2();
        let convolution = Convolution {
            kernel,
            gain: if self.per_beam { area_ratio } else { 1.0 },
            racs_gain: area_ratio.sqrt(),
            edge: self.spec.edge,
            nan: self.spec.nan,
            grid: self.grid(&kernel)?,
            halo_x: 0,
            columns: ColumnMethod::Full,
        };
        let size = (self.facts.nx, self.facts.ny);
        Ok(convolution.made_fast(size, self.precision))
    }

    fn grid(&self, kernel: &PixelCovariance) -> Result<Grid, PlanError> {
        let (nx, ny) = (self.facts.nx, self.facts.ny);
        let too_wide = || PlanError::KernelTooWide {
            asked_for: !matches!(self.spec.target, TargetChoice::Common(_)),
            fwhm_px: kernel.marginal_fwhm_x_px().max(kernel.marginal_fwhm_y_px()),
            length: nx.max(ny),
        };
        padded_grid(self.spec.edge, nx, ny, kernel).ok_or_else(too_wide)
    }
}
