//! What the tests share: where the data are, a seeded generator, small files made by hand.
#![allow(dead_code, reason = "each test file uses a part of this")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]
#![allow(clippy::print_stdout, reason = "a test that cannot run says so")]

pub mod edits;
pub mod exercise;

use std::path::{Path, PathBuf};

/// A file with what astropy says of it.
pub struct Sample {
    pub name: String,
    pub bytes: Vec<u8>,
    pub truth: serde_json::Value,
}

/// The crate's own data folder.
pub fn data_dir() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data")
}

/// The folder shared with the project, named by `MMFITS_SHARED` or beside the project.
fn shared_dir() -> Option<PathBuf> {
    let named = std::env::var_os("MMFITS_SHARED").map(PathBuf::from);
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared");
    Some(named.unwrap_or_else(beside)).filter(|dir| dir.is_dir())
}

/// The crate's own samples, and those of the shared corpus where that is present.
pub fn samples() -> Vec<Sample> {
    let mut samples = read_samples(&data_dir());
    match shared_dir()
        .map(|dir| dir.join("corpus"))
        .filter(|dir| dir.is_dir())
    {
        Some(dir) => samples.extend(read_samples(&dir)),
        None => println!("skipped: the shared corpus is not here (set MMFITS_SHARED)"),
    }
    samples
}

fn read_samples(dir: &Path) -> Vec<Sample> {
    let manifest = std::fs::read(dir.join("manifest.json")).unwrap();
    let manifest: serde_json::Value = serde_json::from_slice(&manifest).unwrap();
    let sample = |truth: &serde_json::Value| {
        let name = truth["file"].as_str().unwrap().to_owned();
        let bytes = std::fs::read(dir.join(&name)).unwrap();
        Sample {
            name,
            bytes,
            truth: truth.clone(),
        }
    };
    manifest["files"]
        .as_array()
        .unwrap()
        .iter()
        .map(sample)
        .collect()
}

/// A header of the given lines, each a card, then END, in whole blocks.
pub fn header_bytes<T: AsRef<str>>(lines: &[T]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for line in lines.iter().map(AsRef::as_ref).chain(["END"]) {
        bytes.extend_from_slice(format!("{line:<80}").as_bytes());
    }
    bytes.resize(bytes.len().next_multiple_of(2880), b' ');
    bytes
}

/// A file of three HDUs with data that end inside a block: 7 × 3 integers, a table of 5 rows,
/// 2 planes of 5 × 3 reals.
pub fn three_hdus() -> Vec<u8> {
    let mut bytes = header_bytes(&[
        "SIMPLE  =                    T",
        "BITPIX  =                   16",
        "NAXIS   =                    2",
        "NAXIS1  =                    7",
        "NAXIS2  =                    3",
    ]);
    push_data(&mut bytes, 42);
    bytes.extend(header_bytes(&[
        "XTENSION= 'BINTABLE'",
        "BITPIX  =                    8",
        "NAXIS   =                    2",
        "NAXIS1  =                    8",
        "NAXIS2  =                    5",
        "PCOUNT  =                   11",
        "GCOUNT  =                    1",
        "TFIELDS =                    2",
        "TTYPE1  = 'BMAJ    '",
        "TFORM1  = '1E      '",
        "TTYPE2  = 'CHAN    '",
        "TFORM2  = '1J      '",
        "EXTNAME = 'BEAMS   '",
    ]));
    push_data(&mut bytes, 51);
    bytes.extend(header_bytes(&[
        "XTENSION= 'IMAGE   '",
        "BITPIX  =                  -32",
        "NAXIS   =                    3",
        "NAXIS1  =                    5",
        "NAXIS2  =                    3",
        "NAXIS3  =                    2",
        "PCOUNT  =                    0",
        "GCOUNT  =                    1",
    ]));
    push_data(&mut bytes, 120);
    bytes
}

/// Appends so many data bytes and their padding.
fn push_data(bytes: &mut Vec<u8>, count: usize) {
    let end = (bytes.len() + count).next_multiple_of(2880);
    bytes.extend((1..=u8::MAX).cycle().take(count));
    bytes.resize(end, 0);
}

/// A small generator of repeatable numbers (Marsaglia's xorshift, 2003).
pub struct Random(pub u64);

impl Random {
    /// The next 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// A number below `limit`.
    pub fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.bits() % limit as u64).unwrap()
    }
}
