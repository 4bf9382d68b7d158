//! The demo's cube: point sources and noise, a beam that shrinks with frequency, a channel without
//! a beam and some blank pixels. The same bits each time.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;

use fits_layout::{Header, LayoutError};
use mmfits::beam::{Beam, table};
use mmfits::output::{Existing, NewImage};

use crate::failure::{Failure, chain};

const NX: usize = 160;
const NY: usize = 120;
const CHANNELS: usize = 8;
const PIXEL_ARCSEC: f64 = 2.0;
/// The channel that was lost.
const BLANK_CHANNEL: usize = 3;
const NOISE: f64 = 0.01;
/// Column, row and peak in Jy/beam.
const SOURCES: [(f64, f64, f64); 5] = [
    (80.0, 60.0, 1.0),
    (40.0, 85.0, 0.6),
    (120.0, 30.0, 0.4),
    (131.0, 96.0, 0.3),
    (2.0, 25.0, 0.5),
];

/// Writes the cube with its BEAMS table.
pub fn write(path: &Path) -> Result<(), Failure> {
    let failed = |text: String| Failure::machine(format!("{}: {text}", path.display()));
    let header = header().map_err(|error| failed(chain(&error)))?;
    let mut image = NewImage::create(path, &header, Existing::Refuse)?;
    let mut random = Random(1);
    for (channel, mut plane) in image.planes_mut()?.into_iter().enumerate() {
        for y in 0..NY {
            let row = row(channel, y, &mut random);
            plane
                .write_row(y, &row)
                .map_err(|error| Failure::bug(chain(&error)))?;
        }
    }
    image.finish()?;
    let beams: Vec<Option<Beam>> = (0..CHANNELS).map(beam).collect();
    let table = table::write(&beams, 1).map_err(|error| failed(chain(&error)))?;
    OpenOptions::new()
        .append(true)
        .open(path)
        .and_then(|mut file| file.write_all(&table))
        .map_err(|error| failed(error.to_string()))
}

fn header() -> Result<Header, LayoutError> {
    let mut header = Header::new();
    header.set("SIMPLE", true, Some("conforms to the FITS standard"))?;
    header.set("BITPIX", -32_i64, None)?;
    header.set("NAXIS", 3_i64, None)?;
    for (keyword, length) in [("NAXIS1", NX), ("NAXIS2", NY), ("NAXIS3", CHANNELS)] {
        header.set(keyword, length as i64, None)?;
    }
    header.set("EXTEND", true, None)?;
    header.set("OBJECT", "mmconv demo", None)?;
    header.set("BUNIT", "Jy/beam", None)?;
    header.set("CASAMBM", true, Some("the beams are in the BEAMS table"))?;
    let step_deg = PIXEL_ARCSEC / 3600.0;
    axis(
        &mut header,
        1,
        ("RA---SIN", "deg"),
        [187.5, NX as f64 / 2.0, -step_deg],
    )?;
    axis(
        &mut header,
        2,
        ("DEC--SIN", "deg"),
        [-45.0, NY as f64 / 2.0, step_deg],
    )?;
    axis(&mut header, 3, ("FREQ", "Hz"), [0.8e9, 1.0, 0.02e9])?;
    Ok(header)
}

/// CTYPE and CUNIT, then CRVAL, CRPIX and CDELT of an axis.
fn axis(
    header: &mut Header,
    number: usize,
    (ctype, cunit): (&str, &str),
    [crval, crpix, cdelt]: [f64; 3],
) -> Result<(), LayoutError> {
    header.set(&format!("CTYPE{number}"), ctype, None)?;
    header.set(&format!("CUNIT{number}"), cunit, None)?;
    header.set(&format!("CRVAL{number}"), crval, None)?;
    header.set(&format!("CRPIX{number}"), crpix, None)?;
    header.set(&format!("CDELT{number}"), cdelt, None)
}

/// The beam shrinks as the frequency rises, and turns.
fn beam(channel: usize) -> Option<Beam> {
    if channel == BLANK_CHANNEL {
        return None;
    }
    let step = channel as f64;
    let bmaj_arcsec = 16.0 * 40.0 / (40.0 + step);
    Beam::new(bmaj_arcsec, 0.7 * bmaj_arcsec, 30.0 + 12.0 * step).ok()
}

fn row(channel: usize, y: usize, random: &mut Random) -> Vec<f32> {
    let pixel = |x: usize, noise: f64| match beam(channel) {
        Some(beam) if !is_blank(x, y) => (brightness(&beam, x as f64, y as f64) + noise) as f32,
        _ => f32::NAN,
    };
    (0..NX).map(|x| pixel(x, NOISE * random.normal())).collect()
}

/// A corner outside the field, and a few bad pixels.
fn is_blank(x: usize, y: usize) -> bool {
    x + y < 20 || (x.abs_diff(100) < 3 && y.abs_diff(70) < 2)
}

/// All sources, each shaped like the beam; the first axis runs west.
fn brightness(beam: &Beam, x: f64, y: f64) -> f64 {
    let (sin, cos) = beam.bpa_deg().to_radians().sin_cos();
    let source = |&(x0, y0, peak): &(f64, f64, f64)| {
        let (east, north) = (PIXEL_ARCSEC * (x0 - x), PIXEL_ARCSEC * (y - y0));
        let along = (east * sin + north * cos) / beam.bmaj_arcsec();
        let across = (east * cos - north * sin) / beam.bmin_arcsec();
        peak * (-4.0 * std::f64::consts::LN_2 * (along * along + across * across)).exp()
    };
    SOURCES.iter().map(source).sum()
}

/// A small generator of random numbers (`SplitMix64`: Steele, Lea and Flood 2014).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }

    /// Between 0 and 1, neither included.
    fn uniform(&mut self) -> f64 {
        ((self.next() >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
    }

    /// Normal, of mean 0 and deviation 1 (Box and Muller 1958).
    fn normal(&mut self) -> f64 {
        let radius = (-2.0 * self.uniform().ln()).sqrt();
        radius * (std::f64::consts::TAU * self.uniform()).cos()
    }
}
