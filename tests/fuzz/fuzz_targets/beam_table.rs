//! A byte of channels and Stokes, then the cards of a table as lines, a line END, and its data.
#![no_main]
#![allow(dead_code, reason = "each target uses one of the checks")]

#[path = "../../hostile/readers.rs"]
mod readers;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| readers::beam_table(bytes));
