//! A cube in a folder of its own, and `mmconv` at work on it, on a mock driver or on none.

use std::fs;
use std::path::{Path, PathBuf};

use fits_layout::{Header, Layout, Sum, checksum};
use mmfits::output::{Existing, NewImage};
use tempfile::TempDir;

use super::child::Run;

pub const NX: usize = 61;
pub const NY: usize = 47;
pub const PLANES: usize = 26;

/// The folder, with `c.fits` in it.
pub struct Scene {
    folder: TempDir,
}

impl Scene {
    /// Kernels narrow and wide, a plane at its target, one without a beam, blank pixels.
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("c.fits");
        let mut image = NewImage::create(&path, &header(), Existing::Refuse).unwrap();
        let mut state = 7_u64;
        for mut plane in image.planes_mut().unwrap() {
            for y in 0..NY {
                let row: Vec<f32> = (0..NX).map(|_| pixel(&mut state)).collect();
                plane.write_row(y, &row).unwrap();
            }
        }
        image.finish().unwrap();
        Self { folder }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// `mmconv smooth` that makes `o.fits`.
    pub fn smooth(&self, libraries: Option<&Path>, flags: &[&str]) -> Run {
        let target = ["--bmaj", "30", "--bmin", "27", "--bpa", "20"];
        self.mmconv(libraries, &["smooth", "c.fits", "--output", "o.fits"])
            .args(target)
            .args(flags)
    }

    /// `mmconv`, whatever it is to do, with usual rates.
    pub fn mmconv(&self, libraries: Option<&Path>, words: &[&str]) -> Run {
        Run::new(Path::new(env!("CARGO_BIN_EXE_mmconv")), libraries)
            .args(words)
            .dir(self.folder.path())
            .env("MMCONV_RATES", self.path("no rates"))
    }

    /// The whole output, which is then gone.
    pub fn taken(&self) -> Vec<u8> {
        let bytes = fs::read(self.path("o.fits")).unwrap();
        fs::remove_file(self.path("o.fits")).unwrap();
        let _ = fs::remove_file(self.path("beamlog.o.txt"));
        self.assert_clean();
        bytes
    }

    /// Nothing is there but the cube and what tests have put beside it.
    pub fn assert_clean(&self) {
        let names = self.names();
        let left = names.iter().any(|name| name.starts_with("o.fits"));
        assert!(!left, "{names:?}");
    }

    pub fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.folder.path()).unwrap();
        entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect()
    }

    /// A file of rates by which a device pays at once, for `MMCONV_RATES`.
    pub fn rates_for_a_device(&self) -> PathBuf {
        let path = self.path("rates");
        let slow = [
            "cpu_f32_clean_seconds_per_gpixel",
            "cpu_f32_masked_seconds_per_gpixel",
        ];
        let lines = slow.map(|key| format!("{key} = 1e6\n"));
        fs::write(&path, lines.concat()).unwrap();
        path
    }
}

/// The samples of an output, plane by plane.
pub fn planes(file: &[u8]) -> Vec<Vec<f64>> {
    let layout = Layout::parse(file).unwrap();
    let range = layout.hdus[0].data_range();
    let data = &file[range.start as usize..range.end as usize];
    let values = data.as_chunks().0.iter();
    let values: Vec<f64> = values.map(|&b| f32::from_be_bytes(b).into()).collect();
    values.chunks(NX * NY).map(<[f64]>::to_vec).collect()
}

/// The texts of HISTORY, one a line.
pub fn history(file: &[u8]) -> String {
    let layout = Layout::parse(file).unwrap();
    let lines: Vec<_> = layout.hdus[0]
        .header()
        .commentary("HISTORY")
        .map(|text| text.to_string())
        .collect();
    lines.join("\n")
}

/// Ends unless the planes of both are the same within what two backends may differ by.
pub fn assert_same_planes(found: &[u8], expected: &[u8], what: &str) {
    let (found, expected) = (planes(found), planes(expected));
    assert_eq!(found.len(), PLANES);
    for (number, (found, expected)) in found.iter().zip(&expected).enumerate() {
        let what = format!("{what}, plane {number}");
        crate::planes::assert_close(found, expected, 2e-6, &what);
    }
}

fn header() -> Header {
    let mut header = Header::new();
    header.set("SIMPLE", true, None).unwrap();
    for (keyword, value) in [
        ("BITPIX", -32),
        ("NAXIS", 3),
        ("NAXIS1", NX as i64),
        ("NAXIS2", NY as i64),
        ("NAXIS3", PLANES as i64),
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
    for plane in 1..=PLANES {
        let (bmaj, bmin, bpa) = match plane % 13 {
            0 => (30.0, 27.0, 20.0),
            3 => (0.0, 0.0, 0.0),
            n => (10.0 + n as f64, 9.0 + n as f64, 35.0),
        };
        for (keyword, value) in [("BMAJ", bmaj / 3600.0), ("BMIN", bmin / 3600.0)] {
            let keyword = format!("{keyword}{plane}");
            header.set(&keyword, value, None).unwrap();
        }
        header.set(&format!("BPA{plane}"), bpa, None).unwrap();
    }
    checksum::stamp(&mut header, Sum::default()).unwrap();
    header
}

fn pixel(state: &mut u64) -> f32 {
    *state = state
        .wrapping_mul(6_364_136_223_846_793_005)
        .wrapping_add(1);
    if *state >> 57 == 0 {
        return f32::NAN;
    }
    ((*state >> 33) as f32) / (1_u64 << 31) as f32 - 0.5
}
