//! The planes at work: each lane takes the next free slot, fills it and says so in the journal.

use std::iter;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use rayon::ThreadPool;

use crate::convolve::{Backend, Lane, Workload};
use crate::error::{Bug, Error, Stage};
use crate::journal::{Journal, Record};
use crate::map::{Reader, Slot, Touch};
use crate::output::name::part_of;
use crate::plan::{FilePlan, Task};
use crate::plane::PlaneMut;
use crate::progress::Observer;
use crate::run::behind::WriteBehind;
use crate::run::prepare::Prepared;
use crate::run::rows::{self, Rows};
use crate::run::scratch;
use crate::run::store::{Edges, PlaneStore};

/// What each lane must be ready for.
pub(super) fn workload(plan: &FilePlan) -> Workload {
    let facts = &plan.facts;
    let mut workload = Workload::new(plan.precision)
        .with_threads_per_lane(plan.threads_per_lane)
        .with_planes(plan.convolutions().count());
    for convolution in plan.convolutions() {
        workload.add(facts.nx, facts.ny, *convolution);
    }
    workload
}

/// Planes and their slots waiting for a lane, in file order.
type Queue<'s> = Mutex<std::vec::IntoIter<Numbered<'s>>>;

/// A plane and its slot.
type Numbered<'s> = (usize, Slot<'s>);

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
    /// The input, if it is read by position.
    reader: Option<Reader>,
    behind: Option<&'w WriteBehind<'w>>,
    stop: AtomicBool,
    /// The most planes that a lane takes at once.
    together: usize,
}

/// Why a plane could not be stored, and which.
type Failure = (usize, Stage);

impl Planes<'_> {
    /// Fills the slots of these planes. The first threads of the pool run the lanes; the others help inside
    /// planes, so there are exactly as many lane workspaces as planned.
    pub fn fill(
        &self,
        pool: &ThreadPool,
        mut slots: Vec<Numbered<'_>>,
        behind: Option<&WriteBehind<'_>>,
    ) -> Result<(), Error> {
        let plan = &self.prepared.plan;
        let reader = rows::reader(self.prepared).map_err(|stage| self.failed(stage))?;
        let workload = workload(plan);
        let together = self.backend.planes_together(&workload);
        let together = together.min(slots.len().div_ceil(plan.lanes.max(1)));
        if together > 1 {
            // Planes that go together one after another; otherwise in the order of the file.
            slots.sort_by_key(|(plane, _)| grid_of(plan.tasks.get(*plane)));
        }
        let work = Work {
            workload,
            together,
            queue: Mutex::new(slots.into_iter()),
            touch: Touch::by_threads(pool.current_num_threads()),
            reader,
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
            let Some(((plane, slot), others)) = self.take(work) else {
                break;
            };
            let stored = catch_unwind(AssertUnwindSafe(|| {
                if others.is_empty() {
                    let stored = self.store(plane, slot, &mut lane, work);
                    stored.map_err(|stage| (plane, stage))
                } else {
                    self.store_together((plane, slot), others, &mut lane, work)
                }
            }));
            let (plane, stage) = match stored {
                Ok(Ok(())) => continue,
                Ok(Err((_, stage))) if stage.is_given_up() => break,
                Ok(Err(failure)) => failure,
                Err(panic) => (plane, Bug(panic_text(&*panic)).into()),
            };
            return Err(self.failed(stage).in_plane(plane as u64));
        }
        Ok(())
    }

    /// The next plane, and those behind it that go with it.
    fn take<'s>(&self, work: &Work<'_, 's>) -> Option<(Numbered<'s>, Vec<Numbered<'s>>)> {
        // No work is done under the lock.
        let mut queue = work.queue.lock().unwrap_or_else(PoisonError::into_inner);
        let (plane, slot) = queue.next()?;
        let mut others = Vec::new();
        let tasks = &self.prepared.plan.tasks;
        if let Some(Task::Convolve(first)) = tasks.get(plane) {
            let goes_with = |plane: usize| match tasks.get(plane) {
                Some(Task::Convolve(other)) => other.goes_with(first),
                _ => false,
            };
            while others.len() + 1 < work.together
                && queue.as_slice().first().is_some_and(|(p, _)| goes_with(*p))
            {
                others.extend(queue.next());
            }
        }
        Some(((plane, slot), others))
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
        let image = &self.prepared.image;
        let rows = Rows::of(work.reader.as_ref(), image, plane as u64);
        let input = rows::plane(image, plane as u64, rows.as_ref())?;
        self.fill_slot(plane, slot, work, |mut output| {
            match self.prepared.plan.tasks.get(plane) {
                Some(Task::Copy) => Ok(input.copy_exact(&mut output)?),
                Some(Task::Convolve(convolution)) => {
                    let lane = self.lane_for(lane, work)?;
                    Ok(lane.convolve(convolution, input, output)?)
                }
                Some(Task::Blank) => Ok(output.fill_blank()?),
                None => Err(Bug(format!("plane {plane} has no task")).into()),
            }
        })
    }

    /// Planes that are all convolved, and go together.
    fn store_together<'s>(
        &self,
        first: Numbered<'s>,
        others: Vec<Numbered<'s>>,
        lane: &mut Option<Box<dyn Lane>>,
        work: &Work<'_, 's>,
    ) -> Result<(), Failure> {
        let image = &self.prepared.image;
        let bitpix = self.prepared.plan.precision.bitpix();
        let (number, _) = first;
        let in_first = |stage: Stage| (number, stage);
        let (numbers, mut slots): (Vec<_>, Vec<_>) = iter::once(first).chain(others).unzip();
        let rows = |&plane: &usize| Rows::of(work.reader.as_ref(), image, plane as u64);
        let rows: Vec<_> = numbers.iter().map(rows).collect();
        let sources = numbers.iter().zip(&rows).map(|(&plane, rows)| {
            let source = rows::plane(image, plane as u64, rows.as_ref());
            let source = source.map_err(|stage| (plane, stage))?;
            match self.prepared.plan.tasks.get(plane) {
                Some(Task::Convolve(convolution)) => Ok((convolution, source)),
                _ => Err((plane, Bug(format!("plane {plane} is not convolved")).into())),
            }
        });
        let sources = sources.collect::<Result<Vec<_>, Failure>>()?;
        let lane = self.lane_for(lane, work).map_err(in_first)?;
        let mut done = 0;
        while done < sources.len() {
            let batches = lane.batches();
            let batches = batches.ok_or_else(|| {
                in_first(Bug("a lane takes no planes together".to_owned()).into())
            })?;
            let batch = done..sources.len().min(done + batches.most().max(1));
            let planes = sources.get(batch.clone()).unwrap_or_default();
            let numbers = numbers.get(batch.clone()).unwrap_or_default();
            let computed = batches.compute(planes, bitpix);
            let first = numbers.first().copied().unwrap_or(number);
            computed.map_err(|error| (first, error.into()))?;
            let batch_slots = slots.drain(..batch.len());
            for (at, ((slot, &plane), &source)) in batch_slots.zip(numbers).zip(planes).enumerate()
            {
                let stored = self.fill_slot(plane, slot, work, |output: PlaneMut<'_>| {
                    Ok(batches.store(at, source, output)?)
                });
                stored.map_err(|stage| (plane, stage))?;
            }
            done = batch.end;
        }
        Ok(())
    }

    fn lane_for<'l>(
        &self,
        lane: &'l mut Option<Box<dyn Lane>>,
        work: &Work<'_, '_>,
    ) -> Result<&'l mut Box<dyn Lane>, Stage> {
        if lane.is_none() {
            *lane = Some(scratch::lane(
                self.backend,
                &work.workload,
                self.prepared.scratch.as_deref(),
            )?);
        }
        lane.as_mut()
            .ok_or_else(|| Bug("a lane was not made".to_owned()).into())
    }

    /// Has a slot filled, and says so in the journal.
    fn fill_slot(
        &self,
        plane: usize,
        slot: Slot<'_>,
        work: &Work<'_, '_>,
        fill: impl FnOnce(PlaneMut<'_>) -> Result<(), Stage>,
    ) -> Result<(), Stage> {
        let plan = &self.prepared.plan;
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
        let output = match memory {
            Some(bytes) => PlaneMut::mapped(bytes, &store, shape, bitpix)?,
            // As long as the plane, which can be addressed.
            None => PlaneMut::written(&store, bytes as usize, shape, bitpix)?,
        };
        fill(output)?;
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

/// What planes that go together have in common.
fn grid_of(task: Option<&Task>) -> Option<(usize, usize)> {
    match task {
        Some(Task::Convolve(convolution)) => {
            let grid = convolution.grid;
            Some((grid.nx, grid.ny))
        }
        _ => None,
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
