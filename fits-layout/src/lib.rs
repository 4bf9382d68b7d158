//! FITS headers and layout from bytes: no I/O, no unsafe, no astronomy.
#![forbid(unsafe_code)]
