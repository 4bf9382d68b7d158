//! The command `mmconv` from outside: what it prints where, and what it exits with. Whether the
//! pixels are right is asked elsewhere.
#![cfg(feature = "cli")]
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "the harness may panic as the tests do"
)]

mod bench;
mod demo;
mod harness;
mod rank;
mod reading;
mod shell;
mod signals;
mod smooth;
