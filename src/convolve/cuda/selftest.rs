//! A small plane on the device, held against the CPU: whatever is wrong with a driver, its cuFFT or
//! the device shows before any plane of a user's.

use super::super::device::{DeviceError, Unavailable};
use super::super::{Backend, BackendError, Cpu, Workload};
use super::Cuda;
use crate::kernel::{Grid, PixelCovariance};
use crate::plan::{ColumnMethod, Convolution, Edge, NanRule, Precision, padded_grid};
use crate::plane::{Codec, PlaneMut, PlaneRef};

const NX: usize = 45;
const NY: usize = 32;

/// Holds both precisions against the CPU.
pub(super) fn run(cuda: &Cuda) -> Result<(), DeviceError> {
    for (precision, tolerance) in [(Precision::F32, 2e-6), (Precision::F64, 1e-12)] {
        let compared = compare(cuda, precision, tolerance).map_err(|error| match error {
            BackendError::Device(DeviceError::Call(call)) => Unavailable::Failed(call).into(),
            // Also that there is no memory for it, which is nothing wrong with the device.
            BackendError::Device(error) => error,
            error => DeviceError::from(Unavailable::Wrong {
                text: error.to_string(),
            }),
        })?;
        compared?;
    }
    Ok(())
}

fn compare(
    cuda: &Cuda,
    precision: Precision,
    tolerance: f64,
) -> Result<Result<(), Unavailable>, BackendError> {
    let stored = stored(precision);
    let ours = convolved(cuda, precision, &stored)?;
    let theirs = convolved(&Cpu::new(), precision, &stored)?;
    let finite = theirs.iter().filter(|value| value.is_finite());
    let peak = finite.fold(0.0_f64, |peak, value| peak.max(value.abs()));
    for (at, (our, their)) in ours.iter().zip(&theirs).enumerate() {
        let agrees = (our - their).abs() <= tolerance * peak || (our.is_nan() && their.is_nan());
        if !agrees {
            let text = format!(
                "pixel {} of row {} is {our:e} and not {their:e} in {precision:?}",
                at % NX,
                at / NX
            );
            return Ok(Err(Unavailable::Wrong { text }));
        }
    }
    Ok(Ok(()))
}

/// A convolution of planes of this size whose kernel is wide enough for a common one.
pub(super) fn wide(nx: usize, ny: usize, precision: Precision) -> Convolution {
    let kernel = PixelCovariance {
        xx: 40.0,
        xy: 8.0,
        yy: 30.0,
    };
    let grid = padded_grid(Edge::Zero, nx, ny, &kernel);
    let convolution = Convolution {
        kernel,
        grid: grid.unwrap_or(Grid { nx, ny }),
        nan: NanRule::Racs,
        ..small()
    };
    convolution.made_fast_whole((nx, ny), precision)
}

/// A source off the centre, a slope, and two blank pixels.
fn stored(precision: Precision) -> Vec<u8> {
    let value = |at: usize| match (at % NX, at / NX) {
        (30, 9) => 1.0,
        (3, 20) => f64::NAN,
        (17, 31) => f64::NEG_INFINITY,
        (x, y) => 1e-3 * (x as f64 - 2.0 * y as f64),
    };
    let values = (0..NX * NY).map(value);
    match precision {
        Precision::F32 => values.flat_map(|v| (v as f32).to_be_bytes()).collect(),
        Precision::F64 => values.flat_map(f64::to_be_bytes).collect(),
    }
}

/// That of the test.
fn small() -> Convolution {
    Convolution {
        kernel: PixelCovariance {
            xx: 9.0,
            xy: 2.5,
            yy: 5.0,
        },
        gain: 1.7,
        racs_gain: 1.3,
        edge: Edge::Zero,
        nan: NanRule::Keep,
        grid: Grid { nx: 64, ny: 50 },
        halo_x: 0,
        columns: ColumnMethod::Full,
    }
}

fn convolved(
    backend: &dyn Backend,
    precision: Precision,
    stored: &[u8],
) -> Result<Vec<f64>, BackendError> {
    let convolution = small();
    // One plane, or memory would be taken for all that can go together.
    let mut workload = Workload::new(precision).with_planes(1);
    workload.add(NX, NY, convolution);
    let bitpix = precision.bitpix();
    let mut bytes = vec![0; stored.len()];
    let source = PlaneRef::new(stored, NX, NY, Codec::plain(bitpix))?;
    let slot = PlaneMut::new(&mut bytes, NX, NY, bitpix)?;
    backend
        .lane(&workload)?
        .convolve(&convolution, source, slot)?;
    let result = PlaneRef::new(&bytes, NX, NY, Codec::plain(bitpix))?;
    let mut values = vec![0.0; NX * NY];
    for (y, row) in values.chunks_mut(NX).enumerate() {
        result.read_row(y, row)?;
    }
    Ok(values)
}
