//! What is known of devices, whether or not there are any: which there are, or precisely why none
//! can be used, and what a device can fail with. Nothing is looked for here.

use std::fmt;
use std::path::PathBuf;

/// Which device, and how much of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Its number, from 0.
    pub device: usize,
    /// The most of its memory that may be taken, bytes; by default most of what is free.
    pub memory_bytes: Option<u64>,
    /// Planes go through it together up to so many bytes of samples; 32 MiB by default.
    pub batch_bytes: Option<u64>,
}

/// What this machine has to compute with. It does not depend on what a run is told to use.
#[derive(Clone, Debug, PartialEq)]
pub struct Availability {
    /// Threads that the CPU backend would take by itself.
    pub threads: usize,
    /// What the CPU backend computes with.
    pub instructions: String,
    /// The CUDA backend, or why there is none.
    pub cuda: Result<Stack, Unavailable>,
}

/// A driver and the libraries found to go with it.
#[derive(Clone, Debug, PartialEq)]
pub struct Stack {
    /// The newest CUDA that the driver serves: 1000 · major + 10 · minor.
    pub driver_version: i32,
    /// The driver's library, where the system tells.
    pub driver_path: Option<PathBuf>,
    /// cuFFT's version: 1000 · major + 100 · minor + patch.
    pub cufft_version: i32,
    /// cuFFT's library, where the system tells.
    pub cufft_path: Option<PathBuf>,
    /// The devices, as they are numbered.
    pub devices: Vec<DeviceInfo>,
}

/// One device.
#[derive(Clone, Debug, PartialEq)]
pub struct DeviceInfo {
    /// What it is called.
    pub name: String,
    /// All its memory, bytes.
    pub memory_bytes: u64,
    /// Its compute capability, major and minor.
    pub capability: (i32, i32),
}

impl DeviceInfo {
    /// Refuses a device that the kernels, which are for compute capability 7.0 and newer, cannot
    /// be compiled for.
    ///
    /// # Errors
    /// [`Unavailable::OldDevice`].
    pub fn check(&self) -> Result<(), Unavailable> {
        let capability = self.capability;
        if capability < (7, 0) {
            return Err(Unavailable::OldDevice { capability });
        }
        Ok(())
    }
}

impl fmt::Display for DeviceInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            name,
            memory_bytes,
            capability: (major, minor),
        } = self;
        let gib = *memory_bytes as f64 / f64::from(1 << 30);
        write!(
            f,
            "{name}, {gib:.1} GiB, compute capability {major}.{minor}"
        )?;
        match self.check() {
            Ok(()) => Ok(()),
            Err(_) => write!(f, ", too old: 7.0 or newer is needed"),
        }
    }
}

impl Stack {
    /// The driver's CUDA version as it is written.
    #[must_use]
    pub fn driver_text(&self) -> String {
        cuda_text(self.driver_version)
    }

    /// cuFFT's version as it is written.
    #[must_use]
    pub fn cufft_text(&self) -> String {
        let version = self.cufft_version;
        format!(
            "{}.{}.{}",
            version / 1000,
            version % 1000 / 100,
            version % 100
        )
    }
}

/// A CUDA version of 1000 · major + 10 · minor as it is written.
fn cuda_text(version: i32) -> String {
    format!("{}.{}", version / 1000, version % 1000 / 10)
}

/// Why the CUDA backend cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unavailable {
    /// This build has no CUDA backend.
    NotBuilt,
    /// There is no libcuda.
    NoDriver,
    /// The library found is one of the toolkit's stubs, which are for linking only.
    Stub,
    /// The driver lacks a function that is needed.
    Lacks {
        /// The function.
        function: &'static str,
    },
    /// The driver is too old.
    TooOld {
        /// The CUDA that it serves: 1000 · major + 10 · minor.
        version: i32,
    },
    /// The device is too old for the kernels.
    OldDevice {
        /// Its compute capability, major and minor.
        capability: (i32, i32),
    },
    /// There is a driver, but no device.
    NoDevice,
    /// There are devices, but not this one.
    NoSuchDevice {
        /// The one asked for, from 0.
        asked: usize,
        /// How many there are.
        found: usize,
    },
    /// No cuFFT for this driver.
    NoFft {
        /// The library that would do, by its name.
        wanted: &'static str,
        /// What was found, and why it does not do; empty if nothing was.
        found: String,
        /// What to install, by the name of its package for Python.
        package: &'static str,
    },
    /// A call failed.
    Failed(Call),
    /// The device computes something else than the CPU.
    Wrong {
        /// What was found.
        text: String,
    },
    /// An earlier failure has ended all use of CUDA in this process.
    Ended(Call),
}

impl fmt::Display for Unavailable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotBuilt => write!(
                f,
                "this build has no CUDA backend (feature `cuda`, on Linux)"
            ),
            Self::NoDriver => write!(
                f,
                "no NVIDIA driver: libcuda.so.1 is not on this machine, or the loader does not find it"
            ),
            Self::Stub => write!(
                f,
                "the libcuda found is the toolkit's stub, not a driver (a folder \"stubs\" is in \
                 LD_LIBRARY_PATH)"
            ),
            Self::Lacks { function } => write!(
                f,
                "the driver has no function {function}; one for CUDA 12.0 or newer (525 or newer) is needed"
            ),
            Self::TooOld { version } => write!(
                f,
                "the driver is for CUDA {}; 12.0 or newer (525 or newer) is needed",
                cuda_text(*version)
            ),
            Self::OldDevice {
                capability: (major, minor),
            } => write!(
                f,
                "the device has compute capability {major}.{minor}; 7.0 or newer is needed"
            ),
            Self::NoDevice => write!(
                f,
                "there is a driver, but no CUDA device (CUDA_VISIBLE_DEVICES, or a container \
                 without --gpus)"
            ),
            Self::NoSuchDevice { asked, found } => write!(
                f,
                "there is no CUDA device {asked}; there are {found}, numbered from 0"
            ),
            Self::NoFft {
                wanted,
                found,
                package,
            } => {
                write!(f, "{wanted} is needed with this driver and was not found")?;
                if !found.is_empty() {
                    write!(f, " ({found})")?;
                }
                write!(
                    f,
                    "; install it (the CUDA toolkit, conda install libcufft, or pip install \
                     {package}) or name its folder in MMCONV_CUDA_PATH"
                )
            }
            Self::Failed(call) => call.fmt(f),
            Self::Wrong { text } => write!(f, "the device did not pass its test: {text}"),
            Self::Ended(call) => write!(
                f,
                "an earlier failure has ended all use of CUDA in this process: {call}"
            ),
        }
    }
}

impl std::error::Error for Unavailable {}

/// A call to the driver or to cuFFT that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// The function.
    pub function: &'static str,
    /// What it answered.
    pub code: i32,
    /// What the library calls that.
    pub name: String,
}

impl Call {
    /// Whether memory of the device ran out: both libraries have the code 2 for it.
    #[must_use]
    pub fn is_memory(&self) -> bool {
        self.code == 2
    }
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            function,
            code,
            name,
        } = self;
        write!(f, "{function} failed: {name} ({code})")
    }
}

/// What a device failed with while it was in use.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DeviceError {
    /// It cannot be used.
    Unavailable(Unavailable),
    /// A call failed.
    Call(Call),
    /// Its memory does not hold one plane in the least way.
    Memory {
        /// What the least way needs, bytes; 0 where cuFFT could not even say.
        needed_bytes: u64,
        /// What may be taken, bytes.
        allowed_bytes: u64,
    },
    /// It failed before, in another plane.
    Gone(Call),
}

impl fmt::Display for DeviceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unavailable(reason) => write!(f, "CUDA is not usable here: {reason}"),
            Self::Call(call) => write!(f, "the CUDA device failed: {call}"),
            Self::Memory {
                needed_bytes: 0,
                allowed_bytes,
            } => write!(
                f,
                "a plane does not fit into the device's memory, {allowed_bytes} bytes of which may be taken"
            ),
            Self::Memory {
                needed_bytes,
                allowed_bytes,
            } => write!(
                f,
                "a plane needs {needed_bytes} bytes of the device's memory, and {allowed_bytes} may be taken"
            ),
            Self::Gone(call) => write!(f, "the CUDA device has failed in another plane: {call}"),
        }
    }
}

impl std::error::Error for DeviceError {}

impl From<Unavailable> for DeviceError {
    fn from(reason: Unavailable) -> Self {
        Self::Unavailable(reason)
    }
}

impl From<Call> for DeviceError {
    fn from(call: Call) -> Self {
        Self::Call(call)
    }
}

/// What a plane takes on a device, seconds: each step alone, and all of them together.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DeviceParts {
    /// The copy to the device.
    pub h2d: f64,
    /// Samples to numbers, blanks to zero.
    pub load: f64,
    /// The transform there.
    pub forward: f64,
    /// The product with the transfer function.
    pub filter: f64,
    /// The transform back.
    pub inverse: f64,
    /// The smoothed mask against its limit.
    pub blank: f64,
    /// Numbers to samples, blanks put back.
    pub store: f64,
    /// The copy back.
    pub d2h: f64,
    /// A plane in the device's memory, without a mask.
    pub resident: f64,
    /// The same with a mask.
    pub resident_masked: f64,
    /// There, through it and back, one step after another.
    pub serial: f64,
    /// The same with copies beside the computing.
    pub overlapped: f64,
    /// Opening the device, once a process: context, kernels, test.
    pub start: f64,
    /// Memory that the transforms work in, bytes a plane.
    pub area_bytes: f64,
    /// Planes that went together.
    pub planes: usize,
}
