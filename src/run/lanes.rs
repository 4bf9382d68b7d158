//! The planes at work: each lane takes the next free slot, fills it and says so in the journal.

use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use rayon::ThreadPool;

use crate::convolve::{Backend, Lane, Workload};
use crate::error::{Bug, Error, Stage};
use crate::journal::{Journal, Record};
use crate::map::{Slot, Touch};
use crate::output::name::part_of;
use crate::plan::{FilePlan, Task};
use crate::plane::PlaneMut;
use crate::progress::Observer;
use crate::run::behind::WriteBehind;
use crate::run::prepare::Prepared;
use crate::run::scratch;
use crate::run::store::{Edges, PlaneStore};

/// What each lane must be ready for.
pub(super) fn workload(plan: &FilePlan) -> Workload {
    let facts = &plan.facts;
    let mut workload = Workload::new(plan.precision).with_threads_per_lane(plan.threads_per_lane);
    for convolution in plan.convolutions() {
        workload.add(facts.nx, facts.ny, *convolution);
    }
    workload
}

/// Planes and their slots waiting for a lane, in file order.
type Queue<'s> = Mutex<std::vec::IntoIter<(usize, Slot<'s>)>>;

/// The work on one output's planes.
pub(super) struct Planes<'a> {
    pub prepared: &'a Prepared,
    pub backend: &'a dyn Backend,
    pub journal: &'a Journal,
    /// The planes that are this process's to make.
    pub share: Range<u64>,
    /// Of an output that several processes make: the block that no two of them may write.
    pub block_bytes: Option<u64>,
    pub observer: &'a dyn Observer,
}

/// What the lanes of one output share.
struct Work<'w, 's> {
    workload: Workload,
    queue: Queue<'s>,
    touch: Touch,
    behind: Option<&'w WriteBehind<'w>>,
    stop: AtomicBool,
}

impl Planes<'_> {
    /// Fills the slots of these planes. The first threads of the pool run the lanes; the others help inside
    /// planes, so there are exactly as many lane workspaces as planned.
    pub fn fill(
        &self,
        pool: &ThreadPool,
        slots: Vec<(usize, Slot<'_>)>,
        behind: Option<&WriteBehind<'_>>,
    ) -> Result<(), Error> {
        let plan = &self.prepared.plan;
        let work = Work {
            workload: workload(plan),
            queue: Mutex::new(slots.into_iter()),
            touch: Touch::by_threads(pool.current_num_threads()),
            behind,
            stop: AtomicBool::new(false),
        };
        let failure = Mutex::new(None);
        pool.broadcast(|context| {
            if context.index() < plan.lanes.max(1)
                && let Err(error) = self.lane(&work)
            {
                work.stop.store(true, Ordering::Relaxed);
                failure
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .get_or_insert(error);
            }
        });
        failure
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner)
            .map_or_else(|| self.not_interrupted(), Err)
    }

    /// A stop that came after the last plane was begun is none.
    fn not_interrupted(&self) -> Result<(), Error> {
        let missing = self.journal.missing();
        let missing = missing.iter().filter(|&plane| self.share.contains(plane));
        let missing = missing.count() as u64;
        if missing > 0 && self.prepared.stop.is_asked() {
            let planes = self.share.end - self.share.start;
            return Err(self.prepared.interrupted(planes - missing, planes));
        }
        Ok(())
    }

    /// One lane's life. Its memory is allocated before its first convolution and kept.
    fn lane(&self, work: &Work<'_, '_>) -> Result<(), Error> {
        let mut lane = None;
        let stop = &self.prepared.stop;
        while !work.stop.load(Ordering::Relaxed) && !stop.is_asked() {
            // The guard is gone at the end of this statement: no work is done under the lock.
            let next = work
                .queue
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .next();
            let Some((plane, slot)) = next else { break };
            let stored = catch_unwind(AssertUnwindSafe(|| {
                self.store(plane, slot, &mut lane, work)
            }));
            let stage = match stored {
                Ok(Ok(())) => continue,
                Ok(Err(stage)) if stage.is_given_up() => break,
                Ok(Err(stage)) => stage,
                Err(panic) => Bug(panic_text(&*panic)).into(),
            };
            return Err(self.failed(stage).in_plane(plane as u64));
        }
        Ok(())
    }

    /// What could not be stored is about the output, all else about the input.
    fn failed(&self, stage: Stage) -> Error {
        let facts = &self.prepared.plan.facts;
        if stage.is_store() {
            Error::new(&part_of(&facts.output), stage)
        } else {
            Error::new(&facts.input, stage)
        }
    }

    fn store(
        &self,
        plane: usize,
        slot: Slot<'_>,
        lane: &mut Option<Box<dyn Lane>>,
        work: &Work<'_, '_>,
    ) -> Result<(), Stage> {
        let plan = &self.prepared.plan;
        let input = self.prepared.image.plane_stages(plane as u64)?;
        let bytes = slot.len_bytes();
        let (place, memory) = slot.into_parts();
        let range = place.start()..place.start().saturating_add(bytes);
        let edges = self.block_bytes.map(|block| Edges::of(&range, block));
        let store = PlaneStore {
            place,
            touch: work.touch,
            sums: Mutex::default(),
            datasum: self.prepared.checksum,
            edges: edges.map(Mutex::new),
            behind: work.behind,
            stop: &self.prepared.stop,
        };
        let shape = (plan.facts.nx, plan.facts.ny);
        let bitpix = plan.precision.bitpix();
        let mut output = match memory {
            Some(bytes) => PlaneMut::mapped(bytes, &store, shape, bitpix)?,
            // As long as the plane, which can be addressed.
            None => PlaneMut::written(&store, bytes as usize, shape, bitpix)?,
        };
        match plan.tasks.get(plane) {
            Some(Task::Copy) => input.copy_exact(&mut output)?,
            Some(Task::Convolve(convolution)) => {
                let lane = match lane {
                    Some(lane) => lane,
                    None => lane.insert(scratch::lane(
                        self.backend,
                        &work.workload,
                        self.prepared.scratch.as_deref(),
                    )?),
                };
                lane.convolve(convolution, input, output)?;
            }
            Some(Task::Blank) => output.fill_blank()?,
            None => return Err(Bug(format!("plane {plane} has no task")).into()),
        }
        let sums = store.sums();
        let edges = store
            .edges
            .map(|edges| edges.into_inner().unwrap_or_else(PoisonError::into_inner));
        let (head, tail) = edges.map_or_else(Default::default, |edges| (edges.head, edges.tail));
        let record = Record {
            plane: plane as u64,
            sums,
            head,
            tail,
        };
        self.journal.record(&record, bytes)?;
        self.observer.plane_stored(plan, plane as u64, bytes);
        Ok(())
    }
}

fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    format!(
        "the work on it panicked: {}",
        text.unwrap_or("without a word")
    )
}
