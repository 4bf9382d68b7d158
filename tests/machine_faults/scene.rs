//! A cube, and runs of the program that smooth it into some folder.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use fits_layout::Header;
use mmfits::output::{Existing, NewImage};
use tempfile::TempDir;

/// What the output is called.
pub const OUTPUT: &str = "c.sm.fits";

/// The names in the folder of a complete output.
pub const COMPLETE: [&str; 2] = ["beamlog.c.sm.txt", OUTPUT];

/// The names in the folder of one that can be gone on with.
pub const UNFINISHED: [&str; 2] = ["c.sm.fits.mmconv", "c.sm.fits.part"];

/// A folder with the cube `c.fits`.
pub struct Scene {
    folder: TempDir,
    data_bytes: usize,
}

/// How a run ended.
#[derive(Debug)]
pub struct Ran {
    pub status: i32,
    pub stderr: String,
}

impl Scene {
    pub fn new([nx, ny]: [usize; 2], planes: usize) -> Self {
        Self::in_folder(tempfile::tempdir().unwrap(), [nx, ny], planes)
    }

    fn in_folder(folder: TempDir, [nx, ny]: [usize; 2], planes: usize) -> Self {
        // Other users are to reach it.
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        cube(&folder.path().join("c.fits"), [nx, ny], planes);
        let data_bytes = 4 * nx * ny * planes;
        Self { folder, data_bytes }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// About the length of the output.
    pub fn output_bytes(&self) -> u64 {
        let input = fs::metadata(self.path("c.fits")).unwrap().len();
        input + 2880
    }

    /// The program, that smooths the cube into this folder.
    pub fn command(&self, program: &Path, outdir: &Path, flags: &[&str]) -> Command {
        let mut command = Command::new(program);
        command
            .args(["smooth", "--quiet", "--threads=2", "--bmaj=30", "--bmin=27"])
            .args(["--bpa=20", "--outdir"])
            .arg(outdir)
            .args(flags)
            .arg("c.fits")
            .current_dir(self.folder.path())
            .stdin(Stdio::null());
        command
    }

    pub fn run(&self, outdir: &Path, flags: &[&str]) -> Ran {
        let program = Path::new(env!("CARGO_BIN_EXE_mmconv"));
        Ran::from(self.command(program, outdir, flags).output().unwrap())
    }

    /// The samples of a run where nothing is wrong.
    pub fn expected(&self) -> Vec<u8> {
        let place = tempfile::tempdir().unwrap();
        self.run(place.path(), &[]).done();
        self.samples(place.path())
    }

    /// The samples of the output in this folder.
    pub fn samples(&self, outdir: &Path) -> Vec<u8> {
        let bytes = fs::read(outdir.join(OUTPUT)).unwrap();
        let (_, header_bytes) = Header::parse(&bytes, 0).unwrap();
        bytes[header_bytes as usize..][..self.data_bytes].to_vec()
    }
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        let stderr = String::from_utf8(output.stderr).unwrap();
        Self {
            status: output
                .status
                .code()
                .unwrap_or_else(|| panic!("ended by a signal: {stderr}")),
            stderr,
        }
    }
}

impl Ran {
    pub fn done(&self) {
        assert_eq!(self.status, 0, "{}", self.stderr);
    }

    /// It failed with this status and one line that has all these words.
    pub fn failed(&self, status: i32, words: &[&str]) -> &str {
        assert_eq!(self.status, status, "{}", self.stderr);
        assert_eq!(self.stderr.lines().count(), 1, "{}", self.stderr);
        assert!(self.stderr.starts_with("mmconv: "), "{}", self.stderr);
        for word in words {
            assert!(self.stderr.contains(word), "no {word} in {}", self.stderr);
        }
        &self.stderr
    }
}

/// Noise with one beam for all planes.
pub fn cube(path: &Path, [nx, ny]: [usize; 2], planes: usize) {
    let mut header = Header::new();
    header.set("SIMPLE", true, None).unwrap();
    for (keyword, value) in [
        ("BITPIX", -32),
        ("NAXIS", 3),
        ("NAXIS1", nx as i64),
        ("NAXIS2", ny as i64),
        ("NAXIS3", planes as i64),
    ] {
        header.set(keyword, value, None).unwrap();
    }
    for (axis, ctype, step) in [
        (1, "RA---SIN", -1.0 / 1200.0),
        (2, "DEC--SIN", 1.0 / 1200.0),
        (3, "FREQ", 1e6),
    ] {
        header.set(&format!("CTYPE{axis}"), ctype, None).unwrap();
        header.set(&format!("CDELT{axis}"), step, None).unwrap();
    }
    header.set("BUNIT", "Jy/beam", None).unwrap();
    for (keyword, value) in [("BMAJ", 12.0), ("BMIN", 10.0), ("BPA", 20.0 * 3600.0)] {
        header.set(keyword, value / 3600.0, None).unwrap();
    }
    let mut image = NewImage::create(path, &header, Existing::Refuse).unwrap();
    for (k, mut plane) in image.planes_mut().unwrap().into_iter().enumerate() {
        for y in 0..ny {
            let pixel = |x: usize| ((k * 31 + y * 17 + x * 7) % 101) as f32 / 101.0;
            let row: Vec<f32> = (0..nx).map(pixel).collect();
            plane.write_row(y, &row).unwrap();
        }
    }
    image.finish().unwrap();
}
