//! The axes and the pixel sizes of headers, judged by astropy (`tests/data/jacobians.json`, made by
//! `scripts/jacobians.py`), by the FITS standard and by the user cases on axes and orientation.
//! Headers are made from cards here; whole files are tried elsewhere.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod axes;
mod wcs;

use fits_layout::Header;

/// A header of these cards, each as it stands in a file.
fn cards(cards: &[&str]) -> Header {
    let mut bytes = Vec::new();
    for card in cards.iter().chain(&["END"]) {
        bytes.extend_from_slice(format!("{card:<80}").as_bytes());
    }
    bytes.resize(bytes.len().next_multiple_of(2880), b' ');
    Header::parse(&bytes, 0).unwrap().0
}
