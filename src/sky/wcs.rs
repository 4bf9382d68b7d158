//! How a step of one pixel moves on the sky: the signed Jacobian at the reference point, in
//! arcsec, with its inverse. The matrix in the units of the header comes from `matrix`.

use fits_layout::Header;

use super::axes::Axes;
use super::ctype::{is_zenithal, projection};
use super::error::SkyError;
use super::matrix::{self, Matrix};

/// Rows closer to parallel than this do not span the sky: far above rounding, far below any real
/// image.
const LEAST_SINE: f64 = 1e-9;

/// The Jacobian of the map from pixels to the sky at the reference point, in arcsec per pixel:
/// rows are (east, north), columns the first and second pixel axis (x, y).
///
/// With `p` a step in pixels, `(east, north) = J p` (FITS 4.0, section 8.2). Signs are kept, so
/// flipped, rotated, sheared and oblong pixels are all told apart. Always invertible.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PixelToSky([[f64; 2]; 2]);

impl PixelToSky {
    /// A Jacobian in arcsec per pixel, rows (east, north), columns (x, y).
    ///
    /// # Errors
    /// [`SkyError::Singular`] where the two pixel axes do not span the sky, or an element is not
    /// finite.
    pub fn new(arcsec_per_px: Matrix) -> Result<Self, SkyError> {
        Self::spanning(arcsec_per_px, || "the pixel matrix".to_owned())
    }

    /// Reads the Jacobian from the first two axes of a header.
    ///
    /// In order of precedence (FITS WCS papers I and II, Greisen & Calabretta 2002): `CDi_j`, with
    /// missing elements 0; `PCi_j` or the older `PC00i00j` times `CDELTi`, with missing elements
    /// those of the unit matrix and `CDELTi` 1 where both are absent; `CDELTi` turned by `CROTAn`
    /// of the latitude axis. `CROTAn` is ignored beside a matrix, and `CDELTi` beside `CDi_j`. Both
    /// matrices may stand only where they agree. `CUNITi` may be any angle, degrees by default.
    /// `LONPOLE` turns a zenithal projection.
    ///
    /// # Errors
    /// [`SkyError::NoPixelSize`] without `CDELTi` and a matrix; [`SkyError::Singular`],
    /// [`SkyError::NotFinite`], [`SkyError::NoAngle`], [`SkyError::Coupled`],
    /// [`SkyError::TwoMatrices`] and [`SkyError::Rotation`] as they say; [`SkyError::Card`] for a
    /// card that is no number or string.
    ///
    /// ```
    /// use fits_layout::Header;
    /// use mmfits::sky::{Axes, PixelToSky};
    ///
    /// let mut header = Header::new();
    /// header.set("CTYPE1", "RA---SIN", None)?;
    /// header.set("CTYPE2", "DEC--SIN", None)?;
    /// header.set("CDELT1", -2.0 / 3600.0, None)?;
    /// header.set("CDELT2", 3.0 / 3600.0, None)?;
    /// let axes = Axes::find(&header, &[150, 100])?;
    /// let sky = PixelToSky::from_header(&header, &axes)?;
    /// assert!((sky.matrix()[0][0] + 2.0).abs() < 1e-12);
    /// assert!((sky.pixel_area_arcsec2() - 6.0).abs() < 1e-12);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn from_header(header: &Header, axes: &Axes) -> Result<Self, SkyError> {
        let found = matrix::read(header, axes)?;
        let turn = native_turn(header, axes)?;
        Self::spanning(product(turn, found.arcsec_per_px), || found.keywords)
    }

    fn spanning(matrix: Matrix, keywords: impl FnOnce() -> String) -> Result<Self, SkyError> {
        let [east, north] = matrix;
        let determinant = east[0] * north[1] - east[1] * north[0];
        let sine = determinant.abs() / east[0].hypot(east[1]) / north[0].hypot(north[1]);
        if determinant.is_normal() && sine > LEAST_SINE {
            Ok(Self(matrix))
        } else {
            Err(SkyError::Singular {
                keywords: keywords(),
                determinant,
            })
        }
    }

    /// The elements in arcsec per pixel, rows (east, north), columns (x, y).
    pub fn matrix(&self) -> Matrix {
        self.0
    }

    /// The inverse in pixels per arcsec, rows (x, y), columns (east, north).
    pub fn inverse(&self) -> Matrix {
        let [[a, b], [c, d]] = self.0;
        let determinant = self.determinant();
        [
            [d / determinant, -b / determinant],
            [-c / determinant, a / determinant],
        ]
    }

    /// The signed area of a pixel in arcsec²; negative where, as usual, x runs west and y north.
    pub fn determinant(&self) -> f64 {
        let [[a, b], [c, d]] = self.0;
        a * d - b * c
    }

    /// The area of a pixel in arcsec².
    pub fn pixel_area_arcsec2(&self) -> f64 {
        self.determinant().abs()
    }

    /// The side of a square as large as a pixel, in arcsec.
    pub fn pixel_scale_arcsec(&self) -> f64 {
        self.pixel_area_arcsec2().sqrt()
    }
}

/// How far the native pole turns the image: with native coordinates (x, y) about the reference
/// point of a zenithal projection, east = -x cos p - y sin p and north = x sin p - y cos p, where p
/// is `LONPOLE`, 180° by default (paper II, equations 2, 12 and 13 near the native pole).
fn native_turn(header: &Header, axes: &Axes) -> Result<Matrix, SkyError> {
    const UPRIGHT: Matrix = [[1.0, 0.0], [0.0, 1.0]];
    let Some(projection) = projection(axes.ctype(axes.celestial().0)) else {
        return Ok(UPRIGHT);
    };
    let Some(pole_deg) = header.real("LONPOLE")? else {
        return Ok(UPRIGHT);
    };
    let (sine, cosine) = pole_deg.to_radians().sin_cos();
    if !pole_deg.is_finite() {
        Err(SkyError::NotFinite {
            keyword: "LONPOLE".to_owned(),
            found: pole_deg,
        })
    } else if sine.abs() < LEAST_SINE {
        // Half a turn does not matter to a beam, so 0 and 180 are one.
        Ok(UPRIGHT)
    } else if is_zenithal(&projection) {
        Ok([[-cosine, -sine], [sine, -cosine]])
    } else {
        let expected = format!("0 or 180 with the projection {projection}");
        Err(SkyError::Rotation {
            keyword: "LONPOLE".to_owned(),
            found_deg: pole_deg,
            expected,
        })
    }
}

/// `a` times `b`.
fn product(a: Matrix, b: Matrix) -> Matrix {
    let element = |row: [f64; 2], column: usize| match column {
        0 => row[0] * b[0][0] + row[1] * b[1][0],
        _ => row[0] * b[0][1] + row[1] * b[1][1],
    };
    a.map(|row| [element(row, 0), element(row, 1)])
}
