//! `mmconv bench` on the mock driver: a device's lines are measured, kept as rates, and told as not
//! measured where the device fails. How fast the mock is says nothing.
#![cfg(all(feature = "cuda", feature = "cli", target_os = "linux"))]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

#[allow(dead_code, reason = "the children of other tests can do more")]
mod cuda {
    pub mod child;
}

use std::fs;
use std::path::Path;

use cuda::child::{self, Run};
use mmfits::convolve::rates::{Rate, Rates};
use serde_json::Value;

const SMALL: [&str; 8] = [
    "bench", "--nx", "48", "--ny", "40", "--planes", "3", "--json",
];

fn bench(mock: &Path) -> Run {
    Run::new(Path::new(env!("CARGO_BIN_EXE_mmconv")), Some(mock))
        .args(SMALL)
        .env("MOCK_CUDA_STRICT", "1")
}

/// The one object on standard output.
fn object(run: Run) -> Value {
    serde_json::from_str(&run.run().done().stdout).unwrap()
}

#[test]
fn a_device_is_measured_and_its_rates_are_kept() {
    let Some(mock) = child::mock() else { return };
    let folder = tempfile::tempdir().unwrap();
    let kept = folder.path().join("rates");
    let words = ["--backend", "cuda", "--blank", "25", "--save"];
    let run = bench(mock).args(words).env("MMCONV_RATES", &kept);
    let object = object(run.dir(folder.path()));
    for (key, line) in object["lines"].as_object().unwrap() {
        let seconds = line["seconds_per_plane"].as_f64();
        assert!(
            seconds.is_some_and(|seconds| seconds > 0.0),
            "{key}: {line}"
        );
    }
    assert_eq!(object["gain_is_estimate"], false);
    assert!(object["device"].as_str().unwrap().contains("Mock GPU"));
    let rates = Rates::parse(&fs::read_to_string(&kept).unwrap()).unwrap();
    for rate in Rate::ALL {
        // Two threads may be no faster than one on a busy machine, or there is only one.
        let may_lack = rate == Rate::ThreadShare;
        assert!(may_lack || rates.measured(rate).is_some(), "{rate:?}");
    }
}

#[test]
fn what_fails_on_a_device_is_told_and_the_rest_is_measured() {
    let Some(mock) = child::mock() else { return };
    // The test of a device does not come so far.
    let run = bench(mock).env("MOCK_CUFFT_FAIL", "cufftExecR2C:20+:6");
    let object = object(run);
    for (key, line) in object["lines"].as_object().unwrap() {
        let measured = line["seconds_per_plane"].as_f64().is_some();
        assert_eq!(measured, !key.contains("device"), "{key}: {line}");
        if !measured {
            assert!(
                line["not_measured"].as_str().unwrap().contains('6'),
                "{line}"
            );
        }
    }
    assert_eq!(object["gain_is_estimate"], true);
}

#[test]
fn no_device_is_looked_for_where_the_environment_says_cpu() {
    let Some(mock) = child::mock() else { return };
    let object = object(bench(mock).env("MMCONV_BACKEND", "cpu"));
    assert_eq!(object["device"], Value::Null);
    bench(mock)
        .args(["--backend", "cuda"])
        .env("MOCK_CUDA_DEVICES", "0")
        .run()
        .fails(4, &["cuda cannot be measured"]);
}
