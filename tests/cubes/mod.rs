//! Small cubes, and requests to smooth them with one thread.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::{Path, PathBuf};

use fits_layout::Header;
use mmfits::beam::Beam;
use mmfits::output::{Existing, NewImage};
use mmfits::plan::{Spec, TargetChoice};
use mmfits::run::{Request, Resources, Storage};

pub const SIZE: [i64; 2] = [31, 24];
pub const PLANES: i64 = 5;

pub fn cube(path: &Path) {
    let mut header = Header::new();
    header.set("SIMPLE", true, None).unwrap();
    for (keyword, value) in [
        ("BITPIX", -32),
        ("NAXIS", 3),
        ("NAXIS1", SIZE[0]),
        ("NAXIS2", SIZE[1]),
        ("NAXIS3", PLANES),
    ] {
        header.set(keyword, value, None).unwrap();
    }
    for (axis, ctype, step) in [
        (1, "RA---SIN", -0.001),
        (2, "DEC--SIN", 0.001),
        (3, "FREQ", 1e6),
    ] {
        header.set(&format!("CTYPE{axis}"), ctype, None).unwrap();
        header.set(&format!("CDELT{axis}"), step, None).unwrap();
    }
    for (keyword, value) in [("BMAJ", 0.003), ("BMIN", 0.002), ("BPA", 30.0)] {
        header.set(keyword, value, None).unwrap();
    }
    header.set("BUNIT", "Jy/beam", None).unwrap();
    let mut image = NewImage::create(path, &header, Existing::Refuse).unwrap();
    for (k, mut plane) in image.planes_mut().unwrap().into_iter().enumerate() {
        for y in 0..plane.ny() {
            plane.write_row(y, &[k as f32; SIZE[0] as usize]).unwrap();
        }
    }
    image.finish().unwrap();
}

/// A folder with the cubes `0.fits`, `1.fits`, …
pub fn folder(cubes: usize) -> (tempfile::TempDir, Vec<PathBuf>) {
    let folder = tempfile::tempdir().unwrap();
    let inputs: Vec<PathBuf> = (0..cubes)
        .map(|number| folder.path().join(format!("{number}.fits")))
        .collect();
    for input in &inputs {
        cube(input);
    }
    (folder, inputs)
}

pub fn request(inputs: &[PathBuf], storage: Storage) -> Request {
    Request {
        inputs: inputs.to_vec(),
        spec: Spec {
            target: TargetChoice::Beam(Beam::new(15.0, 14.0, 20.0).unwrap()),
            ..Spec::default()
        },
        resources: Resources {
            threads: Some(1),
            ..Resources::default()
        },
        storage,
        ..Request::default()
    }
}

/// Its output.
pub fn output(input: &Path) -> PathBuf {
    input.with_extension("sm.fits")
}
