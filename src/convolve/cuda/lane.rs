//! A lane of the device: rows go into its memory as they lie in the file, through the device, and
//! out of its memory into their slots. Where the device fails, and the choice was ours, the lane
//! goes on with the CPU.

use std::sync::Arc;

use fits_layout::Bitpix;

use super::super::device::DeviceError;
use super::super::{Backend, BackendError, Batches, Lane, Workload, check};
use super::Shared;
use super::driver::Event;
use super::engine::{Batch, Engine, Samples};
use super::needs::COEFFICIENTS;
use super::staging::Staging;
use crate::convolve::vectorised;
use crate::kernel::GaussianTransfer;
use crate::plan::{Convolution, NanRule};
use crate::plane::{PlaneMut, PlaneRef, Real};

/// One batch of planes in flight.
#[derive(Debug)]
pub(super) struct CudaLane {
    shared: Arc<Shared>,
    workload: Arc<Workload>,
    state: State,
    /// Which planes of the batch have no pixel that is not blank.
    blank: Vec<bool>,
}

#[derive(Debug)]
enum State {
    Device(OnDevice),
    /// The device has failed, or never had the memory.
    Cpu(Box<dyn Lane>),
    /// Between the two, and for good if the CPU has no memory either.
    Gone,
}

#[derive(Debug)]
struct OnDevice {
    // Its event and its memory go before the engine that they are used by.
    done: Event,
    staging: Staging,
    engine: Arc<Engine>,
}

impl CudaLane {
    pub fn new(shared: &Arc<Shared>, workload: &Workload) -> Result<Self, BackendError> {
        let mut lane = Self {
            shared: Arc::clone(shared),
            workload: shared.workload(workload),
            state: State::Gone,
            blank: Vec::new(),
        };
        match OnDevice::new(shared, workload) {
            Ok(on) => lane.state = State::Device(on),
            Err(BackendError::Device(error)) => lane.fall_back(error)?,
            Err(error) => return Err(error),
        }
        Ok(lane)
    }

    /// Goes on with the CPU, if the choice was ours.
    fn fall_back(&mut self, error: DeviceError) -> Result<(), BackendError> {
        let Some(cpu) = self.shared.fallback() else {
            return Err(error.into());
        };
        self.shared.remark_failure(&error);
        // Its memory first: the CPU's takes its place.
        self.state = State::Gone;
        self.state = State::Cpu(cpu.lane(&self.workload)?);
        Ok(())
    }
}

impl Lane for CudaLane {
    fn convolve(
        &mut self,
        convolution: &Convolution,
        source: PlaneRef<'_>,
        slot: PlaneMut<'_>,
    ) -> Result<(), BackendError> {
        check(convolution, &source, &slot)?;
        self.compute(&[(convolution, source)], slot.bitpix())?;
        self.store(0, (convolution, source), slot)
    }

    fn batches(&mut self) -> Option<&mut dyn Batches> {
        Some(self)
    }

    fn bytes(&self) -> u64 {
        match &self.state {
            State::Device(on) => on.staging.bytes(),
            State::Cpu(lane) => lane.bytes(),
            State::Gone => 0,
        }
    }
}

impl Batches for CudaLane {
    fn most(&self) -> usize {
        match &self.state {
            State::Device(on) => on.engine.rung().planes,
            State::Cpu(_) | State::Gone => 1,
        }
    }

    fn compute(
        &mut self,
        planes: &[(&Convolution, PlaneRef<'_>)],
        bitpix: Bitpix,
    ) -> Result<(), BackendError> {
        let State::Device(on) = &mut self.state else {
            // `store` does all there is to do.
            return Ok(());
        };
        match on.compute(planes, bitpix, &mut self.blank) {
            Err(BackendError::Device(error)) => self.fall_back(error),
            other => other,
        }
    }

    fn store(
        &mut self,
        at: usize,
        (convolution, source): (&Convolution, PlaneRef<'_>),
        mut slot: PlaneMut<'_>,
    ) -> Result<(), BackendError> {
        match &mut self.state {
            State::Device(on) => {
                self.shared.count_on_device();
                if self.blank.get(at).copied().unwrap_or(false) {
                    return Ok(slot.fill_blank()?);
                }
                on.store(at, &mut slot)
            }
            State::Cpu(lane) => {
                self.shared.count_on_cpu();
                lane.convolve(convolution, source, slot)
            }
            State::Gone => Err(BackendError::Memory { bytes: 0 }),
        }
    }
}

impl OnDevice {
    fn new(shared: &Shared, workload: &Workload) -> Result<Self, BackendError> {
        let engine = shared.engine(workload)?;
        let staging = Staging::new(shared.device(), engine.needs().staging_bytes())?;
        if !staging.is_registered() {
            shared.remark_unregistered();
        }
        let done = shared.device().sleeping_event();
        Ok(Self {
            done: done.map_err(DeviceError::Call)?,
            staging,
            engine,
        })
    }

    fn compute(
        &mut self,
        planes: &[(&Convolution, PlaneRef<'_>)],
        bitpix: Bitpix,
        blank: &mut Vec<bool>,
    ) -> Result<(), BackendError> {
        let Some((convolution, first)) = planes.first() else {
            return Ok(());
        };
        let needs = self.engine.needs();
        let grid = convolution.grid;
        let input = samples(first, needs.double);
        let fits = planes.iter().all(|(other, source)| {
            let size = (source.nx(), source.ny()) == (needs.nx, needs.ny);
            size && other.goes_with(convolution) && samples(source, needs.double) == input
        });
        let fits = fits
            && bitpix.size_bytes() as usize == needs.output_sample_bytes()
            && planes.len() <= self.engine.rung().planes;
        if !fits || !needs.grids.contains(&grid) {
            return Err(BackendError::Unplanned {
                grid: (grid.nx, grid.ny),
            });
        }
        blank.clear();
        let mut masked = false;
        for (at, (convolution, source)) in planes.iter().enumerate() {
            let blanks = self.take_in(at, input, convolution, source)?;
            let all = blanks == source.nx() * source.ny();
            masked |= blanks > 0 && !all;
            blank.push(all);
        }
        let batch = Batch {
            planes: planes.len(),
            convolution,
            masked,
            input,
            output: Samples {
                double: bitpix == Bitpix::F64,
                big_endian: true,
            },
            coefficients_at: self.engine.needs().coefficients_at(),
        };
        let engine = Arc::clone(&self.engine);
        Ok(engine.run(&batch, &mut self.staging, &self.done)?)
    }

    /// Samples and coefficients of one plane of the batch; how many pixels are blank, where the
    /// rule needs to know.
    fn take_in(
        &mut self,
        at: usize,
        input: Samples,
        convolution: &Convolution,
        source: &PlaneRef<'_>,
    ) -> Result<usize, BackendError> {
        let needs = self.engine.needs();
        let (pixels, coefficients_at) = (needs.pixels(), needs.coefficients_at());
        let memory = self.staging.as_mut_slice();
        describe(memory, (coefficients_at, at), convolution)?;
        let plane = pixels * input.bytes();
        let place = memory
            .get_mut(at * plane..)
            .and_then(|rest| rest.get_mut(..plane));
        let place = place.ok_or(BackendError::Memory { bytes: 0 })?;
        let counts = convolution.nan != NanRule::Keep;
        if input.big_endian {
            copy_rows(source, place, counts)
        } else if input.double {
            decode_rows::<f64>(source, place, counts)
        } else {
            decode_rows::<f32>(source, place, counts)
        }
    }

    fn store(&self, at: usize, slot: &mut PlaneMut<'_>) -> Result<(), BackendError> {
        let bytes = self.engine.needs().pixels() * slot.bitpix().size_bytes() as usize;
        let result = self.staging.as_slice();
        let result = result.get(at * bytes..).and_then(|rest| rest.get(..bytes));
        let result = result.ok_or(BackendError::Memory { bytes: 0 })?;
        Ok(slot.fill_from(result)?)
    }
}

/// Also after a panic, and where a driver does not keep what it promises of events.
impl Drop for OnDevice {
    fn drop(&mut self) {
        if !self.engine.settle() {
            self.staging.leak();
        }
    }
}

/// How the samples of a plane go to the device: as they are stored, if they are no longer than
/// those of the transform; else as numbers of the transform.
fn samples(source: &PlaneRef<'_>, double: bool) -> Samples {
    let codec = source.codec();
    let as_stored = codec.is_plain()
        && match codec.bitpix {
            Bitpix::F32 => true,
            Bitpix::F64 => double,
            _ => false,
        };
    Samples {
        double: if as_stored {
            codec.bitpix == Bitpix::F64
        } else {
            double
        },
        big_endian: as_stored,
    }
}

/// Puts the coefficients of plane `at` of a batch where they belong in a lane's memory.
pub(super) fn describe(
    memory: &mut [u8],
    (coefficients_at, at): (usize, usize),
    convolution: &Convolution,
) -> Result<(), BackendError> {
    let numbers: &[f64] = &coefficients(convolution);
    let length = size_of_val(numbers);
    let place = memory
        .get_mut(coefficients_at + at * length..)
        .and_then(|rest| rest.get_mut(..length));
    let place = place.ok_or(BackendError::Memory { bytes: 0 })?;
    place.copy_from_slice(bytemuck::cast_slice(numbers));
    Ok(())
}

/// `a`, `b`, `c`, the gain and the mask's gain with the normalisation of the transform there and
/// back, and the gain of `racs`.
fn coefficients(convolution: &Convolution) -> [f64; COEFFICIENTS] {
    let grid = &convolution.grid;
    let transfer = GaussianTransfer::new(convolution.kernel, convolution.gain);
    let [a, b, c] = transfer.per_bin(grid);
    let normal = 1.0 / grid.bins();
    [
        a,
        b,
        c,
        convolution.gain * normal,
        normal,
        convolution.racs_gain,
    ]
}

/// The rows as they are stored, big-endian; says how many samples are not finite, if that counts.
fn copy_rows(source: &PlaneRef<'_>, place: &mut [u8], counts: bool) -> Result<usize, BackendError> {
    let row_bytes = place.len() / source.ny().max(1);
    let mut blanks = 0;
    for (y, room) in place.chunks_exact_mut(row_bytes.max(1)).enumerate() {
        match source.mapped_row(y) {
            Some(row) => room.copy_from_slice(row),
            None => _ = source.row_bytes(y, room)?,
        }
        if counts {
            blanks += match source.codec().bitpix {
                Bitpix::F64 => vectorised(
                    #[inline(always)]
                    || blank_doubles(room),
                ),
                _ => vectorised(
                    #[inline(always)]
                    || blank_singles(room),
                ),
            };
        }
    }
    Ok(blanks)
}

#[inline(always)]
fn blank_singles(row: &[u8]) -> usize {
    let samples = row.as_chunks().0.iter();
    samples
        .map(|&sample| usize::from(!f32::from_be_bytes(sample).is_finite()))
        .sum()
}

#[inline(always)]
fn blank_doubles(row: &[u8]) -> usize {
    let samples = row.as_chunks().0.iter();
    samples
        .map(|&sample| usize::from(!f64::from_be_bytes(sample).is_finite()))
        .sum()
}

/// The rows as numbers of the transform; says how many are not finite, if that counts.
fn decode_rows<T: Real>(
    source: &PlaneRef<'_>,
    place: &mut [u8],
    counts: bool,
) -> Result<usize, BackendError> {
    let values: &mut [T] =
        bytemuck::try_cast_slice_mut(place).map_err(|_| BackendError::Memory { bytes: 0 })?;
    // No sample is longer than eight bytes; a row is read here where it is no memory.
    let mut room = vec![0; source.nx() * 8];
    let mut blanks = 0;
    for (y, row) in values.chunks_exact_mut(source.nx()).enumerate() {
        source.read_row_in(y, row, &mut room)?;
        if counts {
            blanks += row.iter().filter(|value| !value.is_finite()).count();
        }
    }
    Ok(blanks)
}
