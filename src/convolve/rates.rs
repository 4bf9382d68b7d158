//! How fast a machine and its device are, as numbers that can be kept in a file; and the rule that
//! says from them whether a device is worth its start. Pure data: nothing is measured here, and no
//! file is seen.

use std::fmt;
use std::fmt::Write as _;

use crate::plan::{FilePlan, NanRule, Precision};

/// A device is taken where it is expected to save more than this, seconds. What is known of the
/// start is no better than that.
pub const LEAST_SAVING_SECONDS: f64 = 2.0;

/// Pixels in a gpixel, and bytes in a gigabyte.
const GIGA: f64 = 1e9;

/// One number about a machine. Pixels are those of the padded grid, which are transformed; bytes
/// a second of the host are bytes of input, each of which is also written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rate {
    /// Threads that the numbers of all threads were measured with.
    Threads,
    /// What each thread beyond the first adds, as a share of the first's speed.
    ThreadShare,
    /// One thread, `f32`, planes without a mask to smooth; samples are in memory.
    CpuF32Clean,
    /// The same with a mask that is smoothed too.
    CpuF32Masked,
    /// One thread, `f64`, no mask.
    CpuF64Clean,
    /// One thread, `f64`, with a mask.
    CpuF64Masked,
    /// One thread reads samples from an input in the page cache, looks through them for blanks and
    /// puts them into an output.
    HostCopy,
    /// All threads do, or the disk can when it is waited for, whichever is less.
    Disk,
    /// Until a device does its first work: context, kernels, plans.
    DeviceStart,
    /// Host to device, from registered memory.
    HostToDevice,
    /// Device to host.
    DeviceToHost,
    /// The device, `f32`, no mask; samples are in its memory.
    DeviceF32Clean,
    /// The same with a mask.
    DeviceF32Masked,
    /// The device, `f64`, no mask.
    DeviceF64Clean,
    /// The device, `f64`, with a mask.
    DeviceF64Masked,
}

impl Rate {
    /// All of them, in the order of the file.
    pub const ALL: [Self; 15] = [
        Self::Threads,
        Self::ThreadShare,
        Self::CpuF32Clean,
        Self::CpuF32Masked,
        Self::CpuF64Clean,
        Self::CpuF64Masked,
        Self::HostCopy,
        Self::Disk,
        Self::DeviceStart,
        Self::HostToDevice,
        Self::DeviceToHost,
        Self::DeviceF32Clean,
        Self::DeviceF32Masked,
        Self::DeviceF64Clean,
        Self::DeviceF64Masked,
    ];

    /// Its name in a file, which ends in its unit.
    #[must_use]
    pub fn key(self) -> &'static str {
        self.row().0
    }

    /// What is reckoned with where nothing was measured.
    ///
    /// The processor: user time of 2048² planes on an AMD EPYC (family 25) in `benches/records`; a
    /// mask doubles it. A thread moves a GB in 0.55 s: a read from the page cache at 6.5 GB/s, a
    /// look at every sample at 5.1, a write at 4.8. The disk: 4 GB/s each way, a good local one. The
    /// device is an NVIDIA A30 behind PCIe 4 by its published rates, 25 GB/s each way and 933 GB/s of
    /// memory, over the 24 passes that a plane without a mask takes if the transform needs two
    /// kernels a dimension, and 44 with a mask; no such device was measured. Context, kernels and
    /// plans take 0.5 to 1.5 s on common machines, of which the start is the upper end.
    #[must_use]
    pub fn usual(self) -> f64 {
        self.row().1
    }

    fn row(self) -> (&'static str, f64) {
        match self {
            Self::Threads => ("threads", 1.0),
            Self::ThreadShare => ("thread_share", 1.0),
            Self::CpuF32Clean => ("cpu_f32_clean_seconds_per_gpixel", 5.5),
            Self::CpuF32Masked => ("cpu_f32_masked_seconds_per_gpixel", 11.0),
            Self::CpuF64Clean => ("cpu_f64_clean_seconds_per_gpixel", 12.5),
            Self::CpuF64Masked => ("cpu_f64_masked_seconds_per_gpixel", 25.0),
            Self::HostCopy => ("host_copy_bytes_per_second", 1.8e9),
            Self::Disk => ("disk_bytes_per_second", 4e9),
            Self::DeviceStart => ("device_start_seconds", 1.5),
            Self::HostToDevice => ("host_to_device_bytes_per_second", 25e9),
            Self::DeviceToHost => ("device_to_host_bytes_per_second", 25e9),
            Self::DeviceF32Clean => ("device_f32_clean_seconds_per_gpixel", 0.103),
            Self::DeviceF32Masked => ("device_f32_masked_seconds_per_gpixel", 0.19),
            Self::DeviceF64Clean => ("device_f64_clean_seconds_per_gpixel", 0.206),
            Self::DeviceF64Masked => ("device_f64_masked_seconds_per_gpixel", 0.38),
        }
    }

    /// That of a processor's thread.
    #[must_use]
    pub fn cpu(precision: Precision, masked: bool) -> Self {
        match (precision, masked) {
            (Precision::F32, false) => Self::CpuF32Clean,
            (Precision::F32, true) => Self::CpuF32Masked,
            (Precision::F64, false) => Self::CpuF64Clean,
            (Precision::F64, true) => Self::CpuF64Masked,
        }
    }

    /// That of a device.
    #[must_use]
    pub fn device(precision: Precision, masked: bool) -> Self {
        match (precision, masked) {
            (Precision::F32, false) => Self::DeviceF32Clean,
            (Precision::F32, true) => Self::DeviceF32Masked,
            (Precision::F64, false) => Self::DeviceF64Clean,
            (Precision::F64, true) => Self::DeviceF64Masked,
        }
    }
}

/// The numbers of a machine: those that were measured, and the usual ones for the rest.
///
/// ```
/// use mmfits::convolve::rates::{Rate, Rates};
///
/// let rates = Rates::parse("# this machine\ndisk_bytes_per_second = 5e8\n")?;
/// assert_eq!(rates.get(Rate::Disk), 5e8);
/// assert_eq!(rates.get(Rate::DeviceStart), Rate::DeviceStart.usual());
/// assert_eq!(Rates::parse(&rates.render())?, rates);
/// # Ok::<(), mmfits::convolve::rates::RatesError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rates {
    /// In the order of [`Rate::ALL`].
    measured: [Option<f64>; Rate::ALL.len()],
}

impl Rates {
    /// A number, measured or usual.
    #[must_use]
    pub fn get(&self, rate: Rate) -> f64 {
        self.measured(rate).unwrap_or_else(|| rate.usual())
    }

    /// A number, if it was measured.
    #[must_use]
    pub fn measured(&self, rate: Rate) -> Option<f64> {
        self.measured.get(rate as usize).copied().flatten()
    }

    /// Keeps a measured number. One that is not above zero and finite is no measurement, and the
    /// usual one stays.
    pub fn set(&mut self, rate: Rate, value: f64) {
        if let Some(place) = self.measured.get_mut(rate as usize) {
            *place = Some(value).filter(|&value| is_a_rate(value));
        }
    }

    /// Reads `key = value`, one a line; blank lines and what follows `#` are skipped.
    ///
    /// # Errors
    /// A line that is none of that, a key that is unknown or given twice, a value that is not a
    /// number above zero.
    pub fn parse(text: &str) -> Result<Self, RatesError> {
        let mut rates = Self::default();
        for (line, text) in (1..).zip(text.lines()) {
            let text = text.split('#').next().unwrap_or_default().trim();
            if text.is_empty() {
                continue;
            }
            let (key, value) = text.split_once('=').ok_or_else(|| RatesError::NoValue {
                line,
                found: text.to_owned(),
            })?;
            rates.read((key.trim(), value.trim()), line)?;
        }
        Ok(rates)
    }

    fn read(&mut self, (key, value): (&str, &str), line: usize) -> Result<(), RatesError> {
        let rate = Rate::ALL.into_iter().find(|rate| rate.key() == key);
        let rate = rate.ok_or_else(|| RatesError::UnknownKey {
            line,
            key: key.to_owned(),
        })?;
        if self.measured(rate).is_some() {
            let key = key.to_owned();
            return Err(RatesError::Twice { line, key });
        }
        let number = value.parse().ok().filter(|&number| is_a_rate(number));
        let number = number.ok_or_else(|| RatesError::NotARate {
            line,
            key: key.to_owned(),
            value: value.to_owned(),
        })?;
        self.set(rate, number);
        Ok(())
    }

    /// The measured numbers as [`parse`](Self::parse) reads them, bit for bit.
    #[must_use]
    pub fn render(&self) -> String {
        let mut text = String::new();
        for rate in Rate::ALL {
            if let Some(value) = self.measured(rate) {
                // Writing to a string does not fail.
                let _ = writeln!(text, "{} = {value}", rate.key());
            }
        }
        text
    }

    /// How long this work takes on the processor alone and with a device.
    ///
    /// Reading, computing and storing overlap, so the slowest of them is what counts: of the disk
    /// and the threads on the processor; with a device of the disk, the threads that move bytes,
    /// the way to the device, the way back, and the device itself, after its start.
    #[must_use]
    pub fn worth_it(&self, work: &Work) -> Estimate {
        let bytes_in = work.bytes_in as f64;
        let bytes_out = work.bytes_out as f64;
        let disk = bytes_in.max(bytes_out) / self.get(Rate::Disk);
        let threads = self.threads_gain(work.threads);
        let host = (bytes_in + bytes_out) / 2.0 / self.get(Rate::HostCopy);
        let cpu = self.seconds(work, Rate::cpu) + host;
        let device = [
            disk,
            host / threads,
            bytes_in / self.get(Rate::HostToDevice),
            bytes_out / self.get(Rate::DeviceToHost),
            self.seconds(work, Rate::device),
        ];
        let cpu_seconds = disk.max(cpu / threads);
        let device_seconds = self.get(Rate::DeviceStart) + device.into_iter().fold(0.0, f64::max);
        Estimate {
            cpu_seconds,
            device_seconds,
            saving_seconds: cpu_seconds - device_seconds,
        }
    }

    fn seconds(&self, work: &Work, rate: impl Fn(Precision, bool) -> Rate) -> f64 {
        let of =
            |pixels: u64, masked| pixels as f64 / GIGA * self.get(rate(work.precision, masked));
        of(work.clean_pixels, false) + of(work.masked_pixels, true)
    }

    /// How many times faster so many threads are than one.
    fn threads_gain(&self, threads: usize) -> f64 {
        let more = threads.saturating_sub(1) as f64;
        1.0 + more * self.get(Rate::ThreadShare)
    }
}

fn is_a_rate(value: f64) -> bool {
    value.is_finite() && value > 0.0
}

/// What there is to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Work {
    /// Of the transforms.
    pub precision: Precision,
    /// Pixels of the padded grids of all planes that have no mask to smooth.
    pub clean_pixels: u64,
    /// Pixels of the padded grids of all planes that have one.
    pub masked_pixels: u64,
    /// Stored samples that are read.
    pub bytes_in: u64,
    /// Stored samples that are written.
    pub bytes_out: u64,
    /// Threads there are for it.
    pub threads: usize,
}

impl Work {
    /// The convolutions of a plan; planes that are copied or blank are not counted, as they take
    /// the same time on every backend. Where the rule smooths a mask every plane is taken to have
    /// one: nobody has looked at the pixels yet.
    #[must_use]
    pub fn of(plan: &FilePlan, threads: usize) -> Self {
        let facts = &plan.facts;
        let (mut clean, mut masked, mut planes) = (0_u64, 0_u64, 0_u64);
        let mut precision = plan.precision;
        for convolution in plan.convolutions() {
            let pixels = product(convolution.grid.nx, convolution.grid.ny);
            let counted = match convolution.nan {
                NanRule::Keep => &mut clean,
                NanRule::Racs | NanRule::Interpolate => &mut masked,
            };
            *counted = counted.saturating_add(pixels);
            planes += 1;
            precision = precision.max(convolution.nan.transform_precision(plan.precision));
        }
        let samples = product(facts.nx, facts.ny).saturating_mul(planes);
        let sample_bytes = match plan.precision {
            Precision::F32 => 4,
            Precision::F64 => 8,
        };
        Self {
            precision,
            clean_pixels: clean,
            masked_pixels: masked,
            bytes_in: samples.saturating_mul(facts.bitpix.size_bytes()),
            bytes_out: samples.saturating_mul(sample_bytes),
            threads,
        }
    }

    /// The share of one of so many processes.
    #[must_use]
    pub fn shared_by(self, processes: u64) -> Self {
        let of = |number: u64| number / processes.max(1);
        Self {
            clean_pixels: of(self.clean_pixels),
            masked_pixels: of(self.masked_pixels),
            bytes_in: of(self.bytes_in),
            bytes_out: of(self.bytes_out),
            ..self
        }
    }

    /// This and that together, as the files of one run; the threads are those of this.
    #[must_use]
    pub fn and(self, other: &Self) -> Self {
        Self {
            precision: self.precision.max(other.precision),
            clean_pixels: self.clean_pixels.saturating_add(other.clean_pixels),
            masked_pixels: self.masked_pixels.saturating_add(other.masked_pixels),
            bytes_in: self.bytes_in.saturating_add(other.bytes_in),
            bytes_out: self.bytes_out.saturating_add(other.bytes_out),
            threads: self.threads,
        }
    }
}

fn product(nx: usize, ny: usize) -> u64 {
    (nx as u64).saturating_mul(ny as u64)
}

/// What is expected of some work.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// On the processor alone.
    pub cpu_seconds: f64,
    /// With a device, its start included.
    pub device_seconds: f64,
    /// What the device saves; below zero where it costs.
    pub saving_seconds: f64,
}

impl Estimate {
    /// Whether the device is worth its start: it saves more than [`LEAST_SAVING_SECONDS`].
    #[must_use]
    pub fn pays(&self) -> bool {
        self.saving_seconds > LEAST_SAVING_SECONDS
    }
}

/// `about 12.0 s on the device and 40.0 s on the CPU`.
impl fmt::Display for Estimate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "about {:.1} s on the device and {:.1} s on the CPU",
            self.device_seconds, self.cpu_seconds
        )
    }
}

/// Why a text holds no rates.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RatesError {
    /// A line without `=`.
    NoValue {
        /// From 1.
        line: usize,
        /// What stands there.
        found: String,
    },
    /// A key that means nothing.
    UnknownKey {
        /// From 1.
        line: usize,
        /// It.
        key: String,
    },
    /// A key that stands on an earlier line too.
    Twice {
        /// From 1.
        line: usize,
        /// It.
        key: String,
    },
    /// A value that is not a number above zero.
    NotARate {
        /// From 1.
        line: usize,
        /// Its key.
        key: String,
        /// It.
        value: String,
    },
}

impl fmt::Display for RatesError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoValue { line, found } => {
                write!(f, "line {line} is {found:?}, which is not `key = value`")
            }
            Self::UnknownKey { line, key } => write!(
                f,
                "line {line} has the key {key:?}, which is unknown; `mmconv bench --save` writes \
                 those that are known"
            ),
            Self::Twice { line, key } => write!(f, "line {line} gives {key} a second time"),
            Self::NotARate { line, key, value } => write!(
                f,
                "line {line} gives {key} the value {value:?}, which is not a number above 0"
            ),
        }
    }
}

impl std::error::Error for RatesError {}

#[cfg(test)]
mod tests;
