//! The buffer of a spectrum: the lane's own, or lent by its maker. What is in it is not known
//! here.

use std::mem::size_of;
use std::ops::{Deref, DerefMut};

use num_complex::Complex;

use crate::convolve::Loan;
use crate::plane::Real;

/// Complex values in the lane's own memory or in somebody else's.
pub(super) enum Big<T> {
    Own(Vec<Complex<T>>),
    Lent {
        loan: Box<dyn Loan>,
        /// How much of it is in use.
        bytes: usize,
    },
}

impl<T: Real> Big<T> {
    /// The first `length` values of what is lent; `None` if there are not as many, or they do not
    /// begin where such values can.
    pub fn lent(loan: Box<dyn Loan>, length: usize) -> Option<Self> {
        let bytes = length.checked_mul(size_of::<Complex<T>>())?;
        let used = loan.bytes().get(..bytes)?;
        let fits = bytemuck::try_cast_slice::<u8, Complex<T>>(used).is_ok();
        fits.then_some(Self::Lent { loan, bytes })
    }
}

impl<T> Big<T> {
    /// Bytes of its own.
    pub fn own_bytes(&self) -> usize {
        match self {
            Self::Own(values) => values.capacity() * size_of::<Complex<T>>(),
            Self::Lent { .. } => 0,
        }
    }
}

impl<T: Real> Deref for Big<T> {
    type Target = [Complex<T>];

    fn deref(&self) -> &[Complex<T>] {
        match self {
            Self::Own(values) => values,
            Self::Lent { loan, bytes } => {
                let used = loan.bytes().get(..*bytes).unwrap_or_default();
                // `lent` has tried the same.
                bytemuck::try_cast_slice(used).unwrap_or_default()
            }
        }
    }
}

impl<T: Real> DerefMut for Big<T> {
    fn deref_mut(&mut self) -> &mut [Complex<T>] {
        match self {
            Self::Own(values) => values,
            Self::Lent { loan, bytes } => {
                let used = loan.bytes_mut().get_mut(..*bytes).unwrap_or_default();
                bytemuck::try_cast_slice_mut(used).unwrap_or_default()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct Bytes(Vec<f64>, usize);

    impl Loan for Bytes {
        fn bytes(&self) -> &[u8] {
            &bytemuck::cast_slice(&self.0)[self.1..]
        }

        fn bytes_mut(&mut self) -> &mut [u8] {
            &mut bytemuck::cast_slice_mut(&mut self.0)[self.1..]
        }
    }

    fn lend(doubles: usize, skip: usize) -> Box<dyn Loan> {
        Box::new(Bytes(vec![0.0; doubles], skip))
    }

    #[test]
    fn lent_bytes_are_seen_as_values() {
        let mut big = Big::<f32>::lent(lend(4, 0), 3).unwrap();
        big[2] = Complex::new(1.0, -2.0);
        assert_eq!(
            (big.len(), big[2], big.own_bytes()),
            (3, Complex::new(1.0, -2.0), 0)
        );
    }

    #[test]
    fn too_few_or_askew_is_refused() {
        assert!(Big::<f64>::lent(lend(4, 0), 2).is_some());
        assert!(Big::<f64>::lent(lend(4, 0), 3).is_none());
        assert!(Big::<f64>::lent(lend(4, 1), 1).is_none());
        assert!(Big::<f64>::lent(lend(4, 0), usize::MAX).is_none());
        // An empty buffer may begin anywhere.
        assert!(Big::<f64>::lent(lend(1, 8), 0).is_some());
    }
}
