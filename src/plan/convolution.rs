//! The convolution of one plane: everything a backend needs besides the pixels.

use crate::kernel::{Grid, PixelCovariance};
use crate::plan::spec::{Edge, NanRule};

/// One plane's convolution, in pixels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Convolution {
    /// The kernel: target minus own beam, FWHM² in px².
    pub kernel: PixelCovariance,
    /// Transfer at zero frequency: Ω_new/Ω_old for a per-beam unit, else 1.
    pub gain: f64,
    /// √(Ω_new/Ω_old), whatever the unit: the mask's gain in [`NanRule::Racs`].
    pub racs_gain: f64,
    /// What lies outside the image.
    pub edge: Edge,
    /// What happens at blank pixels.
    pub nan: NanRule,
    /// The transform's lengths: the image's own with [`Edge::Wrap`], padded with [`Edge::Zero`].
    pub grid: Grid,
}
