//! Output planes whose store refuses bytes: the error says where, and a lane is as good as new for
//! the next plane.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

mod planes;

use std::io;
use std::sync::Mutex;

use fits_layout::Bitpix;
use mmfits::convolve::{Backend, BackendError, Cpu};
use mmfits::kernel::PixelCovariance;
use mmfits::plan::{Edge, NanRule, Precision};
use mmfits::plane::{Codec, PlaneError, PlaneMut, PlaneRef, Store};

use planes::{convolution, workload};

/// A plane's bytes in a list, of which those from `full_from` on are refused.
#[derive(Debug)]
struct Disk {
    bytes: Mutex<Vec<u8>>,
    full_from: u64,
    /// Whether filled bytes are refused, and not written ones.
    late: bool,
}

impl Disk {
    fn refuses(&self, end: u64) -> io::Result<()> {
        if end > self.full_from {
            return Err(io::Error::from_raw_os_error(libc::ENOSPC));
        }
        Ok(())
    }
}

impl Store for Disk {
    fn origin(&self) -> u64 {
        2880
    }

    fn expect(&self, at: u64, room: &mut [u8]) -> io::Result<()> {
        room.fill(0);
        self.refuses(if self.late { 0 } else { at + room.len() as u64 })
    }

    fn write(&self, at: u64, bytes: &[u8]) -> io::Result<()> {
        self.refuses(if self.late {
            0
        } else {
            at + bytes.len() as u64
        })?;
        let first = at as usize;
        self.bytes.lock().unwrap()[first..first + bytes.len()].copy_from_slice(bytes);
        Ok(())
    }

    fn filled(&self, at: u64, bytes: &[u8]) -> io::Result<()> {
        self.refuses(if self.late {
            at + bytes.len() as u64
        } else {
            0
        })
    }
}

const SIZE: (usize, usize) = (301, 600);
const BYTES: usize = 301 * 600 * 4;

fn disk(full_from: u64, late: bool) -> Disk {
    Disk {
        bytes: Mutex::new(vec![1; BYTES]),
        full_from,
        late,
    }
}

fn is_full(result: Result<(), PlaneError>) -> bool {
    let Err(PlaneError::Store {
        at_bytes, os_error, ..
    }) = result
    else {
        return false;
    };
    os_error == Some(libc::ENOSPC) && at_bytes < BYTES as u64
}

#[test]
fn copies_and_blanks_say_where_the_store_was_full() {
    let samples = vec![0_u8; BYTES];
    let plane = PlaneRef::new(&samples, SIZE.0, SIZE.1, Codec::plain(Bitpix::F32)).unwrap();
    for late in [false, true] {
        for in_memory in [false, true] {
            let disk = disk(300_000, late);
            let mut memory = vec![0; BYTES];
            let slot = if in_memory {
                PlaneMut::mapped(&mut memory, &disk, SIZE, Bitpix::F32)
            } else {
                PlaneMut::written(&disk, BYTES, SIZE, Bitpix::F32)
            };
            let mut slot = slot.unwrap();
            assert!(is_full(plane.copy_exact(&mut slot)));
            assert!(is_full(slot.fill_blank()));
            assert!(is_full(slot.write_row(599, &[1.0_f32; 301])));
            assert_eq!(slot.write_row(0, &[1.0_f32; 301]), Ok(()));
        }
    }
}

/// A wide kernel goes by strips, a narrow one by the full height.
#[test]
fn a_lane_is_as_good_as_new_after_a_full_store() {
    let values: Vec<u8> = (0..SIZE.0 * SIZE.1)
        .flat_map(|i| ((i % 977) as f32).to_be_bytes())
        .collect();
    let plane = PlaneRef::new(&values, SIZE.0, SIZE.1, Codec::plain(Bitpix::F32)).unwrap();
    for width in [2.0, 10.0] {
        let kernel = PixelCovariance {
            xx: width * width,
            xy: 0.0,
            yy: width * width,
        };
        let convolution =
            convolution(SIZE, kernel, Edge::Zero, NanRule::Keep).made_fast(SIZE, Precision::F32);
        let workload = workload(SIZE, Precision::F32, &convolution);
        let mut lane = Cpu::new().lane(&workload).unwrap();
        let mut expected = vec![0; BYTES];
        let slot = PlaneMut::new(&mut expected, SIZE.0, SIZE.1, Bitpix::F32).unwrap();
        lane.convolve(&convolution, plane, slot).unwrap();
        for full_from in [1, 100_000, BYTES as u64 - 1] {
            let full = disk(full_from, false);
            let slot = PlaneMut::written(&full, BYTES, SIZE, Bitpix::F32).unwrap();
            let result = lane.convolve(&convolution, plane, slot);
            assert!(matches!(
                result,
                Err(BackendError::Plane(PlaneError::Store { .. }))
            ));
            let free = disk(u64::MAX, false);
            let slot = PlaneMut::written(&free, BYTES, SIZE, Bitpix::F32).unwrap();
            lane.convolve(&convolution, plane, slot).unwrap();
            let found = free.bytes.into_inner().unwrap();
            assert!(found == expected, "{width} {full_from}");
        }
    }
}

/// Rows filled by one call are not undone by another's making ready.
#[test]
fn rows_filled_in_any_way_and_order_stay() {
    let store = disk(u64::MAX, false);
    let mut memory = vec![9; BYTES];
    let mut slot = PlaneMut::mapped(&mut memory, &store, SIZE, Bitpix::F32).unwrap();
    let mut pen = mmfits::plane::Pen::new(SIZE.0 * 4).unwrap();
    slot.write_row(5, &[5.0_f32; 301]).unwrap();
    slot.begin_rows(0..5).unwrap();
    for y in 0..5 {
        slot.row_room(y, &mut pen).unwrap().fill(0x40);
    }
    slot.end_rows(0..5, &mut pen).unwrap();
    for (first, mut band) in slot.bands(4) {
        if first == 8 {
            band.write_row(3, &[11.0_f32; 301]).unwrap();
            band.write_row(0, &[8.0_f32; 301]).unwrap();
        }
    }
    let row = |y: usize| f32::from_be_bytes(memory[y * 1204 + 400..][..4].try_into().unwrap());
    let expected = f32::from_be_bytes([0x40; 4]);
    assert_eq!([0, 4].map(row), [expected; 2]);
    assert_eq!([5, 8, 11].map(row), [5.0, 8.0, 11.0]);
}
