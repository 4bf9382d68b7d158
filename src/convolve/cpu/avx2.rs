//! The passes over pairs of bins and the turning of tiles in vectors of 32 bytes: four complex `f32` or
//! two `f64`. Whether the machine has them is asked in `simd`. The arithmetic is that of [`real`](super::real),
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

/// Whole tiles turned, from what turns a square of as many values as there are in a vector.
macro_rules! turns {
    ($real:ty, $lanes:literal) => {
        /// A whole tile of a band into columns.
        #[target_feature(enable = "avx2")]
        pub fn turn_in(
            band: &Lines<&[Complex<$real>]>,
            columns: &mut Lines<&mut [Complex<$real>]>,
            first: (usize, usize),
        ) {
            for c in (0..TILE_COLUMNS).step_by($lanes) {
                for r in (0..BAND_ROWS).step_by($lanes) {
                    let square = load(band, r * band.distance + first.0 + c);
                    let place = c * columns.distance + first.1 + r;
                    store(columns, place, turned(square));
                }
            }
        }

        /// A whole tile of columns into a band.
        #[target_feature(enable = "avx2")]
        pub fn turn_out(
            columns: &Lines<&[Complex<$real>]>,
            band: &mut Lines<&mut [Complex<$real>]>,
            first: (usize, usize),
        ) {
            for r in (0..BAND_ROWS).step_by($lanes) {
                for c in (0..TILE_COLUMNS).step_by($lanes) {
                    let square = load(columns, c * columns.distance + first.1 + r);
                    let place = r * band.distance + first.0 + c;
                    store(band, place, turned(square));
                }
            }
        }

        /// The square of values that begins at a place.
        #[inline]
        #[target_feature(enable = "avx2")]
        fn load(from: &Lines<&[Complex<$real>]>, place: usize) -> [Vector; $lanes] {
            let mut square = [all(0.0); $lanes];
            for (k, vector) in square.iter_mut().enumerate() {
                if let Some(bins) = from.values[place + k * from.distance..].first_chunk() {
                    *vector = cast::<Bins, Vector>(*bins);
                }
            }
            square
        }

        #[inline]
        #[target_feature(enable = "avx2")]
        fn store(into: &mut Lines<&mut [Complex<$real>]>, place: usize, square: [Vector; $lanes]) {
            for (k, vector) in square.into_iter().enumerate() {
                let line = &mut into.values[place + k * into.distance..];
                if let Some(bins) = line.first_chunk_mut() {
                    *bins = cast::<Vector, Bins>(vector);
                }
            }
        }
    };
}

/// Complex `f32`.
pub(super) mod single {
    use std::arch::x86_64::{
        __m256 as Vector, _mm256_add_ps as add, _mm256_addsub_ps as alternate, _mm256_castpd_ps,
        _mm256_castps_pd, _mm256_movehdup_ps as imaginary_parts, _mm256_moveldup_ps as real_parts,
        _mm256_mul_ps as multiply, _mm256_permute_ps, _mm256_permute2f128_pd,
        _mm256_permute4x64_pd, _mm256_set1_ps as all, _mm256_setr_ps, _mm256_sub_ps as subtract,
        _mm256_unpackhi_pd, _mm256_unpacklo_pd, _mm256_xor_ps,
    };

    use bytemuck::cast;
    use num_complex::Complex;

    use crate::convolve::cpu::fft2::BAND_ROWS;
    use crate::convolve::cpu::real::{self, Pairs};
    use crate::convolve::cpu::turn::{Lines, TILE_COLUMNS};

    type Bins = [Complex<f32>; 4];

    pairs!(f32, 4);
    turns!(f32, 4);

    /// Rows for columns: value i of vector k is value k of vector i.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn turned(square: [Vector; 4]) -> [Vector; 4] {
        let [a, b, c, d] = square.map(|row| _mm256_castps_pd(row));
        let (ab, cd) = (_mm256_unpacklo_pd(a, b), _mm256_unpacklo_pd(c, d));
        let (a_b, c_d) = (_mm256_unpackhi_pd(a, b), _mm256_unpackhi_pd(c, d));
        [
            _mm256_castpd_ps(_mm256_permute2f128_pd::<0x20>(ab, cd)),
            _mm256_castpd_ps(_mm256_permute2f128_pd::<0x20>(a_b, c_d)),
            _mm256_castpd_ps(_mm256_permute2f128_pd::<0x31>(ab, cd)),
            _mm256_castpd_ps(_mm256_permute2f128_pd::<0x31>(a_b, c_d)),
        ]
    }

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

    use crate::convolve::cpu::fft2::BAND_ROWS;
    use crate::convolve::cpu::real::{self, Pairs};
    use crate::convolve::cpu::turn::{Lines, TILE_COLUMNS};

    type Bins = [Complex<f64>; 2];

    pairs!(f64, 2);
    turns!(f64, 2);

    /// Rows for columns: value i of vector k is value k of vector i.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn turned([a, b]: [Vector; 2]) -> [Vector; 2] {
        [
            _mm256_permute2f128_pd::<0x20>(a, b),
            _mm256_permute2f128_pd::<0x31>(a, b),
        ]
    }

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
