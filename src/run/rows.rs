//! Where lanes get the rows of their planes from: the map of the input, or reads by position,
//! which fail with an error where a map has a signal.

use std::io;

use crate::error::Stage;
use crate::image::Image;
use crate::map::{Io, MapError, Reader, network_file_system};
use crate::plane::{Fetch, PlaneRef};
use crate::run::prepare::Prepared;

/// The input, opened to be read by position; `None` where it is mapped. Other machines may change
/// what lies on a network file system, so `auto` maps no input there.
pub(super) fn reader(prepared: &Prepared) -> Result<Option<Reader>, Stage> {
    let image = &prepared.image;
    let by_position = match prepared.io {
        Io::Write => true,
        Io::Map => false,
        Io::Auto => network_file_system(image.path()).is_some(),
    };
    Ok(by_position.then(|| image.reader()).transpose()?)
}

/// The bytes of one plane, behind a reader.
#[derive(Debug)]
pub(super) struct Rows<'a> {
    reader: &'a Reader,
    /// First byte of the plane in the file.
    start: u64,
}

impl<'a> Rows<'a> {
    /// Those of this plane of the image; `None` without a reader.
    pub fn of(reader: Option<&'a Reader>, image: &Image, plane: u64) -> Option<Self> {
        let range = image.cube().plane_range(plane)?;
        reader.map(|reader| Self {
            reader,
            start: range.start,
        })
    }
}

impl Fetch for Rows<'_> {
    fn fetch(&self, at: u64, bytes: &mut [u8]) -> io::Result<()> {
        let read = self.reader.read_at(self.start.saturating_add(at), bytes);
        read.map_err(|error| match error {
            MapError::Read { source, .. } => source,
            _ => io::ErrorKind::UnexpectedEof.into(),
        })
    }
}

/// A plane of the image, with its rows from wherever they are to come.
pub(super) fn plane<'a>(
    image: &'a Image,
    number: u64,
    rows: Option<&'a Rows<'a>>,
) -> Result<PlaneRef<'a>, Stage> {
    // The map is not looked into by this.
    let mapped = image.plane_stages(number)?;
    Ok(match rows {
        None => mapped,
        Some(rows) => PlaneRef::fetched(rows, (mapped.nx(), mapped.ny()), *mapped.codec())?,
    })
}
