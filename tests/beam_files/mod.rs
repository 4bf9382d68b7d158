//! FITS files of 5 × 3 pixels written byte by byte, for the tests of beam sources, and what the
//! resolver says of them. Nothing here uses the writers of the crates under test.

#![allow(dead_code, reason = "each test file uses some of it")]

use std::path::PathBuf;

use fits_layout::Layout;
use mmfits::beam::source::{BeamFrom, Question, Resolved, resolve};
use mmfits::beam::{Beam, BeamError};
use tempfile::TempDir;

pub type Triple = (f64, f64, f64);

pub const FIVE: [Triple; 5] = [
    (16.0, 9.0, 40.0),
    (17.0, 9.5, 43.0),
    (18.0, 10.0, 46.0),
    (19.0, 10.5, 49.0),
    (20.0, 11.0, 52.0),
];

/// Cards in blocks, as FITS has them.
pub fn header(cards: &[String]) -> Vec<u8> {
    let mut bytes: Vec<u8> = cards
        .iter()
        .flat_map(|card| format!("{card:<80}").into_bytes())
        .collect();
    bytes.extend(format!("{:<80}", "END").into_bytes());
    bytes.resize(bytes.len().next_multiple_of(2880), b' ');
    bytes
}

pub fn padded(mut bytes: Vec<u8>) -> Vec<u8> {
    bytes.resize(bytes.len().next_multiple_of(2880), 0);
    bytes
}

/// A primary image of float32 zeros with these axes after 5 × 3, and further cards.
pub fn image(more_axes: &[u64], cards: &[&str]) -> Vec<u8> {
    let axes: Vec<u64> = [5, 3].iter().chain(more_axes).copied().collect();
    let mut all = vec![
        format!("SIMPLE  = {:>20}", "T"),
        format!("BITPIX  = {:>20}", -32),
        format!("NAXIS   = {:>20}", axes.len()),
    ];
    all.extend(
        axes.iter()
            .enumerate()
            .map(|(k, n)| format!("{:<8}= {n:>20}", format!("NAXIS{}", k + 1))),
    );
    all.extend(cards.iter().map(|card| (*card).to_owned()));
    let mut bytes = header(&all);
    let data = axes.iter().product::<u64>() as usize * 4;
    bytes.extend(padded(vec![0; data]));
    bytes
}

/// What a beam table is made of.
#[derive(Clone)]
pub struct Beams {
    pub name: &'static str,
    pub rows: Vec<Triple>,
    pub chan: Option<Vec<i32>>,
    pub pol: Option<Vec<i32>>,
    pub units: [Option<&'static str>; 3],
}

impl Beams {
    pub fn of(rows: &[Triple]) -> Self {
        Self {
            name: "BEAMS",
            rows: rows.to_vec(),
            chan: Some((0..rows.len() as i32).collect()),
            pol: Some(vec![0; rows.len()]),
            units: [Some("arcsec"), Some("arcsec"), Some("deg")],
        }
    }

    pub fn chan(mut self, chan: &[i32]) -> Self {
        self.chan = Some(chan.to_vec());
        self
    }

    pub fn pol(mut self, pol: &[i32]) -> Self {
        self.pol = Some(pol.to_vec());
        self
    }

    pub fn bytes(&self) -> Vec<u8> {
        let index = [("CHAN", &self.chan), ("POL", &self.pol)];
        let index: Vec<_> = index
            .into_iter()
            .filter_map(|(name, v)| Some((name, v.as_ref()?)))
            .collect();
        let mut cards = vec![
            "XTENSION= 'BINTABLE'".to_owned(),
            format!("BITPIX  = {:>20}", 8),
            format!("NAXIS   = {:>20}", 2),
            format!("NAXIS1  = {:>20}", 12 + 4 * index.len()),
            format!("NAXIS2  = {:>20}", self.rows.len()),
            format!("PCOUNT  = {:>20}", 0),
            format!("GCOUNT  = {:>20}", 1),
            format!("TFIELDS = {:>20}", 3 + index.len()),
            format!("EXTNAME = '{:<8}'", self.name),
        ];
        for (k, name) in ["BMAJ", "BMIN", "BPA"].into_iter().enumerate() {
            cards.push(format!("{:<8}= '{name:<8}'", format!("TTYPE{}", k + 1)));
            cards.push(format!("{:<8}= 'E       '", format!("TFORM{}", k + 1)));
            if let Some(unit) = self.units[k] {
                cards.push(format!("{:<8}= '{unit:<8}'", format!("TUNIT{}", k + 1)));
            }
        }
        for (k, (name, _)) in index.iter().enumerate() {
            cards.push(format!("{:<8}= '{name:<8}'", format!("TTYPE{}", k + 4)));
            cards.push(format!("{:<8}= 'J       '", format!("TFORM{}", k + 4)));
        }
        let mut data = Vec::new();
        for (k, (a, b, pa)) in self.rows.iter().enumerate() {
            data.extend(
                [a, b, pa]
                    .into_iter()
                    .flat_map(|value| (*value as f32).to_be_bytes()),
            );
            data.extend(index.iter().flat_map(|(_, values)| values[k].to_be_bytes()));
        }
        let mut bytes = header(&cards);
        bytes.extend(padded(data));
        bytes
    }
}

/// A file in a folder of its own.
pub struct File {
    pub folder: TempDir,
    pub bytes: Vec<u8>,
    pub channels: u64,
    pub stokes: u64,
    pub from: BeamFrom,
    pub beamlog: Option<PathBuf>,
}

impl File {
    pub fn new(parts: &[Vec<u8>]) -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
            bytes: parts.concat(),
            channels: 5,
            stokes: 1,
            from: BeamFrom::Auto,
            beamlog: None,
        }
    }

    pub fn planes(mut self, channels: u64, stokes: u64) -> Self {
        (self.channels, self.stokes) = (channels, stokes);
        self
    }

    pub fn from(mut self, from: BeamFrom) -> Self {
        self.from = from;
        self
    }

    pub fn put(&self, name: &str, text: &str) -> PathBuf {
        let path = self.folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    }

    pub fn resolve(&self) -> Result<Resolved, BeamError> {
        let layout = Layout::parse(&self.bytes).unwrap();
        resolve(&Question {
            path: &self.folder.path().join("c.fits"),
            layout: &layout,
            bytes: &self.bytes,
            hdu: 0,
            channels: self.channels,
            stokes: self.stokes,
            beamlog: self.beamlog.as_deref(),
            from: self.from,
            floor_arcsec: 2e-3,
        })
    }

    pub fn refusal(&self) -> String {
        whole(&self.resolve().expect_err("it should be refused"))
    }
}

/// The message and those below it, as the command joins them.
pub fn whole(error: &dyn std::error::Error) -> String {
    let below = error.source().map(|source| format!(": {}", whole(source)));
    format!("{error}{}", below.unwrap_or_default())
}

pub fn assert_beams(found: &Resolved, want: &[Option<Triple>]) {
    assert_eq!(found.beams.len(), want.len());
    for (plane, (got, want)) in found.beams.iter().zip(want).enumerate() {
        let want = want.map(|(a, b, pa)| Beam::new(a, b, pa).unwrap());
        let (Some(got), Some(want)) = (got, want) else {
            assert_eq!(*got, want, "plane {plane}");
            continue;
        };
        let close = (got.bmaj_arcsec() - want.bmaj_arcsec()).abs() < 1e-5
            && (got.bmin_arcsec() - want.bmin_arcsec()).abs() < 1e-5
            && (got.bpa_deg() - want.bpa_deg()).abs() < 1e-5;
        assert!(close, "plane {plane}: {got}, not {want}");
    }
}

pub fn some(beams: &[Triple]) -> Vec<Option<Triple>> {
    beams.iter().copied().map(Some).collect()
}

pub const CASAMBM: &str = "CASAMBM =                    T";

pub fn cards(a: f64, b: f64, pa: f64) -> [String; 3] {
    [("BMAJ", a / 3600.0), ("BMIN", b / 3600.0), ("BPA", pa)]
        .map(|(keyword, value)| format!("{keyword:<8}= {value:>20.13E}"))
}

pub fn with_beam(more_axes: &[u64], beam: Triple, more: &[&str]) -> Vec<u8> {
    let beam = cards(beam.0, beam.1, beam.2);
    let all: Vec<&str> = beam
        .iter()
        .map(String::as_str)
        .chain(more.iter().copied())
        .collect();
    image(more_axes, &all)
}
