//! Radio images and spectral cubes at a common resolution: memory-mapped, zero-copy FITS.
//!
//! [`run::prepare`] checks a whole request and plans it; [`run::Job::run`] does the work. Below
//! them the rooms, each using only those above it in this list:
//!
//! | room | what lives there |
//! |---|---|
//! | [`fits_layout`] | (crate) header cards, HDU layout, plane byte ranges, tables, checksums |
//! | [`beam`] | Gaussian beams, the smallest common one, and where beams are written down |
//! | [`sky`] | which axes are celestial, pixel sizes as a signed matrix, BUNIT |
//! | [`plane`] | one plane's big-endian samples, viewed without copying |
//! | [`map`] | files as memory: mapped inputs, reserved and mapped outputs |
//! | [`kernel`] | the Gaussian kernel in pixels and its Fourier transform |
//! | [`plan`] | what will be computed, as plain data |
//! | [`convolve`] | the backends that compute it |
//! | [`image`] | one opened input |
//! | [`output`] | headers, working names and final names of outputs |
//! | [`journal`] | which planes are stored |
//! | [`run`] | the front door: a request, a job, its work |
//!
//! The library prints nothing, ends no process, installs no signal handler and leaves the global
//! thread pool alone. What a user should know is a [`plan::Note`].
//!
//! ```no_run
//! use mmfits::run::{Request, prepare};
//!
//! let request = Request { inputs: vec!["a.fits".into(), "b.fits".into()], ..Request::default() };
//! let job = prepare(&request)?; // everything is checked, nothing is made
//! for plan in job.files() {
//!     println!("{} -> {}", plan.facts.input.display(), plan.facts.output.display());
//! }
//! job.run(&())?; // `&()` is an observer that does not listen
//! # Ok::<(), mmfits::Error>(())
//! ```

pub mod beam;
pub mod convolve;
mod error;
pub mod image;
pub mod journal;
pub mod kernel;
pub mod map;
pub mod output;
pub mod plan;
pub mod plane;
pub mod progress;
pub mod run;
pub mod sky;

pub use error::{Blame, Bug, Error, InputError, Interrupted, Stage, ThreadError, Unfinished};
