//! The usual inputs: an image or a cube whose source is shaped like its own beam, and the BEAMS
//! tables that go with it. After smoothing in Jy/beam the right answer is the target Gaussian
//! with the same peak.

use std::path::PathBuf;

use super::Bench;
use super::card::Cards;
use super::sky::{Beam, Grid, OLD, Wcs};
use super::write::{Column, Hdu, Samples};

/// BMAJ, BMIN and BPA cards, degrees.
pub fn beam_cards(b: Beam) -> Cards {
    Cards::new()
        .set("BMAJ", b[0] / 3600.0)
        .set("BMIN", b[1] / 3600.0)
        .set("BPA", b[2])
}

/// A non-celestial axis.
pub fn axis(n: usize, ctype: &str) -> Cards {
    let (crval, cdelt) = if ctype == "FREQ" {
        (1e9, 1e6)
    } else {
        (1.0, 1.0)
    };
    Cards::new()
        .set(&format!("CTYPE{n}"), ctype)
        .set(&format!("CRVAL{n}"), crval)
        .set(&format!("CDELT{n}"), cdelt)
        .set(&format!("CRPIX{n}"), 1.0)
}

/// The cards of a plain image in Jy/beam.
pub fn image_cards(beam: Beam) -> Cards {
    Grid::default()
        .cards(Wcs::Cdelt)
        .set("BUNIT", "Jy/beam")
        .and(&beam_cards(beam))
}

/// A plain single-precision image of a source shaped like `beam`.
pub fn image(beam: Beam) -> Hdu {
    let g = Grid::default();
    Hdu::primary(
        &[g.nx, g.ny],
        &Samples::f32(&g.gaussian(beam)),
        &image_cards(beam),
    )
}

/// Writes [`image`] as `NAME.fits`.
pub fn put_image(bench: &Bench, name: &str, beam: Beam) -> PathBuf {
    bench.put(name, &[image(beam)])
}

/// In which order a cube's axes stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// RA, Dec, frequency.
    Plain,
    /// RA, Dec, Stokes, frequency.
    Casa,
    /// RA, Dec, frequency, Stokes.
    Askap,
}

/// The cards of a cube in Jy/beam, without a beam.
pub fn cube_cards(order: Order) -> Cards {
    let cards = Grid::default().cards(Wcs::Cdelt).set("BUNIT", "Jy/beam");
    match order {
        Order::Plain => cards.and(&axis(3, "FREQ")),
        Order::Casa => cards.and(&axis(3, "STOKES")).and(&axis(4, "FREQ")),
        Order::Askap => cards.and(&axis(3, "FREQ")).and(&axis(4, "STOKES")),
    }
}

/// NAXISn of a cube of the usual grid.
pub fn cube_axes(order: Order, channels: usize, stokes: usize) -> Vec<usize> {
    let g = Grid::default();
    match order {
        Order::Plain => vec![g.nx, g.ny, channels],
        Order::Casa => vec![g.nx, g.ny, stokes, channels],
        Order::Askap => vec![g.nx, g.ny, channels, stokes],
    }
}

/// A single-precision cube of any axis order; `beam` is asked for each channel and Stokes.
pub fn hypercube(
    order: Order,
    (channels, stokes): (usize, usize),
    beam: impl Fn(usize, usize) -> Beam,
    extra: &Cards,
) -> Hdu {
    let mut all = Vec::new();
    if order == Order::Askap {
        (0..stokes).for_each(|s| all.extend((0..channels).map(|c| beam(c, s))));
    } else {
        (0..channels).for_each(|c| all.extend((0..stokes).map(|s| beam(c, s))));
    }
    let axes = cube_axes(order, channels, stokes);
    let cards = cube_cards(order).and(extra);
    Hdu::primary(&axes, &Samples::f32(&planes(&all)), &cards)
}

/// The card that announces a BEAMS table.
pub fn casambm() -> Cards {
    Cards::new().set("CASAMBM", true)
}

/// One plane after the other, each a source shaped like its beam.
pub fn planes(beams: &[Beam]) -> Vec<f64> {
    beams
        .iter()
        .flat_map(|b| Grid::default().gaussian(*b))
        .collect()
}

/// A three-axis cube with these planes' beams and these cards besides the usual ones.
pub fn cube(beams: &[Beam], extra: &Cards) -> Hdu {
    let axes = cube_axes(Order::Plain, beams.len(), 1);
    let cards = cube_cards(Order::Plain).and(extra);
    Hdu::primary(&axes, &Samples::f32(&planes(beams)), &cards)
}

/// Writes a cube with its BEAMS table as `NAME.fits`.
pub fn put_cube(bench: &Bench, name: &str, beams: &[Beam]) -> PathBuf {
    let hdu = cube(beams, &casambm());
    bench.put(name, &[hdu, BeamTable::new(beams).hdu()])
}

/// Other beams for a second cube, so that natural mode has work to do.
pub const OTHERS: [Beam; 5] = [
    [17.0, 10.0, 70.0],
    [18.0, 10.5, 73.0],
    [19.0, 11.0, 76.0],
    [20.0, 11.5, 79.0],
    [21.0, 12.0, 82.0],
];

/// Two cubes `c` and `d` with tables of these rows, and CRPIX3 of both.
pub fn put_pair(bench: &Bench, rows: [&[Beam]; 2], crpix3: f64) {
    for (name, rows) in ["c", "d"].into_iter().zip(rows) {
        let shapes: Vec<Beam> = rows
            .iter()
            .map(|b| if b[0].is_nan() { OLD } else { *b })
            .collect();
        let mut hdu = cube(&shapes, &casambm());
        hdu.cards = Cards(hdu.cards).set("CRPIX3", crpix3).0;
        bench.put(name, &[hdu, BeamTable::new(rows).hdu()]);
    }
}

/// A BEAMS table in the making. Values are written as given, whatever the units say.
#[derive(Clone, Debug)]
pub struct BeamTable {
    pub name: String,
    pub beams: Vec<Beam>,
    pub units: Option<[String; 3]>,
    pub form: char,
    pub chan: Option<Vec<i64>>,
    pub pol: Option<Vec<i64>>,
    pub nchan: Option<usize>,
    pub npol: Option<usize>,
}

impl BeamTable {
    pub fn new(beams: &[Beam]) -> Self {
        let n = i64::try_from(beams.len()).unwrap();
        Self {
            name: "BEAMS".to_owned(),
            beams: beams.to_vec(),
            units: Some(["arcsec", "arcsec", "deg"].map(str::to_owned)),
            form: 'E',
            chan: Some((0..n).collect()),
            pol: Some(vec![0; beams.len()]),
            nchan: Some(beams.len()),
            npol: Some(1),
        }
    }

    pub fn named(mut self, name: &str) -> Self {
        name.clone_into(&mut self.name);
        self
    }

    /// States the units and divides the values by what one unit is (arcsec, arcsec, degrees).
    pub fn in_units(mut self, names: [&str; 3], sizes: [f64; 3]) -> Self {
        self.units = Some(names.map(str::to_owned));
        for b in &mut self.beams {
            *b = [b[0] / sizes[0], b[1] / sizes[1], b[2] / sizes[2]];
        }
        self
    }

    pub fn form(mut self, form: char) -> Self {
        self.form = form;
        self
    }

    pub fn without_units(mut self) -> Self {
        self.units = None;
        self
    }

    pub fn chan(mut self, chan: &[i64]) -> Self {
        self.chan = Some(chan.to_vec());
        self
    }

    /// POL of each row, and NPOL.
    pub fn pol(mut self, pol: &[i64], npol: usize) -> Self {
        self.pol = Some(pol.to_vec());
        self.npol = Some(npol);
        self.nchan = self.nchan.map(|_| self.beams.len() / npol);
        self
    }

    /// Leaves out the CHAN and POL columns.
    pub fn without_index(mut self) -> Self {
        self.chan = None;
        self.pol = None;
        self
    }

    /// Leaves out NCHAN and NPOL.
    pub fn without_counts(mut self) -> Self {
        self.nchan = None;
        self.npol = None;
        self
    }

    #[allow(clippy::cast_precision_loss)]
    pub fn hdu(&self) -> Hdu {
        let unit = |i: usize| self.units.as_ref().map(|u| u[i].as_str());
        let reals = |i: usize| self.beams.iter().map(|b| b[i]).collect();
        let mut columns: Vec<Column> = ["BMAJ", "BMIN", "BPA"]
            .iter()
            .enumerate()
            .map(|(i, name)| Column::new(name, self.form, unit(i), reals(i)))
            .collect();
        for (name, cells) in [("CHAN", &self.chan), ("POL", &self.pol)] {
            if let Some(cells) = cells {
                let cells = cells.iter().map(|v| *v as f64).collect();
                columns.push(Column::new(name, 'J', None, cells));
            }
        }
        let mut cards = Cards::new();
        for (key, n) in [("NCHAN", self.nchan), ("NPOL", self.npol)] {
            if let Some(n) = n {
                cards = cards.set(key, n);
            }
        }
        Hdu::table(&self.name, &columns, &cards)
    }
}

/// A beam log in the peers' format, rows in the order given.
pub fn beam_log(rows: &[(usize, Beam)]) -> String {
    let mut text = "# Channel BMAJ[arcsec] BMIN[arcsec] BPA[deg]\n".to_owned();
    for (channel, b) in rows {
        text += &format!("{channel} {} {} {}\n", b[0], b[1], b[2]);
    }
    text.replace("NaN", "nan")
}

/// A beam log of channels 0, 1, 2, ….
pub fn beam_log_of(beams: &[Beam]) -> String {
    beam_log(&beams.iter().copied().enumerate().collect::<Vec<_>>())
}
