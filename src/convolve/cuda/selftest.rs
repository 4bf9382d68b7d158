//! A few small planes on the device, held against the CPU: what is wrong with a driver, its cuFFT or
//! the device should show before any plane of a user's.

use super::super::device::{DeviceError, Unavailable};
use super::super::{Backend, BackendError, Cpu, Workload};
use super::{Cuda, LEAST_LANES};
use crate::kernel::{Grid, PixelCovariance};
use crate::plan::{ColumnMethod, Convolution, Edge, NanRule, Precision, padded_grid};
use crate::plane::{Codec, PlaneMut, PlaneRef};

const NX: usize = 45;
const NY: usize = 32;

/// Planes that go through the device together.
const PLANES: usize = 3;

/// One kind of planes, and how far both may be apart, as a share of the peak.
struct Kind {
    precision: Precision,
    nan: NanRule,
    grid: Grid,
    tolerance: f64,
}

const fn kind(precision: Precision, nan: NanRule, grid: (usize, usize), tolerance: f64) -> Kind {
    let grid = Grid {
        nx: grid.0,
        ny: grid.1,
    };
    Kind {
        precision,
        nan,
        grid,
        tolerance,
    }
}

/// Both precisions, even and odd lengths, with and without a mask.
const KINDS: [Kind; 4] = [
    kind(Precision::F32, NanRule::Keep, (64, 50), 2e-6),
    kind(Precision::F32, NanRule::Racs, (63, 49), 2e-6),
    kind(Precision::F64, NanRule::Keep, (63, 50), 1e-12),
    kind(Precision::F64, NanRule::Interpolate, (64, 49), 1e-11),
];

/// Holds a few planes of each kind against the CPU.
pub(super) fn run(cuda: &Cuda) -> Result<(), DeviceError> {
    KINDS.iter().try_for_each(|kind| {
        compare(cuda, kind).map_err(|error| match error {
            BackendError::Device(DeviceError::Call(call)) => {
                DeviceError::Unavailable(Unavailable::Failed(call))
            }
            BackendError::Device(error) => error,
            error => wrong(error.to_string()),
        })
    })
}

fn wrong(text: String) -> DeviceError {
    DeviceError::Unavailable(Unavailable::Wrong { text })
}

fn compare(cuda: &Cuda, kind: &Kind) -> Result<(), BackendError> {
    let stored: Vec<_> = (0..PLANES)
        .map(|plane| stored(kind.precision, plane))
        .collect();
    let ours = convolved(cuda, kind, &stored)?;
    let theirs = convolved(&Cpu::new(), kind, &stored)?;
    let finite = theirs.iter().filter(|value| value.is_finite());
    let peak = finite.fold(0.0_f64, |peak, value| peak.max(value.abs()));
    for (at, (our, their)) in ours.iter().zip(&theirs).enumerate() {
        let agree = match (our.is_nan(), their.is_nan()) {
            (false, false) => (our - their).abs() <= kind.tolerance * peak,
            (ours, theirs) => ours && theirs,
        };
        if !agree {
            let (precision, nan) = (kind.precision, kind.nan);
            let (x, y, plane) = (at % NX, at / NX % NY, at / NX / NY);
            let text = format!(
                "pixel {x} of row {y} of plane {plane} is {our:e} and not {their:e} in \
                 {precision:?} with {nan:?}"
            );
            return Err(wrong(text).into());
        }
    }
    Ok(())
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

/// A source off the centre, a slope, and some blank pixels.
fn stored(precision: Precision, plane: usize) -> Vec<u8> {
    let value = |at: usize| match (at % NX, at / NX) {
        (30, 9) => 1.0 + plane as f64,
        (3..6, 20..23) => f64::NAN,
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

/// All planes, one after another; together, where the backend does that.
fn convolved(
    backend: &dyn Backend,
    kind: &Kind,
    stored: &[Vec<u8>],
) -> Result<Vec<f64>, BackendError> {
    let bitpix = kind.precision.bitpix();
    let convolutions: Vec<Convolution> = (0..stored.len())
        .map(|plane| {
            let mut convolution = small();
            convolution.kernel.xx += plane as f64;
            (convolution.nan, convolution.grid) = (kind.nan, kind.grid);
            convolution
        })
        .collect();
    // No more, or memory would be taken for all that can go together.
    let mut workload = Workload::new(kind.precision).with_planes(LEAST_LANES * stored.len());
    for convolution in &convolutions {
        workload.add(NX, NY, *convolution);
    }
    let sources = stored
        .iter()
        .map(|stored| PlaneRef::new(stored, NX, NY, Codec::plain(bitpix)));
    let sources = sources.collect::<Result<Vec<_>, _>>()?;
    let planes: Vec<_> = convolutions.iter().zip(sources).collect();
    let mut lane = backend.lane(&workload)?;
    let mut results = vec![vec![0; NX * NY * bitpix.size_bytes() as usize]; planes.len()];
    let mut slots = results
        .iter_mut()
        .map(|bytes| PlaneMut::new(bytes, NX, NY, bitpix));
    match lane.batches() {
        Some(batches) => {
            for planes in planes.chunks(batches.most()) {
                batches.compute(planes, bitpix)?;
                for (at, (plane, slot)) in planes.iter().zip(&mut slots).enumerate() {
                    batches.store(at, *plane, slot?)?;
                }
            }
        }
        None => {
            for ((convolution, source), slot) in planes.iter().zip(&mut slots) {
                lane.convolve(convolution, *source, slot?)?;
            }
        }
    }
    drop(slots);
    let mut values = Vec::new();
    for bytes in &results {
        let result = PlaneRef::new(bytes, NX, NY, Codec::plain(bitpix))?;
        let mut row = vec![0.0; NX];
        for y in 0..NY {
            result.read_row(y, &mut row)?;
            values.extend_from_slice(&row);
        }
    }
    Ok(values)
}
