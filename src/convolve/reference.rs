//! The judge: what a convolution means, written as plainly as possible. Fourier sums term by
//! term, full complex spectra with the one-sided frequencies of numpy's `fftfreq`, `f64`
//! throughout, no half spectra, no Nyquist rule, no fast transform.
//!
//! It costs nx · ny · (nx + ny) complex multiplications and allocates as it likes. Other
//! backends are tested against it; it is for planes of a few hundred pixels at most.

use std::f64::consts::TAU;

use num_complex::Complex;

use super::{Backend, BackendError, LEAST_WEIGHT, Lane, RACS_BLANK_FROM, Workload, check};
use crate::kernel::{GaussianTransfer, Grid};
use crate::plan::{Convolution, Edge, NanRule};
use crate::plane::{PlaneMut, PlaneRef};

/// The reference as a [`Backend`], so that tests can be stamped on it and on the others alike.
#[derive(Clone, Copy, Debug, Default)]
pub struct Reference;

impl Backend for Reference {
    fn name(&self) -> &'static str {
        "reference"
    }

    fn arithmetic(&self) -> &str {
        "plain"
    }

    /// Its memory is not counted.
    fn lane_bytes(&self, _workload: &Workload) -> u64 {
        0
    }

    fn lane(&self, _workload: &Workload) -> Result<Box<dyn Lane>, BackendError> {
        Ok(Box::new(ReferenceLane))
    }
}

#[derive(Debug)]
struct ReferenceLane;

impl Lane for ReferenceLane {
    fn convolve(
        &mut self,
        convolution: &Convolution,
        source: PlaneRef<'_>,
        mut slot: PlaneMut<'_>,
    ) -> Result<(), BackendError> {
        check(convolution, &source, &slot)?;
        let mut pixels = Vec::with_capacity(source.nx() * source.ny());
        let mut row = vec![0.0; source.nx()];
        for y in 0..source.ny() {
            source.read_row(y, &mut row)?;
            pixels.extend_from_slice(&row);
        }
        let smoothed = convolve(&pixels, source.nx(), convolution);
        for (y, row) in smoothed.chunks(source.nx()).enumerate() {
            slot.write_row(y, row)?;
        }
        Ok(())
    }

    fn bytes(&self) -> u64 {
        0
    }
}

/// Convolves an image given as rows of `nx` pixels; the result has the same shape, NaN where
/// blank. The grid of `convolution` must be at least as large as the image.
#[must_use]
pub fn convolve(pixels: &[f64], nx: usize, convolution: &Convolution) -> Vec<f64> {
    let image: Vec<f64> = pixels
        .iter()
        .map(|&v| if v.is_finite() { v } else { 0.0 })
        .collect();
    let mask: Vec<f64> = pixels
        .iter()
        .map(|v| f64::from(u8::from(!v.is_finite())))
        .collect();
    if mask.iter().all(|&blank| blank == 1.0) {
        return vec![f64::NAN; pixels.len()];
    }
    let smoothed = smooth(&image, nx, convolution, convolution.gain);
    if mask.iter().all(|&blank| blank == 0.0) {
        return smoothed;
    }
    if convolution.nan == NanRule::Keep {
        let blanked = smoothed.iter().zip(&mask);
        return blanked
            .map(|(&v, &blank)| if blank == 1.0 { f64::NAN } else { v })
            .collect();
    }
    let smoothed_mask = smooth(&mask, nx, convolution, 1.0);
    let finish = |(&value, &mask): (&f64, &f64)| match convolution.nan {
        NanRule::Racs if convolution.racs_gain * mask >= RACS_BLANK_FROM => f64::NAN,
        NanRule::Interpolate if 1.0 - mask < LEAST_WEIGHT => f64::NAN,
        NanRule::Interpolate => value / (1.0 - mask),
        NanRule::Keep | NanRule::Racs => value,
    };
    smoothed.iter().zip(&smoothed_mask).map(finish).collect()
}

/// The real part of the inverse transform of spectrum times transfer function, cut to the image.
fn smooth(image: &[f64], nx: usize, convolution: &Convolution, gain: f64) -> Vec<f64> {
    let grid = match convolution.edge {
        Edge::Zero => convolution.grid,
        Edge::Wrap => Grid {
            nx,
            ny: image.len() / nx,
        },
    };
    let transfer = GaussianTransfer::new(convolution.kernel, gain);
    let mut spectrum = transform(&padded(image, nx, grid), grid, -1.0);
    for (k, bin) in spectrum.iter_mut().enumerate() {
        *bin *= transfer.at(grid.u(k % grid.nx), grid.v(k / grid.nx)) / grid.bins();
    }
    let plane = transform(&spectrum, grid, 1.0);
    let rows = plane.chunks(grid.nx).take(image.len() / nx);
    rows.flat_map(|row| row.iter().take(nx).map(|value| value.re))
        .collect()
}

/// The image at the origin of a grid of zeros.
fn padded(image: &[f64], nx: usize, grid: Grid) -> Vec<Complex<f64>> {
    let mut plane = vec![Complex::default(); grid.nx * grid.ny];
    for (row, pixels) in plane.chunks_mut(grid.nx).zip(image.chunks(nx)) {
        for (value, &pixel) in row.iter_mut().zip(pixels) {
            value.re = pixel;
        }
    }
    plane
}

/// The sums over x and over y of `plane` times exp(± 2πi (kx x / nx + ky y / ny)).
fn transform(plane: &[Complex<f64>], grid: Grid, sign: f64) -> Vec<Complex<f64>> {
    let rows = sums(plane, grid.nx, sign);
    let columns = sums(&transposed(&rows, grid.nx), grid.ny, sign);
    transposed(&columns, grid.ny)
}

/// The one-dimensional sums of each run of `n` values.
fn sums(values: &[Complex<f64>], n: usize, sign: f64) -> Vec<Complex<f64>> {
    let wave: Vec<Complex<f64>> = (0..n)
        .map(|k| Complex::cis(sign * TAU * k as f64 / n as f64))
        .collect();
    let bin = |run: &[Complex<f64>], k: usize| -> Complex<f64> {
        run.iter()
            .enumerate()
            .map(|(x, value)| value * wave[k * x % n])
            .sum()
    };
    values
        .chunks(n)
        .flat_map(|run| (0..n).map(move |k| bin(run, k)))
        .collect()
}

/// Rows of `nx` values turned into columns.
fn transposed(values: &[Complex<f64>], nx: usize) -> Vec<Complex<f64>> {
    let column = |x: usize| values.iter().skip(x).step_by(nx);
    (0..nx).flat_map(column).copied().collect()
}
