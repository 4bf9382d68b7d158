//! A device at work: the parts of a plane, and whole planes. Nothing is printed here. Without the
//! feature `cuda` there is no device, and all this says so.

use mmfits::plan::Precision;
use mmfits::run::{BackendKind, Choice, Request};

/// Seconds a plane.
#[derive(Clone, Copy, Debug, Default)]
pub struct Parts {
    /// Host to device.
    pub h2d: f64,
    /// Samples to numbers in the grid.
    pub load: f64,
    /// The transform.
    pub forward: f64,
    /// Times the transfer function.
    pub filter: f64,
    /// The transform back.
    pub inverse: f64,
    /// The rule for blanks.
    pub blank: f64,
    /// Numbers to samples.
    pub store: f64,
    /// Device to host.
    pub d2h: f64,
    /// All but the ways there and back.
    pub resident: f64,
    /// The same with a mask that is smoothed too.
    pub resident_masked: f64,
    /// One after another.
    pub serial: f64,
    /// Ways and work overlapping.
    pub overlapped: f64,
    /// Seconds until the first plane, once.
    pub start: f64,
}

impl Parts {
    /// Key, name and seconds of each line.
    pub fn lines(parts: Option<&Self>) -> [(&'static str, &'static str, Option<f64>); 12] {
        let of = |value: fn(&Self) -> f64| parts.map(value);
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
                "resident, mask smoothed too",
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
#[cfg(all(feature = "cuda", target_os = "linux"))]
#[derive(Debug)]
pub struct Device(mmfits::convolve::cuda::Cuda);

/// The device that was chosen, or why there is none.
#[cfg(all(feature = "cuda", target_os = "linux"))]
pub fn open(choice: &Choice) -> Result<Device, String> {
    let options = mmfits::convolve::cuda::Options {
        device: choice.device,
        memory_bytes: choice.device_memory_bytes,
        batch_bytes: None,
    };
    mmfits::convolve::cuda::Cuda::open(&options)
        .map(Device)
        .map_err(|error| crate::failure::chain(&error))
}

#[cfg(all(feature = "cuda", target_os = "linux"))]
impl Device {
    /// What it is.
    pub fn name(&self) -> String {
        self.0.info().to_string()
    }

    /// The parts of one of about so many planes.
    pub fn parts(
        &self,
        shape: (usize, usize),
        precision: Precision,
        planes: usize,
    ) -> Result<Parts, String> {
        let parts = self.0.parts(shape, precision, planes);
        let parts = parts.map_err(|error| crate::failure::chain(&error))?;
        Ok(Parts {
            h2d: parts.h2d,
            load: parts.load,
            forward: parts.forward,
            filter: parts.filter,
            inverse: parts.inverse,
            blank: parts.blank,
            store: parts.store,
            d2h: parts.d2h,
            resident: parts.resident,
            resident_masked: parts.resident_masked,
            serial: parts.serial,
            overlapped: parts.overlapped,
            start: parts.start,
        })
    }
}

/// No device can be.
#[cfg(not(all(feature = "cuda", target_os = "linux")))]
#[derive(Debug)]
pub enum Device {}

/// Why there is none.
#[cfg(not(all(feature = "cuda", target_os = "linux")))]
pub fn open(_: &Choice) -> Result<Device, String> {
    Err(mmfits::convolve::device::Unavailable::NotBuilt.to_string())
}

#[cfg(not(all(feature = "cuda", target_os = "linux")))]
impl Device {
    /// There is none.
    pub fn name(&self) -> String {
        match *self {}
    }

    /// There are none.
    pub fn parts(&self, _: (usize, usize), _: Precision, _: usize) -> Result<Parts, String> {
        match *self {}
    }
}
