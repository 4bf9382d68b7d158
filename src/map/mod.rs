//! Files as memory: read-only inputs, reserved and mapped outputs, scratch space. No FITS is known here, and
//! this is the only room of the CPU path that may contain `unsafe`.
//!
//! A map shows what the file holds *now*. Both types promise their callers plain slices, which
//! is sound only while nobody shortens or rewrites the file under them: the user's word that
//! inputs stay put for the run (documented in the README) is what the `unsafe` here rests on.
#![allow(
    unsafe_code,
    reason = "mapping a file is unsafe by nature; see the module docs"
)]

mod error;
mod identity;
mod reserve;
mod scratch;
mod source;
mod target;

pub use error::MapError;
pub use identity::FileId;
pub use scratch::Scratch;
pub use source::Source;
pub use target::Target;
