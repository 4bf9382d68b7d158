//! The transforms of each length, planned once for all lanes. No pixels.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use num_complex::Complex;
use realfft::{ComplexToReal, RealFftPlanner, RealToComplex};
use rustfft::{Fft, FftPlanner};

use super::real;
use super::simd::Isa;
use crate::convolve::BackendError;
use crate::plane::Real;

/// The transforms of a real row and back.
pub(super) struct RowPlan<T> {
    pub length: usize,
    isa: Isa,
    way: Way<T>,
}

/// How rows of one length are transformed.
enum Way<T> {
    /// Even lengths: complex transforms of half the length, and a pass over pairs of bins.
    Half {
        forward: Arc<dyn Fft<T>>,
        inverse: Arc<dyn Fft<T>>,
        factors: Arc<[Complex<T>]>,
    },
    /// Odd lengths.
    Whole {
        forward: Arc<dyn RealToComplex<T>>,
        inverse: Arc<dyn ComplexToReal<T>>,
    },
}

impl<T: Real> RowPlan<T> {
    /// Complex values of working memory that either direction needs.
    pub fn scratch_length(&self) -> usize {
        match &self.way {
            Way::Half {
                forward, inverse, ..
            } => {
                let length = forward.get_outofplace_scratch_len();
                length.max(inverse.get_outofplace_scratch_len())
            }
            Way::Whole { forward, inverse } => {
                forward.get_scratch_len().max(inverse.get_scratch_len())
            }
        }
    }

    /// The `length / 2 + 1` bins of a row of `length` values, unscaled. The row is lost.
    pub fn forward(
        &self,
        row: &mut [T],
        bins: &mut [Complex<T>],
        scratch: &mut [Complex<T>],
    ) -> Result<(), BackendError> {
        let done = match &self.way {
            Way::Half {
                forward, factors, ..
            } => Halves::of(forward, row, bins, scratch)
                .map(|half| {
                    forward.process_outofplace_with_scratch(half.read, half.bins, half.scratch);
                })
                .map(|()| real::split(self.isa, bins, factors)),
            Way::Whole { forward, .. } => scratch
                .get_mut(..forward.get_scratch_len())
                .and_then(|scratch| forward.process_with_scratch(row, bins, scratch).ok()),
        };
        done.ok_or(self.refusal())
    }

    /// The row of `length` values that has these bins, times `length`. The bins are lost; the
    /// imaginary parts that are zero for every real row, of the first and of an even length's
    /// last bin, are taken for zero.
    pub fn inverse(
        &self,
        bins: &mut [Complex<T>],
        row: &mut [T],
        scratch: &mut [Complex<T>],
    ) -> Result<(), BackendError> {
        let done = match &self.way {
            Way::Half {
                inverse, factors, ..
            } => {
                real::join(self.isa, bins, factors);
                Halves::of(inverse, row, bins, scratch).map(|halves| {
                    inverse.process_outofplace_with_scratch(
                        halves.bins,
                        halves.read,
                        halves.scratch,
                    );
                })
            }
            Way::Whole { inverse, .. } => {
                if let Some(first) = bins.first_mut() {
                    first.im = T::ZERO;
                }
                scratch
                    .get_mut(..inverse.get_scratch_len())
                    .and_then(|scratch| inverse.process_with_scratch(bins, row, scratch).ok())
            }
        };
        done.ok_or(self.refusal())
    }

    fn refusal(&self) -> BackendError {
        BackendError::Transform {
            length: self.length,
        }
    }
}

/// The buffers of a complex transform of half a row's length.
struct Halves<'a, T> {
    /// The row, read as complex values.
    read: &'a mut [Complex<T>],
    bins: &'a mut [Complex<T>],
    scratch: &'a mut [Complex<T>],
}

impl<'a, T: Real> Halves<'a, T> {
    /// `None` unless there are twice as many values in the row as the transform is long, half
    /// as many bins and one more, and enough scratch.
    fn of(
        half: &Arc<dyn Fft<T>>,
        row: &'a mut [T],
        bins: &'a mut [Complex<T>],
        scratch: &'a mut [Complex<T>],
    ) -> Option<Self> {
        let length = half.len();
        let read: &mut [Complex<T>] = bytemuck::try_cast_slice_mut(row).ok()?;
        let fits = read.len() == length && bins.len() == length + 1;
        Some(Self {
            read: fits.then_some(read)?,
            bins: bins.get_mut(..length)?,
            scratch: scratch.get_mut(..half.get_outofplace_scratch_len())?,
        })
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
    inner: Mutex<Tables<T>>,
}

struct Tables<T: Real> {
    real: RealFftPlanner<T>,
    complex: FftPlanner<T>,
    /// The factors of rows, by their length.
    factors: HashMap<usize, Arc<[Complex<T>]>>,
}

impl<T: Real> Default for Planner<T> {
    fn default() -> Self {
        Self {
            inner: Mutex::new(Tables {
                real: RealFftPlanner::new(),
                complex: FftPlanner::new(),
                factors: HashMap::new(),
            }),
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
        self.row_for(length, Isa::best())
    }

    fn row_for(&self, length: usize, isa: Isa) -> RowPlan<T> {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        let way = if length.is_multiple_of(2) && length > 0 {
            let half = length / 2;
            let factors = inner.factors.entry(length);
            let factors = Arc::clone(factors.or_insert_with(|| real::factors(half).into()));
            Way::Half {
                forward: inner.complex.plan_fft_forward(half),
                inverse: inner.complex.plan_fft_inverse(half),
                factors,
            }
        } else {
            Way::Whole {
                forward: inner.real.plan_fft_forward(length),
                inverse: inner.real.plan_fft_inverse(length),
            }
        };
        RowPlan { length, isa, way }
    }

    pub fn column(&self, length: usize) -> ColumnPlan<T> {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        ColumnPlan {
            length,
            forward: inner.complex.plan_fft_forward(length),
            inverse: inner.complex.plan_fft_inverse(length),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A row without any regularity, between -1 and 1.
    fn row<T: Real>(length: usize) -> Vec<T> {
        let mut state = 99_u64 + length as u64;
        (0..length)
            .map(|_| {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
                T::rounded((state >> 11) as f64 / (1_u64 << 52) as f64 - 1.0)
            })
            .collect()
    }

    /// Bin `k` by its definition.
    fn bin<T: Real>(row: &[T], k: usize) -> Complex<f64> {
        let turn = std::f64::consts::TAU / row.len() as f64;
        row.iter()
            .enumerate()
            .map(|(j, value)| {
                let angle = -turn * (j * k % row.len()) as f64;
                Complex::from_polar(value.widened(), angle)
            })
            .sum()
    }

    fn buffers<T: Real>(plan: &RowPlan<T>) -> (Vec<Complex<T>>, Vec<Complex<T>>) {
        let blank = Complex::new(T::BLANK, T::BLANK);
        let bins = vec![blank; plan.length / 2 + 1];
        (bins, vec![blank; plan.scratch_length()])
    }

    /// The definition, and the way back, for every small length and both kinds of instructions,
    /// which must agree in every bit.
    fn every_length<T: Real>(relative: f64) {
        let planner = Planner::<T>::default();
        for length in 1..=200 {
            let original = row::<T>(length);
            let allowed = relative * (length as f64).sqrt();
            let mut results = Vec::new();
            for isa in [Isa::PORTABLE, Isa::best()] {
                let plan = planner.row_for(length, isa);
                let (mut bins, mut scratch) = buffers(&plan);
                let mut values = original.clone();
                plan.forward(&mut values, &mut bins, &mut scratch).unwrap();
                for (k, found) in bins.iter().enumerate() {
                    let found = Complex::new(found.re.widened(), found.im.widened());
                    let off = (found - bin(&original, k)).norm();
                    assert!(off < allowed, "{isa:?} {length}, bin {k}: {off:e}");
                }
                let forward = bins.clone();
                bins[0].im = T::ONE;
                if length.is_multiple_of(2) {
                    bins[length / 2].im = T::BLANK;
                }
                values.fill(T::BLANK);
                plan.inverse(&mut bins, &mut values, &mut scratch).unwrap();
                for (found, original) in values.iter().zip(&original) {
                    let off = (found.widened() / length as f64 - original.widened()).abs();
                    assert!(off < relative, "{isa:?} {length}: {off:e}");
                }
                results.push((
                    bytemuck::cast_slice::<_, u8>(&forward).to_vec(),
                    bytemuck::cast_slice::<_, u8>(&values).to_vec(),
                ));
            }
            assert!(results[0] == results[1], "{length}: bits differ");
        }
    }

    #[test]
    fn rows_have_the_bins_of_the_definition_and_come_back() {
        every_length::<f32>(1e-6);
        every_length::<f64>(1e-14);
    }

    #[test]
    fn first_and_last_bins_of_even_rows_are_exactly_real() {
        let plan = Planner::<f32>::default().row(96);
        let (mut bins, mut scratch) = buffers(&plan);
        plan.forward(&mut row(96), &mut bins, &mut scratch).unwrap();
        assert_eq!((bins[0].im, bins[48].im), (0.0, 0.0));
    }

    #[test]
    fn buffers_of_other_lengths_are_refused() {
        let refused = Err(BackendError::Transform { length: 12 });
        let plan = Planner::<f64>::default().row(12);
        let mut scratch = vec![Complex::default(); plan.scratch_length()];
        let mut bins = vec![Complex::default(); 7];
        assert_eq!(plan.forward(&mut row(10), &mut bins, &mut scratch), refused);
        assert_eq!(plan.forward(&mut row(13), &mut bins, &mut scratch), refused);
        assert_eq!(
            plan.inverse(&mut bins[..6], &mut row(12), &mut scratch),
            refused
        );
    }
}
