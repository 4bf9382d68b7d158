//! One opened image: its map, its layout, and what its header says. No pixels are changed here.

use std::path::{Path, PathBuf};

use fits_layout::{Bitpix, CARD_BYTES, Cube, Hdu, HduKind, Header, Layout};

use crate::beam::source::{BeamFrom, Question, Resolved, resolve};
use crate::error::{Error, InputError, Stage};
use crate::map::{MapError, Reader, Source};
use crate::plan::HduChoice;
use crate::plane::{Codec, PlaneRef};
use crate::sky::{Axes, Brightness, PixelToSky, classify};

/// A beam with an axis below this part of a pixel is no beam: four spellings of "blank channel"
/// are in use (0, NaN, the smallest `f32`, 1e-6 arcsec), and all of them lie below it.
pub const BEAM_FLOOR_PX: f64 = 1e-3;

/// A FITS image or cube, mapped.
///
/// ```
/// # use fits_layout::Header;
/// # use mmfits::output::{Existing, NewImage};
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("cube.fits");
/// # let mut header = Header::new();
/// # header.set("SIMPLE", true, None)?;
/// # for (keyword, value) in [("BITPIX", -32_i64), ("NAXIS", 3), ("NAXIS1", 6), ("NAXIS2", 5), ("NAXIS3", 4)] {
/// #     header.set(keyword, value, None)?;
/// # }
/// # for (axis, ctype, step) in [(1, "RA---SIN", -0.001), (2, "DEC--SIN", 0.001), (3, "FREQ", 1e6)] {
/// #     header.set(&format!("CTYPE{axis}"), ctype, None)?;
/// #     header.set(&format!("CDELT{axis}"), step, None)?;
/// # }
/// # header.set("BUNIT", "Jy/beam", None)?;
/// # header.set("BMAJ", 0.003, None)?;
/// # header.set("BMIN", 0.002, None)?;
/// # header.set("BPA", 30.0, None)?;
/// # let mut made = NewImage::create(&path, &header, Existing::Refuse)?;
/// # for (k, mut plane) in made.planes_mut()?.into_iter().enumerate() {
/// #     for y in 0..plane.ny() {
/// #         plane.write_row(y, &[k as f32; 6])?;
/// #     }
/// # }
/// # made.finish()?;
/// use mmfits::beam::source::BeamFrom;
/// use mmfits::image::Image;
/// use mmfits::plan::HduChoice;
///
/// let image = Image::open(&path, &HduChoice::FirstImage)?;
/// assert_eq!((image.cube().nx(), image.cube().ny(), image.cube().planes()), (6, 5, 4));
/// let plane = image.plane(2)?; // the mapped bytes themselves, big-endian
/// assert_eq!(plane.bytes()[..4], 2.0_f32.to_be_bytes());
/// let mut row = vec![0_f32; plane.nx()];
/// plane.read_row(0, &mut row)?; // one row as native numbers, blanks as NaN
/// assert_eq!(row, [2.0; 6]);
/// let beams = image.beams(BeamFrom::Auto, None)?;
/// assert_eq!(beams.source.to_string(), "cards BMAJ, BMIN, BPA");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Image {
    path: PathBuf,
    source: Source,
    layout: Layout,
    hdu: usize,
    cube: Cube,
    axes: Axes,
    codec: Codec,
}

impl Image {
    /// Maps the file and finds its image: HDU, planes, axes and sample format.
    ///
    /// # Errors
    /// The file cannot be mapped, is no FITS file, is truncated, is compressed, has no image (or
    /// not where `choice` says), or its axes are not two celestial ones followed by others.
    pub fn open(path: &Path, choice: &HduChoice) -> Result<Self, Error> {
        Self::open_within(path, choice, u64::MAX).map_err(|stage| Error::new(path, stage))
    }

    /// The same, if its headers have no more than `limit_bytes` together.
    pub(crate) fn open_within(
        path: &Path,
        choice: &HduChoice,
        limit_bytes: u64,
    ) -> Result<Self, Stage> {
        let source = Source::open(path)?;
        let layout = Layout::parse_within(source.bytes(), limit_bytes)?;
        let hdu = choose(&layout, choice)?;
        let chosen = hdu_at(&layout, hdu)?;
        let cube = Cube::of(chosen)?;
        let axes = Axes::find(chosen.header(), cube.axes())?;
        let codec = codec(chosen.header(), cube.bitpix())?;
        source.set_pieces(&cube.data_range(), cube.plane_bytes());
        Ok(Self {
            path: path.to_owned(),
            source,
            layout,
            hdu,
            cube,
            axes,
            codec,
        })
    }

    /// The path it was opened by.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The map behind it.
    #[must_use]
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// The whole file's bytes.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        self.source.bytes()
    }

    /// All HDUs of the file.
    #[must_use]
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The number of the image's HDU, the primary being 0.
    #[must_use]
    pub fn hdu_index(&self) -> usize {
        self.hdu
    }

    /// The image's HDU.
    #[must_use]
    #[expect(clippy::indexing_slicing, reason = "`open` has looked this HDU up")]
    pub fn hdu(&self) -> &Hdu {
        &self.layout.hdus[self.hdu]
    }

    /// The image's header.
    #[must_use]
    pub fn header(&self) -> &Header {
        self.hdu().header()
    }

    /// Where its planes lie.
    #[must_use]
    pub fn cube(&self) -> &Cube {
        &self.cube
    }

    /// What its axes mean.
    #[must_use]
    pub fn axes(&self) -> &Axes {
        &self.axes
    }

    /// How its samples are stored.
    #[must_use]
    pub fn codec(&self) -> Codec {
        self.codec
    }

    /// Plane `k` (from 0, in file order): `ny` rows of `nx` big-endian samples, not copied.
    ///
    /// # Errors
    /// There is no such plane.
    pub fn plane(&self, k: u64) -> Result<PlaneRef<'_>, Error> {
        self.plane_stages(k)
            .map_err(|stage| Error::new(&self.path, stage).in_plane(k))
    }

    pub(crate) fn plane_stages(&self, k: u64) -> Result<PlaneRef<'_>, Stage> {
        let none = || InputError::NoPlane {
            plane: k,
            planes: self.cube.planes(),
        };
        let range = self.cube.plane_range(k).ok_or_else(none)?;
        let range = to_usize(range.start)?..to_usize(range.end)?;
        let bytes = self.bytes().get(range).ok_or_else(none)?;
        let (nx, ny) = (to_usize(self.cube.nx())?, to_usize(self.cube.ny())?);
        Ok(PlaneRef::new(bytes, nx, ny, self.codec)?)
    }

    /// Pixel steps as steps on the sky, arcsec.
    ///
    /// # Errors
    /// The header gives no pixel size, or one that cannot be.
    pub fn pixel_to_sky(&self) -> Result<PixelToSky, Error> {
        PixelToSky::from_header(self.header(), &self.axes)
            .map_err(|error| Error::new(&self.path, error.into()))
    }

    /// Opens the file once more, after a look whether it is still what it was when this image was
    /// opened.
    ///
    /// # Errors
    /// It is not there any more, or it was changed.
    pub(crate) fn reader(&self) -> Result<Reader, MapError> {
        Reader::open(&self.path, &self.source)
    }

    /// Whether the file is what it was: its length, its time of last change, and its headers.
    ///
    /// # Errors
    /// It was changed, or nobody can tell.
    pub(crate) fn check_unchanged(&self) -> Result<(), MapError> {
        let reader = self.reader()?;
        const CARDS: usize = 40;
        // Without a copy of a header, which may be megabytes.
        let mut bytes = [0; CARDS * CARD_BYTES];
        for hdu in &self.layout.hdus {
            let mut at = hdu.header_range().start;
            for cards in hdu.header().cards().chunks(CARDS) {
                for (bytes, card) in bytes.chunks_exact_mut(CARD_BYTES).zip(cards) {
                    bytes.copy_from_slice(card.as_bytes());
                }
                let bytes = bytes.get(..cards.len() * CARD_BYTES).unwrap_or_default();
                reader.expect(at, bytes)?;
                at = at.saturating_add(bytes.len() as u64);
            }
        }
        Ok(())
    }

    /// What BUNIT says about brightness.
    ///
    /// # Errors
    /// BUNIT is not text.
    pub fn brightness(&self) -> Result<Brightness, Error> {
        let bunit = self
            .header()
            .text("BUNIT")
            .map_err(|error| Error::new(&self.path, error.into()))?;
        Ok(classify(bunit.as_deref()))
    }

    /// The beam of every channel and Stokes, from the first source that has one.
    ///
    /// # Errors
    /// No source has beams, or the one taken contradicts the cube or itself.
    pub fn beams(&self, from: BeamFrom, beamlog: Option<&Path>) -> Result<Resolved, Error> {
        let question = Question {
            path: &self.path,
            layout: &self.layout,
            bytes: self.bytes(),
            hdu: self.hdu,
            channels: self.axes.channels(),
            stokes: self.axes.stokes_count(),
            beamlog,
            from,
            floor_arcsec: BEAM_FLOOR_PX * self.pixel_to_sky()?.pixel_scale_arcsec(),
        };
        resolve(&question).map_err(|error| Error::new(&self.path, error.into()))
    }
}

fn to_usize(number: u64) -> Result<usize, InputError> {
    usize::try_from(number).map_err(|_| InputError::TooLarge { number })
}

fn hdu_at(layout: &Layout, index: usize) -> Result<&Hdu, InputError> {
    layout.hdus.get(index).ok_or(InputError::NoHdu {
        asked: index.to_string(),
        found: layout.hdus.len(),
    })
}

/// The number of the HDU the user means.
fn choose(layout: &Layout, choice: &HduChoice) -> Result<usize, InputError> {
    let index = match choice {
        HduChoice::FirstImage => return first_image(layout),
        HduChoice::Index(index) => *index,
        HduChoice::Name(name) => named(layout, name)?,
    };
    let hdu = hdu_at(layout, index)?;
    if hdu.is_compressed_image() {
        return Err(InputError::TileCompressed { hdu: index });
    }
    if !is_image(hdu) {
        return Err(InputError::NotAnImage {
            hdu: index,
            kind: hdu.kind(),
            naxis: hdu.axes().len(),
        });
    }
    Ok(index)
}

fn named(layout: &Layout, name: &str) -> Result<usize, InputError> {
    let matches = |hdu: &Hdu| hdu.name().is_some_and(|own| own.eq_ignore_ascii_case(name));
    let primary = || name.eq_ignore_ascii_case("PRIMARY").then_some(0);
    layout
        .hdus
        .iter()
        .position(matches)
        .or_else(primary)
        .ok_or_else(|| InputError::NoHdu {
            asked: name.to_owned(),
            found: layout.hdus.len(),
        })
}

fn first_image(layout: &Layout) -> Result<usize, InputError> {
    if let Some(index) = layout.hdus.iter().position(is_image) {
        return Ok(index);
    }
    match layout.hdus.iter().position(Hdu::is_compressed_image) {
        Some(hdu) => Err(InputError::TileCompressed { hdu }),
        None => Err(InputError::NoImage {
            hdus: layout.hdus.len(),
        }),
    }
}

/// Two or more axes, none of them empty (FITS 4.0, 4.4.1.1: NAXISn = 0 means no data).
fn is_image(hdu: &Hdu) -> bool {
    matches!(hdu.kind(), HduKind::Primary | HduKind::Image)
        && hdu.axes().len() >= 2
        && hdu.axes().iter().all(|&length| length > 0)
}

/// BSCALE, BZERO (FITS 4.0, 4.4.2.5) and, for integers, BLANK.
fn codec(header: &Header, bitpix: Bitpix) -> Result<Codec, Stage> {
    let bscale = header.real("BSCALE")?.unwrap_or(1.0);
    let bzero = header.real("BZERO")?.unwrap_or(0.0);
    if !bscale.is_finite() || !bzero.is_finite() || bscale == 0.0 {
        return Err(InputError::Scale { bscale, bzero }.into());
    }
    let blank = if bitpix.is_float() {
        None
    } else {
        header.integer("BLANK")?
    };
    Ok(Codec {
        bitpix,
        bscale,
        bzero,
        blank,
    })
}
