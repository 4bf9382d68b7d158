//! The NVIDIA driver: found and opened with care, one device of it, its streams, events, memory
//! and kernels. Nothing is known of planes here.
//!
//! The library is opened by `cudarc`, whose functions panic where it or one of them is missing; so
//! all that is used is looked for first. The automatic order of events of `cudarc` is switched
//! off: where one of its waits fails, the work that needed it goes on. Here every wait is a call
//! whose failure is seen before anything is queued behind it.

use std::ffi::{CStr, c_int, c_uint, c_void};
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use cudarc::driver::result::{self, DriverError};
use cudarc::driver::sys::{self, CUdevice_attribute, CUdeviceptr, CUevent_flags};
use cudarc::driver::{CudaContext, CudaEvent, CudaStream, PushKernelArg};

use super::super::device::{Call, DeviceInfo, Unavailable};
use super::kernels::{Argument, Kernel};

/// The driver's functions that are called from here and from within `cudarc`.
const FUNCTIONS: [&str; 32] = [
    "cuInit",
    "cuDriverGetVersion",
    "cuDeviceGetCount",
    "cuDeviceGet",
    "cuDeviceGetName",
    "cuDeviceTotalMem_v2",
    "cuDeviceGetAttribute",
    "cuDevicePrimaryCtxRetain",
    "cuDevicePrimaryCtxRelease_v2",
    "cuCtxGetCurrent",
    "cuCtxSetCurrent",
    "cuStreamCreate",
    "cuStreamDestroy_v2",
    "cuStreamSynchronize",
    "cuStreamWaitEvent",
    "cuEventCreate",
    "cuEventDestroy_v2",
    "cuEventRecord",
    "cuEventSynchronize",
    "cuEventElapsedTime",
    "cuMemAlloc_v2",
    "cuMemFree_v2",
    "cuMemGetInfo_v2",
    "cuMemHostRegister_v2",
    "cuMemHostUnregister",
    "cuMemcpyHtoDAsync_v2",
    "cuMemcpyDtoHAsync_v2",
    "cuModuleLoadData",
    "cuModuleUnload",
    "cuModuleGetFunction",
    "cuLaunchKernel",
    "cuGetErrorName",
];

/// CUDA_ERROR_NO_DEVICE and CUDA_ERROR_STUB_LIBRARY.
const NO_DEVICE: u32 = 100;
const STUB_LIBRARY: u32 = 34;

/// The oldest CUDA whose drivers have all that is needed, and read the kernels: 1000 · major +
/// 10 · minor.
const OLDEST_VERSION: c_int = 12_000;

/// The failure that ended all use of CUDA in this process, if one did.
static ENDED: OnceLock<Call> = OnceLock::new();

/// The failure that ended all use of CUDA in this process, if one did.
pub(super) fn ended() -> Option<&'static Call> {
    ENDED.get()
}

/// The driver, opened and begun.
#[derive(Clone, Debug)]
pub(super) struct Driver {
    /// 1000 · major + 10 · minor.
    pub version: c_int,
    pub path: Option<PathBuf>,
    pub devices: usize,
}

impl Driver {
    /// Opens the driver, or says why it cannot be used. A second call is cheap.
    pub fn open() -> Result<Self, Unavailable> {
        if let Some(call) = ended() {
            return Err(Unavailable::Ended(call.clone()));
        }
        // SAFETY: the initialisers of a library of this name run; it is the driver's, or one that
        // whoever set LD_LIBRARY_PATH wants in its place.
        if !unsafe { sys::is_culib_present() } {
            return Err(Unavailable::NoDriver);
        }
        if let Some(function) = FUNCTIONS.into_iter().find(|name| address(name).is_none()) {
            return Err(Unavailable::Lacks { function });
        }
        begin()?;
        let version = version()?;
        if version < OLDEST_VERSION {
            return Err(Unavailable::TooOld { version });
        }
        let devices = result::device::get_count()
            .map_err(|error| Unavailable::Failed(call("cuDeviceGetCount", error)))?;
        let devices = usize::try_from(devices).unwrap_or(0);
        if devices == 0 {
            return Err(Unavailable::NoDevice);
        }
        let path = address("cuInit").and_then(library_of);
        Ok(Self {
            version,
            path,
            devices,
        })
    }

    /// What a device is, without making use of it.
    pub fn info(&self, index: usize) -> Result<DeviceInfo, Call> {
        let ordinal = c_int::try_from(index).unwrap_or(c_int::MAX);
        let device = result::device::get(ordinal).map_err(|e| call("cuDeviceGet", e))?;
        let name = result::device::get_name(device).map_err(|e| call("cuDeviceGetName", e))?;
        // SAFETY: `device` comes from the driver, just now.
        let memory = unsafe { result::device::total_mem(device) };
        let attribute = |attribute| {
            // SAFETY: as above, and the attribute is one of the driver's own list.
            let value = unsafe { result::device::get_attribute(device, attribute) };
            value.map_err(|error| call("cuDeviceGetAttribute", error))
        };
        Ok(DeviceInfo {
            name,
            memory_bytes: memory.map_err(|e| call("cuDeviceTotalMem", e))? as u64,
            capability: (
                attribute(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?,
                attribute(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?,
            ),
        })
    }
}

/// Where a function of the driver is, if it has it.
fn address(name: &str) -> Option<*const c_void> {
    // SAFETY: a library was there a moment ago, and if it is gone this panics, as it promises.
    let library = unsafe { sys::culib() };
    // SAFETY: the symbol is only looked up, as an address.
    let symbol = unsafe { library.get::<*const c_void>(name.as_bytes()) };
    let symbol = symbol.ok()?;
    // SAFETY: the address of the symbol, not what stands there, is what `get` has found; a
    // pointer-sized copy of it is made.
    let address = unsafe { symbol.try_as_raw_ptr() };
    address
        .map(<*mut c_void>::cast_const)
        .filter(|address| !address.is_null())
}

/// cuInit(3), whose answer may be any number: as a value of the enumeration that `cudarc` has for
/// it, a number that is not listed there would be undefined behaviour.
fn begin() -> Result<(), Unavailable> {
    type Init = unsafe extern "C" fn(c_uint) -> u32;
    let address = address("cuInit").ok_or(Unavailable::Lacks { function: "cuInit" })?;
    // SAFETY: this is the address of cuInit, which takes an unsigned number and gives a number of
    // 32 bits (CUDA Driver API, "Initialization").
    let init = unsafe { std::mem::transmute::<*const c_void, Init>(address) };
    // SAFETY: 0 is the only number it takes, and it may be called at any time, from any thread.
    let code = unsafe { init(0) };
    match code {
        0 => Ok(()),
        NO_DEVICE => Err(Unavailable::NoDevice),
        STUB_LIBRARY => Err(Unavailable::Stub),
        code => Err(Unavailable::Failed(Call {
            function: "cuInit",
            code: c_int::try_from(code).unwrap_or(c_int::MAX),
            name: "see the list of CUresult in the CUDA Driver API".to_owned(),
        })),
    }
}

fn version() -> Result<c_int, Unavailable> {
    let mut version = 0;
    // SAFETY: it writes one number, where `version` stands.
    let answer = unsafe { sys::cuDriverGetVersion(&raw mut version) };
    answer
        .result()
        .map_err(|error| Unavailable::Failed(call("cuDriverGetVersion", error)))?;
    Ok(version)
}

/// The file of the library that something at this address belongs to.
pub(super) fn library_of(address: *const c_void) -> Option<PathBuf> {
    use std::os::unix::ffi::OsStrExt;
    let mut info = libc::Dl_info {
        dli_fname: std::ptr::null(),
        dli_fbase: std::ptr::null_mut(),
        dli_sname: std::ptr::null(),
        dli_saddr: std::ptr::null_mut(),
    };
    // SAFETY: any address may be asked for, and `info` is where the answer goes.
    let found = unsafe { libc::dladdr(address, &raw mut info) };
    if found == 0 || info.dli_fname.is_null() {
        return None;
    }
    // SAFETY: dladdr(3) gives a text that ends with a zero byte and stays for as long as the
    // library is open, which it is until the end of the process.
    let name = unsafe { CStr::from_ptr(info.dli_fname) };
    Some(PathBuf::from(std::ffi::OsStr::from_bytes(name.to_bytes())))
}

/// What failed, by the driver's own name for it.
pub(super) fn call(function: &'static str, error: DriverError) -> Call {
    let name = error.error_name().map(CStr::to_string_lossy);
    let call = Call {
        function,
        code: error.0 as c_int,
        name: name.map_or_else(
            |_| "an unknown error".to_owned(),
            std::borrow::Cow::into_owned,
        ),
    };
    if is_sticky(call.code) {
        ENDED.get_or_init(|| call.clone());
    }
    call
}

/// Whether the context cannot be used after it: what memory and links report, and what kernels fail
/// with (CUDA Driver API, "CUresult": "the context cannot be used", "the process must be terminated").
fn is_sticky(code: c_int) -> bool {
    const STICKY: [c_int; 13] = [
        214, 220, 700, 702, 709, 710, 714, 715, 716, 717, 718, 719, 999,
    ];
    STICKY.contains(&code)
}

/// One device in use.
#[derive(Debug)]
pub(super) struct Device {
    context: Arc<CudaContext>,
}

impl Device {
    pub fn open(index: usize) -> Result<Self, Call> {
        let context = CudaContext::new(index).map_err(|e| call("cuDevicePrimaryCtxRetain", e))?;
        // SAFETY: this asks us to order all work on memory ourselves. `Engine` does, by events
        // that it records and waits for; no memory of `cudarc`'s own is made here.
        unsafe { context.disable_event_tracking() };
        // The primary context stays to the end of the process, as cuFFT does, which keeps what it
        // has in it: a second opening finds it as it was.
        std::mem::forget(Arc::clone(&context));
        Ok(Self { context })
    }

    /// Makes it the device of the calling thread, which cuFFT takes.
    pub fn bind(&self) -> Result<(), Call> {
        let bound = self.context.bind_to_thread();
        bound.map_err(|error| call("cuCtxSetCurrent", error))
    }

    pub fn context(&self) -> &Arc<CudaContext> {
        &self.context
    }

    pub fn stream(&self) -> Result<Stream, Call> {
        let stream = self.context.new_stream();
        Ok(Stream(stream.map_err(|e| call("cuStreamCreate", e))?))
    }

    /// To be waited for by a stream.
    pub fn event(&self) -> Result<Event, Call> {
        self.event_with(CUevent_flags::CU_EVENT_DISABLE_TIMING)
    }

    /// To be waited for by a thread, which sleeps meanwhile.
    pub fn sleeping_event(&self) -> Result<Event, Call> {
        self.event_with(CUevent_flags::CU_EVENT_BLOCKING_SYNC)
    }

    /// With a time, to be read.
    pub fn timed_event(&self) -> Result<Event, Call> {
        self.event_with(CUevent_flags::CU_EVENT_DEFAULT)
    }

    fn event_with(&self, flags: CUevent_flags) -> Result<Event, Call> {
        let event = self.context.new_event(Some(flags));
        Ok(Event(event.map_err(|e| call("cuEventCreate", e))?))
    }

    /// Bytes of its memory that are free.
    pub fn free_bytes(&self) -> Result<u64, Call> {
        let info = self.context.mem_get_info();
        let (free, _) = info.map_err(|error| call("cuMemGetInfo", error))?;
        Ok(free as u64)
    }

    /// Memory of the device; what is in it at first does not matter.
    pub fn memory(&self, bytes: u64) -> Result<Memory, Call> {
        self.bind()?;
        let length = usize::try_from(bytes).unwrap_or(usize::MAX).max(1);
        // SAFETY: the context is current on this thread, and the length is not zero.
        let memory = unsafe { result::malloc_sync(length) };
        Ok(Memory {
            address: memory.map_err(|error| call("cuMemAlloc", error))?,
            bytes,
            context: Some(Arc::clone(&self.context)),
        })
    }
}

/// A queue of work on the device.
#[derive(Debug)]
pub(super) struct Stream(Arc<CudaStream>);

impl Stream {
    /// The driver's own handle, for cuFFT; it lives as long as this.
    pub fn handle(&self) -> *mut c_void {
        self.0.cu_stream().cast()
    }

    /// What is queued from now on waits for what the event was recorded behind; for nothing, if it
    /// never was.
    pub fn wait(&self, event: &Event) -> Result<(), Call> {
        let queued = self.0.wait(&event.0);
        queued.map_err(|error| call("cuStreamWaitEvent", error))
    }

    /// Waits until all that is queued is done.
    pub fn synchronize(&self) -> Result<(), Call> {
        let done = self.0.synchronize();
        done.map_err(|error| call("cuStreamSynchronize", error))
    }

    /// Queues a kernel over `planes` × `rows` × `columns`.
    ///
    /// # Safety
    /// The addresses among the arguments are memory of this device, as long as the kernel reaches
    /// by the lengths among them, for as long as the stream is at work; no other stream uses it
    /// meanwhile without an event between them.
    pub unsafe fn launch(
        &self,
        kernel: &Kernel,
        (planes, rows, columns): (usize, usize, usize),
        arguments: &[Argument],
    ) -> Result<(), Call> {
        let function = kernel.function_for(arguments)?;
        let mut launch = self.0.launch_builder(function);
        for argument in arguments {
            match argument {
                Argument::Address(address) => launch.arg(address),
                Argument::Count(count) => launch.arg(count),
                Argument::Real(real) => launch.arg(real),
            };
        }
        let config = kernel.config(planes, rows, columns);
        // SAFETY: `function_for` has held the number and the sizes of the arguments against the
        // kernel's own list; what they mean the caller promises, and no kernel reaches beyond the
        // lengths it is given, whatever the grid.
        let queued = unsafe { launch.launch(config) };
        queued
            .map(drop)
            .map_err(|error| call("cuLaunchKernel", error))
    }

    /// Queues a copy of `bytes` to the beginning of `to`.
    ///
    /// # Safety
    /// `bytes` stay where they are, and nobody writes them, until the copy is done: until an event
    /// that is recorded behind it has been waited for, or the stream has.
    pub unsafe fn upload(&self, bytes: &[u8], to: &Memory) -> Result<(), Call> {
        to.holds(bytes.len(), "cuMemcpyHtoDAsync")?;
        // SAFETY: `to` is as long as `bytes` or longer, as checked above, and of this device; what
        // becomes of `bytes` the caller promises.
        let queued = unsafe { result::memcpy_htod_async(to.address, bytes, self.0.cu_stream()) };
        queued.map_err(|error| call("cuMemcpyHtoDAsync", error))
    }

    /// Queues a copy of the beginning of `from` to `bytes`.
    ///
    /// # Safety
    /// As for [`upload`](Self::upload), and nobody reads `bytes` before.
    pub unsafe fn download(&self, from: &Memory, bytes: &mut [u8]) -> Result<(), Call> {
        from.holds(bytes.len(), "cuMemcpyDtoHAsync")?;
        // SAFETY: as in `upload`.
        let queued = unsafe { result::memcpy_dtoh_async(bytes, from.address, self.0.cu_stream()) };
        queued.map_err(|error| call("cuMemcpyDtoHAsync", error))
    }
}

/// A place in a stream.
#[derive(Debug)]
pub(super) struct Event(CudaEvent);

impl Event {
    /// From now on it is the end of what is queued in `stream`.
    pub fn record(&self, stream: &Stream) -> Result<(), Call> {
        let recorded = self.0.record(&stream.0);
        recorded.map_err(|error| call("cuEventRecord", error))
    }

    /// Waits until what it was recorded behind is done.
    pub fn synchronize(&self) -> Result<(), Call> {
        let done = self.0.synchronize();
        done.map_err(|error| call("cuEventSynchronize", error))
    }

    /// From this one to a later one, seconds; waits for both. Both are timed.
    pub fn seconds_to(&self, later: &Self) -> Result<f64, Call> {
        let elapsed = self.0.elapsed_ms(&later.0);
        let elapsed = elapsed.map_err(|error| call("cuEventElapsedTime", error))?;
        Ok(f64::from(elapsed) / 1e3)
    }
}

/// Memory of the device.
#[derive(Debug)]
pub(super) struct Memory {
    address: CUdeviceptr,
    bytes: u64,
    /// `None` once it is left to the end of the process.
    context: Option<Arc<CudaContext>>,
}

impl Memory {
    pub fn address(&self) -> u64 {
        self.address
    }

    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Leaves it to the end of the process: for work that may still be under way.
    pub fn leak(&mut self) {
        self.context = None;
    }

    fn holds(&self, bytes: usize, function: &'static str) -> Result<(), Call> {
        if bytes as u64 <= self.bytes {
            return Ok(());
        }
        Err(Call {
            function,
            code: 1,
            name: format!("{bytes} bytes for {} of the device", self.bytes),
        })
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        let Some(context) = self.context.take() else {
            return;
        };
        if context.bind_to_thread().is_ok() {
            // SAFETY: it was allocated by `memory` in this context, is freed here alone, and the
            // engine has waited for all work on it, or leaked it.
            let _ = unsafe { result::free_sync(self.address) };
        }
    }
}

/// Pages of the host that the device may copy from and to by itself.
#[derive(Debug)]
pub(super) struct Registered {
    address: *mut c_void,
    context: Arc<CudaContext>,
}

// SAFETY: the address is only handed to the driver, which may be called from any thread.
unsafe impl Send for Registered {}

impl Registered {
    /// Registers `bytes`, which are whole pages, for all devices (CU_MEMHOSTREGISTER_PORTABLE).
    ///
    /// # Safety
    /// The bytes are not freed before this is dropped.
    pub unsafe fn new(device: &Device, bytes: &mut [u8]) -> Result<Self, Call> {
        const PORTABLE: c_uint = 1;
        device.bind()?;
        let address = bytes.as_mut_ptr().cast();
        // SAFETY: the range is memory of ours, from beginning to end, and stays so until it is
        // unregistered, as the caller promises.
        let answer = unsafe { sys::cuMemHostRegister_v2(address, bytes.len(), PORTABLE) };
        answer
            .result()
            .map_err(|error| call("cuMemHostRegister", error))?;
        Ok(Self {
            address,
            context: Arc::clone(device.context()),
        })
    }
}

impl Registered {
    /// Takes the pages back; whether that could be done.
    pub fn release(self) -> bool {
        if self.context.bind_to_thread().is_err() {
            return false;
        }
        // SAFETY: it was registered by `new`, and is unregistered here alone, as this takes it.
        let answer = unsafe { sys::cuMemHostUnregister(self.address) };
        answer.result().is_ok()
    }
}
