//! What the black-box tests of the command share: a tiny FITS writer and reader, analytic
//! elliptical Gaussians, and a harness that runs `mmconv` in a folder of its own.
//! Nothing here may use `fits_layout` or `mmfits`: expectations come from outside the code.

#![allow(
    dead_code,
    unused_imports,
    reason = "each test file uses its own part of this folder"
)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a helper of tests fails a test by panicking"
)]

pub mod bench;
pub mod card;
pub mod checksum;
pub mod expect;
pub mod read;
pub mod scene;
pub mod sky;
pub mod write;

pub use bench::{Bench, Outcome, cut};
pub use card::Cards;
pub use expect::{
    check_planes, check_planes_of, check_planes_of_table, close, close_to, same_bits, same_blanks,
    table_beams,
};
pub use read::{Fits, ReadHdu};
pub use scene::{
    BeamTable, OTHERS, Order, beam_cards, beam_log, beam_log_of, casambm, cube, cube_cards,
    hypercube, image, image_cards, put_cube, put_image, put_pair,
};
pub use sky::{BEAMS5, Beam, Grid, Matrix, OLD, PIX, TGT, Wcs, area_ratio, margin, same_beam};
pub use write::{Column, Hdu, Samples};
