//! The floating-point types, and how stored big-endian samples and values become each other.
//! Rows and planes are not known here.

use byteorder::{BigEndian, ByteOrder};
use fits_layout::Bitpix;

/// The floating-point types that planes are computed in: `f32` and `f64`.
pub trait Real: realfft::FftNum + bytemuck::Pod + PartialOrd + Default {
    /// The quiet NaN that stands for a blank pixel.
    const BLANK: Self;
    /// Zero.
    const ZERO: Self;
    /// One.
    const ONE: Self;
    /// BITPIX of a sample of this type.
    const BITPIX: Bitpix;

    /// The nearest value of this type.
    fn rounded(value: f64) -> Self;
    /// The same value, exactly.
    fn widened(self) -> f64;
    /// Whether this is neither infinite nor NaN.
    fn is_finite(self) -> bool;
    /// Reads big-endian samples of this type's BITPIX; both sides hold the same number of them.
    fn read_big_endian(bytes: &[u8], values: &mut [Self]);
    /// Writes big-endian samples of this type's BITPIX; both sides hold the same number of them.
    fn write_big_endian(values: &[Self], bytes: &mut [u8]);
}

/// Implements [`Real`] from a primitive and byteorder's slice functions for it.
macro_rules! real {
    ($type:ty, $bitpix:expr, $read:ident, $write:ident) => {
        impl Real for $type {
            const BLANK: Self = <$type>::NAN;
            const ZERO: Self = 0.0;
            const ONE: Self = 1.0;
            const BITPIX: Bitpix = $bitpix;

            #[inline]
            fn rounded(value: f64) -> Self {
                value as $type
            }

            #[inline]
            fn widened(self) -> f64 {
                f64::from(self)
            }

            #[inline]
            fn is_finite(self) -> bool {
                <$type>::is_finite(self)
            }

            #[inline]
            fn read_big_endian(bytes: &[u8], values: &mut [Self]) {
                BigEndian::$read(bytes, values);
            }

            #[inline]
            fn write_big_endian(values: &[Self], bytes: &mut [u8]) {
                BigEndian::$write(values, bytes);
            }
        }
    };
}

real!(f32, Bitpix::F32, read_f32_into, write_f32_into);
real!(f64, Bitpix::F64, read_f64_into, write_f64_into);

/// How a stored sample becomes a value: `bzero + bscale · stored`, computed in `f64`
/// (FITS 4.0, section 4.4.2, BSCALE, BZERO and BLANK).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Codec {
    /// The type of the stored samples.
    pub bitpix: Bitpix,
    /// The factor, 1 where the header has no BSCALE.
    pub bscale: f64,
    /// The value of a stored zero, 0 where the header has no BZERO.
    pub bzero: f64,
    /// The stored integer that means "no value"; it has no meaning for floating-point samples.
    pub blank: Option<i64>,
}

impl Codec {
    /// Samples that are their own values: no scaling, no BLANK.
    #[must_use]
    pub fn plain(bitpix: Bitpix) -> Self {
        Self {
            bitpix,
            bscale: 1.0,
            bzero: 0.0,
            blank: None,
        }
    }

    /// Whether every stored sample is its own value.
    #[must_use]
    pub fn is_plain(&self) -> bool {
        let unscaled = self.bscale == 1.0 && self.bzero == 0.0;
        unscaled && (self.bitpix.is_float() || self.blank.is_none())
    }

    /// Bytes of one sample.
    pub(super) fn sample_bytes(&self) -> usize {
        match self.bitpix {
            Bitpix::U8 => 1,
            Bitpix::I16 => 2,
            Bitpix::I32 | Bitpix::F32 => 4,
            Bitpix::I64 | Bitpix::F64 => 8,
        }
    }

    /// Decodes as many samples as `values` holds; `bytes` has exactly as many.
    pub(super) fn decode<T: Real>(&self, bytes: &[u8], values: &mut [T]) {
        match self.bitpix {
            bitpix if bitpix == T::BITPIX && self.is_plain() => T::read_big_endian(bytes, values),
            Bitpix::F32 => self.scale(bytes, values, |b| f64::from(f32::from_be_bytes(b))),
            Bitpix::F64 => self.scale(bytes, values, f64::from_be_bytes),
            Bitpix::U8 => self.integers(bytes, values, |[b]| i64::from(b)),
            Bitpix::I16 => self.integers(bytes, values, |b| i64::from(i16::from_be_bytes(b))),
            Bitpix::I32 => self.integers(bytes, values, |b| i64::from(i32::from_be_bytes(b))),
            Bitpix::I64 if self.is_unsigned_64() => self.unsigned_64(bytes, values),
            Bitpix::I64 => self.integers(bytes, values, i64::from_be_bytes),
        }
    }

    /// Floating-point samples: NaN and infinities go through as they are, and so does the sign of
    /// zero where nothing is scaled.
    fn scale<T: Real, const N: usize>(
        &self,
        bytes: &[u8],
        values: &mut [T],
        stored: impl Fn([u8; N]) -> f64,
    ) {
        let (samples, _) = bytes.as_chunks::<N>();
        if self.is_plain() {
            for (value, &sample) in values.iter_mut().zip(samples) {
                *value = T::rounded(stored(sample));
            }
            return;
        }
        for (value, &sample) in values.iter_mut().zip(samples) {
            *value = T::rounded(self.bzero + self.bscale * stored(sample));
        }
    }

    /// Integer samples: BLANK becomes NaN.
    fn integers<T: Real, const N: usize>(
        &self,
        bytes: &[u8],
        values: &mut [T],
        stored: impl Fn([u8; N]) -> i64,
    ) {
        let (samples, _) = bytes.as_chunks::<N>();
        let value_of = |raw: i64| T::rounded(self.bzero + self.bscale * raw as f64);
        match self.blank {
            None => {
                for (value, &sample) in values.iter_mut().zip(samples) {
                    *value = value_of(stored(sample));
                }
            }
            Some(blank) => {
                for (value, &sample) in values.iter_mut().zip(samples) {
                    let raw = stored(sample);
                    *value = if raw == blank {
                        T::BLANK
                    } else {
                        value_of(raw)
                    };
                }
            }
        }
    }

    /// Whether BITPIX 64 stands for unsigned integers (FITS 4.0, section 5.2.5: BZERO = 2^63).
    fn is_unsigned_64(&self) -> bool {
        self.bscale == 1.0 && self.bzero == 9_223_372_036_854_775_808.0
    }

    /// Unsigned 64-bit samples. Adding 2^63 in `f64` would lose the low bits of small values.
    fn unsigned_64<T: Real>(&self, bytes: &[u8], values: &mut [T]) {
        let (samples, _) = bytes.as_chunks::<8>();
        for (value, &sample) in values.iter_mut().zip(samples) {
            let raw = i64::from_be_bytes(sample);
            let unsigned = raw.cast_unsigned() ^ (1 << 63);
            *value = if self.blank == Some(raw) {
                T::BLANK
            } else {
                T::rounded(unsigned as f64)
            };
        }
    }
}

/// Writes values as big-endian samples of `bitpix`, which is F32 or F64.
pub(crate) fn encode<T: Real>(bitpix: Bitpix, values: &[T], bytes: &mut [u8]) {
    if bitpix == T::BITPIX {
        T::write_big_endian(values, bytes);
    } else if bitpix == Bitpix::F32 {
        let (samples, _) = bytes.as_chunks_mut::<4>();
        for (sample, value) in samples.iter_mut().zip(values) {
            *sample = (value.widened() as f32).to_be_bytes();
        }
    } else {
        let (samples, _) = bytes.as_chunks_mut::<8>();
        for (sample, value) in samples.iter_mut().zip(values) {
            *sample = value.widened().to_be_bytes();
        }
    }
}

/// Fills `bytes` with NaN of `bitpix`, which is F32 or F64.
pub(super) fn fill_blank(bitpix: Bitpix, bytes: &mut [u8]) {
    if bitpix == Bitpix::F32 {
        bytes.as_chunks_mut::<4>().0.fill(f32::NAN.to_be_bytes());
    } else {
        bytes.as_chunks_mut::<8>().0.fill(f64::NAN.to_be_bytes());
    }
}
