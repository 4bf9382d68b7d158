//! cuFFT, opened by name at run time: eleven functions of the same signature in every version that
//! is taken. Their answers are plain numbers here; as an enumeration, an answer of a newer library
//! would be undefined behaviour.

use std::ffi::{c_int, c_longlong, c_void};
use std::mem::ManuallyDrop;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use libloading::Library;

use super::super::device::{Call, Unavailable};
use super::driver::{Stream, library_of};
use super::search::folders;

/// Transforms (cuFFT API Reference, "cufftType").
const R2C: c_int = 0x2a;
const C2R: c_int = 0x2c;
const D2Z: c_int = 0x6a;
const Z2D: c_int = 0x6c;

type Handle = c_int;
type Sizes = *mut c_longlong;
type Exec = unsafe extern "C" fn(Handle, *mut c_void, *mut c_void) -> c_int;
type MakePlanMany = unsafe extern "C" fn(
    Handle,
    c_int,
    Sizes,
    Sizes,
    c_longlong,
    c_longlong,
    Sizes,
    c_longlong,
    c_longlong,
    c_int,
    c_longlong,
    *mut usize,
) -> c_int;

/// The library's functions.
#[derive(Debug)]
pub(super) struct Cufft {
    create: unsafe extern "C" fn(*mut Handle) -> c_int,
    destroy: unsafe extern "C" fn(Handle) -> c_int,
    set_auto_allocation: unsafe extern "C" fn(Handle, c_int) -> c_int,
    make_plan_many: MakePlanMany,
    set_work_area: unsafe extern "C" fn(Handle, *mut c_void) -> c_int,
    set_stream: unsafe extern "C" fn(Handle, *mut c_void) -> c_int,
    /// R2C, C2R, D2Z, Z2D.
    exec: [Exec; 4],
    /// 1000 · major + 100 · minor + patch.
    pub version: c_int,
    pub path: Option<PathBuf>,
    /// Open to the end of the process, as the driver is: after a failure nobody knows what of it
    /// still runs.
    _library: ManuallyDrop<Library>,
}

impl Cufft {
    /// Opens the library that goes with a driver for this CUDA and a device of this compute
    /// capability: that of CUDA 13, which knows none below 7.5, is preferred where the driver serves
    /// it; that of CUDA 12 does for all.
    pub fn open(driver_version: c_int, capability: (i32, i32)) -> Result<Self, Unavailable> {
        let serves_13 = driver_version >= 13_000 && capability >= (7, 5);
        let (names, package): (&[&'static str], _) = if serves_13 {
            (&["libcufft.so.12", "libcufft.so.11"], "nvidia-cufft")
        } else {
            (&["libcufft.so.11"], "nvidia-cufft-cu12")
        };
        let mut found = String::new();
        for name in names {
            for path in places(name) {
                match Self::at(&path) {
                    Ok(cufft) => return Ok(cufft),
                    Err(Some(why)) if found.is_empty() => found = why,
                    Err(_) => {}
                }
            }
        }
        Err(Unavailable::NoFft {
            wanted: names.first().copied().unwrap_or_default(),
            found,
            package,
        })
    }

    /// `None` as the error where there is no such file.
    fn at(path: &Path) -> Result<Self, Option<String>> {
        // SAFETY: the initialisers of a library run whose file has cuFFT's name, in a folder of
        // the system or one that the user has named for it.
        let library = unsafe { Library::new(path) };
        let library = library.map_err(|error| {
            // A bare name that the loader does not find is only not there.
            let is_there = path.is_absolute() && path.exists();
            is_there.then(|| error.to_string())
        })?;
        Self::from(library).map_err(|error| Some(error.to_string()))
    }

    fn from(library: Library) -> Result<Self, libloading::Error> {
        /// A function of the library, whose type the caller takes from its documentation.
        macro_rules! function {
            ($type:ty, $name:literal) => {{
                // SAFETY: cuFFT API Reference has it with this signature in all versions since
                // CUDA 9.2, a size_t being a usize.
                let symbol = unsafe { library.get::<$type>(concat!($name, "\0").as_bytes()) }?;
                *symbol
            }};
        }
        let get_version = function!(unsafe extern "C" fn(*mut c_int) -> c_int, "cufftGetVersion");
        let mut version = 0;
        // SAFETY: it writes one number where `version` stands.
        let answer = unsafe { get_version(&raw mut version) };
        let path = library_of(get_version as *const c_void);
        Ok(Self {
            create: function!(unsafe extern "C" fn(*mut Handle) -> c_int, "cufftCreate"),
            destroy: function!(unsafe extern "C" fn(Handle) -> c_int, "cufftDestroy"),
            set_auto_allocation: function!(
                unsafe extern "C" fn(Handle, c_int) -> c_int,
                "cufftSetAutoAllocation"
            ),
            make_plan_many: function!(MakePlanMany, "cufftMakePlanMany64"),
            set_work_area: function!(
                unsafe extern "C" fn(Handle, *mut c_void) -> c_int,
                "cufftSetWorkArea"
            ),
            set_stream: function!(
                unsafe extern "C" fn(Handle, *mut c_void) -> c_int,
                "cufftSetStream"
            ),
            exec: [
                function!(Exec, "cufftExecR2C"),
                function!(Exec, "cufftExecC2R"),
                function!(Exec, "cufftExecD2Z"),
                function!(Exec, "cufftExecZ2D"),
            ],
            version: if answer == 0 { version } else { 0 },
            path,
            _library: ManuallyDrop::new(library),
        })
    }
}

/// Where a library may be, the surest first; a bare name is looked for by the loader.
fn places(name: &str) -> Vec<PathBuf> {
    let folders = folders();
    let (first, others) = folders.split_at(folders.named);
    let inside = |folder: &PathBuf| folder.join(name);
    let named = first.iter().map(inside);
    let loader = std::iter::once(PathBuf::from(name));
    named
        .chain(loader)
        .chain(others.iter().map(inside))
        .collect()
}

/// The size of one batch of transforms: `ny` rows of `nx` reals each, and back, in place, in rows
/// of 2 · (nx / 2 + 1) reals.
#[derive(Clone, Copy, Debug)]
pub(super) struct Size {
    pub nx: usize,
    pub ny: usize,
    pub planes: usize,
    pub double: bool,
}

/// The transforms of one grid, forward and back.
#[derive(Debug)]
pub(super) struct Transforms {
    forward: Plan,
    back: Plan,
}

impl Transforms {
    /// Plans both; they have no work area yet. The device is bound to this thread, or cuFFT would
    /// take another.
    pub fn new(cufft: &Arc<Cufft>, size: Size) -> Result<Self, Call> {
        let (there, back) = if size.double { (D2Z, Z2D) } else { (R2C, C2R) };
        Ok(Self {
            forward: Plan::new(cufft, size, there)?,
            back: Plan::new(cufft, size, back)?,
        })
    }

    /// What both need to work in, bytes.
    pub fn area_bytes(&self) -> u64 {
        self.forward.area_bytes.max(self.back.area_bytes)
    }

    /// Gives both the same memory to work in, which is theirs as long as they are used, and the
    /// stream that they are queued in.
    ///
    /// # Safety
    /// `area` is memory of the device, of [`area_bytes`](Self::area_bytes) or more, for as long as
    /// this is used, and nothing else uses it in another stream.
    pub unsafe fn set(&self, area: u64, stream: &Stream) -> Result<(), Call> {
        for plan in [&self.forward, &self.back] {
            // SAFETY: as the caller promises.
            unsafe { plan.set(area, stream) }?;
        }
        Ok(())
    }

    /// Queues the transform of the rows at `work`, in place.
    ///
    /// # Safety
    /// `work` is memory of the device for all planes of the batch, and nothing else uses it in
    /// another stream until what is queued here is done.
    pub unsafe fn forward(&self, work: u64) -> Result<(), Call> {
        // SAFETY: as the caller promises.
        unsafe { self.forward.run(work) }
    }

    /// Queues the transform back, without normalisation.
    ///
    /// # Safety
    /// As for [`forward`](Self::forward).
    pub unsafe fn back(&self, work: u64) -> Result<(), Call> {
        // SAFETY: as the caller promises.
        unsafe { self.back.run(work) }
    }
}

#[derive(Debug)]
struct Plan {
    cufft: Arc<Cufft>,
    handle: Handle,
    exec: Exec,
    area_bytes: u64,
}

impl Plan {
    fn new(cufft: &Arc<Cufft>, size: Size, kind: c_int) -> Result<Self, Call> {
        let mut handle = 0;
        // SAFETY: it writes one handle where `handle` stands.
        let made = unsafe { (cufft.create)(&raw mut handle) };
        check("cufftCreate", made)?;
        let [r2c, c2r, d2z, z2d] = cufft.exec;
        let exec = match kind {
            R2C => r2c,
            C2R => c2r,
            D2Z => d2z,
            _ => z2d,
        };
        let mut plan = Self {
            cufft: Arc::clone(cufft),
            handle,
            exec,
            area_bytes: 0,
        };
        plan.make(size, kind)?;
        Ok(plan)
    }

    fn make(&mut self, size: Size, kind: c_int) -> Result<(), Call> {
        // SAFETY: the handle was made by `new`, and has no plan yet.
        let set = unsafe { (self.cufft.set_auto_allocation)(self.handle, 0) };
        check("cufftSetAutoAllocation", set)?;
        let length = |number: usize| c_longlong::try_from(number).unwrap_or(c_longlong::MAX);
        let (nx, ny, planes) = (length(size.nx), length(size.ny), length(size.planes));
        let half = nx / 2 + 1;
        let mut lengths = [ny, nx];
        let (mut reals, mut bins) = ([ny, 2 * half], [ny, half]);
        let (of_reals, of_bins) = (ny * 2 * half, ny * half);
        let forward = matches!(kind, R2C | D2Z);
        let (input, in_plane, output, out_plane) = if forward {
            (&mut reals, of_reals, &mut bins, of_bins)
        } else {
            (&mut bins, of_bins, &mut reals, of_reals)
        };
        let mut area_bytes = 0_usize;
        // SAFETY: two lengths for a rank of two in each of the arrays, and a place for one size;
        // they are only read, or written, during the call.
        let made = unsafe {
            (self.cufft.make_plan_many)(
                self.handle,
                2,
                lengths.as_mut_ptr(),
                input.as_mut_ptr(),
                1,
                in_plane,
                output.as_mut_ptr(),
                1,
                out_plane,
                kind,
                planes,
                &raw mut area_bytes,
            )
        };
        self.area_bytes = area_bytes as u64;
        check("cufftMakePlanMany64", made)
    }

    /// # Safety
    /// See [`Transforms::set`].
    unsafe fn set(&self, area: u64, stream: &Stream) -> Result<(), Call> {
        let area = std::ptr::without_provenance_mut(area as usize);
        // SAFETY: the plan is made, and the area is what the caller promises.
        let set = unsafe { (self.cufft.set_work_area)(self.handle, area) };
        check("cufftSetWorkArea", set)?;
        // SAFETY: the stream lives longer: the engine drops its plans first.
        let set = unsafe { (self.cufft.set_stream)(self.handle, stream.handle()) };
        check("cufftSetStream", set)
    }

    /// # Safety
    /// See [`Transforms::forward`].
    unsafe fn run(&self, work: u64) -> Result<(), Call> {
        let work = std::ptr::without_provenance_mut(work as usize);
        // SAFETY: the plan is made in place, and `work` is what the caller promises.
        check("cufftExec", unsafe { (self.exec)(self.handle, work, work) })
    }
}

impl Drop for Plan {
    fn drop(&mut self) {
        // SAFETY: the handle was made by `new` and is destroyed here alone; of a device that has
        // failed this is an error, which changes nothing.
        let _ = unsafe { (self.cufft.destroy)(self.handle) };
    }
}

fn check(function: &'static str, code: c_int) -> Result<(), Call> {
    if code == 0 {
        return Ok(());
    }
    Err(Call {
        function,
        code,
        name: name(code).to_owned(),
    })
}

/// What an answer means (cuFFT API Reference, "cufftResult"); a newer library has more of them.
fn name(code: c_int) -> &'static str {
    match code {
        1 => "CUFFT_INVALID_PLAN",
        2 => "CUFFT_ALLOC_FAILED",
        3 => "CUFFT_INVALID_TYPE",
        4 => "CUFFT_INVALID_VALUE",
        5 => "CUFFT_INTERNAL_ERROR",
        6 => "CUFFT_EXEC_FAILED",
        7 => "CUFFT_SETUP_FAILED",
        8 => "CUFFT_INVALID_SIZE",
        11 => "CUFFT_INVALID_DEVICE",
        13 => "CUFFT_NO_WORKSPACE",
        14 => "CUFFT_NOT_IMPLEMENTED",
        16 => "CUFFT_NOT_SUPPORTED",
        _ => "an answer that is not known here",
    }
}
