//! Beams and grids as a test thinks of them: analytic elliptical Gaussians on any pixel-to-sky
//! matrix, covariances, areas. Independent of the code under test.

use super::card::Cards;

/// Major and minor FWHM in arcsec, position angle in degrees from north through east.
pub type Beam = [f64; 3];
/// Arcsec per pixel: rows east and north, columns x and y.
pub type Matrix = [[f64; 2]; 2];

pub const PIX: f64 = 2.0;
pub const OLD: Beam = [16.0, 9.0, 40.0];
pub const TGT: Beam = [30.0, 28.0, 20.0];
/// Five channels whose beams differ in all three numbers.
pub const BEAMS5: [Beam; 5] = [
    [16.0, 9.0, 40.0],
    [17.0, 9.5, 43.0],
    [18.0, 10.0, 46.0],
    [19.0, 10.5, 49.0],
    [20.0, 11.0, 52.0],
];

/// `[ee, en, nn]` in FWHM² arcsec².
pub fn covariance(b: Beam) -> [f64; 3] {
    let (s, c) = b[2].to_radians().sin_cos();
    let (major, minor) = (b[0] * b[0], b[1] * b[1]);
    [
        major * s * s + minor * c * c,
        (major - minor) * s * c,
        major * c * c + minor * s * s,
    ]
}

/// The beam of a covariance, position angle in (-90, 90].
pub fn from_covariance([ee, en, nn]: [f64; 3]) -> Beam {
    let (mean, half) = ((ee + nn) / 2.0, (nn - ee) / 2.0);
    let spread = half.hypot(en);
    [
        (mean + spread).sqrt(),
        (mean - spread).sqrt(),
        (en.atan2(half) / 2.0).to_degrees(),
    ]
}

/// The beam that carries `from` to `to`.
pub fn kernel(from: Beam, to: Beam) -> Beam {
    let (a, b) = (covariance(from), covariance(to));
    from_covariance([b[0] - a[0], b[1] - a[1], b[2] - a[2]])
}

/// Least eigenvalue of `outer - inner`, over the square of the inner major axis.
pub fn margin(outer: Beam, inner: Beam) -> f64 {
    let (a, b) = (covariance(outer), covariance(inner));
    let (ee, en, nn) = (a[0] - b[0], a[1] - b[1], a[2] - b[2]);
    ((ee + nn) / 2.0 - ((nn - ee) / 2.0).hypot(en)) / (inner[0] * inner[0])
}

/// Ratio of beam areas.
pub fn area_ratio(new: Beam, old: Beam) -> f64 {
    new[0] * new[1] / (old[0] * old[1])
}

/// Fails unless two beams agree: axes to a relative `tol`, angle modulo 180 where it matters.
pub fn same_beam(got: Beam, want: Beam, tol: f64) {
    let (a, b) = (covariance(got), covariance(want));
    let worst = (0..3).map(|i| (a[i] - b[i]).abs()).fold(0.0, f64::max) / (want[0] * want[0]);
    assert!(
        worst <= 2.0 * tol,
        "beam {got:?}, not {want:?} (off by {worst:.1e})"
    );
}

/// How the pixel-to-sky matrix is written in a header.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Wcs {
    /// CDELT1 and CDELT2 of a diagonal matrix.
    Cdelt,
    /// CDi_j, all four.
    Cd,
    /// CDi_j, the diagonal only.
    CdDiagonal,
    /// PCi_j and CDELTi of half a pixel size and changed sign.
    Pc,
    /// Everything in PCi_j, with CDELTi = 1 degree.
    PcAlone,
    /// PC00i00j, the form of old drafts.
    PcOld,
    /// CDELTi and CROTA2, degrees, of this grid.
    Crota(f64),
}

/// An image's size, where its source stands, and its sky.
#[derive(Clone, Copy, Debug)]
pub struct Grid {
    pub nx: usize,
    pub ny: usize,
    pub x0: f64,
    pub y0: f64,
    pub matrix: Matrix,
}

impl Default for Grid {
    fn default() -> Self {
        Self {
            nx: 70,
            ny: 60,
            x0: 34.0,
            y0: 31.0,
            matrix: diagonal(-PIX, PIX),
        }
    }
}

pub fn diagonal(x: f64, y: f64) -> Matrix {
    [[x, 0.0], [0.0, y]]
}

/// Pixel sizes `sx`, `sy` (signed) turned by CROTA2 degrees.
pub fn turned(sx: f64, sy: f64, crota_deg: f64) -> Matrix {
    let (s, c) = crota_deg.to_radians().sin_cos();
    [[sx * c, -sy * s], [sx * s, sy * c]]
}

impl Grid {
    /// The usual grid with another matrix.
    pub fn with(matrix: Matrix) -> Self {
        Self {
            matrix,
            ..Self::default()
        }
    }

    /// A smaller pixel, east to the left.
    pub fn pixel(size_arcsec: f64) -> Self {
        Self::with(diagonal(-size_arcsec, size_arcsec))
    }

    /// A source of peak 1 shaped like `beam`; `ny` rows of `nx`.
    pub fn gaussian(&self, beam: Beam) -> Vec<f64> {
        let mut out = Vec::with_capacity(self.nx * self.ny);
        for y in 0..self.ny {
            for x in 0..self.nx {
                out.push(self.at(x, y, beam));
            }
        }
        out
    }

    #[allow(clippy::cast_precision_loss)]
    fn at(&self, x: usize, y: usize, beam: Beam) -> f64 {
        let (dx, dy) = (x as f64 - self.x0, y as f64 - self.y0);
        let m = &self.matrix;
        let (east, north) = (m[0][0] * dx + m[0][1] * dy, m[1][0] * dx + m[1][1] * dy);
        let (s, c) = beam[2].to_radians().sin_cos();
        let (along, across) = (east * s + north * c, east * c - north * s);
        let r2 = (along / beam[0]).powi(2) + (across / beam[1]).powi(2);
        (-4.0 * std::f64::consts::LN_2 * r2).exp()
    }

    /// What a single pixel of value 1 at the grid's `(x0, y0)` becomes when `from` is carried to
    /// `to`: the kernel, with Jy/beam's gain if `per_beam`. Both kernel axes must be wide.
    pub fn response(&self, from: Beam, to: Beam, per_beam: bool) -> Vec<f64> {
        let k = kernel(from, to);
        let m = &self.matrix;
        let pixel = (m[0][0] * m[1][1] - m[0][1] * m[1][0]).abs();
        let area = std::f64::consts::PI / (4.0 * std::f64::consts::LN_2) * k[0] * k[1];
        let gain = if per_beam { area_ratio(to, from) } else { 1.0 };
        self.gaussian(k)
            .iter()
            .map(|v| v * gain * pixel / area)
            .collect()
    }

    /// The share of a flat field that reaches each column when only `valid` columns hold it and
    /// rows and columns repeat.
    #[allow(clippy::cast_precision_loss)]
    pub fn column_weights(&self, kernel: Beam, valid: impl Fn(usize) -> bool) -> Vec<f64> {
        let sigma2 =
            covariance(kernel)[0] / (8.0 * std::f64::consts::LN_2) / self.matrix[0][0].powi(2);
        let n = i64::try_from(self.nx).unwrap();
        let bell = |d: i64| (-0.5 * (d * d) as f64 / sigma2).exp();
        let total: f64 = (-5 * n..5 * n).map(bell).sum();
        let weight = |x: i64| -> f64 {
            (-5 * n..5 * n)
                .filter(|d| valid(usize::try_from((x + d).rem_euclid(n)).unwrap()))
                .map(bell)
                .sum()
        };
        (0..n).map(|x| weight(x) / total).collect()
    }

    pub fn pixels(&self) -> usize {
        self.nx * self.ny
    }

    /// The celestial cards of axes 1 (right ascension) and 2 (declination).
    pub fn cards(&self, form: Wcs) -> Cards {
        self.celestial(form, ["RA---SIN", "DEC--SIN"], self.matrix)
    }

    /// The same sky with declination on axis 1 and right ascension on axis 2.
    pub fn cards_latitude_first(&self, form: Wcs) -> Cards {
        self.celestial(
            form,
            ["DEC--SIN", "RA---SIN"],
            [self.matrix[1], self.matrix[0]],
        )
    }

    fn celestial(&self, form: Wcs, types: [&str; 2], rows: Matrix) -> Cards {
        let mut cards = Cards::new();
        let size = [self.nx, self.ny];
        for i in 0..2 {
            let n = i + 1;
            cards = cards
                .set(&format!("CTYPE{n}"), types[i])
                .set(
                    &format!("CRVAL{n}"),
                    if types[i].starts_with('R') {
                        180.0
                    } else {
                        -45.0
                    },
                )
                .set(&format!("CRPIX{n}"), size[i] / 2 + 1)
                .set(&format!("CUNIT{n}"), "deg");
        }
        cards.and(&scale_cards(form, rows))
    }
}

/// The cards that say `rows` (axis 1, axis 2; arcsec) in degrees.
fn scale_cards(form: Wcs, rows: Matrix) -> Cards {
    let deg = |v: f64| v / 3600.0;
    let grid = |mut cards: Cards, name: &dyn Fn(usize, usize) -> String, by: [f64; 2]| {
        for (i, row) in rows.iter().enumerate() {
            for (j, v) in row.iter().enumerate() {
                cards = cards.set(&name(i + 1, j + 1), v / by[i]);
            }
        }
        cards
    };
    let cdelt = |x: f64, y: f64| Cards::new().set("CDELT1", deg(x)).set("CDELT2", deg(y));
    let pc = |i, j| format!("PC{i}_{j}");
    match form {
        Wcs::Cdelt => cdelt(rows[0][0], rows[1][1]),
        Wcs::Cd => grid(Cards::new(), &|i, j| format!("CD{i}_{j}"), [3600.0; 2]),
        Wcs::CdDiagonal => Cards::new()
            .set("CD1_1", deg(rows[0][0]))
            .set("CD2_2", deg(rows[1][1])),
        Wcs::Pc => grid(cdelt(1.0, -1.0), &pc, [1.0, -1.0]),
        Wcs::PcAlone => grid(cdelt(3600.0, 3600.0), &pc, [3600.0; 2]),
        Wcs::PcOld => grid(
            cdelt(-PIX, PIX),
            &|i, j| format!("PC{i:03}{j:03}"),
            [-PIX, PIX],
        ),
        Wcs::Crota(angle) => {
            let (s, c) = angle.to_radians().sin_cos();
            let x = rows[0][0] * c + rows[1][0] * s;
            cdelt(x, rows[1][1] * c - rows[0][1] * s).set("CROTA2", angle)
        }
    }
}
