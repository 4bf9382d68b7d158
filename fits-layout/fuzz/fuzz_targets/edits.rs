//! Any cards and any edits of them, in lines of text: what was set is read back, the rest stays.
//!
//! What is checked is in `tests/common/edits.rs`, which plain `cargo test` runs on the seeds and on
//! mutations of them.
#![no_main]

#[path = "../../tests/common/edits.rs"]
mod edits;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| edits::edits(bytes));
