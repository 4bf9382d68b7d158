//! The CUDA backend: one of NVIDIA's devices, its driver and cuFFT, all opened at run time. What
//! it computes is what [`reference`](super::reference) says, in the precision that is asked for.
//!
//! Nothing here decides whether a device is to be used; whoever opens one has asked for it. The
//! bits of a result are the same on one kind of device with one driver and one cuFFT, however many
//! planes go together and however many lanes there are; the CPU's they are only nearly.

#![allow(
    unsafe_code,
    reason = "foreign functions, and copies that go on after the call that begins them"
)]

mod cufft;
mod driver;
mod engine;
mod kernels;
mod lane;
mod needs;
mod search;
mod selftest;
mod staging;

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Instant;

pub use super::device::Options;
use super::device::{DeviceError, DeviceInfo, DeviceParts, Stack, Unavailable};
use super::{Backend, BackendError, Cpu, Lane, OR_ANOTHER, Workload};
use crate::plan::Precision;
use cufft::Cufft;
use driver::{Device, Driver};
use engine::{Batch, Engine, Parts, Samples};
use kernels::Kernels;
use lane::CudaLane;
use needs::{BATCH_BYTES, Needs};

/// Lanes that keep a device busy: one on its way in, one computed, one on its way out, and one that
/// is filled meanwhile; more where there are threads to fill them.
const LEAST_LANES: usize = 4;
const MOST_LANES: usize = 8;

/// What there is of CUDA on this machine, or why it cannot be used. No device is begun.
///
/// # Errors
/// [`Unavailable`] with the reason.
pub fn look() -> Result<Stack, Unavailable> {
    let driver = Driver::open()?;
    let devices = (0..driver.devices).map(|index| driver.info(index));
    let devices = devices.collect::<Result<Vec<DeviceInfo>, _>>();
    let devices = devices.map_err(Unavailable::Failed)?;
    let newest = devices.iter().map(|info| info.capability).max();
    let cufft = Cufft::open(driver.version, newest.unwrap_or_default())?;
    Ok(Stack {
        driver_version: driver.version,
        driver_path: driver.path,
        cufft_version: cufft.version,
        cufft_path: cufft.path,
        devices,
    })
}

/// The CUDA backend on one device.
pub struct Cuda {
    shared: Arc<Shared>,
}

impl fmt::Debug for Cuda {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Cuda").field(&self.shared.info).finish()
    }
}

/// What all its lanes share.
#[derive(Debug)]
struct Shared {
    parts: Parts,
    info: DeviceInfo,
    arithmetic: String,
    batch_bytes: u64,
    /// What opening it took.
    start_seconds: f64,
    fallback: OnceLock<Cpu>,
    arithmetic_with_fallback: OnceLock<String>,
    /// What lanes were last made for.
    workload: Mutex<Option<Arc<Workload>>>,
    /// The engine for it, which is kept for the next file.
    engine: Mutex<Option<(Arc<Workload>, Arc<Engine>)>>,
    remarks: Mutex<Vec<String>>,
    /// Whether a failure has been told already.
    failing: AtomicBool,
    on_device: AtomicU64,
    on_cpu: AtomicU64,
}

impl Cuda {
    /// Opens the device, has its kernels compiled and holds a small plane in both precisions
    /// against the CPU backend.
    ///
    /// # Errors
    /// [`DeviceError::Unavailable`] with the reason; [`DeviceError::Memory`] if the device has not
    /// even room for the small plane.
    pub fn open(options: &Options) -> Result<Self, DeviceError> {
        let begun = Instant::now();
        let mut cuda = Self {
            shared: Arc::new(Shared::open(options).map_err(DeviceError::Unavailable)?),
        };
        selftest::run(&cuda)?;
        // What it needed goes.
        *cuda.shared.known() = None;
        if let Some(shared) = Arc::get_mut(&mut cuda.shared) {
            shared.start_seconds = begun.elapsed().as_secs_f64();
        }
        for count in [&cuda.shared.on_device, &cuda.shared.on_cpu] {
            count.store(0, Ordering::Relaxed);
        }
        cuda.shared.remarks().clear();
        Ok(cuda)
    }

    /// The same with the CPU behind it: planes that the device fails on, or has no memory for, are
    /// made by the CPU, and [`Backend::remarks`] says so.
    #[must_use]
    pub fn with_fallback(self) -> Self {
        let cpu = Cpu::new();
        let arithmetic = format!("{}{OR_ANOTHER}{}", self.shared.arithmetic, cpu.arithmetic());
        self.shared
            .arithmetic_with_fallback
            .get_or_init(|| arithmetic);
        self.shared.fallback.get_or_init(|| cpu);
        self
    }

    /// The device.
    #[must_use]
    pub fn info(&self) -> &DeviceInfo {
        &self.shared.info
    }

    /// Times each step of planes of `ny` rows of `nx` pixels, and all of them together, over about so
    /// many planes; samples are in memory.
    ///
    /// # Errors
    /// [`BackendError::Device`] where the device has no memory for them, or fails.
    pub fn parts(
        &self,
        (nx, ny): (usize, usize),
        precision: Precision,
        planes: usize,
    ) -> Result<DeviceParts, BackendError> {
        let convolution = selftest::wide(nx, ny, precision);
        let mut workload = Workload::new(precision).with_planes(planes);
        workload.add(nx, ny, convolution);
        let engine = self.shared.engine(&workload)?;
        let mut lanes = engine::parts::lanes(&engine)?;
        let samples = Samples {
            double: precision == Precision::F64,
            big_endian: true,
        };
        let coefficients_at = engine.needs().coefficients_at();
        let together = engine.rung().planes;
        for (staging, _) in &mut lanes {
            for at in 0..together {
                let memory = staging.as_mut_slice();
                lane::describe(memory, (coefficients_at, at), &convolution)?;
            }
        }
        let batch = Batch {
            planes: together,
            convolution: &convolution,
            masked: false,
            input: samples,
            output: samples,
            coefficients_at,
        };
        let device = self.shared.device();
        let timed = device
            .timed_event()
            .and_then(|first| Ok([first, device.timed_event()?]));
        let timed = timed.map_err(DeviceError::Call)?;
        let batches = planes.div_ceil(together).max(LEAST_LANES);
        let parts = engine.time(&batch, batches, (&timed, &mut lanes))?;
        Ok(DeviceParts {
            start: self.shared.start_seconds,
            ..parts
        })
    }

    fn needs(&self, workload: &Workload) -> Option<Needs> {
        Needs::of(workload, self.shared.batch_bytes)
    }
}

impl Shared {
    fn open(options: &Options) -> Result<Self, Unavailable> {
        let driver = Driver::open()?;
        let (asked, found) = (options.device, driver.devices);
        if asked >= found {
            return Err(Unavailable::NoSuchDevice { asked, found });
        }
        let info = driver.info(asked).map_err(Unavailable::Failed)?;
        info.check()?;
        let cufft = Cufft::open(driver.version, info.capability)?;
        let device = Device::open(asked).map_err(Unavailable::Failed)?;
        let kernels = Kernels::load(&device).map_err(Unavailable::Failed)?;
        let (major, minor) = info.capability;
        let arithmetic = format!(
            "{}, sm_{major}{minor}, driver for CUDA {}, cuFFT {}",
            info.name, driver.version, cufft.version
        );
        Ok(Self {
            parts: Parts {
                device: Arc::new(device),
                cufft: Arc::new(cufft),
                kernels: Arc::new(kernels),
                limit_bytes: options.memory_bytes,
            },
            info,
            arithmetic,
            batch_bytes: options.batch_bytes.unwrap_or(BATCH_BYTES),
            start_seconds: 0.0,
            fallback: OnceLock::new(),
            arithmetic_with_fallback: OnceLock::new(),
            workload: Mutex::default(),
            engine: Mutex::default(),
            remarks: Mutex::default(),
            failing: AtomicBool::new(false),
            on_device: AtomicU64::new(0),
            on_cpu: AtomicU64::new(0),
        })
    }

    fn device(&self) -> &Device {
        &self.parts.device
    }

    fn fallback(&self) -> Option<&Cpu> {
        self.fallback.get()
    }

    /// The engine for these planes: that which other lanes have, if there is one.
    fn engine(&self, workload: &Workload) -> Result<Arc<Engine>, BackendError> {
        let mut known = self.known();
        if let Some((of, engine)) = &*known
            && **of == *workload
            && engine.is_sound()
        {
            return Ok(Arc::clone(engine));
        }
        // Its memory goes before the next takes its own.
        *known = None;
        let grid = workload.kinds().first().map(|kind| kind.convolution.grid);
        let grid = grid.map_or((0, 0), |grid| (grid.nx, grid.ny));
        let needs = Needs::of(workload, self.batch_bytes);
        let needs = needs.ok_or(BackendError::Unplanned { grid })?;
        let engine = Arc::new(Engine::new(&self.parts, needs)?);
        self.remark_rung(&engine);
        *known = Some((self.workload(workload), Arc::clone(&engine)));
        Ok(engine)
    }

    fn known(&self) -> MutexGuard<'_, Option<(Arc<Workload>, Arc<Engine>)>> {
        self.engine.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The workload as one that all lanes share: with thousands of planes it is long.
    fn workload(&self, workload: &Workload) -> Arc<Workload> {
        let mut known = self.workload.lock().unwrap_or_else(PoisonError::into_inner);
        match &*known {
            Some(known) if **known == *workload => Arc::clone(known),
            _ => Arc::clone(known.insert(Arc::new(workload.clone()))),
        }
    }

    fn remarks(&self) -> MutexGuard<'_, Vec<String>> {
        self.remarks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Each is told once.
    fn remark(&self, text: String) {
        let mut remarks = self.remarks();
        if !remarks.contains(&text) {
            remarks.push(text);
        }
    }

    fn remark_rung(&self, engine: &Engine) {
        let rung = engine.rung();
        if engine.needs().rungs().first() == Some(rung) {
            return;
        }
        let sets = match (rung.sets, rung.shared) {
            (2, _) => "in and out in turns",
            (_, false) => "without copies beside the computing",
            (_, true) => "in and out in one place",
        };
        self.remark(format!(
            "the device's memory is short: one plane at a time, {sets}"
        ));
    }

    fn remark_failure(&self, error: &DeviceError) {
        // Of all lanes the first knows why; what the others find follows from it.
        if !self.failing.swap(true, Ordering::Relaxed) {
            self.remark(format!("{error}; the CPU goes on"));
        }
    }

    fn remark_unregistered(&self) {
        self.remark(
            "the driver does not register memory of the host: copies to the device are slower"
                .to_owned(),
        );
    }

    fn count_on_device(&self) {
        self.on_device.fetch_add(1, Ordering::Relaxed);
    }

    fn count_on_cpu(&self) {
        self.on_cpu.fetch_add(1, Ordering::Relaxed);
    }
}

impl Backend for Cuda {
    fn name(&self) -> &'static str {
        "cuda"
    }

    fn arithmetic(&self) -> &str {
        let with_fallback = self.shared.arithmetic_with_fallback.get();
        with_fallback.unwrap_or(&self.shared.arithmetic)
    }

    fn describe(&self) -> String {
        format!("cuda ({})", self.shared.info.name)
    }

    /// Its memory on the host. The driver takes memory of its own, which nobody tells of.
    fn lane_bytes(&self, workload: &Workload) -> u64 {
        let staging = self.needs(workload).map_or(u64::MAX, |n| n.lane_bytes());
        let fallback = self.shared.fallback();
        staging.max(fallback.map_or(0, |cpu| cpu.lane_bytes(workload)))
    }

    fn least_lane_bytes(&self, workload: &Workload) -> u64 {
        self.needs(workload).map_or(u64::MAX, |n| n.lane_bytes())
    }

    fn table_bytes(&self, workload: &Workload) -> u64 {
        let fallback = self.shared.fallback();
        fallback.map_or(0, |cpu| cpu.table_bytes(workload))
    }

    fn lanes_wanted(&self, threads: usize) -> Option<usize> {
        Some(threads.clamp(LEAST_LANES, MOST_LANES))
    }

    fn planes_together(&self, workload: &Workload) -> usize {
        self.needs(workload).map_or(1, |needs| needs.planes())
    }

    fn whole_columns(&self) -> bool {
        true
    }

    fn lane(&self, workload: &Workload) -> Result<Box<dyn Lane>, BackendError> {
        Ok(Box::new(CudaLane::new(&self.shared, workload)?))
    }

    fn remarks(&self) -> Vec<String> {
        let mut remarks = std::mem::take(&mut *self.shared.remarks());
        self.shared.failing.store(false, Ordering::Relaxed);
        let on_cpu = self.shared.on_cpu.swap(0, Ordering::Relaxed);
        let on_device = self.shared.on_device.swap(0, Ordering::Relaxed);
        if on_cpu > 0 {
            remarks.push(format!(
                "{on_device} planes were made by the device and {on_cpu} by the CPU"
            ));
        }
        remarks
    }
}
