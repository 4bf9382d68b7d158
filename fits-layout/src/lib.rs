//! FITS headers and layout from bytes: no I/O, no unsafe, no astronomy.
//!
//! Everything here works on byte slices: the caller maps or reads the file. Only a card that
//! somebody asks for is parsed, so a bad card does no harm until it is needed, and a header that
//! was not edited is written back byte for byte. Sections cited as "FITS 4.0, 4.2.1" are those of
//! the FITS standard, version 4.0 (IAU FITS Working Group, 2018).
//!
//! * [`Layout`] finds the HDUs of a file, [`Hdu`] says where one lies and what it is;
//! * [`Header`] is its ordered cards, [`Card`] one of them, [`Value`] what a card says;
//! * [`Cube`] gives the planes of an image as byte ranges;
//! * [`Table`] and [`TableBuilder`] read and write binary-table cells;
//! * [`Sum`] and [`checksum`] do the ones'-complement checksum.
//!
//! ```
//! use fits_layout::{Cube, Header, Layout};
//!
//! let mut header = Header::new();
//! header.set("SIMPLE", true, Some("conforms to the FITS standard"))?;
//! header.set("BITPIX", -32, None)?;
//! header.set("NAXIS", 3, None)?;
//! for (keyword, length) in [("NAXIS1", 4), ("NAXIS2", 3), ("NAXIS3", 5)] {
//!     header.set(keyword, length, None)?;
//! }
//! let mut file = header.render();
//! file.resize(file.len() + 2880, 0);
//!
//! let layout = Layout::parse(&file)?;
//! let cube = Cube::of(&layout.hdus[0])?;
//! assert_eq!((cube.nx(), cube.ny(), cube.planes()), (4, 3, 5));
//! assert_eq!(cube.plane_range(1), Some(2928..2976));
//! # Ok::<(), fits_layout::LayoutError>(())
//! ```
#![forbid(unsafe_code)]
#![cfg_attr(
    not(test),
    deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)
)]

pub mod bitpix;
pub mod block;
pub mod card;
pub mod checksum;
pub mod cube;
pub mod error;
pub mod hdu;
pub mod header;
pub mod table;

pub use bitpix::Bitpix;
pub use block::{BLOCK_BYTES, CARD_BYTES, padded_bytes};
pub use card::{Card, Value};
pub use checksum::Sum;
pub use cube::Cube;
pub use error::{Compression, LayoutError};
pub use hdu::{Hdu, HduKind, Layout};
pub use header::Header;
pub use table::{Cell, CellKind, Column, Table, TableBuilder};

/// Keeps the example of the README true.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
