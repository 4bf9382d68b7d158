//! Rows of samples read and written, with what happens to blank pixels on the way: one pass
//! straight over the big-endian bytes where these are plain samples of the transform's own type,
//! and through the codec where they are not. No transform.

use bytemuck::{try_cast_slice, try_cast_slice_mut};
use fits_layout::Bitpix;

use super::blank;
use super::simd::{Isa, will_read};
use super::turn::CACHE_LINE_BYTES;
use crate::plane::{Pen, PlaneError, PlaneMut, PlaneRef, Real, encode};

/// Cache lines of the next row that the cache is told of: half of a first cache.
const LINES_AHEAD: usize = 256;

/// Samples whose blanks are counted in 32 bits, as many to a vector as there are samples.
const COUNTED: usize = 1024;

/// Reads row `y` of a plane into `row`, makes what is not finite zero, and says how many such
/// values there were. `room` is for the stored bytes of a row that is no memory.
pub(super) fn load<T: Real>(
    isa: Isa,
    (source, y): (&PlaneRef<'_>, usize),
    row: &mut [T],
    room: &mut [u8],
) -> Result<usize, PlaneError> {
    if is_plain::<T>(source) && row.len() == source.nx() {
        let stored = source.row_bytes(y, room)?;
        if let Some(blanks) = load_plain(isa, stored, row) {
            foresee(source, y + 1);
            return Ok(blanks);
        }
    }
    source.read_row_in(y, row, room)?;
    Ok(blank::zero_blanks(row))
}

/// Tells the cache of the beginning of row `y`, if there is one.
fn foresee(source: &PlaneRef<'_>, y: usize) {
    let next = source.mapped_row(y).unwrap_or_default();
    for line in next.chunks(CACHE_LINE_BYTES).take(LINES_AHEAD) {
        will_read(line.as_ptr());
    }
}

/// Makes `smoothed` blank where row `y` of the plane is; there is room for a row of it, and as in
/// [`load`].
pub(super) fn keep<T: Real>(
    isa: Isa,
    (source, y): (&PlaneRef<'_>, usize),
    smoothed: &mut [T],
    (room, stored): (&mut [T], &mut [u8]),
) -> Result<(), PlaneError> {
    if is_plain::<T>(source) && smoothed.len() == source.nx() {
        let stored = source.row_bytes(y, stored)?;
        if keep_plain(isa, stored, smoothed).is_some() {
            return Ok(());
        }
    }
    source.read_row_in(y, room, stored)?;
    blank::keep(smoothed, room);
    Ok(())
}

/// Writes `row` as row `y` of a slot.
pub(super) fn store<T: Real>(
    isa: Isa,
    row: &[T],
    (slot, y): (&mut PlaneMut<'_>, usize),
    pen: &mut Pen,
) -> Result<(), PlaneError> {
    if row.len() != slot.nx() {
        return Err(PlaneError::RowLength {
            found: row.len(),
            nx: slot.nx(),
        });
    }
    let bitpix = slot.bitpix();
    let stored = slot.row_room(y, pen)?;
    if bitpix != T::BITPIX || store_plain(isa, row, stored).is_none() {
        encode(bitpix, row, stored);
    }
    Ok(())
}

/// Whether samples are values of the transform's own type as they stand.
fn is_plain<T: Real>(source: &PlaneRef<'_>) -> bool {
    source.codec().bitpix == T::BITPIX && source.codec().is_plain()
}

fn load_plain<T: Real>(isa: Isa, stored: &[u8], row: &mut [T]) -> Option<usize> {
    Some(if T::BITPIX == Bitpix::F32 {
        let (row, stored) = (try_cast_slice_mut(row).ok()?, stored.as_chunks().0);
        isa.run(
            #[inline(always)]
            || load_each(stored, row, f32::from_be_bytes),
        )
    } else {
        let (row, stored) = (try_cast_slice_mut(row).ok()?, stored.as_chunks().0);
        isa.run(
            #[inline(always)]
            || load_each(stored, row, f64::from_be_bytes),
        )
    })
}

fn keep_plain<T: Real>(isa: Isa, stored: &[u8], smoothed: &mut [T]) -> Option<()> {
    if T::BITPIX == Bitpix::F32 {
        let (row, stored) = (try_cast_slice_mut(smoothed).ok()?, stored.as_chunks().0);
        isa.run(
            #[inline(always)]
            || keep_each(stored, row, f32::from_be_bytes),
        );
    } else {
        let (row, stored) = (try_cast_slice_mut(smoothed).ok()?, stored.as_chunks().0);
        isa.run(
            #[inline(always)]
            || keep_each(stored, row, f64::from_be_bytes),
        );
    }
    Some(())
}

fn store_plain<T: Real>(isa: Isa, row: &[T], stored: &mut [u8]) -> Option<()> {
    if T::BITPIX == Bitpix::F32 {
        let (row, stored) = (try_cast_slice(row).ok()?, stored.as_chunks_mut().0);
        isa.run(
            #[inline(always)]
            || store_each(row, stored, f32::to_be_bytes),
        );
    } else {
        let (row, stored) = (try_cast_slice(row).ok()?, stored.as_chunks_mut().0);
        isa.run(
            #[inline(always)]
            || store_each(row, stored, f64::to_be_bytes),
        );
    }
    Some(())
}

#[inline(always)]
fn load_each<const N: usize, T: Real>(
    stored: &[[u8; N]],
    row: &mut [T],
    from: impl Fn([u8; N]) -> T,
) -> usize {
    let mut total = 0;
    for (stored, row) in stored.chunks(COUNTED).zip(row.chunks_mut(COUNTED)) {
        let mut blanks = 0_u32;
        for (value, &sample) in row.iter_mut().zip(stored) {
            let read = from(sample);
            let finite = read.is_finite();
            blanks += u32::from(!finite);
            *value = if finite { read } else { T::ZERO };
        }
        total += blanks as usize;
    }
    total
}

#[inline(always)]
fn keep_each<const N: usize, T: Real>(
    stored: &[[u8; N]],
    smoothed: &mut [T],
    from: impl Fn([u8; N]) -> T,
) {
    for (value, &sample) in smoothed.iter_mut().zip(stored) {
        let finite = from(sample).is_finite();
        *value = if finite { *value } else { T::BLANK };
    }
}

#[inline(always)]
fn store_each<const N: usize, T: Real>(
    row: &[T],
    stored: &mut [[u8; N]],
    into: impl Fn(T) -> [u8; N],
) {
    for (sample, &value) in stored.iter_mut().zip(row) {
        *sample = into(value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plane::Codec;

    /// Samples of all kinds, from a small generator.
    fn samples(count: usize) -> Vec<f64> {
        let special = [
            f64::NAN,
            -f64::NAN,
            f64::INFINITY,
            f64::NEG_INFINITY,
            -0.0,
            1e-310,
            -3e-42,
            f64::MAX,
        ];
        let mut state = 12_345_u64;
        let mut next = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 33) as usize
        };
        (0..count)
            .map(|_| match next() % 20 {
                kind @ 0..8 => special[kind],
                _ => next() as f64 - 1e9,
            })
            .collect()
    }

    fn pen() -> Pen {
        Pen::new(1).unwrap()
    }

    fn bits<T: Real>(values: &[T]) -> Vec<u8> {
        bytemuck::cast_slice(values).to_vec()
    }

    /// Both kinds of instructions against the codec and the passes in `blank`.
    fn as_in_single_steps<T: Real>() {
        for nx in (1..=200).chain([1023, 1024, 1025, 2050]) {
            let values: Vec<T> = samples(nx).into_iter().map(T::rounded).collect();
            let mut stored = vec![0; nx * size_of::<T>()];
            T::write_big_endian(&values, &mut stored);
            // At an odd address, as nothing promises another.
            let shifted: Vec<u8> = std::iter::once(0).chain(stored.iter().copied()).collect();
            let codec = Codec::plain(T::BITPIX);
            let source = PlaneRef::new(&shifted[1..], nx, 1, codec).unwrap();
            let mut zeroed = values.clone();
            let blanks = blank::zero_blanks(&mut zeroed);
            let mut kept = vec![T::ONE; nx];
            blank::keep(&mut kept, &values);
            for isa in [Isa::PORTABLE, Isa::best()] {
                let mut row = vec![T::BLANK; nx];
                assert_eq!(
                    load(isa, (&source, 0), &mut row, &mut []),
                    Ok(blanks),
                    "{isa:?} {nx}"
                );
                assert_eq!(bits(&row), bits(&zeroed), "{isa:?} {nx}");
                let mut row = vec![T::ONE; nx];
                keep(isa, (&source, 0), &mut row, (&mut [], &mut [])).unwrap();
                assert_eq!(bits(&row), bits(&kept), "{isa:?} {nx}");
                let mut written = vec![1; shifted.len()];
                let mut slot = PlaneMut::new(&mut written[1..], nx, 1, T::BITPIX).unwrap();
                store(isa, &values, (&mut slot, 0), &mut pen()).unwrap();
                assert_eq!(written[1..], stored, "{isa:?} {nx}");
            }
        }
    }

    #[test]
    fn rows_in_one_pass_are_those_in_single_steps() {
        as_in_single_steps::<f32>();
        as_in_single_steps::<f64>();
    }

    #[test]
    fn rows_that_do_not_fit_are_refused() {
        let bytes = [0; 12];
        let source = PlaneRef::new(&bytes, 3, 1, Codec::plain(Bitpix::F32)).unwrap();
        let isa = Isa::best();
        assert!(load(isa, (&source, 0), &mut [0.0_f32; 2], &mut []).is_err());
        assert!(load(isa, (&source, 1), &mut [0.0_f32; 3], &mut []).is_err());
        assert!(
            keep(
                isa,
                (&source, 0),
                &mut [0.0_f32; 4],
                (&mut [0.0; 4], &mut [])
            )
            .is_err()
        );
        let mut bytes = [0; 12];
        let mut slot = PlaneMut::new(&mut bytes, 3, 1, Bitpix::F32).unwrap();
        assert!(store(isa, &[0.0_f32; 2], (&mut slot, 0), &mut pen()).is_err());
        assert!(store(isa, &[0.0_f32; 3], (&mut slot, 1), &mut pen()).is_err());
    }

    #[test]
    fn scaled_and_converted_rows_go_through_the_codec() {
        let bytes = [0x7f, 0xff, 0x00, 0x03, 0x80, 0x00];
        let codec = Codec {
            blank: Some(-32768),
            bscale: 2.0,
            ..Codec::plain(Bitpix::I16)
        };
        let source = PlaneRef::new(&bytes, 3, 1, codec).unwrap();
        let (mut row, mut room) = ([0.0_f32; 3], [0.0; 3]);
        assert_eq!(load(Isa::best(), (&source, 0), &mut row, &mut []), Ok(1));
        assert_eq!(row, [65534.0, 6.0, 0.0]);
        keep(Isa::best(), (&source, 0), &mut row, (&mut room, &mut [])).unwrap();
        assert_eq!(row.map(f32::is_nan), [false, false, true]);
        let mut bytes = [0; 24];
        let mut slot = PlaneMut::new(&mut bytes, 3, 1, Bitpix::F64).unwrap();
        store(Isa::best(), &row, (&mut slot, 0), &mut pen()).unwrap();
        assert_eq!(bytes[8..16], 6.0_f64.to_be_bytes());
    }
}
