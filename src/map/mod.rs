//! Files as memory: read-only inputs, reserved outputs that are mapped or written by position,
//! scratch space. No FITS is known here, and with `convolve/cpu/simd.rs` this is all of the CPU
//! path that may contain `unsafe`.
//!
//! A map shows what the file holds *now*. Both types promise their callers plain slices, which
//! is sound only while nobody shortens or rewrites the file under them: the user's word that
//! inputs stay put for the run (documented in the README) is what the `unsafe` here rests on.
#![allow(
    unsafe_code,
    reason = "mapping a file is unsafe by nature; see the module docs"
)]

mod advice;
mod behind;
mod error;
mod filesystem;
pub mod guard;
mod identity;
mod reader;
mod reserve;
mod scratch;
mod shared;
mod slot;
mod source;
mod target;

pub use advice::Touch;
/// Bytes of a page of this machine.
#[must_use]
pub fn page_bytes() -> u64 {
    advice::page_bytes() as u64
}
pub use behind::Behind;
pub use error::MapError;
pub use filesystem::network_file_system;
pub use identity::{FileId, FileStamp};
pub use reader::Reader;
pub use scratch::Scratch;
pub use shared::Shared;
pub use slot::{Place, Slot};
pub use source::Source;
pub use target::{Claim, Io, Target};
