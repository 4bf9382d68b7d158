//! The golden images, whose answers were computed in float64 by independent programs, through
//! the library's planes and backends. The convolutions are put together here by hand.
#![allow(clippy::expect_used, clippy::panic, reason = "helpers of tests")]

mod planes;

use std::f64::consts::PI;
use std::fs;
use std::path::{Path, PathBuf};

use fits_layout::{Bitpix, Cube, Header, Layout};
use mmfits::convolve::reference::Reference;
use mmfits::convolve::{Backend, Cpu, Workload};
use mmfits::kernel::PixelCovariance;
use mmfits::plan::{ColumnMethod, Convolution, Edge, NanRule, Precision, padded_grid};
use mmfits::plane::{Codec, PlaneMut, PlaneRef};
use serde_json::Value;

use planes::{assert_close, bitpix, sample_bytes, values};

fn golden() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/golden")
}

/// FWHM² covariance on the sky of a beam in arcsec and degrees: east-east, east-north,
/// north-north.
fn sky_covariance(beam: &Value) -> [f64; 3] {
    let number = |i: usize| beam[i].as_f64().expect("a number");
    let (a, b, (s, c)) = (
        number(0).powi(2),
        number(1).powi(2),
        (number(2) * PI / 180.0).sin_cos(),
    );
    [
        a * s * s + b * c * c,
        (a - b) * s * c,
        a * c * c + b * s * s,
    ]
}

/// Pixels per arcsec from CD or CDELT: the inverse of the Jacobian.
fn pixels_per_arcsec(header: &Header) -> [[f64; 2]; 2] {
    let card = |keyword: &str| header.real(keyword).expect("a number");
    let [[a, b], [c, d]] = if card("CD1_1").is_some() {
        [["CD1_1", "CD1_2"], ["CD2_1", "CD2_2"]].map(|row| row.map(|k| card(k).unwrap_or(0.0)))
    } else {
        [
            [card("CDELT1").expect("CDELT1"), 0.0],
            [0.0, card("CDELT2").expect("CDELT2")],
        ]
    };
    let scale = 3600.0 * (a * d - b * c);
    [[d / scale, -b / scale], [-c / scale, a / scale]]
}

/// `M C Mᵀ`.
fn carried([ee, en, nn]: [f64; 3], [[a, b], [c, d]]: [[f64; 2]; 2]) -> PixelCovariance {
    let (top, bottom) = (
        [a * ee + b * en, a * en + b * nn],
        [c * ee + d * en, c * en + d * nn],
    );
    PixelCovariance {
        xx: top[0] * a + top[1] * b,
        xy: top[0] * c + top[1] * d,
        yy: bottom[0] * c + bottom[1] * d,
    }
}

fn convolution(case: &Value, header: &Header, (nx, ny): (usize, usize)) -> Convolution {
    let (old, new) = (
        sky_covariance(&case["old_beam"]),
        sky_covariance(&case["target"]),
    );
    let added = [new[0] - old[0], new[1] - old[1], new[2] - old[2]];
    let kernel = carried(added, pixels_per_arcsec(header));
    let area = |beam: &Value| beam[0].as_f64().expect("BMAJ") * beam[1].as_f64().expect("BMIN");
    let ratio = area(&case["target"]) / area(&case["old_beam"]);
    let per_beam = case["bunit"].as_str().expect("a unit").contains("beam");
    let edge = if case["edge"] == "zero" {
        Edge::Zero
    } else {
        Edge::Wrap
    };
    let nan = match case["nan_mode"].as_str() {
        Some("keep") => NanRule::Keep,
        Some("racs") => NanRule::Racs,
        Some("interpolate") => NanRule::Interpolate,
        other => panic!("nan mode {other:?}"),
    };
    let grid = padded_grid(edge, nx, ny, &kernel).expect("a grid");
    let gain = if per_beam { ratio } else { 1.0 };
    Convolution {
        kernel,
        gain,
        racs_gain: ratio.sqrt(),
        edge,
        nan,
        grid,
        halo_x: 0,
        columns: ColumnMethod::Full,
    }
}

fn codec(header: &Header, bitpix: Bitpix) -> Codec {
    Codec {
        bitpix,
        bscale: header.real("BSCALE").expect("BSCALE").unwrap_or(1.0),
        bzero: header.real("BZERO").expect("BZERO").unwrap_or(0.0),
        blank: header.integer("BLANK").expect("BLANK"),
    }
}

fn tolerance(precision: Precision, edge: Edge) -> f64 {
    match (precision, edge) {
        (Precision::F32, _) => 2e-6,
        (Precision::F64, Edge::Wrap) => 1e-12,
        (Precision::F64, Edge::Zero) => 1e-10,
    }
}

/// Rows of a plane that is tall enough for strips.
const TALL: usize = 1 << 20;

/// One case in one precision. With `fast` as the plan would do it for a tall plane; says
/// whether that was anything else than the full transform.
fn check(backend: &dyn Backend, case: &Value, precision: Precision, fast: bool) -> bool {
    let name = case["name"].as_str().expect("a name");
    let file = fs::read(golden().join(case["input"].as_str().expect("input"))).expect(name);
    let layout = Layout::parse(&file).expect(name);
    let hdu = &layout.hdus[0];
    let cube = Cube::of(hdu).expect(name);
    let shape = (cube.nx() as usize, cube.ny() as usize);
    let range = cube.plane_range(0).expect(name);
    let bytes = &file[range.start as usize..range.end as usize];
    let source = PlaneRef::new(bytes, shape.0, shape.1, codec(hdu.header(), cube.bitpix()));

    let full = convolution(case, hdu.header(), shape);
    let convolution = if fast {
        full.made_fast((shape.0, TALL), full.nan.transform_precision(precision))
    } else {
        full
    };
    let mut workload = Workload::new(precision);
    workload.add(shape.0, shape.1, convolution);
    let mut lane = backend.lane(&workload).expect(name);
    let mut output = vec![0_u8; shape.0 * shape.1 * sample_bytes(precision)];
    let slot = PlaneMut::new(&mut output, shape.0, shape.1, bitpix(precision)).expect(name);
    lane.convolve(&convolution, source.expect(name), slot)
        .expect(name);

    let expected = fs::read(golden().join(case["expected"].as_str().expect("answer"))).expect(name);
    let expected: Vec<f64> = expected
        .as_chunks()
        .0
        .iter()
        .map(|&b| f64::from_le_bytes(b))
        .collect();
    let what = format!("{name} on {} in {precision:?}", backend.name());
    let tolerance = tolerance(precision, convolution.edge);
    assert_close(&values(&output, precision), &expected, tolerance, &what);
    convolution != full
}

/// Checks all cases; how many were not done by the full transform.
fn check_all(backend: &dyn Backend, precision: Precision, fast: bool) -> usize {
    let manifest = fs::read(golden().join("manifest.json")).expect("the manifest");
    let manifest: Value = serde_json::from_slice(&manifest).expect("JSON");
    let cases = manifest["cases"].as_array().expect("cases");
    assert_eq!(cases.len(), 36);
    let check = |case: &&Value| check(backend, case, precision, fast);
    cases.iter().filter(check).count()
}

#[test]
fn cpu_in_f32() {
    assert_eq!(check_all(&Cpu::new(), Precision::F32, false), 0);
}

#[test]
fn cpu_in_f64() {
    assert_eq!(check_all(&Cpu::new(), Precision::F64, false), 0);
}

#[test]
fn cpu_in_strips_in_f32() {
    let fast = check_all(&Cpu::new(), Precision::F32, true);
    assert!(fast > 5, "{fast} of the cases");
}

#[test]
fn cpu_in_strips_in_f64() {
    let fast = check_all(&Cpu::new(), Precision::F64, true);
    assert!(fast > 3, "{fast} of the cases");
}

#[test]
fn the_reference_itself() {
    assert_eq!(check_all(&Reference, Precision::F64, false), 0);
}
