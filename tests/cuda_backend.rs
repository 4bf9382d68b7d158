//! The CUDA backend on the mock driver, held against the CPU and the naive sums: shapes,
//! precisions, rules, edges, batches, lanes, memory, faults, and waits that are missing. What needs
//! a driver of its own is a scene, played by this program as a child of itself.
#![cfg(all(feature = "cuda", target_os = "linux"))]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    dead_code,
    reason = "a test fails by panicking and tells what it counted, and helpers are shared"
)]

mod cuda {
    pub mod cases;
    pub mod child;
    pub mod configurations;
    pub mod faults;
    pub mod memory;
    pub mod waits;
}
mod planes;

use cuda::child;

/// Played by a child, never by itself.
#[test]
#[ignore = "it is a scene of the other tests"]
fn scene() {
    let Some(asked) = child::scene_asked() else {
        return;
    };
    let (name, rest) = asked.split_once(' ').unwrap_or((&asked, ""));
    match name {
        "configurations" => cuda::configurations::scene(rest),
        "memory" => cuda::memory::scene(rest),
        "fault" => cuda::faults::scene(rest),
        "waits" => cuda::waits::scene(rest),
        _ => panic!("no scene {asked}"),
    }
}
