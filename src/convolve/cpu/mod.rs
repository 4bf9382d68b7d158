//! The CPU backend: real transforms of rows, complex transforms of columns, on memory that is
//! allocated once a lane. What a plane means is in [`reference`](super::reference); how it is
//! transformed in `fft2`, what becomes of blank pixels in `blank`.

#[cfg(target_arch = "x86_64")]
mod avx2;
mod big;
mod blank;
mod fft2;
mod lane;
mod memory;
pub mod parts;
mod plans;
mod real;
mod samples;
mod share;
mod simd;
mod strips;
mod tables;
mod turn;

use super::{Backend, BackendError, Lane, Loan, Workload};
use crate::plan::Precision;
use crate::plane::Real;
use lane::CpuLane;
use memory::{Layout, spectra_bytes};
use plans::Planner;

/// Does `work` with the widest vectors that this machine has, as far as it is inlined.
#[inline]
pub(crate) fn vectorised<R>(work: impl FnOnce() -> R) -> R {
    simd::Isa::best().run(work)
}

/// The CPU backend. It keeps the tables of every transform length it has met, for all lanes.
#[derive(Debug, Default)]
pub struct Cpu {
    single: Planner<f32>,
    double: Planner<f64>,
}

impl Cpu {
    /// A backend that has planned nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }
}

impl Backend for Cpu {
    fn name(&self) -> &'static str {
        "cpu"
    }

    /// The transforms of rustfft, which takes the same instructions for the same answers; our own
    /// vector code has the bits of the portable one.
    fn arithmetic(&self) -> &str {
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx") && is_x86_feature_detected!("fma") {
            return "avx fma";
        } else if is_x86_feature_detected!("sse4.1") {
            return "sse4.1";
        }
        "plain"
    }

    fn lane_bytes(&self, workload: &Workload) -> u64 {
        match transform_precision(workload) {
            Precision::F32 => lane_bytes(workload, Some(&self.single)),
            Precision::F64 => lane_bytes(workload, Some(&self.double)),
        }
    }

    fn least_lane_bytes(&self, workload: &Workload) -> u64 {
        match transform_precision(workload) {
            Precision::F32 => lane_bytes::<f32>(workload, None),
            Precision::F64 => lane_bytes::<f64>(workload, None),
        }
    }

    fn spectra_bytes(&self, workload: &Workload) -> [u64; 2] {
        match transform_precision(workload) {
            Precision::F32 => spectra_bytes::<f32>(workload),
            Precision::F64 => spectra_bytes::<f64>(workload),
        }
    }

    fn table_bytes(&self, workload: &Workload) -> u64 {
        match transform_precision(workload) {
            Precision::F32 => tables::bytes::<f32>(workload),
            Precision::F64 => tables::bytes::<f64>(workload),
        }
    }

    fn lane(&self, workload: &Workload) -> Result<Box<dyn Lane>, BackendError> {
        Ok(match transform_precision(workload) {
            Precision::F32 => Box::new(CpuLane::new(workload, &self.single)?),
            Precision::F64 => Box::new(CpuLane::new(workload, &self.double)?),
        })
    }

    fn lane_in(
        &self,
        workload: &Workload,
        spectra: [Box<dyn Loan>; 2],
    ) -> Result<Box<dyn Lane>, BackendError> {
        Ok(match transform_precision(workload) {
            Precision::F32 => Box::new(CpuLane::new_in(workload, &self.single, spectra)?),
            Precision::F64 => Box::new(CpuLane::new_in(workload, &self.double, spectra)?),
        })
    }
}

/// The precision that suits every plane.
fn transform_precision(workload: &Workload) -> Precision {
    let pixels = workload.precision();
    let kinds = workload.kinds().iter();
    kinds
        .map(|kind| kind.convolution.nan.transform_precision(pixels))
        .fold(pixels, Precision::max)
}

/// Without a planner all but what transforms need for themselves.
fn lane_bytes<T: Real>(workload: &Workload, planner: Option<&Planner<T>>) -> u64 {
    Layout::of(workload, planner)
        .and_then(|layout| layout.bytes::<T>())
        .unwrap_or(u64::MAX)
}
