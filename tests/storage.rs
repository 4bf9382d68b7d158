//! Both ways of storing an output, with and without write-behind, for any number of threads: the
//! same bytes, those that the library has always made.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

use std::fs;
use std::path::{Path, PathBuf};

use fits_layout::{Header, checksum};
use mmfits::beam::Beam;
use mmfits::output::{Existing, NewImage};
use mmfits::plan::{ColumnMethod, Convolution, Edge, NanRule, Precision, Spec, TargetChoice, Task};
use mmfits::progress::Observer;
use mmfits::run::{Io, Request, Resources, Storage, When, prepare};

const NX: usize = 151;
const NY: usize = 560;

/// Beams of the channels: a narrow kernel, a wide one, the target itself, none, and two more.
const BEAMS: [(f64, f64, f64); 6] = [
    (29.0, 26.0, 20.0),
    (10.0, 9.0, 20.0),
    (30.0, 27.0, 20.0),
    (0.0, 0.0, 0.0),
    (12.0, 8.0, -60.0),
    (29.5, 20.0, 20.0),
];

struct Quiet;

impl Observer for Quiet {}

/// A cube with blanks of every kind, sums in its header, and its beams in numbered cards.
fn cube(path: &Path) {
    let mut header = Header::new();
    header.set("SIMPLE", true, None).unwrap();
    let lengths = [
        ("BITPIX", -32),
        ("NAXIS", 3),
        ("NAXIS1", NX as i64),
        ("NAXIS2", NY as i64),
        ("NAXIS3", BEAMS.len() as i64),
    ];
    for (keyword, value) in lengths {
        header.set(keyword, value, None).unwrap();
    }
    let axes = [
        ("1", "RA---SIN", -1.0 / 1200.0),
        ("2", "DEC--SIN", 1.0 / 1200.0),
        ("3", "FREQ", 1e6),
    ];
    for (axis, ctype, step) in axes {
        header.set(&format!("CTYPE{axis}"), ctype, None).unwrap();
        header.set(&format!("CDELT{axis}"), step, None).unwrap();
    }
    header.set("BUNIT", "Jy/beam", None).unwrap();
    for (channel, (bmaj, bmin, bpa)) in (1..).zip(BEAMS) {
        for (keyword, value) in [
            ("BMAJ", bmaj / 3600.0),
            ("BMIN", bmin / 3600.0),
            ("BPA", bpa),
        ] {
            header
                .set(&format!("{keyword}{channel}"), value, None)
                .unwrap();
        }
    }
    checksum::stamp(&mut header, fits_layout::Sum::default()).unwrap();
    let mut image = NewImage::create(path, &header, Existing::Overwrite).unwrap();
    for (k, mut plane) in image.planes_mut().unwrap().into_iter().enumerate() {
        let mut state = 7 + k as u64;
        for y in 0..NY {
            let row: Vec<f32> = (0..NX).map(|x| pixel(&mut state, k, x, y)).collect();
            plane.write_row(y, &row).unwrap();
        }
    }
    image.finish().unwrap();
}

/// Noise; every plane but the second has a blank corner, the last a blank band of rows.
fn pixel(state: &mut u64, k: usize, x: usize, y: usize) -> f32 {
    *state = state
        .wrapping_mul(6_364_136_223_846_793_005)
        .wrapping_add(1);
    let corner = k != 1 && x + y < 100;
    let band = k == 5 && (300..420).contains(&y);
    if corner || band {
        return f32::NAN;
    }
    (*state >> 40) as f32 / (1 << 23) as f32 - 1.0
}

/// The bytes of the output, and of its beam log.
fn bytes_of(input: &Path, spec: &Spec, storage: Storage, threads: usize) -> Vec<u8> {
    let request = Request {
        inputs: vec![input.to_owned()],
        spec: spec.clone(),
        resources: Resources {
            threads: Some(threads),
            ..Resources::default()
        },
        storage,
        ..Request::default()
    };
    let job = prepare(&request).unwrap();
    let reports = job.run(&Quiet).unwrap();
    let output = fs::read(&reports[0].output).unwrap();
    let log = reports[0].beamlog.clone().unwrap();
    let text = fs::read(&log).unwrap();
    fs::remove_file(&reports[0].output).unwrap();
    fs::remove_file(log).unwrap();
    [output, text].concat()
}

fn spec(edge: Edge, nan: NanRule) -> Spec {
    Spec {
        target: TargetChoice::Beam(Beam::new(30.0, 27.0, 20.0).unwrap()),
        edge,
        nan,
        ..Spec::default()
    }
}

fn storages() -> impl Iterator<Item = Storage> {
    [Io::Auto, Io::Map, Io::Write]
        .into_iter()
        .flat_map(|io| [When::Never, When::Always].map(|write_behind| Storage { io, write_behind }))
}

/// The cube has planes of every kind, by both column methods.
fn assert_all_kinds(input: &Path) {
    let request = Request {
        inputs: vec![input.to_owned()],
        spec: spec(Edge::Zero, NanRule::Keep),
        ..Request::default()
    };
    let job = prepare(&request).unwrap();
    let plan = job.files().next().unwrap();
    let has =
        |wanted: fn(&Task) -> bool| assert!(plan.tasks.iter().any(wanted), "{:?}", plan.tasks);
    has(|task| matches!(task, Task::Copy));
    has(|task| matches!(task, Task::Blank));
    has(|task| {
        let full = |c: &Convolution| matches!(c.columns, ColumnMethod::Full);
        matches!(task, Task::Convolve(c) if full(c))
    });
    has(|task| {
        let strips = |c: &Convolution| matches!(c.columns, ColumnMethod::Strips(_));
        matches!(task, Task::Convolve(c) if strips(c))
    });
}

fn input(folder: &Path) -> PathBuf {
    let path = folder.join("cube.fits");
    cube(&path);
    path
}

/// In another precision no sample is passed on as it stands: rows go through the codec.
#[test]
fn converted_samples_are_the_same_whichever_way_they_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let input = input(folder.path());
    for nan in [NanRule::Keep, NanRule::Racs] {
        let mut spec = spec(Edge::Wrap, nan);
        spec.precision = Some(Precision::F64);
        let expected = bytes_of(&input, &spec, Storage::default(), 1);
        for (storage, threads) in storages().zip([1, 2, 3, 2, 1, 3]) {
            let found = bytes_of(&input, &spec, storage, threads);
            assert!(found == expected, "{nan:?} {storage:?} {threads} threads");
        }
    }
}

#[test]
fn any_store_and_any_number_of_threads_make_the_same_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let input = input(folder.path());
    assert_all_kinds(&input);
    for (edge, nan) in [
        (Edge::Zero, NanRule::Keep),
        (Edge::Wrap, NanRule::Racs),
        (Edge::Zero, NanRule::Interpolate),
    ] {
        let spec = spec(edge, nan);
        let expected = bytes_of(&input, &spec, Storage::default(), 1);
        for (storage, threads) in storages().zip([8, 3, 2, 1, 3, 8]) {
            let found = bytes_of(&input, &spec, storage, threads);
            let same = found == expected;
            assert!(same, "{edge:?} {nan:?} {storage:?} {threads} threads");
        }
    }
}
