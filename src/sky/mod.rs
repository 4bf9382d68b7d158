//! The sky behind the pixels: which axes of a cube are celestial, spectral and Stokes (`axes`),
//! how a step of one pixel moves on the sky (`wcs`), and what the pixel values count (`units`).
//!
//! Everything here is read from header cards. No pixels, no beams and no files live here, and
//! nothing is guessed in silence: what is assumed is a [`SkyNote`], what cannot be told is a
//! [`SkyError`].

pub mod axes;
mod ctype;
pub mod error;
mod matrix;
pub mod note;
mod terms;
pub mod units;
pub mod wcs;

pub use axes::{Axes, AxisKind, PlaneIndex};
pub use error::SkyError;
pub use note::SkyNote;
pub use units::{Brightness, classify};
pub use wcs::PixelToSky;
