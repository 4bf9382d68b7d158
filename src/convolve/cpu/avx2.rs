//! The passes over pairs of bins in vectors of 32 bytes: four complex `f32` or two `f64`. Whether
//! the machine has them is asked in `simd`. The arithmetic is that of [`real`](super::real),
//! operation for operation.

/// The pass over pairs, from the vector type and what can be done with it.
macro_rules! pairs {
    ($real:ty, $lanes:literal) => {
        /// As [`real::pairs`], which does what does not fill a vector.
        #[target_feature(enable = "avx2")]
        pub fn pairs(back: bool, pairs: Pairs<'_, $real>) {
            let (low, low_rest) = pairs.low.as_chunks_mut::<$lanes>();
            let (high_rest, high) = pairs.high.as_rchunks_mut::<$lanes>();
            let (factors, factors_rest) = pairs.factors.as_chunks::<$lanes>();
            let partners = low.iter_mut().zip(high.iter_mut().rev()).zip(factors);
            if back {
                partners.for_each(|((low, high), factor)| join(low, high, factor));
            } else {
                partners.for_each(|((low, high), factor)| split(low, high, factor));
            }
            let rest = Pairs {
                low: low_rest,
                high: high_rest,
                factors: factors_rest,
            };
            real::pairs(back, rest);
        }

        #[inline]
        #[target_feature(enable = "avx2")]
        fn split(low: &mut Bins, high: &mut Bins, factor: &Bins) {
            let (a, b) = (cast(*low), conjugate(reverse(cast(*high))));
            let even = multiply(add(a, b), all(0.5));
            let odd = product(subtract(a, b), cast(*factor));
            *low = cast(add(even, odd));
            *high = cast(reverse(conjugate(subtract(even, odd))));
        }

        #[inline]
        #[target_feature(enable = "avx2")]
        fn join(low: &mut Bins, high: &mut Bins, factor: &Bins) {
            let (a, b) = (cast(*low), conjugate(reverse(cast(*high))));
            let even = add(a, b);
            let twice = multiply(subtract(a, b), all(2.0));
            let odd = product(twice, conjugate(cast(*factor)));
            *low = cast(add(even, odd));
            *high = cast(reverse(conjugate(subtract(even, odd))));
        }

        /// The complex product.
        #[inline]
        #[target_feature(enable = "avx2")]
        fn product(a: Vector, b: Vector) -> Vector {
            alternate(
                multiply(a, real_parts(b)),
                multiply(swap(a), imaginary_parts(b)),
            )
        }
    };
}

/// Complex `f32`.
pub(super) mod single {
    use std::arch::x86_64::{
        __m256 as Vector, _mm256_add_ps as add, _mm256_addsub_ps as alternate, _mm256_castpd_ps,
        _mm256_castps_pd, _mm256_movehdup_ps as imaginary_parts, _mm256_moveldup_ps as real_parts,
        _mm256_mul_ps as multiply, _mm256_permute_ps, _mm256_permute4x64_pd, _mm256_set1_ps as all,
        _mm256_setr_ps, _mm256_sub_ps as subtract, _mm256_xor_ps,
    };

    use bytemuck::cast;
    use num_complex::Complex;

    use crate::convolve::cpu::real::{self, Pairs};

    type Bins = [Complex<f32>; 4];

    pairs!(f32, 4);

    #[inline]
    #[target_feature(enable = "avx2")]
    fn conjugate(a: Vector) -> Vector {
        _mm256_xor_ps(
            a,
            _mm256_setr_ps(0.0, -0.0, 0.0, -0.0, 0.0, -0.0, 0.0, -0.0),
        )
    }

    /// Real and imaginary parts in each other's place.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn swap(a: Vector) -> Vector {
        _mm256_permute_ps::<0b10_11_00_01>(a)
    }

    /// The numbers in the opposite order.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn reverse(a: Vector) -> Vector {
        _mm256_castpd_ps(_mm256_permute4x64_pd::<0b00_01_10_11>(_mm256_castps_pd(a)))
    }
}

/// Complex `f64`.
pub(super) mod double {
    use std::arch::x86_64::{
        __m256d as Vector, _mm256_add_pd as add, _mm256_addsub_pd as alternate,
        _mm256_movedup_pd as real_parts, _mm256_mul_pd as multiply, _mm256_permute_pd,
        _mm256_permute2f128_pd, _mm256_set1_pd as all, _mm256_setr_pd, _mm256_sub_pd as subtract,
        _mm256_xor_pd,
    };

    use bytemuck::cast;
    use num_complex::Complex;

    use crate::convolve::cpu::real::{self, Pairs};

    type Bins = [Complex<f64>; 2];

    pairs!(f64, 2);

    #[inline]
    #[target_feature(enable = "avx2")]
    fn conjugate(a: Vector) -> Vector {
        _mm256_xor_pd(a, _mm256_setr_pd(0.0, -0.0, 0.0, -0.0))
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn imaginary_parts(a: Vector) -> Vector {
        _mm256_permute_pd::<0b1111>(a)
    }

    /// Real and imaginary parts in each other's place.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn swap(a: Vector) -> Vector {
        _mm256_permute_pd::<0b0101>(a)
    }

    /// The numbers in the opposite order.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn reverse(a: Vector) -> Vector {
        _mm256_permute2f128_pd::<1>(a, a)
    }
}
