//! The way to the backend on a device, for builds that have it and for those that have not.

#[cfg(all(feature = "cuda", target_os = "linux"))]
pub use with::{look, open_device, time_device};
#[cfg(not(all(feature = "cuda", target_os = "linux")))]
pub use without::{look, open_device, time_device};

#[cfg(all(feature = "cuda", target_os = "linux"))]
mod with {
    use crate::convolve::cuda::{self, Cuda};
    use crate::convolve::device::{DeviceError, DeviceParts, Options, Stack, Unavailable};
    use crate::convolve::{Backend, BackendError};
    use crate::plan::Precision;

    /// What there is of CUDA on this machine. No device is begun.
    ///
    /// # Errors
    /// The reason why none can be used.
    pub fn look() -> Result<Stack, Unavailable> {
        cuda::look()
    }

    /// The backend on a device; with `cpu_behind`, what the device fails on, or has no memory for,
    /// is made by the CPU, and [`Backend::remarks`] says so.
    ///
    /// # Errors
    /// [`DeviceError::Unavailable`] with the reason why it cannot be used.
    pub fn open_device(
        options: &Options,
        cpu_behind: bool,
    ) -> Result<Box<dyn Backend>, DeviceError> {
        let cuda = Cuda::open(options)?;
        Ok(Box::new(if cpu_behind {
            cuda.with_fallback()
        } else {
            cuda
        }))
    }

    /// Times each step of planes of `ny` rows of `nx` pixels on a device, over about so many planes.
    ///
    /// # Errors
    /// [`BackendError::Device`] where it cannot be used, has no memory for them, or fails.
    pub fn time_device(
        options: &Options,
        (nx, ny): (usize, usize),
        precision: Precision,
        planes: usize,
    ) -> Result<DeviceParts, BackendError> {
        Cuda::open(options)?.parts((nx, ny), precision, planes)
    }
}

#[cfg(not(all(feature = "cuda", target_os = "linux")))]
mod without {
    use crate::convolve::device::{DeviceError, DeviceParts, Options, Stack, Unavailable};
    use crate::convolve::{Backend, BackendError};
    use crate::plan::Precision;

    /// What there is of CUDA on this machine: nothing that this build could use.
    ///
    /// # Errors
    /// Always.
    pub fn look() -> Result<Stack, Unavailable> {
        Err(Unavailable::NotBuilt)
    }

    /// The backend on a device, which this build has not.
    ///
    /// # Errors
    /// Always.
    pub fn open_device(_: &Options, _cpu_behind: bool) -> Result<Box<dyn Backend>, DeviceError> {
        Err(DeviceError::Unavailable(Unavailable::NotBuilt))
    }

    /// The steps of a device, which this build cannot time.
    ///
    /// # Errors
    /// Always.
    pub fn time_device(
        _: &Options,
        _size: (usize, usize),
        _: Precision,
        _planes: usize,
    ) -> Result<DeviceParts, BackendError> {
        Err(DeviceError::Unavailable(Unavailable::NotBuilt).into())
    }
}
