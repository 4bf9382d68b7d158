//! A device at work: the parts of a plane, and whole planes. Nothing is printed here.

use mmfits::run::Request;

use super::Case;

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
    /// One after another.
    pub serial: f64,
    /// Ways and work overlapping.
    pub overlapped: f64,
    /// Seconds until the first plane, once.
    pub start: f64,
}

impl Parts {
    /// Key, name and seconds of each line.
    pub fn lines(parts: Option<&Self>) -> [(&'static str, &'static str, Option<f64>); 11] {
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
            ("device_serial", "transfers in series", of(|p| p.serial)),
            (
                "device_overlapped",
                "transfers overlapped",
                of(|p| p.overlapped),
            ),
        ]
    }
}

/// A device that can be measured.
#[derive(Debug)]
pub struct Device(());

/// The device with this number, or why there is none.
pub fn open(number: usize) -> Result<Device, String> {
    let _ = number;
    Err("this program was built without the CUDA backend".to_owned())
}

impl Device {
    /// The parts of a plane.
    #[expect(
        clippy::unused_self,
        clippy::unnecessary_wraps,
        reason = "no device can be opened yet"
    )]
    pub fn parts(&self, case: &Case) -> Result<Parts, String> {
        let _ = case;
        Ok(Parts::default())
    }

    /// The same request, to be done on this device.
    #[expect(clippy::unused_self, reason = "no device can be opened yet")]
    pub fn request(&self, request: &Request) -> Request {
        request.clone()
    }
}
