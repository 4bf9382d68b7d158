//! A lane's memory on the host: what goes to the device and what comes back lies here, one after
//! the other.

use super::super::BackendError;
use super::super::device::DeviceError;
use super::driver::{Device, Registered, ended};

/// What is registered with the driver is whole pages of this many bytes, or multiples of the
/// machine's.
const PAGE_BYTES: usize = 64 << 10;

/// Anonymous memory, registered where the driver takes it: then copies are made by the device
/// alone, beside all else.
#[derive(Debug)]
pub(super) struct Staging {
    /// Released before the memory goes.
    registered: Option<Registered>,
    memory: Vec<u8>,
    /// Where the first whole page begins.
    start: usize,
    len_bytes: usize,
}

impl Staging {
    /// What is taken for so many bytes.
    pub fn bytes_for(len_bytes: u64) -> u64 {
        let pages = len_bytes.checked_next_multiple_of(PAGE_BYTES as u64);
        pages
            .and_then(|bytes| bytes.checked_add(PAGE_BYTES as u64))
            .unwrap_or(u64::MAX)
    }

    /// As many zero bytes. Whether they are registered `is_registered` says; the device copies
    /// from and to any memory.
    pub fn new(device: &Device, len_bytes: u64) -> Result<Self, BackendError> {
        let bytes = Self::bytes_for(len_bytes);
        let refused = || BackendError::Memory { bytes };
        let length = usize::try_from(bytes).map_err(|_| refused())?;
        let mut memory = Vec::new();
        memory.try_reserve_exact(length).map_err(|_| refused())?;
        memory.resize(length, 0);
        let start = memory.as_ptr().align_offset(PAGE_BYTES);
        let pages = memory
            .get_mut(start..start + (length - PAGE_BYTES))
            .ok_or_else(refused)?;
        // SAFETY: `memory` goes behind `registered`, or not at all, as `drop` says, and never grows
        // or shrinks.
        let registered = unsafe { Registered::new(device, pages) };
        let registered = match registered {
            Ok(registered) => Some(registered),
            // Nothing more can be done with the device.
            Err(call) if ended().is_some() => return Err(DeviceError::Call(call).into()),
            Err(_) => None,
        };
        Ok(Self {
            registered,
            memory,
            start,
            // At most `length`, which is a usize.
            len_bytes: len_bytes as usize,
        })
    }

    pub fn is_registered(&self) -> bool {
        self.registered.is_some()
    }

    /// All that it takes, bytes.
    pub fn bytes(&self) -> u64 {
        self.memory.len() as u64
    }

    pub fn as_slice(&self) -> &[u8] {
        &self.memory[self.start..self.start + self.len_bytes]
    }

    pub fn as_mut_slice(&mut self) -> &mut [u8] {
        &mut self.memory[self.start..self.start + self.len_bytes]
    }

    /// Leaves the memory to the end of the process, for copies that may still be under way; there
    /// is none left here then.
    pub fn leak(&mut self) {
        std::mem::forget(self.registered.take());
        std::mem::forget(std::mem::take(&mut self.memory));
        (self.start, self.len_bytes) = (0, 0);
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        let released = self.registered.take().is_none_or(Registered::release);
        if !released {
            // The driver would take other memory at this address for pages that it knows.
            std::mem::forget(std::mem::take(&mut self.memory));
        }
    }
}
