//! The command `mmconv` from outside: what it prints where, and what it exits with. Whether the
//! pixels are right is asked elsewhere.
#![cfg(feature = "cli")]

mod demo;
mod harness;
mod reading;
mod shell;
mod smooth;
