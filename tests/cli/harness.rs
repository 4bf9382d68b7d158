//! A folder of its own for each test, small FITS files in it, and runs of the program there.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use fits_layout::Header;
use mmfits::beam::{Beam, table};
use tempfile::TempDir;

/// Columns and rows of every test image.
pub const SHAPE: [usize; 2] = [12, 10];

/// A folder that goes away with the test.
pub struct Folder(TempDir);

/// What a run left behind.
#[derive(Debug)]
pub struct Ran {
    pub status: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Folder {
    pub fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }

    pub fn join(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }

    /// The names in the folder, sorted.
    pub fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.path()).unwrap();
        let mut names: Vec<String> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    /// The program with this folder as its working folder.
    pub fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_mmconv"));
        command
            .args(words)
            .current_dir(self.path())
            .stdin(Stdio::null());
        command
    }

    pub fn run(&self, words: &[&str]) -> Ran {
        Ran::from(self.command(words).output().unwrap())
    }

    pub fn run_with_stdin(&self, words: &[&str], stdin: &[u8]) -> Ran {
        let mut command = self.command(words);
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(stdin).unwrap();
        Ran::from(child.wait_with_output().unwrap())
    }

    /// An image with a beam in its header.
    pub fn image(&self, name: &str, beam: [f64; 3]) {
        let mut header = header(&[]);
        for (keyword, value) in ["BMAJ", "BMIN"].into_iter().zip(beam) {
            header.set(keyword, value / 3600.0, None).unwrap();
        }
        header.set("BPA", beam[2], None).unwrap();
        fs::write(self.join(name), file(&header, 1)).unwrap();
    }

    /// A cube that takes a while, and next to no room on the disk, with one beam for all planes:
    /// zeros but for the first sample.
    pub fn large_cube(&self, name: &str, [nx, ny]: [usize; 2], planes: usize, beam: [f64; 3]) {
        let mut header = header(&[planes]);
        for (keyword, length) in [("NAXIS1", nx), ("NAXIS2", ny)] {
            header.set(keyword, length as i64, None).unwrap();
        }
        for (keyword, value) in ["BMAJ", "BMIN"].into_iter().zip(beam) {
            header.set(keyword, value / 3600.0, None).unwrap();
        }
        header.set("BPA", beam[2], None).unwrap();
        let mut bytes = header.render();
        let length = bytes.len() + 4 * nx * ny * planes;
        bytes.extend(1.0_f32.to_be_bytes());
        fs::write(self.join(name), bytes).unwrap();
        let file = fs::OpenOptions::new().write(true).open(self.join(name));
        let length = length.next_multiple_of(2880) as u64;
        file.unwrap().set_len(length).unwrap();
    }

    /// A cube with a BEAMS table; `None` is a channel without a beam.
    pub fn cube(&self, name: &str, beams: &[Option<[f64; 3]>]) {
        let mut header = header(&[beams.len()]);
        header.set("CASAMBM", true, None).unwrap();
        let mut bytes = file(&header, beams.len());
        let beam = |[bmaj, bmin, bpa]: [f64; 3]| Beam::new(bmaj, bmin, bpa).unwrap();
        let beams: Vec<Option<Beam>> = beams.iter().map(|entry| entry.map(beam)).collect();
        bytes.extend(table::write(&beams, 1).unwrap());
        fs::write(self.join(name), bytes).unwrap();
    }
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        Self {
            status: output.status.code().expect("ended by a signal"),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

impl Ran {
    /// All went well.
    pub fn done(self) -> Self {
        assert_eq!(self.status, 0, "{}", self.stderr);
        self
    }

    /// Refused, with a line on standard error that has all the words, and no result.
    pub fn refused(&self, status: i32, words: &[&str]) {
        assert_eq!(self.status, status, "{}", self.stderr);
        assert_eq!(self.stdout, "");
        for word in words {
            assert!(self.stderr.contains(word), "no {word} in {}", self.stderr);
        }
    }

    pub fn lines(&self) -> Vec<&str> {
        self.stdout.lines().collect()
    }

    /// Each line of the results as JSON.
    pub fn objects(&self) -> Vec<serde_json::Value> {
        self.stdout
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }
}

/// A header of 2 arcsec pixels with the axes RA, Dec and, if there are more lengths, frequency.
fn header(more: &[usize]) -> Header {
    let lengths: Vec<usize> = SHAPE.iter().chain(more).copied().collect();
    let mut header = Header::new();
    let mut set = |keyword: &str, value: fits_layout::Value| {
        header.set(keyword, value, None).unwrap();
    };
    set("SIMPLE", true.into());
    set("BITPIX", (-32_i64).into());
    set("NAXIS", (lengths.len() as i64).into());
    for (number, length) in lengths.iter().enumerate() {
        set(&format!("NAXIS{}", number + 1), (*length as i64).into());
    }
    set("EXTEND", true.into());
    let step = 2.0 / 3600.0;
    let axes = [("RA---SIN", -step), ("DEC--SIN", step), ("FREQ", 1e6)];
    for (number, (ctype, cdelt)) in axes.iter().enumerate().take(lengths.len()) {
        let number = number + 1;
        set(&format!("CTYPE{number}"), (*ctype).into());
        set(&format!("CRPIX{number}"), 1.0.into());
        set(&format!("CRVAL{number}"), 10.0.into());
        set(&format!("CDELT{number}"), (*cdelt).into());
    }
    set("BUNIT", "Jy/beam".into());
    header
}

/// Header and planes, each a ramp.
fn file(header: &Header, planes: usize) -> Vec<u8> {
    let mut bytes = header.render();
    for pixel in 0..planes * SHAPE[0] * SHAPE[1] {
        bytes.extend((pixel as f32 / 100.0).to_be_bytes());
    }
    bytes.resize(bytes.len().next_multiple_of(2880), 0);
    bytes
}
