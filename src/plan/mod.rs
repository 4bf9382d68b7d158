//! What will be computed, as plain data. Nothing here opens a file or runs a transform.

pub mod convolution;
pub mod padding;
pub mod spec;

pub use convolution::Convolution;
pub use padding::{padded_grid, padded_length};
pub use spec::{
    Edge, HduChoice, Mode, NanRule, Precision, RefChannel, Spec, TargetChoice, UnitChoice,
};
