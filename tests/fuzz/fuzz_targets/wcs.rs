//! How many axes, their lengths, then cards as lines.
#![no_main]
#![allow(dead_code, reason = "each target uses one of the checks")]

#[path = "../../hostile/readers.rs"]
mod readers;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| readers::wcs(bytes));
