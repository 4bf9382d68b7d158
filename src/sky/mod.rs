//!
//! Everything here is read from header cards. No pixels, no beams and no files live here, and
//! nothing is ever guessed in silence: what is assumed is a [`SkyNote`], what cannot be told is a
//! [`SkyError`].

pub mod units;

pub use units::{Brightness, classify};
