//! Any bytes: parse, read every keyword with every getter, edit, render, parse again.
//!
//! `cargo +nightly fuzz run parse_edit_render` in `fits-layout`. What is checked is in
//! `tests/common/exercise.rs`, which plain `cargo test` runs on seeded mutations.
#![no_main]

#[path = "../../tests/common/exercise.rs"]
mod exercise;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| exercise::exercise(bytes, exercise::Effort::FULL));
