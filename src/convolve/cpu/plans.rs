//! The transforms of each length, planned once for all lanes. No pixels.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use realfft::{ComplexToReal, RealFftPlanner, RealToComplex};
use rustfft::{Fft, FftPlanner};

use crate::plane::Real;

/// The transforms of a real row and back.
pub(super) struct RowPlan<T> {
    pub length: usize,
    pub forward: Arc<dyn RealToComplex<T>>,
    pub inverse: Arc<dyn ComplexToReal<T>>,
}

impl<T> RowPlan<T> {
    /// Complex values of working memory that either direction needs.
    pub fn scratch_length(&self) -> usize {
        self.forward
            .get_scratch_len()
            .max(self.inverse.get_scratch_len())
    }
}

/// The transforms of a complex column and back, from one buffer to another.
pub(super) struct ColumnPlan<T> {
    pub length: usize,
    pub forward: Arc<dyn Fft<T>>,
    pub inverse: Arc<dyn Fft<T>>,
}

impl<T: Real> ColumnPlan<T> {
    /// Complex values of working memory that either direction needs. For a length with a large
    /// prime factor that is several times the length.
    pub fn scratch_length(&self) -> usize {
        let forward = &self.forward;
        let needed = forward.get_outofplace_scratch_len();
        needed
            .max(forward.get_immutable_scratch_len())
            .max(self.inverse.get_outofplace_scratch_len())
    }
}

/// Makes plans, and keeps their tables so that a length is worked out once.
pub(super) struct Planner<T: Real> {
    inner: Mutex<(RealFftPlanner<T>, FftPlanner<T>)>,
}

impl<T: Real> Default for Planner<T> {
    fn default() -> Self {
        Self {
            inner: Mutex::new((RealFftPlanner::new(), FftPlanner::new())),
        }
    }
}

impl<T: Real> fmt::Debug for Planner<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Planner").finish_non_exhaustive()
    }
}

impl<T: Real> Planner<T> {
    pub fn row(&self, length: usize) -> RowPlan<T> {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        let forward = inner.0.plan_fft_forward(length);
        let inverse = inner.0.plan_fft_inverse(length);
        RowPlan {
            length,
            forward,
            inverse,
        }
    }

    pub fn column(&self, length: usize) -> ColumnPlan<T> {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        let forward = inner.1.plan_fft_forward(length);
        let inverse = inner.1.plan_fft_inverse(length);
        ColumnPlan {
            length,
            forward,
            inverse,
        }
    }
}
