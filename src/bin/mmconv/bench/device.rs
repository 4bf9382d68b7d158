//! A device at work: the parts of a plane, and whole planes. Nothing is printed here.

use std::time::Instant;

use mmfits::convolve::device::{DeviceParts, Options};
use mmfits::convolve::{open_device, time_device};
use mmfits::plan::Precision;
use mmfits::run::{BackendKind, Choice, Request};

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

/// The same request, to be done on the device that was chosen.
pub fn request(request: &Request, choice: &Choice) -> Request {
    Request {
        choice: Choice {
            backend: BackendKind::Cuda,
            ..choice.clone()
        },
        ..request.clone()
    }
}

/// A device that can be measured.
#[derive(Clone, Debug)]
pub struct Device {
    options: Options,
    /// What it is.
    pub name: String,
    /// What the first opening in this process took, seconds: later ones find the driver begun.
    start: f64,
}

/// The device that was chosen, or why there is none. It is closed again: whoever measures it opens
/// it.
pub fn open(choice: &Choice) -> Result<Device, String> {
    let options = Options {
        device: choice.device,
        memory_bytes: choice.device_memory_bytes,
        ..Options::default()
    };
    let begun = Instant::now();
    let backend = open_device(&options, false).map_err(|error| chain(&error))?;
    Ok(Device {
        start: begun.elapsed().as_secs_f64(),
        name: backend.describe(),
        options,
    })
}

impl Device {
    /// The parts of one of about so many planes.
    pub fn parts(
        &self,
        shape: (usize, usize),
        precision: Precision,
        planes: usize,
    ) -> Result<DeviceParts, String> {
        let parts = time_device(&self.options, shape, precision, planes);
        let parts = parts.map_err(|error| chain(&error))?;
        Ok(DeviceParts {
            start: self.start,
            ..parts
        })
    }
}
