//! Radio images and spectral cubes at a common resolution.

pub mod beam;
pub mod convolve;
pub mod kernel;
pub mod plan;
pub mod plane;
