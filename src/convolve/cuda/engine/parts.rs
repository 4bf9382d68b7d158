//! How long each step of a device takes: for benches, and for the rule that chooses a backend.

use std::sync::PoisonError;

use super::super::driver::{Event, Stream};
use super::super::staging::Staging;
use super::{Batch, Engine, MASK, OF_IMAGE, OF_MASK, Set, mistake};
use crate::convolve::device::{Call, DeviceError, DeviceParts};

/// Batches on their way at once where copies and computing overlap.
const IN_FLIGHT: usize = 3;

impl Engine {
    /// Times each step over so many batches of the most planes. `batch` is one of them, without a
    /// mask.
    pub fn time(
        &self,
        batch: &Batch<'_>,
        batches: usize,
        (timed, lanes): (&[Event; 2], &mut [(Staging, Event)]),
    ) -> Result<DeviceParts, DeviceError> {
        let area_bytes = self.room.area.bytes() as f64 / batch.planes as f64;
        let result = self.steps(batch, batches, (timed, lanes));
        // Whatever came of it, nothing is under way any more when the lanes' memory goes.
        if !self.settle() {
            for (staging, _) in lanes {
                staging.leak();
            }
        }
        let parts = result?;
        Ok(DeviceParts {
            area_bytes,
            planes: batch.planes,
            ..parts
        })
    }

    fn steps(
        &self,
        batch: &Batch<'_>,
        batches: usize,
        (timed, lanes): (&[Event; 2], &mut [(Staging, Event)]),
    ) -> Result<DeviceParts, Call> {
        let set = self.room.sets.first();
        let set = set.ok_or_else(|| mistake("there is no memory to go in by"))?;
        // Nobody else queues meanwhile.
        let _order = self.order.lock().unwrap_or_else(PoisonError::into_inner);
        self.device.bind()?;
        let planes = (batches * batch.planes) as f64;
        let compute = |step: &dyn Fn() -> Result<(), Call>| {
            repeated(&self.compute, timed, batches, step).map(|seconds| seconds / planes)
        };
        let masked = Batch {
            masked: true,
            ..*batch
        };
        let mut parts = DeviceParts {
            load: compute(&|| self.load(batch, set, 0))?,
            forward: compute(&|| self.forward(batch))?,
            filter: compute(&|| self.filter(batch, set, OF_IMAGE))?,
            inverse: compute(&|| self.back(batch))?,
            blank: compute(&|| self.find_blanks(batch, set))?,
            store: compute(&|| self.store(batch, set))?,
            resident: compute(&|| self.image(batch, set))?,
            resident_masked: compute(&|| {
                self.load(&masked, set, MASK)?;
                self.smooth(&masked, set, OF_MASK)?;
                self.find_blanks(&masked, set)?;
                self.image(&masked, set)
            })?,
            ..DeviceParts::default()
        };
        let (staging, _) = lanes
            .first_mut()
            .ok_or_else(|| mistake("there is no lane to time"))?;
        let (h2d, d2h) = self.copies(batch, (set, staging), (timed, batches))?;
        (parts.h2d, parts.d2h) = (h2d / planes, d2h / planes);
        parts.serial = self.batches(batch, batches, (timed, &mut lanes[..1]))? / planes;
        parts.overlapped = self.batches(batch, batches, (timed, lanes))? / planes;
        Ok(parts)
    }

    /// The image alone, of samples that are there.
    fn image(&self, batch: &Batch<'_>, set: &Set) -> Result<(), Call> {
        self.load(batch, set, 0)?;
        self.smooth(batch, set, OF_IMAGE)?;
        self.store(batch, set)
    }

    fn copies(
        &self,
        batch: &Batch<'_>,
        (set, staging): (&Set, &mut Staging),
        (timed, batches): (&[Event; 2], usize),
    ) -> Result<(f64, f64), Call> {
        let pixels = batch.planes * self.needs.pixels();
        let (input, output) = (pixels * batch.input.bytes(), pixels * batch.output.bytes());
        let short = || mistake("a batch is larger than its lane");
        let samples = staging.as_slice().get(..input).ok_or_else(short)?;
        let h2d = repeated(&self.into, timed, batches, &|| {
            // SAFETY: nobody writes there, and `time` waits for all streams before it is freed.
            unsafe { self.into.upload(samples, &set.input) }
        })?;
        timed[0].record(&self.out)?;
        for _ in 0..batches {
            let result = staging.as_mut_slice().get_mut(..output);
            // SAFETY: nobody reads there, and `time` waits for all streams before it is freed.
            unsafe { self.out.download(set.output(), result.ok_or_else(short)?) }?;
        }
        timed[1].record(&self.out)?;
        Ok((h2d, timed[0].seconds_to(&timed[1])?))
    }

    /// Whole batches, as many at once as there are lanes.
    fn batches(
        &self,
        batch: &Batch<'_>,
        batches: usize,
        (timed, lanes): (&[Event; 2], &mut [(Staging, Event)]),
    ) -> Result<f64, Call> {
        let count = lanes.len().max(1);
        timed[0].record(&self.out)?;
        timed[0].synchronize()?;
        for number in 0..batches {
            let lane = lanes.get_mut(number % count);
            let (staging, done) = lane.ok_or_else(|| mistake("there is no lane to time"))?;
            if number >= count || count == 1 {
                done.synchronize()?;
            }
            // SAFETY: the lane's last batch has been waited for, nobody looks into its memory, and
            // `time` waits for all streams before it is freed.
            unsafe { self.submit(number, batch, staging, done) }?;
        }
        timed[1].record(&self.out)?;
        // Waits for it, and so for all batches.
        timed[0].seconds_to(&timed[1])
    }
}

/// Memory and events for [`Engine::time`].
pub(in super::super) fn lanes(
    engine: &Engine,
) -> Result<Vec<(Staging, Event)>, crate::convolve::BackendError> {
    let lane = |_| {
        let staging = Staging::new(&engine.device, engine.needs.staging_bytes())?;
        let done = engine.device.sleeping_event();
        Ok((staging, done.map_err(DeviceError::Call)?))
    };
    (0..IN_FLIGHT).map(lane).collect()
}

/// So many times the same, after one that does not count, seconds.
fn repeated(
    stream: &Stream,
    [first, last]: &[Event; 2],
    times: usize,
    step: &dyn Fn() -> Result<(), Call>,
) -> Result<f64, Call> {
    step()?;
    first.record(stream)?;
    for _ in 0..times {
        step()?;
    }
    last.record(stream)?;
    first.seconds_to(last)
}
