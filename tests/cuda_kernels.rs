//! The kernels of the device, built for the CPU, against numpy, the naive reference and the CPU
//! backend; and that the PTX has the entries of the source. No device is needed or looked for.
#![cfg(target_os = "linux")]
#![allow(
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod cuda;
mod planes;

use std::f64::consts::{LN_2, PI};
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use mmfits::convolve::{Cpu, reference};
use mmfits::kernel::{Grid, PixelCovariance};
use mmfits::plan::{Convolution, Edge, NanRule, Precision};

use planes::{Image, assert_close, convolution, smooth, values};

/// The types of file, transform and output.
type Types = (Precision, Precision, Precision);

const TYPES: [Types; 4] = [
    (Precision::F32, Precision::F32, Precision::F32),
    (Precision::F64, Precision::F64, Precision::F64),
    (Precision::F32, Precision::F64, Precision::F32),
    (Precision::F64, Precision::F64, Precision::F32),
];

/// Odd, even, prime, one row, one column, one pixel.
const SIZES: [(usize, usize); 6] = [(12, 10), (13, 16), (31, 17), (34, 1), (1, 20), (1, 1)];

/// Round; narrow and rotated, where the Nyquist bins matter; wide; a line; none at all.
const KERNELS: [PixelCovariance; 6] = [
    covariance(9.0, 0.0, 9.0),
    covariance(1.3, 0.9, 1.1),
    covariance(0.5, -0.3, 2.0),
    covariance(140.0, -60.0, 90.0),
    covariance(4.0, -6.0, 9.0),
    covariance(0.0, 0.0, 0.0),
];

const fn covariance(xx: f64, xy: f64, yy: f64) -> PixelCovariance {
    PixelCovariance { xx, xy, yy }
}

/// Planes of one image, each with a kernel of its own, on one grid.
struct Batch<'a> {
    image: &'a Image,
    convolutions: Vec<Convolution>,
    halo: usize,
}

impl<'a> Batch<'a> {
    /// All of [`KERNELS`] on the grid of the largest.
    fn new(image: &'a Image, edge: Edge, nan: NanRule) -> Self {
        let of = |&kernel: &PixelCovariance| convolution((image.nx, image.ny), kernel, edge, nan);
        let mut convolutions: Vec<Convolution> = KERNELS.iter().map(of).collect();
        let grid = Grid {
            nx: convolutions.iter().map(|c| c.grid.nx).max().expect("some"),
            ny: convolutions.iter().map(|c| c.grid.ny).max().expect("some"),
        };
        for convolution in &mut convolutions {
            convolution.grid = grid;
        }
        Self {
            image,
            convolutions,
            halo: 0,
        }
    }

    fn grid(&self) -> Grid {
        self.convolutions.first().expect("a convolution").grid
    }

    /// Each plane's result, of the kernels in `folder`.
    fn smoothed(&self, folder: &Path, types: Types) -> Vec<Vec<f64>> {
        let input = self.image.bytes(types.0).repeat(self.convolutions.len());
        let mut command = Command::new(folder.join("smooth"));
        command.args(self.words(types));
        let bytes = fed(&mut command, input);
        let plane = bytes.len() / self.convolutions.len();
        bytes.chunks(plane).map(|b| values(b, types.2)).collect()
    }

    /// The arguments of the program, which are in `tests/cuda/smooth.cpp`.
    fn words(&self, types: Types) -> Vec<String> {
        let (grid, image) = (self.grid(), self.image);
        let rule = match self.convolutions[0].nan {
            NanRule::Keep => "keep",
            NanRule::Racs => "racs",
            NanRule::Interpolate => "interpolate",
        };
        let names = [types.0, types.1, types.2].map(|precision| match precision {
            Precision::F32 => "f32",
            Precision::F64 => "f64",
        });
        let mut words = vec![names.join("_"), rule.to_owned()];
        let planes = self.convolutions.len();
        for number in [image.nx, image.ny, grid.nx, grid.ny, self.halo, planes] {
            words.push(number.to_string());
        }
        for convolution in &self.convolutions {
            words.extend(coefficients(convolution).map(|c| format!("{c:e}")));
        }
        words
    }
}

/// The exponent's factors for integer frequencies and the gains, as `kernels.cu` has them: in
/// cycles/px the exponent is -π² / (4 ln 2) fᵀ P f, and a frequency k of n is k / n cycles/px.
fn coefficients(convolution: &Convolution) -> [f64; 6] {
    let exponent = PI * PI / (4.0 * LN_2);
    let PixelCovariance { xx, xy, yy } = convolution.kernel;
    let (nx, ny) = (convolution.grid.nx as f64, convolution.grid.ny as f64);
    [
        exponent * xx / (nx * nx),
        2.0 * exponent * xy / (nx * ny),
        exponent * yy / (ny * ny),
        convolution.gain / (nx * ny),
        1.0 / (nx * ny),
        convolution.racs_gain,
    ]
}

/// What a program answers to this on standard input.
fn fed(command: &mut Command, input: Vec<u8>) -> Vec<u8> {
    let pipes = command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = pipes.stderr(Stdio::piped()).spawn().expect("the program");
    let mut stdin = child.stdin.take().expect("a pipe");
    let writer = std::thread::spawn(move || stdin.write_all(&input));
    let output = child.wait_with_output().expect("its end");
    let _ = writer.join();
    assert!(
        output.status.success(),
        "{command:?}: {}\n{}",
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
    output.stdout
}

fn tolerance(types: Types, nan: NanRule) -> f64 {
    match (types, nan) {
        ((_, Precision::F64, Precision::F64), NanRule::Interpolate) => 1e-11,
        ((_, Precision::F64, Precision::F64), _) => 1e-12,
        _ => 2e-6,
    }
}

/// The rules that a transform of these types is used with.
fn has_rule(types: Types, nan: NanRule) -> bool {
    nan.transform_precision(types.1) == types.1
}

fn check_against_reference(folder: &Path, image: &Image, edge: Edge, nan: NanRule) {
    let batch = Batch::new(image, edge, nan);
    let wanted: Vec<Vec<f64>> = batch
        .convolutions
        .iter()
        .map(|c| reference::convolve(&image.pixels, image.nx, c))
        .collect();
    for types in TYPES.into_iter().filter(|&types| has_rule(types, nan)) {
        let found = batch.smoothed(folder, types);
        for (k, (found, wanted)) in found.iter().zip(&wanted).enumerate() {
            let what = format!("{} x {} {edge:?} {nan:?} {types:?} {k}", image.nx, image.ny);
            assert_close(found, wanted, tolerance(types, nan), &what);
        }
    }
}

#[test]
fn kernels_agree_with_the_reference() {
    let Some(folder) = cuda::built("tests/cuda/build.sh", "address,undefined") else {
        return;
    };
    for (nx, ny) in SIZES {
        let clean = Image::noise(nx, ny, 7 + nx as u64);
        let blanked = clean.clone().with_blanks();
        let all_blank = blanked.pixels.iter().all(|v| !v.is_finite());
        for edge in [Edge::Zero, Edge::Wrap] {
            check_against_reference(&folder, &clean, edge, NanRule::Keep);
            // Planes that are blank all over never come to the kernels.
            for nan in [NanRule::Keep, NanRule::Racs, NanRule::Interpolate] {
                if !all_blank {
                    check_against_reference(&folder, &blanked, edge, nan);
                }
            }
        }
    }
}

#[test]
fn kernels_agree_with_the_cpu_backend() {
    let Some(folder) = cuda::built("tests/cuda/build.sh", "") else {
        return;
    };
    let cpu = Cpu::new();
    for (nx, ny) in [(130, 107), (96, 150)] {
        let image = Image::noise(nx, ny, 3).with_blanks();
        for nan in [NanRule::Keep, NanRule::Racs, NanRule::Interpolate] {
            for types in [TYPES[0], TYPES[1]] {
                if !has_rule(types, nan) {
                    continue;
                }
                let mut batch = Batch::new(&image, Edge::Zero, nan);
                batch.convolutions.truncate(4);
                let found = batch.smoothed(&folder, types);
                for (found, convolution) in found.iter().zip(&batch.convolutions) {
                    let wanted = smooth(&cpu, &image, types.0, convolution);
                    let what = format!("{nx} x {ny} {nan:?} {types:?} {convolution:?}");
                    assert_close(found, &wanted.pixels, tolerance(types, nan), &what);
                }
            }
        }
    }
}

/// A halo that the kernel does not reach across gives the image that repeats.
#[test]
fn a_halo_is_an_image_that_repeats() {
    let Some(folder) = cuda::built("tests/cuda/build.sh", "address,undefined") else {
        return;
    };
    let image = Image::noise(37, 22, 5).with_blanks();
    for nan in [NanRule::Keep, NanRule::Racs, NanRule::Interpolate] {
        let mut batch = Batch::new(&image, Edge::Wrap, nan);
        batch.convolutions.truncate(1);
        // FWHM 5: what rings at the cut-off frequency is 2e-10, and 1e-11 is left 15 pixels away.
        batch.convolutions[0].kernel = covariance(25.0, 4.0, 25.0);
        let wrapped = batch.convolutions[0];
        let wanted = reference::convolve(&image.pixels, image.nx, &wrapped);
        batch.halo = 15;
        batch.convolutions[0].grid.nx = image.nx + 35;
        for types in TYPES.into_iter().filter(|&types| has_rule(types, nan)) {
            let found = batch.smoothed(&folder, types);
            let allowed = tolerance(types, nan).max(1e-9);
            assert_close(&found[0], &wanted, allowed, &format!("{nan:?} {types:?}"));
        }
    }
}

#[test]
fn kernels_agree_with_numpy() {
    let (Some(python), Some(folder)) = (cuda::python(), cuda::built("tests/cuda/build.sh", ""))
    else {
        return;
    };
    let mut command = Command::new(python);
    command.arg(cuda::of_project("tests/cuda/check_kernels.py"));
    let (said, _) = cuda::run(command.arg(folder.join("libkernels.so")));
    assert!(said.contains("planes: "), "{said}");
}

#[test]
fn kernels_stay_within_their_buffers() {
    let sanitizers = "address,undefined";
    let (Some(python), Some(folder)) = (
        cuda::python(),
        cuda::built("tests/cuda/build.sh", sanitizers),
    ) else {
        return;
    };
    let mut command = Command::new(python);
    command.arg(cuda::of_project("tests/cuda/check_kernels.py"));
    command.arg(folder.join("libkernels.so"));
    // The interpreter itself is not built with it, and keeps some of its memory to the end.
    command.env("LD_PRELOAD", cuda::runtime_of("libasan.so"));
    command.env("ASAN_OPTIONS", "detect_leaks=0");
    cuda::run(&mut command);
}

/// A kernel's name and the PTX type of each of its parameters.
type Entry = (String, Vec<&'static str>);

/// The entries of the source: `MM_KERNEL mm_x(…)`, and of each macro whose kernel is
/// `mm_x_##NAME` one for each use of it.
fn entries_of_source(source: &str) -> Vec<Entry> {
    let joined = source.replace("\\\n", " ");
    let mut entries = Vec::new();
    for (at, _) in joined.match_indices("MM_KERNEL mm_") {
        let rest = &joined[at + "MM_KERNEL ".len()..];
        let (name, rest) = rest.split_once('(').expect("parameters");
        let (parameters, _) = rest.split_once(')').expect("their end");
        let types: Vec<&str> = parameters.split(',').map(ptx_type).collect();
        let Some(stem) = name.strip_suffix("##NAME") else {
            entries.push((name.to_owned(), types));
            continue;
        };
        let line = joined[..at].rfind("#define ").expect("a macro");
        let (named, _) = joined[line + "#define ".len()..]
            .split_once('(')
            .expect("its name");
        for used in joined.lines().filter_map(|l| l.strip_prefix(named)) {
            let (suffix, _) = used.trim_start_matches('(').split_once(',').expect("a use");
            entries.push((format!("{stem}{suffix}"), types.clone()));
        }
    }
    entries.sort();
    entries
}

fn ptx_type(parameter: &str) -> &'static str {
    let words: Vec<&str> = parameter.split_whitespace().collect();
    match words[..] {
        _ if parameter.contains('*') => "u64",
        ["int", _] => "u32",
        ["double", _] => "f64",
        _ => panic!("a parameter of a type that PTX has not been told of: {parameter}"),
    }
}

fn entries_of_ptx(ptx: &str) -> Vec<Entry> {
    let known = ["u64", "u32", "f64"];
    let mut entries = Vec::new();
    for part in ptx.split(".visible .entry ").skip(1) {
        let (name, rest) = part.split_once('(').expect("parameters");
        let (parameters, _) = rest.split_once(')').expect("their end");
        let types = parameters.split(".param .").skip(1).map(|parameter| {
            let found = known.iter().find(|known| parameter.starts_with(**known));
            *found.unwrap_or_else(|| panic!("{name}: {parameter}"))
        });
        entries.push((name.to_owned(), types.collect()));
    }
    entries.sort();
    entries
}

#[test]
fn the_ptx_has_the_entries_of_the_source() {
    let read = |name: &str| {
        std::fs::read_to_string(cuda::of_project("src/convolve/cuda").join(name)).expect("a file")
    };
    let (source, ptx) = (read("kernels.cu"), read("kernels.ptx"));
    let (wanted, found) = (entries_of_source(&source), entries_of_ptx(&ptx));
    let mut names = String::new();
    for (name, types) in &wanted {
        let _ = writeln!(names, "{name} {types:?}");
    }
    assert_eq!(wanted.len(), 11, "{names}");
    assert_eq!(found, wanted);
    // What every driver of CUDA 12 and 13 takes, and nothing that has to be linked.
    assert!(ptx.contains(".version 8.0\n.target sm_70\n.address_size 64\n"));
    for word in [".extern", ".shared", ".local", "call"] {
        assert!(!ptx.contains(word), "{word} in the PTX");
    }
}
