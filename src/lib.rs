//! Radio images and spectral cubes at a common resolution.

pub mod sky;
