//! How much of the machine is used: threads, memory, the lanes that follow from them, and where a
//! lane that is too large goes.

use std::path::PathBuf;
use std::thread::available_parallelism;

use super::machine;
use crate::convolve::{Backend, Workload};
use crate::plan::{Convolution, FilePlan, Note, PlanError};

/// How much of the machine may be used.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Resources {
    /// Threads; by default what the affinity mask and the cgroup's CPU quota allow.
    pub threads: Option<usize>,
    /// Anonymous memory for all that is done, bytes; by default a quarter of what the machine or
    /// its cgroup has.
    pub memory_bytes: Option<u64>,
    /// A folder for the spectrum of a plane that does not fit into the memory.
    pub scratch: Option<PathBuf>,
}

/// What the process takes before any work: the program's own data, the pool, small things.
const PROCESS_BYTES: u64 = (1 << 20) + (192 << 10);

/// What a thread takes: the pages of its stack that are touched, and its allocator's.
const THREAD_BYTES: u64 = 64 << 10;

/// What is kept in memory of a byte of a header at most: as read and as it will be, each with where
/// every keyword stands, and once rendered. Where all keywords differ that is 2.5 times the cards.
pub(super) const HELD_BY_HEADERS: u64 = 6;

/// Transforms whose tables take no more than this, and no more than a quarter of what is allowed,
/// are planned at once, so that a refusal can say exactly what is needed.
const SMALL_TABLES_BYTES: u64 = 64 << 20;

/// As long as a thread's share of the lanes is below this, each thread has a plane of its own;
/// larger planes are shared. DECISIONS.md, "Lanes and memory", has the numbers.
const LANE_BYTES_PER_THREAD: u64 = 64 << 20;

impl Resources {
    /// Threads to start; the pool has an upper bound of its own.
    #[must_use]
    pub fn threads(&self) -> usize {
        let machine = || available_parallelism().map_or(1, std::num::NonZero::get);
        self.threads
            .filter(|&threads| threads > 0)
            .unwrap_or_else(machine)
            .min(rayon::max_num_threads())
    }

    /// Memory that may be taken, bytes.
    #[must_use]
    pub fn memory_bytes(&self) -> u64 {
        self.memory_bytes
            .unwrap_or_else(|| machine::memory_bytes() / 4)
    }

    /// What may be taken where a single lane needs it: what the user allows, else most of what
    /// there is.
    fn ceiling_bytes(&self) -> u64 {
        self.memory_bytes
            .unwrap_or_else(|| machine::memory_bytes() / 5 * 4)
    }

    /// How long the headers of all files may be so that what is kept of them has room, bytes.
    pub(super) fn header_bytes(&self) -> u64 {
        self.ceiling_bytes() / HELD_BY_HEADERS
    }

    /// The refusal of longer ones.
    pub(super) fn headers_refused(&self) -> PlanError {
        PlanError::Headers {
            asked_for: self.memory_bytes.is_some(),
            allowed_bytes: self.ceiling_bytes(),
            limit_bytes: self.header_bytes(),
        }
    }

    /// Refuses `held_bytes` for what is known of `planes` planes and their files where they are
    /// more than all that may be taken.
    ///
    /// # Errors
    /// [`PlanError::Known`].
    pub(super) fn hold(&self, planes: u64, held_bytes: u64) -> Result<(), PlanError> {
        let needed_bytes = sum([PROCESS_BYTES, THREAD_BYTES, held_bytes]);
        let allowed_bytes = self.ceiling_bytes();
        if needed_bytes <= allowed_bytes {
            return Ok(());
        }
        Err(PlanError::Known {
            asked_for: self.memory_bytes.is_some(),
            allowed_bytes,
            needed_bytes,
            planes,
        })
    }

    /// Chooses the plan's lanes, and other methods for planes that are too large for the memory.
    /// `held_bytes` are taken by what is known of all files.
    ///
    /// # Errors
    /// [`PlanError::Memory`] where not even one lane fits.
    pub(super) fn tune(
        &self,
        plan: &mut FilePlan,
        backend: &dyn Backend,
        held_bytes: u64,
    ) -> Result<(), PlanError> {
        let full = if backend.whole_columns() {
            TooLarge::none(plan)
        } else {
            save_memory(plan, backend, self.memory_bytes())
        };
        let tuning = Tuning::new(self, plan, backend, held_bytes);
        let choice = match tuning.choose(self, &mut plan.notes) {
            // With as much the full height may be taken, so that is what has to be asked for.
            Err(PlanError::Memory { needed_bytes, .. }) if needed_bytes >= full.least_bytes => {
                tuning.beside(&full.workload).choose(self, &mut plan.notes)
            }
            choice => choice,
        }?;
        plan.lanes = choice.lanes;
        plan.threads_per_lane = choice.threads_per_lane;
        plan.memory_bytes = choice.memory_bytes;
        plan.scratch_bytes = choice.scratch_bytes;
        Ok(())
    }
}

/// The planes that would be worked on over their full height if there were more memory.
struct TooLarge {
    /// They, over their full height.
    workload: Workload,
    /// With as much memory the first of them would be.
    least_bytes: u64,
}

impl TooLarge {
    fn none(plan: &FilePlan) -> Self {
        Self {
            workload: Workload::new(plan.precision),
            least_bytes: u64::MAX,
        }
    }
}

/// Where the full height of a plane needs more than `budget_bytes` the strips with the least
/// memory are taken. The plane and the budget alone decide it, since the method decides the last
/// bits: one thread is reckoned with, and nothing is taken off for other planes and files.
fn save_memory(plan: &mut FilePlan, backend: &dyn Backend, budget_bytes: u64) -> TooLarge {
    let (precision, nx, ny) = (plan.precision, plan.facts.nx, plan.facts.ny);
    let mut full = TooLarge::none(plan);
    let planes = plan.make_thrifty(|convolution: &Convolution| {
        let mut alone = Workload::new(precision);
        alone.add(nx, ny, *convolution);
        let beside = sum([PROCESS_BYTES, THREAD_BYTES, backend.table_bytes(&alone)]);
        let mut bytes = beside.saturating_add(backend.least_lane_bytes(&alone));
        if bytes <= budget_bytes {
            // What is beyond all measure is not planned.
            bytes = beside.saturating_add(backend.lane_bytes(&alone));
        }
        if bytes <= budget_bytes {
            return false;
        }
        full.workload.add(nx, ny, *convolution);
        full.least_bytes = full.least_bytes.min(bytes);
        true
    });
    if planes > 0 {
        plan.notes.push(Note::Thrifty { planes });
    }
    full
}

/// What one file's lanes are chosen by.
#[derive(Clone)]
struct Tuning<'a> {
    backend: &'a dyn Backend,
    workload: Workload,
    threads: usize,
    /// Planes that there are lanes for.
    planes: usize,
    /// Planes that a lane needs memory for.
    convolved: usize,
    /// All that is taken beside the lanes.
    fixed_bytes: u64,
    /// Of this, the tables of the transforms.
    table_bytes: u64,
}

/// How the planes of one file are worked on.
#[derive(Clone, Copy, Debug)]
struct Choice {
    lanes: usize,
    threads_per_lane: usize,
    memory_bytes: u64,
    scratch_bytes: u64,
}

impl<'a> Tuning<'a> {
    fn new(
        resources: &Resources,
        plan: &FilePlan,
        backend: &'a dyn Backend,
        held_bytes: u64,
    ) -> Self {
        let workload = super::lanes::workload(plan);
        let threads = resources.threads();
        let waiting = backend.lanes_wanted(threads).unwrap_or(0);
        let stacks = (threads.max(waiting) as u64).saturating_mul(THREAD_BYTES);
        let table_bytes = backend.table_bytes(&workload);
        Self {
            backend,
            threads,
            planes: plan.tasks.len(),
            convolved: plan.convolutions().count(),
            fixed_bytes: sum([PROCESS_BYTES, stacks, held_bytes, table_bytes]),
            table_bytes,
            workload,
        }
    }

    /// The same with lanes that are ready for the planes of another workload too.
    fn beside(&self, other: &Workload) -> Self {
        let mut both = self.clone();
        for kind in other.kinds() {
            both.workload.add(kind.nx, kind.ny, kind.convolution);
        }
        both.table_bytes = self.backend.table_bytes(&both.workload);
        let more = both.table_bytes.saturating_sub(self.table_bytes);
        both.fixed_bytes = both.fixed_bytes.saturating_add(more);
        both
    }

    /// As many lanes as fit the default share or what the user allows; else one lane, its spectra
    /// in a file; else, if the user has not said how much, one lane in most of the memory.
    fn choose(&self, resources: &Resources, notes: &mut Vec<Note>) -> Result<Choice, PlanError> {
        let spectra = sum(self.spectra_bytes(1));
        self.refuse_beyond_measure(resources, spectra)?;
        let share_bytes = resources.memory_bytes();
        if let Some(choice) = self.lanes(share_bytes) {
            return Ok(choice);
        }
        if let Some(folder) = resources.scratch.as_ref().filter(|_| spectra > 0) {
            let choice = self.one_lane(resources, true, None)?;
            notes.push(Note::Scratch {
                folder: folder.clone(),
                bytes: choice.scratch_bytes,
            });
            return Ok(choice);
        }
        let choice = self.one_lane(resources, false, Some(spectra))?;
        notes.push(Note::LargeLane {
            share_bytes,
            needed_bytes: choice.memory_bytes,
        });
        Ok(choice)
    }

    /// Refuses what does not fit anyway, before large tables are made to learn by how much.
    fn refuse_beyond_measure(&self, resources: &Resources, spectra: u64) -> Result<(), PlanError> {
        let lane = self.backend.least_lane_bytes(&self.workload);
        let lent = resources.scratch.as_ref().map_or(0, |_| spectra);
        let least_bytes = sum([self.fixed_bytes, lane.saturating_sub(lent)]);
        let small = SMALL_TABLES_BYTES.min(resources.ceiling_bytes() / 4);
        if self.table_bytes <= small || least_bytes <= resources.ceiling_bytes() {
            return Ok(());
        }
        Err(PlanError::Memory {
            asked_for: resources.memory_bytes.is_some(),
            allowed_bytes: resources.ceiling_bytes(),
            needed_bytes: least_bytes,
            exact: false,
            scratch_bytes: Some(spectra).filter(|&bytes| lent == 0 && bytes > 0),
        })
    }

    /// One lane with as many threads as fit below the ceiling. Where it does not, the refusal says
    /// how much of it could lie in a file.
    fn one_lane(
        &self,
        resources: &Resources,
        scratch: bool,
        could_lie_in_a_file: Option<u64>,
    ) -> Result<Choice, PlanError> {
        let ceiling_bytes = resources.ceiling_bytes();
        let choice = self.single_within(ceiling_bytes, scratch);
        choice.ok_or_else(|| {
            let least = self.single(1, scratch);
            let lent = could_lie_in_a_file.filter(|&bytes| bytes > 0);
            self.refusal(resources, least.memory_bytes, lent)
        })
    }

    fn refusal(
        &self,
        resources: &Resources,
        needed_bytes: u64,
        scratch_bytes: Option<u64>,
    ) -> PlanError {
        PlanError::Memory {
            asked_for: resources.memory_bytes.is_some(),
            allowed_bytes: resources.ceiling_bytes(),
            needed_bytes,
            exact: true,
            scratch_bytes,
        }
    }

    /// The most lanes within `budget_bytes`: one a thread while they are small, else fewer that
    /// share the threads; at the end one, with as many threads as fit.
    fn lanes(&self, budget_bytes: u64) -> Option<Choice> {
        if let Some(wanted) = self.backend.lanes_wanted(self.threads) {
            return self.waiting_lanes(wanted, budget_bytes);
        }
        let most = self.threads.min(self.planes).max(1);
        let moderate = (self.threads as u64).saturating_mul(LANE_BYTES_PER_THREAD);
        // Many numbers of lanes have the same number of threads each.
        let (mut known, mut bytes) = (0, 0);
        let several = (2..=most).rev().map(|lanes| {
            let threads_per_lane = self.threads.div_ceil(lanes);
            if threads_per_lane != known {
                (known, bytes) = (threads_per_lane, self.lane_bytes(threads_per_lane));
            }
            // Planes that are only copied need no memory of their own.
            let all = bytes.saturating_mul(lanes.min(self.convolved) as u64);
            (lanes, threads_per_lane, all)
        });
        several
            .filter(|&(.., all)| all <= moderate)
            .map(|(lanes, threads_per_lane, all)| Choice {
                lanes,
                threads_per_lane,
                memory_bytes: self.fixed_bytes.saturating_add(all),
                scratch_bytes: 0,
            })
            .find(|choice| choice.memory_bytes <= budget_bytes)
            .or_else(|| self.single_within(budget_bytes, false))
    }

    /// As many lanes as are wanted, or as fit, of one thread each that waits most of the time.
    fn waiting_lanes(&self, wanted: usize, budget_bytes: u64) -> Option<Choice> {
        let lane_bytes = self.lane_bytes(1);
        let most = wanted.min(self.planes).max(1);
        let choices = (1..=most).rev().map(|lanes| {
            let all = lane_bytes.saturating_mul(lanes.min(self.convolved) as u64);
            Choice {
                lanes,
                threads_per_lane: 1,
                memory_bytes: self.fixed_bytes.saturating_add(all),
                scratch_bytes: 0,
            }
        });
        let mut fitting = choices.filter(|choice| choice.memory_bytes <= budget_bytes);
        fitting.next()
    }

    /// One lane with as many threads as fit; the more there are, the more it takes.
    fn single_within(&self, budget_bytes: u64, scratch: bool) -> Option<Choice> {
        let (mut fitting, mut most) = (0, self.threads);
        let mut best = None;
        while fitting < most {
            let threads = most - (most - fitting) / 2;
            let choice = self.single(threads, scratch);
            if choice.memory_bytes <= budget_bytes {
                (fitting, best) = (threads, Some(choice));
            } else {
                most = threads - 1;
            }
        }
        best
    }

    fn single(&self, threads_per_lane: usize, scratch: bool) -> Choice {
        let lane = if self.convolved > 0 {
            self.lane_bytes(threads_per_lane)
        } else {
            0
        };
        let lent = if scratch {
            sum(self.spectra_bytes(threads_per_lane))
        } else {
            0
        };
        Choice {
            lanes: 1,
            threads_per_lane,
            memory_bytes: self.fixed_bytes.saturating_add(lane.saturating_sub(lent)),
            scratch_bytes: lent,
        }
    }

    fn lane_bytes(&self, threads: usize) -> u64 {
        let workload = self.workload.clone().with_threads_per_lane(threads);
        self.backend.lane_bytes(&workload)
    }

    fn spectra_bytes(&self, threads: usize) -> [u64; 2] {
        let workload = self.workload.clone().with_threads_per_lane(threads);
        self.backend.spectra_bytes(&workload)
    }
}

fn sum(bytes: impl IntoIterator<Item = u64>) -> u64 {
    bytes.into_iter().fold(0, u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_user_says_counts() {
        let said = Resources {
            threads: Some(3),
            memory_bytes: Some(7),
            scratch: None,
        };
        assert_eq!((said.threads(), said.memory_bytes()), (3, 7));
        let silent = Resources::default();
        assert!(silent.threads() >= 1);
        assert!(silent.memory_bytes() > 1 << 20);
    }
}
