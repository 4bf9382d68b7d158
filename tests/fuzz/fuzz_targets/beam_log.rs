//! A byte of channels, then the text of a beam log.
#![no_main]
#![allow(dead_code, reason = "each target uses one of the checks")]

#[path = "../../hostile/readers.rs"]
mod readers;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| readers::beam_log(bytes));
