//! Samples to values and back, for every BITPIX; bytes written down by hand or by the standard
//! library, never by the code under test.
#![allow(clippy::expect_used, clippy::panic, reason = "helpers of tests")]

use fits_layout::Bitpix;
use mmfits::plane::{Codec, PlaneError, PlaneMut, PlaneRef};

/// Decodes a plane of one row.
fn row(bytes: &[u8], codec: Codec) -> Vec<f64> {
    let nx = bytes.len() / codec.bitpix.size_bytes() as usize;
    let plane = PlaneRef::new(bytes, nx, 1, codec).expect("a plane");
    let mut values = vec![-77.0; nx];
    plane.read_row(0, &mut values).expect("a row");
    values
}

fn be<const N: usize>(samples: &[[u8; N]]) -> Vec<u8> {
    samples.concat()
}

fn scaled(bitpix: Bitpix, bscale: f64, bzero: f64, blank: Option<i64>) -> Codec {
    Codec {
        bitpix,
        bscale,
        bzero,
        blank,
    }
}

#[test]
fn integers_are_scaled_and_blanked() {
    let bytes = [0, 1, 128, 255];
    assert_eq!(
        row(&bytes, Codec::plain(Bitpix::U8)),
        [0.0, 1.0, 128.0, 255.0]
    );
    let values = row(&bytes, scaled(Bitpix::U8, 0.5, -1.0, Some(255)));
    assert_eq!(values[..3], [-1.0, -0.5, 63.0]);
    assert!(values[3].is_nan());

    let bytes = be(&[[0x00, 0x01], [0xff, 0xff], [0x80, 0x00], [0x7f, 0xff]]);
    assert_eq!(
        row(&bytes, Codec::plain(Bitpix::I16)),
        [1.0, -1.0, -32768.0, 32767.0]
    );
    let values = row(&bytes, scaled(Bitpix::I16, 1e-4, 0.25, Some(-32768)));
    assert_eq!(values[0], 0.25 + 1e-4);
    assert!(values[2].is_nan());
    assert_eq!(values[3], 0.25 + 1e-4 * 32767.0);

    let bytes = be(&[[0xff, 0xff, 0xff, 0xfe], [0x12, 0x34, 0x56, 0x78]]);
    assert_eq!(
        row(&bytes, Codec::plain(Bitpix::I32)),
        [-2.0, 305_419_896.0]
    );
    assert!(row(&bytes, scaled(Bitpix::I32, 1.0, 0.0, Some(-2)))[0].is_nan());

    let bytes = be(&[(-3_i64).to_be_bytes(), i64::MAX.to_be_bytes()]);
    assert_eq!(
        row(&bytes, Codec::plain(Bitpix::I64)),
        [-3.0, 9_223_372_036_854_775_807.0]
    );
    assert!(row(&bytes, scaled(Bitpix::I64, 2.0, 1.0, Some(i64::MAX)))[1].is_nan());
}

#[test]
fn unsigned_integers_by_their_bzero() {
    let bytes = be(&[[0x80, 0x00], [0x00, 0x00], [0x7f, 0xff]]);
    assert_eq!(
        row(&bytes, scaled(Bitpix::I16, 1.0, 32768.0, None)),
        [0.0, 32768.0, 65535.0]
    );
    let bytes = be(&[[0x80, 0, 0, 0], [0x7f, 0xff, 0xff, 0xff]]);
    let values = row(&bytes, scaled(Bitpix::I32, 1.0, 2_147_483_648.0, None));
    assert_eq!(values, [0.0, 4_294_967_295.0]);
    // 5 would be lost if 2^63 were added in f64.
    let bytes = be(&[
        [0x80, 0, 0, 0, 0, 0, 0, 5],
        [0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff],
    ]);
    let values = row(
        &bytes,
        scaled(
            Bitpix::I64,
            1.0,
            9_223_372_036_854_775_808.0,
            Some(i64::MAX),
        ),
    );
    assert_eq!(values[0], 5.0);
    assert!(values[1].is_nan());
}

#[test]
fn floats_go_through_or_are_scaled() {
    let samples = [
        1.5_f32,
        -0.0,
        f32::NAN,
        f32::INFINITY,
        f32::MIN_POSITIVE / 4.0,
    ];
    let bytes = be(&samples.map(f32::to_be_bytes));
    let values = row(&bytes, Codec::plain(Bitpix::F32));
    assert_eq!(values[0], 1.5);
    assert!(values[1] == 0.0 && values[1].is_sign_negative());
    assert!(values[2].is_nan() && values[3] == f64::INFINITY);
    assert_eq!(values[4], f64::from(f32::MIN_POSITIVE / 4.0));
    let values = row(&bytes, scaled(Bitpix::F32, 2.0, 1.0, None));
    assert_eq!(values[0], 4.0);
    assert!(values[2].is_nan() && values[3] == f64::INFINITY);
    // BLANK means nothing for floating-point samples.
    assert_eq!(row(&bytes, scaled(Bitpix::F32, 1.0, 0.0, Some(1)))[0], 1.5);

    let bytes = be(&[0.1_f64, f64::NAN].map(f64::to_be_bytes));
    assert_eq!(row(&bytes, Codec::plain(Bitpix::F64))[0], 0.1);
    assert_eq!(row(&bytes, scaled(Bitpix::F64, 10.0, 0.5, None))[0], 1.5);
    let plane = PlaneRef::new(&bytes, 1, 2, Codec::plain(Bitpix::F64)).expect("a plane");
    let mut single = [0.0_f32];
    plane.read_row(0, &mut single).expect("a row");
    assert_eq!(single, [0.1_f32]);
    plane.read_row(1, &mut single).expect("a row");
    assert!(single[0].is_nan());
}

#[test]
fn bytes_may_lie_at_any_address() {
    let samples: Vec<u8> = (0..12)
        .flat_map(|i| (i as f32 * 0.5).to_be_bytes())
        .collect();
    let mut memory = vec![0_u8; 8 + samples.len()];
    for offset in 0..8 {
        memory[offset..offset + samples.len()].copy_from_slice(&samples);
        let bytes = &memory[offset..offset + samples.len()];
        let plane = PlaneRef::new(bytes, 4, 3, Codec::plain(Bitpix::F32)).expect("a plane");
        assert_eq!(
            plane.mapped_row(2).expect("a row").as_ptr(),
            bytes[32..].as_ptr()
        );
        let mut values = [0.0_f32; 4];
        plane.read_row(2, &mut values).expect("a row");
        assert_eq!(values, [4.0, 4.5, 5.0, 5.5]);
    }
}

#[test]
fn rows_are_written_big_endian_in_either_precision() {
    let mut bytes = [0_u8; 2 * 3 * 4];
    let mut slot = PlaneMut::new(&mut bytes, 3, 2, Bitpix::F32).expect("a slot");
    slot.write_row(1, &[1.0_f32, -2.5, f32::NAN])
        .expect("a row");
    slot.write_row(0, &[0.1_f64, 1e300, 3.0]).expect("a row");
    let expected = [0.1_f32, f32::INFINITY, 3.0, 1.0, -2.5]
        .map(f32::to_be_bytes)
        .concat();
    assert_eq!(bytes[..20], expected);
    assert!(f32::from_be_bytes([bytes[20], bytes[21], bytes[22], bytes[23]]).is_nan());

    let mut bytes = [0_u8; 2 * 8];
    let mut slot = PlaneMut::new(&mut bytes, 2, 1, Bitpix::F64).expect("a slot");
    slot.write_row(0, &[0.5_f32, -4.0]).expect("a row");
    assert_eq!(bytes[..], [0.5_f64, -4.0].map(f64::to_be_bytes).concat());
}

#[test]
fn bands_cover_the_plane_once() {
    let mut bytes = vec![0_u8; 5 * 7 * 4];
    let mut slot = PlaneMut::new(&mut bytes, 5, 7, Bitpix::F32).expect("a slot");
    let mut heights = Vec::new();
    for (first, mut band) in slot.bands(3) {
        heights.push((first, band.ny()));
        for r in 0..band.ny() {
            band.write_row(r, &[(first + r) as f32; 5]).expect("a row");
        }
        assert_eq!(
            band.write_row(band.ny(), &[0.0_f32; 5]),
            Err(PlaneError::Row {
                row: band.ny(),
                ny: band.ny()
            })
        );
    }
    assert_eq!(heights, [(0, 3), (3, 3), (6, 1)]);
    let plane = PlaneRef::new(&bytes, 5, 7, Codec::plain(Bitpix::F32)).expect("a plane");
    for y in 0..7 {
        let mut values = [0.0_f32; 5];
        plane.read_row(y, &mut values).expect("a row");
        assert_eq!(values, [y as f32; 5]);
    }
}

#[test]
fn a_copy_keeps_every_bit_where_it_can() {
    // A signalling NaN with a payload, a negative zero, a denormal.
    let samples = [
        0x7f80_1234_u32,
        0x8000_0000,
        0x0000_0001,
        0xff80_0000,
        0x3f80_0000,
        0x7fc0_0001,
    ];
    let bytes = be(&samples.map(u32::to_be_bytes));
    let plane = PlaneRef::new(&bytes, 2, 3, Codec::plain(Bitpix::F32)).expect("a plane");
    let mut copy = vec![0_u8; bytes.len()];
    let mut slot = PlaneMut::new(&mut copy, 2, 3, Bitpix::F32).expect("a slot");
    plane.copy_exact(&mut slot).expect("copied");
    assert_eq!(copy, bytes);

    let mut turned = PlaneMut::new(&mut copy, 3, 2, Bitpix::F32).expect("a slot");
    let refused = plane.copy_exact(&mut turned);
    assert_eq!(
        refused,
        Err(PlaneError::Shape {
            found: (3, 2),
            expected: (2, 3)
        })
    );
}

#[test]
fn a_copy_is_converted_where_it_must_be() {
    let (nx, ny) = (301, 3);
    let samples: Vec<i16> = (0..nx * ny).map(|i| i as i16 - 400).collect();
    let bytes: Vec<u8> = samples.iter().flat_map(|s| s.to_be_bytes()).collect();
    let codec = scaled(Bitpix::I16, 0.5, 1.0, Some(-400));
    let plane = PlaneRef::new(&bytes, nx, ny, codec).expect("a plane");
    let mut copy = vec![0_u8; nx * ny * 4];
    let mut slot = PlaneMut::new(&mut copy, nx, ny, Bitpix::F32).expect("a slot");
    plane.copy_exact(&mut slot).expect("copied");
    for (i, sample) in copy.as_chunks().0.iter().enumerate() {
        let value = f32::from_be_bytes(*sample);
        let expected = 1.0 + 0.5 * (i as f32 - 400.0);
        assert!(
            if i == 0 {
                value.is_nan()
            } else {
                value == expected
            },
            "sample {i}: {value}"
        );
    }
}

#[test]
fn a_scaled_float_is_not_copied_as_it_is() {
    let bytes = be(&[3.0_f32, -1.0].map(f32::to_be_bytes));
    let plane = PlaneRef::new(&bytes, 2, 1, scaled(Bitpix::F32, 2.0, 0.5, None)).expect("a plane");
    let mut copy = [0_u8; 8];
    let mut slot = PlaneMut::new(&mut copy, 2, 1, Bitpix::F32).expect("a slot");
    plane.copy_exact(&mut slot).expect("copied");
    assert_eq!(copy[..], [6.5_f32, -1.5].map(f32::to_be_bytes).concat());
}

#[test]
fn blank_slots_are_nan_throughout() {
    for (bitpix, size) in [(Bitpix::F32, 4), (Bitpix::F64, 8)] {
        let mut bytes = vec![0_u8; 6 * size];
        let mut slot = PlaneMut::new(&mut bytes, 2, 3, bitpix).expect("a slot");
        slot.write_row(1, &[f64::NAN; 2]).expect("a row");
        assert_eq!(
            row(&bytes, Codec::plain(bitpix))
                .iter()
                .filter(|v| v.is_nan())
                .count(),
            2
        );
        let mut slot = PlaneMut::new(&mut bytes, 2, 3, bitpix).expect("a slot");
        slot.fill_blank().expect("filled");
        assert!(row(&bytes, Codec::plain(bitpix)).iter().all(|v| v.is_nan()));
    }
}

#[test]
fn wrong_lengths_are_refused() {
    let plain = Codec::plain(Bitpix::I32);
    let found = PlaneRef::new(&[0; 23], 3, 2, plain).expect_err("too few bytes");
    assert_eq!(
        found,
        PlaneError::Length {
            nx: 3,
            ny: 2,
            bitpix: 32,
            found_bytes: 23
        }
    );
    assert!(found.to_string().contains("3 x 2") && found.to_string().contains("23 bytes"));
    let empty = PlaneError::Size { nx: 0, ny: 2 };
    assert_eq!(PlaneRef::new(&[], 0, 2, plain).expect_err("empty"), empty);
    let vast = PlaneRef::new(&[], usize::MAX / 2, 3, plain).expect_err("vast");
    assert_eq!(
        vast,
        PlaneError::Size {
            nx: usize::MAX / 2,
            ny: 3
        }
    );
    let integer = PlaneMut::new(&mut [0; 8], 2, 1, Bitpix::I32).expect_err("integers");
    assert_eq!(integer, PlaneError::NotFloat { bitpix: 32 });
    let plane = PlaneRef::new(&[0; 24], 3, 2, plain).expect("a plane");
    let short = plane.read_row(0, &mut [0.0_f64; 2]).expect_err("short");
    assert_eq!(short, PlaneError::RowLength { found: 2, nx: 3 });
    for missing in [2, usize::MAX] {
        let refused = plane
            .read_row(missing, &mut [0.0_f64; 3])
            .expect_err("no such row");
        assert_eq!(
            refused,
            PlaneError::Row {
                row: missing,
                ny: 2
            }
        );
    }
}
