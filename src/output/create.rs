//! A new floating-point image, preallocated and filled by whoever likes, in any order.

use std::path::{Path, PathBuf};

use fits_layout::{Bitpix, Cube, Header, Sum, checksum};

use crate::error::{Error, Stage};
use crate::map::Io;
use crate::output::{Draft, Existing, OutputError, stamp};
use crate::plane::PlaneMut;

/// A FITS file with one image, reserved on disk and mapped; its planes can be filled by many
/// threads at once. Dropped before [`NewImage::finish`], it is removed.
///
/// ```
/// use fits_layout::Header;
/// use mmfits::output::{Existing, NewImage};
///
/// let folder = tempfile::tempdir()?;
/// let mut header = Header::new();
/// header.set("SIMPLE", true, None)?;
/// header.set("BITPIX", -32_i64, None)?;
/// header.set("NAXIS", 3_i64, None)?;
/// for (keyword, length) in [("NAXIS1", 5_i64), ("NAXIS2", 4), ("NAXIS3", 3)] {
///     header.set(keyword, length, None)?;
/// }
/// let path = folder.path().join("new.fits");
/// let mut image = NewImage::create(&path, &header, Existing::Refuse)?;
/// std::thread::scope(|scope| -> Result<(), mmfits::Error> {
///     for (k, mut plane) in image.planes_mut()?.into_iter().enumerate() {
///         scope.spawn(move || {
///             for y in 0..plane.ny() {
///                 // Native numbers become big-endian samples.
///                 plane.write_row(y, &[k as f32; 5]).expect("a row of this plane");
///             }
///         });
///     }
///     Ok(())
/// })?;
/// assert_eq!(image.finish()?, path);
/// let bytes = std::fs::read(&path)?;
/// assert_eq!(bytes.len(), 2 * 2880);
/// assert_eq!(bytes[2880 + 2 * 80..][..4], 2.0_f32.to_be_bytes()); // plane 2
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct NewImage {
    draft: Draft,
    header: Header,
    cube: Cube,
}

impl NewImage {
    /// Reserves the file for an image with this header: SIMPLE, BITPIX (-32 or -64), NAXIS and
    /// NAXISn first (FITS 4.0, 4.4.1.1), then whatever cards the caller wants. All samples are
    /// zero at first.
    ///
    /// # Errors
    /// The header is no image's, or the file cannot be made; `existing` decides about an old one.
    pub fn create(path: &Path, header: &Header, existing: Existing) -> Result<Self, Error> {
        Self::create_stages(path, header, existing).map_err(|error| Error::new(path, error.into()))
    }

    fn create_stages(
        path: &Path,
        header: &Header,
        existing: Existing,
    ) -> Result<Self, OutputError> {
        if existing != Existing::Overwrite && path.symlink_metadata().is_ok() {
            return Err(OutputError::Exists);
        }
        let mut header = header.clone();
        // Stamped now, so that the sums of the data change no length later.
        if checksum::is_present(&header) {
            stamp(&mut header, Sum::default())?;
        }
        let bytes = header.render();
        let cube = cube(&header, bytes.len() as u64)?;
        let data = cube.data_range();
        let len_bytes = data.start.saturating_add(cube.span_bytes());
        let mut draft = Draft::create(path, len_bytes, existing, Io::Map)?;
        draft.write_at(0, &bytes)?;
        Ok(Self {
            draft,
            header,
            cube,
        })
    }

    /// Sample format.
    #[must_use]
    pub fn bitpix(&self) -> Bitpix {
        self.cube.bitpix()
    }

    /// All planes, in file order, to be filled from any threads: `ny` rows of `nx` big-endian
    /// samples each.
    ///
    /// # Errors
    /// None that the checks of [`NewImage::create`] leave possible; such an error is a bug.
    pub fn planes_mut(&mut self) -> Result<Vec<PlaneMut<'_>>, Error> {
        let cube = &self.cube;
        let general = Error::general;
        let Some(target) = self.draft.target_mut() else {
            return Ok(Vec::new());
        };
        let ranges = (0..cube.planes()).filter_map(|plane| cube.plane_range(plane));
        let (slots, _) = target
            .slots(ranges)
            .map_err(|error| general(error.into()))?;
        // Both lengths were multiplied into a mapped size, so they fit.
        let (nx, ny) = (cube.nx() as usize, cube.ny() as usize);
        let plane = |bytes| {
            PlaneMut::new(bytes, nx, ny, cube.bitpix()).map_err(|error| general(Stage::from(error)))
        };
        // It was made with `Io::Map`, so all of them are memory.
        let bytes = slots.into_iter().filter_map(|slot| slot.into_parts().1);
        bytes.map(plane).collect()
    }

    /// Gives the file its name; CHECKSUM and DATASUM are made if the header has them.
    ///
    /// # Errors
    /// The name was taken meanwhile, or the system refuses it.
    pub fn finish(self) -> Result<PathBuf, Error> {
        self.finish_stages()
            .map_err(|error| Error::general(error.into()))
    }

    fn finish_stages(mut self) -> Result<PathBuf, OutputError> {
        let range = self.cube.data_range();
        if checksum::is_present(&self.header) {
            let data = self
                .draft
                .target_mut()
                .and_then(|target| target.bytes())
                .and_then(|bytes| bytes.get(range.start as usize..range.end as usize));
            stamp(&mut self.header, Sum::of(data.unwrap_or_default()))?;
            self.draft.write_at(0, &self.header.render())?;
        }
        self.draft.publish()
    }
}

/// The mandatory cards stand first and in this order (FITS 4.0, 4.4.1.1).
fn check_order(header: &Header, naxis: i64) -> Result<(), OutputError> {
    let axes = (1..=naxis).map(|axis| format!("NAXIS{axis}"));
    let wanted = ["SIMPLE", "BITPIX", "NAXIS"]
        .map(str::to_owned)
        .into_iter()
        .chain(axes);
    let mut found = header.cards().iter();
    for keyword in wanted {
        if found.next().is_none_or(|card| card.keyword() != keyword) {
            return Err(OutputError::MissingCard { keyword });
        }
    }
    Ok(())
}

/// The planes that a header of `header_bytes` announces (FITS 4.0, 4.4.1.1).
fn cube(header: &Header, header_bytes: u64) -> Result<Cube, OutputError> {
    let number = |keyword: &str| -> Result<i64, OutputError> {
        let value = header
            .integer(keyword)
            .map_err(|source| OutputError::Header { source })?;
        value.ok_or_else(|| OutputError::MissingCard {
            keyword: keyword.to_owned(),
        })
    };
    let code = number("BITPIX")?;
    let naxis = number("NAXIS")?;
    check_order(header, naxis)?;
    let bitpix = Bitpix::from_code(code)
        .filter(|bitpix| bitpix.is_float())
        .ok_or(OutputError::NotFloat { bitpix: code })?;
    let mut axes = Vec::new();
    for axis in 1..=naxis {
        let length = number(&format!("NAXIS{axis}"))?;
        // A negative length is refused below, as an empty one is.
        axes.push(u64::try_from(length).unwrap_or(0));
    }
    Cube::new(bitpix, &axes, header_bytes).map_err(|source| OutputError::Header { source })
}
