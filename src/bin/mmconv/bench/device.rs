//! A device at work: the parts of a plane, and whole planes. Nothing is printed here.

use mmfits::convolve::device::{DeviceParts, Options};
use mmfits::convolve::{open_device, time_device};
use mmfits::run::{BackendKind, Choice, Request};

use super::Case;
use crate::failure::chain;

/// Key, name and seconds of each line.
pub fn lines(parts: Option<&DeviceParts>) -> [(&'static str, &'static str, Option<f64>); 12] {
    let of = |value: fn(&DeviceParts) -> f64| parts.map(value);
    [
        ("device_h2d", "host to device", of(|p| p.h2d)),
        ("device_load", "load", of(|p| p.load)),
        ("device_forward", "forward transform", of(|p| p.forward)),
        ("device_filter", "filter", of(|p| p.filter)),
        ("device_inverse", "inverse transform", of(|p| p.inverse)),
        ("device_blank", "blank", of(|p| p.blank)),
        ("device_store", "store", of(|p| p.store)),
        ("device_d2h", "device to host", of(|p| p.d2h)),
        (
            "device_resident",
            "resident, no transfers",
            of(|p| p.resident),
        ),
        (
            "device_resident_masked",
            "resident, with a mask",
            of(|p| p.resident_masked),
        ),
        ("device_serial", "transfers in series", of(|p| p.serial)),
        (
            "device_overlapped",
            "transfers overlapped",
            of(|p| p.overlapped),
        ),
    ]
}

/// A device that can be measured.
#[derive(Clone, Copy, Debug)]
pub struct Device(Options);

/// The device with this number, or why there is none.
pub fn open(number: usize) -> Result<Device, String> {
    let options = Options {
        device: number,
        ..Options::default()
    };
    match open_device(&options, false) {
        Ok(_) => Ok(Device(options)),
        Err(error) => Err(error.to_string()),
    }
}

impl Device {
    /// The parts of a plane.
    pub fn parts(&self, case: &Case) -> Result<DeviceParts, String> {
        let cube = &case.cube;
        let size = (cube.nx, cube.ny);
        let parts = time_device(&self.0, size, case.precision(), cube.channels);
        parts.map_err(|error| chain(&error))
    }

    /// The same request, to be done on this device.
    pub fn request(&self, request: &Request) -> Request {
        Request {
            choice: Choice {
                backend: BackendKind::Cuda,
                device: self.0.device,
                ..Choice::default()
            },
            ..request.clone()
        }
    }
}
