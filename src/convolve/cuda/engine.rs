//! The work on one kind of planes on one device: its memory, and the order in which batches of
//! planes go through it.
//!
//! Three streams: copies in, computing, copies out. Two sets of memory for what goes in and comes
//! out take turns, so that while one batch is computed the next is on its way in and the last on
//! its way out; all else there is once, since batches are computed one after another. Each step
//! that needs another waits for its event, and no step is queued before its waits are.

pub(super) mod parts;

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use super::super::device::{Call, DeviceError};
use super::super::{LEAST_WEIGHT, RACS_BLANK_FROM};
use super::cufft::{Cufft, Size, Transforms};
use super::driver::{Device, Event, Memory, Stream};
use super::kernels::{Argument, Kernels};
use super::needs::{COEFFICIENTS, Needs, Rung};
use super::staging::Staging;
use crate::kernel::Grid;
use crate::plan::{Convolution, NanRule};

/// Of the free memory of a device this much is left alone, and a twentieth besides: for the driver
/// itself and others on the device.
const SPARE_BYTES: u64 = 64 << 20;

/// What cuFFT answers when planning fails inside it (CUFFT_INTERNAL_ERROR), as it does where memory
/// is short; the same number of the driver's is none of those that memory is asked for with.
const PLANNING_FAILED: i32 = 5;

/// Flags of the kernels.
const BIG_ENDIAN: i32 = 1;
const MASK: i32 = 2;
const NOTE_BLANKS: i32 = 4;
const WITH_BLANKS: i32 = 2;
const WITH_WEIGHTS: i32 = 4;

/// Which gain a filter has.
const OF_IMAGE: i32 = 0;
const OF_MASK: i32 = 1;

/// How samples lie in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Samples {
    pub double: bool,
    pub big_endian: bool,
}

impl Samples {
    pub fn bytes(self) -> usize {
        if self.double { 8 } else { 4 }
    }

    fn swap(self) -> i32 {
        if self.big_endian { BIG_ENDIAN } else { 0 }
    }
}

/// Planes of one kind that go through the device together. Their samples lie at the beginning of a
/// lane's memory, one plane after another, their coefficients at `coefficients_at`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Batch<'b> {
    pub planes: usize,
    /// Of the first; the others have the same grid and rules.
    pub convolution: &'b Convolution,
    /// Whether the mask is needed: a rule that smooths it, and a blank pixel.
    pub masked: bool,
    pub input: Samples,
    pub output: Samples,
    pub coefficients_at: usize,
}

/// What a batch goes in by and comes out by.
#[derive(Debug)]
struct Set {
    input: Memory,
    /// `None` where the result lies where the samples lay.
    output: Option<Memory>,
    coefficients: Memory,
    copied_in: Event,
    /// The samples and coefficients are not needed any more.
    consumed: Event,
    stored: Event,
    copied_out: Event,
}

impl Set {
    fn new(device: &Device, needs: &Needs, rung: &Rung) -> Result<Self, Call> {
        Ok(Self {
            input: device.memory(needs.input_bytes(rung))?,
            output: match needs.output_bytes(rung) {
                0 => None,
                bytes => Some(device.memory(bytes)?),
            },
            coefficients: device.memory(needs.coefficient_bytes(rung))?,
            copied_in: device.event()?,
            consumed: device.event()?,
            stored: device.event()?,
            copied_out: device.event()?,
        })
    }

    fn output(&self) -> &Memory {
        self.output.as_ref().unwrap_or(&self.input)
    }
}

/// The memory of one rung. The transforms go before it.
///
/// All of it is as long as `Needs` says for the planes of the rung and the largest grid, which
/// `submit` holds a batch against, and it goes only when the streams are done. What is not in a
/// set belongs to the stream that computes.
#[derive(Debug)]
struct Room {
    transforms: Vec<(Grid, Transforms)>,
    sets: Vec<Set>,
    work: Memory,
    area: Memory,
    aside: Memory,
}

/// One device at work on one kind of planes.
#[derive(Debug)]
pub(super) struct Engine {
    room: Room,
    needs: Needs,
    rung: Rung,
    kernels: Arc<[Kernels; 2]>,
    into: Stream,
    compute: Stream,
    out: Stream,
    /// Batches queued so far; whoever holds it queues.
    order: Mutex<usize>,
    failed: OnceLock<Call>,
    // Last: all that is above is of this device.
    device: Arc<Device>,
}

/// What engines are made of.
#[derive(Debug)]
pub(super) struct Parts {
    pub device: Arc<Device>,
    pub cufft: Arc<Cufft>,
    pub kernels: Arc<[Kernels; 2]>,
    /// What of the device's memory may be taken at most.
    pub limit_bytes: Option<u64>,
}

impl Engine {
    /// Takes memory for as many planes at once as are wanted, or for fewer where there is less.
    pub fn new(parts: &Parts, needs: Needs) -> Result<Self, DeviceError> {
        let device = Arc::clone(&parts.device);
        device.bind()?;
        let compute = device.stream()?;
        let (rung, room) = climb_down(parts, &needs, &compute)?;
        Ok(Self {
            room,
            needs,
            rung,
            kernels: Arc::clone(&parts.kernels),
            into: device.stream()?,
            compute,
            out: device.stream()?,
            order: Mutex::new(0),
            failed: OnceLock::new(),
            device,
        })
    }

    /// Whether nothing has failed on it.
    pub fn is_sound(&self) -> bool {
        self.failed.get().is_none()
    }

    pub fn rung(&self) -> &Rung {
        &self.rung
    }

    pub fn needs(&self) -> &Needs {
        &self.needs
    }

    /// A batch from `staging` through the device and back into it; this thread sleeps meanwhile,
    /// while others may do the same. `done` is the caller's own event.
    pub fn run(
        &self,
        batch: &Batch<'_>,
        staging: &mut Staging,
        done: &Event,
    ) -> Result<(), DeviceError> {
        // SAFETY: `staging` is borrowed, and not looked at, until `done` has been waited for;
        // where that fails all streams are waited for, and where that fails too it is leaked.
        let queued = unsafe { self.queue(batch, staging, done) };
        let result = queued.and_then(|()| {
            let done = done.synchronize().map_err(DeviceError::Call);
            done.inspect_err(|error| self.fail(error))
        });
        result.inspect_err(|error| {
            if matches!(error, DeviceError::Call(_)) && !self.settle() {
                staging.leak();
            }
        })
    }

    /// Nothing is queued behind a failure: what it was to wait for may never have been recorded.
    fn fail(&self, error: &DeviceError) {
        if let DeviceError::Call(call) = error {
            self.failed.get_or_init(|| call.clone());
        }
    }

    /// Queues a batch when its turn comes, unless a batch before it has failed.
    ///
    /// # Safety
    /// As for [`submit`](Self::submit).
    unsafe fn queue(
        &self,
        batch: &Batch<'_>,
        staging: &mut Staging,
        done: &Event,
    ) -> Result<(), DeviceError> {
        let mut order = self.order.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(call) = self.failed.get() {
            return Err(DeviceError::Gone(call.clone()));
        }
        let turn = *order;
        *order += 1;
        // SAFETY: as the caller promises.
        let queued = unsafe { self.submit(turn, batch, staging, done) };
        let queued = queued.map_err(DeviceError::Call);
        queued.inspect_err(|error| self.fail(error))
    }

    /// Waits for all that is queued; whether that could be done.
    pub fn settle(&self) -> bool {
        // Who queues meanwhile has to be waited for as well.
        let _order = self.order.lock().unwrap_or_else(PoisonError::into_inner);
        let streams = [&self.into, &self.compute, &self.out];
        // Each is waited for, whatever came of the others.
        let settled = streams.map(|stream| stream.synchronize().is_ok());
        settled == [true; 3]
    }

    /// Queues a batch, the first being number 0.
    ///
    /// # Safety
    /// Nobody looks into `staging`, and it is not freed, until `done` or all streams have been
    /// waited for.
    unsafe fn submit(
        &self,
        number: usize,
        batch: &Batch<'_>,
        staging: &mut Staging,
        done: &Event,
    ) -> Result<(), Call> {
        self.device.bind()?;
        let turn = number % self.room.sets.len().max(1);
        let set = self.room.sets.get(turn);
        let set = set.ok_or_else(|| mistake("there is no memory to go in by"))?;
        if batch.planes > self.rung.planes {
            return Err(mistake("a batch is larger than its room"));
        }
        let pixels = batch.planes * self.needs.pixels();
        let samples = staging.as_slice().get(..pixels * batch.input.bytes());
        let coefficients = staging.as_slice().get(batch.coefficients_at..);
        let coefficients = coefficients
            .and_then(|rest| rest.get(..batch.planes * COEFFICIENTS * size_of::<f64>()));
        let (Some(samples), Some(coefficients)) = (samples, coefficients) else {
            return Err(mistake("a batch is larger than its lane"));
        };
        self.into.wait(&set.consumed)?;
        if set.output.is_none() {
            self.into.wait(&set.copied_out)?;
        }
        // SAFETY: as the caller promises.
        unsafe { self.into.upload(samples, &set.input) }?;
        // SAFETY: likewise.
        unsafe { self.into.upload(coefficients, &set.coefficients) }?;
        set.copied_in.record(&self.into)?;
        self.compute.wait(&set.copied_in)?;
        self.convolve(batch, set)?;
        self.out.wait(&set.stored)?;
        let result = staging
            .as_mut_slice()
            .get_mut(..pixels * batch.output.bytes())
            .ok_or_else(|| mistake("a batch is larger than its lane"))?;
        // SAFETY: as the caller promises; the samples in the same place have been copied by then,
        // since this stream has waited for what was computed of them.
        unsafe { self.out.download(set.output(), result) }?;
        set.copied_out.record(&self.out)?;
        done.record(&self.out)
    }

    /// From samples in `set` to samples in it.
    fn convolve(&self, batch: &Batch<'_>, set: &Set) -> Result<(), Call> {
        let rule = batch.convolution.nan;
        if batch.masked && rule != NanRule::Keep {
            self.load(batch, set, MASK)?;
            self.smooth(batch, set, OF_MASK)?;
            match rule {
                NanRule::Interpolate => self.weigh(batch)?,
                NanRule::Racs | NanRule::Keep => self.find_blanks(batch, set)?,
            }
        }
        let noting = if rule == NanRule::Keep {
            NOTE_BLANKS
        } else {
            0
        };
        self.load(batch, set, noting)?;
        self.smooth(batch, set, OF_IMAGE)?;
        self.compute.wait(&set.copied_out)?;
        self.store(batch, set)?;
        set.stored.record(&self.compute)
    }

    /// What lies in the work area there and back, with the image's gain or the mask's.
    fn smooth(&self, batch: &Batch<'_>, set: &Set, gain: i32) -> Result<(), Call> {
        self.forward(batch)?;
        self.filter(batch, set, gain)?;
        if gain == OF_IMAGE {
            // The last look at them.
            set.consumed.record(&self.compute)?;
        }
        self.back(batch)
    }

    fn forward(&self, batch: &Batch<'_>) -> Result<(), Call> {
        let work = self.room.work.address();
        // SAFETY: the work area is as long as the largest grid of the largest batch needs, and only
        // this stream, which the transforms are queued in, uses it.
        unsafe { self.transforms(batch)?.forward(work) }
    }

    fn back(&self, batch: &Batch<'_>) -> Result<(), Call> {
        let work = self.room.work.address();
        // SAFETY: as for `forward`.
        unsafe { self.transforms(batch)?.back(work) }
    }

    fn transforms(&self, batch: &Batch<'_>) -> Result<&Transforms, Call> {
        let grid = batch.convolution.grid;
        let found = self.room.transforms.iter().find(|(g, _)| *g == grid);
        let (_, transforms) = found.ok_or_else(|| mistake("a grid that was not planned"))?;
        Ok(transforms)
    }

    fn load(&self, batch: &Batch<'_>, set: &Set, flags: i32) -> Result<(), Call> {
        let kernel = self.kernels().load.of(batch.input.double);
        let kernel = kernel.ok_or_else(|| mistake("samples longer than the transform's"))?;
        let grid = batch.convolution.grid;
        let columns = 2 * grid.half_columns();
        let mut arguments = vec![
            Argument::Address(set.input.address()),
            Argument::Address(self.room.work.address()),
            Argument::Address(self.room.aside.address()),
        ];
        arguments.extend(self.lengths(batch));
        arguments.push(Argument::Count(flags | batch.input.swap()));
        let over = (batch.planes, grid.ny, columns);
        // SAFETY: see `Room`; the samples have been waited for.
        unsafe { self.compute.launch(kernel, over, &arguments) }
    }

    fn filter(&self, batch: &Batch<'_>, set: &Set, gain: i32) -> Result<(), Call> {
        let grid = batch.convolution.grid;
        let arguments = [
            Argument::Address(self.room.work.address()),
            Argument::Address(set.coefficients.address()),
            count(batch.planes),
            count(grid.nx),
            count(grid.ny),
            Argument::Count(gain),
        ];
        let over = (batch.planes, grid.ny, grid.half_columns());
        let kernel = &self.kernels().filter;
        // SAFETY: see `Room`; the coefficients have been waited for.
        unsafe { self.compute.launch(kernel, over, &arguments) }
    }

    fn find_blanks(&self, batch: &Batch<'_>, set: &Set) -> Result<(), Call> {
        let mut arguments = vec![
            Argument::Address(self.room.work.address()),
            Argument::Address(self.room.aside.address()),
            Argument::Address(set.coefficients.address()),
        ];
        arguments.extend(self.lengths(batch));
        arguments.push(Argument::Real(RACS_BLANK_FROM));
        let (kernel, over) = (&self.kernels().blank, self.pixels(batch));
        // SAFETY: see `Room`; the coefficients have been waited for.
        unsafe { self.compute.launch(kernel, over, &arguments) }
    }

    fn weigh(&self, batch: &Batch<'_>) -> Result<(), Call> {
        let kernel = self.kernels().weight.as_ref();
        let kernel = kernel.ok_or_else(|| mistake("weights in single precision"))?;
        let mut arguments = vec![
            Argument::Address(self.room.work.address()),
            Argument::Address(self.room.aside.address()),
        ];
        arguments.extend(self.lengths(batch));
        // SAFETY: see `Room`; what is stored in has been waited for.
        unsafe { self.compute.launch(kernel, self.pixels(batch), &arguments) }
    }

    fn store(&self, batch: &Batch<'_>, set: &Set) -> Result<(), Call> {
        let kernel = self.kernels().store.of(batch.output.double);
        let kernel = kernel.ok_or_else(|| mistake("a result longer than the transform's"))?;
        let aside = match batch.convolution.nan {
            NanRule::Keep => WITH_BLANKS,
            NanRule::Racs if batch.masked => WITH_BLANKS,
            NanRule::Interpolate if batch.masked => WITH_WEIGHTS,
            NanRule::Racs | NanRule::Interpolate => 0,
        };
        let mut arguments = vec![
            Argument::Address(self.room.work.address()),
            Argument::Address(set.output().address()),
            Argument::Address(self.room.aside.address()),
        ];
        arguments.extend(self.lengths(batch));
        arguments.push(Argument::Count(aside | batch.output.swap()));
        arguments.push(Argument::Real(LEAST_WEIGHT));
        // SAFETY: see `Room`; what is stored in has been waited for.
        unsafe { self.compute.launch(kernel, self.pixels(batch), &arguments) }
    }

    fn kernels(&self) -> &Kernels {
        let [single, double] = &*self.kernels;
        if self.needs.double { double } else { single }
    }

    /// Planes, the image's lengths, the grid's, and the halo.
    fn lengths(&self, batch: &Batch<'_>) -> [Argument; 6] {
        let grid = batch.convolution.grid;
        [
            count(batch.planes),
            count(self.needs.nx),
            count(self.needs.ny),
            count(grid.nx),
            count(grid.ny),
            count(batch.convolution.halo_x),
        ]
    }

    fn pixels(&self, batch: &Batch<'_>) -> (usize, usize, usize) {
        (batch.planes, self.needs.ny, self.needs.nx)
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        if self.settle() {
            return;
        }
        // Somebody may still be writing there.
        let Room {
            sets,
            work,
            area,
            aside,
            ..
        } = &mut self.room;
        for set in sets {
            set.input.leak();
            set.coefficients.leak();
            if let Some(output) = &mut set.output {
                output.leak();
            }
        }
        for memory in [work, area, aside] {
            memory.leak();
        }
    }
}

/// The first rung, from the most memory down, that the device has room for.
fn climb_down(parts: &Parts, needs: &Needs, compute: &Stream) -> Result<(Rung, Room), DeviceError> {
    let allowed_bytes = allowed(parts)?;
    let mut last = Refusal::Needs(0);
    for rung in needs.rungs() {
        match room(parts, needs, (&rung, allowed_bytes), compute) {
            Ok(room) => return Ok((rung, room)),
            Err(Refusal::Call(call)) if !call.is_memory() && call.code != PLANNING_FAILED => {
                return Err(call.into());
            }
            Err(refusal) => last = refusal,
        }
    }
    Err(match last {
        Refusal::Call(call) if !call.is_memory() => call.into(),
        // It had not as much memory as it said.
        Refusal::Call(_) => DeviceError::Memory {
            needed_bytes: 0,
            allowed_bytes,
        },
        Refusal::Needs(needed_bytes) => DeviceError::Memory {
            needed_bytes,
            allowed_bytes,
        },
    })
}

fn allowed(parts: &Parts) -> Result<u64, Call> {
    let free = parts.device.free_bytes()?;
    let free = (free - free / 20).saturating_sub(SPARE_BYTES);
    Ok(parts.limit_bytes.map_or(free, |limit| limit.min(free)))
}

/// Why a rung is not taken.
enum Refusal {
    Needs(u64),
    Call(Call),
}

fn room(
    parts: &Parts,
    needs: &Needs,
    (rung, allowed_bytes): (&Rung, u64),
    compute: &Stream,
) -> Result<Room, Refusal> {
    let least = needs.bytes(rung, 0);
    if least > allowed_bytes {
        // What does not fit anyway is not planned.
        return Err(Refusal::Needs(least));
    }
    let made = transforms(parts, needs, rung).and_then(|transforms| {
        let areas = transforms.iter().map(|(_, made)| made.area_bytes());
        let area_bytes = areas.max().unwrap_or(0);
        let bytes = needs.bytes(rung, area_bytes);
        if bytes > allowed_bytes {
            return Ok(Err(bytes));
        }
        let memory = |bytes| parts.device.memory(bytes);
        let sets = (0..rung.sets).map(|_| Set::new(&parts.device, needs, rung));
        let room = Room {
            sets: sets.collect::<Result<_, _>>()?,
            work: memory(needs.work_bytes(rung))?,
            area: memory(area_bytes)?,
            aside: memory(needs.aside_bytes(rung))?,
            transforms,
        };
        for (_, transforms) in &room.transforms {
            // SAFETY: the area is as long as any of them asks for and stays with them; they are
            // all queued in this one stream.
            unsafe { transforms.set(room.area.address(), compute) }?;
        }
        Ok(Ok(room))
    });
    match made {
        Ok(Ok(room)) => Ok(room),
        Ok(Err(bytes)) => Err(Refusal::Needs(bytes)),
        Err(call) => Err(Refusal::Call(call)),
    }
}

fn transforms(parts: &Parts, needs: &Needs, rung: &Rung) -> Result<Vec<(Grid, Transforms)>, Call> {
    let plan = |grid: &Grid| {
        let size = Size {
            nx: grid.nx,
            ny: grid.ny,
            planes: rung.planes,
            double: needs.double,
        };
        Ok((*grid, Transforms::new(&parts.cufft, size)?))
    };
    needs.grids.iter().map(plan).collect()
}

fn count(number: usize) -> Argument {
    // `Needs` has refused what is longer.
    Argument::Count(i32::try_from(number).unwrap_or(i32::MAX))
}

/// A promise of ours that did not hold.
fn mistake(text: &str) -> Call {
    Call {
        function: "mmfits",
        code: 1,
        name: text.to_owned(),
    }
}
