//! What an output is put together from: the HDUs in order, the beam table, the log of its beams.

use std::path::{Path, PathBuf};

use fits_layout::{Hdu, HduKind, Header, Sum, checksum};

use crate::beam::{log, table};
use crate::error::Stage;
use crate::image::Image;
use crate::map::{Io, Scratch, network_file_system};
use crate::output;
use crate::output::name::beamlog_of;
use crate::plan::extents::Part;
use crate::plan::{FilePlan, Note, Targets};
use crate::run::Request;
use crate::run::prepare::has_log;

/// The path of the log of the targets, and its text.
pub(super) fn beamlog(image: &Image, plan: &FilePlan) -> Option<(PathBuf, String)> {
    has_log(image).then(|| {
        let text = log::render(&plan.stored_by_channel());
        (beamlog_of(&plan.facts.output), text)
    })
}

/// The folder of a lane's spectra, if they go to one, after a look at it.
pub(super) fn scratch(request: &Request, plan: &FilePlan) -> Result<Option<PathBuf>, Stage> {
    let scratch = request.resources.scratch.clone();
    let scratch = scratch.filter(|_| plan.scratch_bytes > 0);
    if let Some(folder) = &scratch {
        // Whether the room is still there is found out when a lane is made.
        Scratch::check(folder, plan.scratch_bytes)?;
    }
    Ok(scratch)
}

/// What is to be said where the output will not be mapped.
pub(super) fn network_note(request: &Request, output: &Path) -> Option<Note> {
    let folder = output
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    let file_system = network_file_system(folder)?;
    (request.storage.io == Io::Auto).then_some(Note::Network { file_system })
}

/// The beams of the output as a BEAMS extension, where they differ; without any beam there is no
/// table, as there is no beam in the header.
pub(super) fn table_bytes(image: &Image, plan: &FilePlan) -> Result<Option<Vec<u8>>, Stage> {
    let beams = plan.stored_beams();
    let differ = matches!(plan.targets, Targets::PerChannel(_));
    if !differ || beams.iter().all(Option::is_none) {
        return Ok(None);
    }
    let bytes = table::write(&beams, plan.facts.stokes())?;
    let old = table::belonging(image.layout(), image.hdu_index())?;
    let had_sums = |number: &usize| {
        let hdu = image.layout().hdus.get(*number);
        hdu.is_some_and(|hdu| checksum::is_present(hdu.header()))
    };
    Ok(Some(if old.iter().any(had_sums) {
        with_sums(&bytes)?
    } else {
        bytes
    }))
}

/// An HDU with its CHECKSUM and DATASUM.
fn with_sums(hdu: &[u8]) -> Result<Vec<u8>, Stage> {
    let (mut header, span_bytes) = Header::parse(hdu, 0)?;
    let span = usize::try_from(span_bytes).unwrap_or(usize::MAX);
    let data = hdu.get(span..).unwrap_or_default();
    output::stamp(&mut header, Sum::of(data))?;
    Ok([header.render(), data.to_vec()].concat())
}

/// The HDUs of the output in order. A beam table belongs to the image: the new one takes the
/// place of the first old one, and no old one stays.
pub(super) fn parts(
    image: &Image,
    header_bytes: u64,
    data_bytes: u64,
    table: Option<&[u8]>,
) -> Result<Vec<Part>, Stage> {
    let mut new_table = table.map(|bytes| Part::BeamTable {
        bytes: bytes.len() as u64,
    });
    let tables = table::belonging(image.layout(), image.hdu_index())?;
    let mut parts = Vec::new();
    for (number, hdu) in image.layout().hdus.iter().enumerate() {
        if number == image.hdu_index() {
            parts.push(Part::Header {
                bytes: header_bytes,
            });
            parts.push(Part::Data { bytes: data_bytes });
        } else if tables.contains(&number) {
            parts.extend(new_table.take());
        } else {
            parts.push(kept(number, hdu, image.bytes().len() as u64));
        }
    }
    parts.extend(new_table);
    Ok(parts)
}

fn kept(number: usize, hdu: &Hdu, file_bytes: u64) -> Part {
    let fill = if hdu.kind() == HduKind::AsciiTable {
        b' '
    } else {
        0
    };
    let input = hdu.header_range().start..hdu.padded_end().min(file_bytes);
    Part::Kept {
        hdu: number,
        input,
        fill,
    }
}
