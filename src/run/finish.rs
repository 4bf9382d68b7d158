//! One output from first byte to final name: everything but the planes is put in place here.

use std::ops::Range;
use std::path::PathBuf;

use fits_layout::{BLOCK_BYTES, Header, padded_bytes};
use rayon::ThreadPool;

use crate::convolve::Backend;
use crate::error::{Bug, Error, Stage, Unfinished};
use crate::journal::{Folder, Journal};
use crate::map::Reader;
use crate::output::name::part_of;
use crate::output::{self, Draft, Existing, OutputError, publish_text};
use crate::plan::extents::Part;
use crate::progress::Observer;
use crate::run::begin::begin;
use crate::run::behind::{Origin, PIECE_BYTES, WriteBehind};
use crate::run::lanes::Planes;
use crate::run::prepare::Prepared;

/// Of an HDU that is copied as it is, at once.
const COPY_BYTES: u64 = 256 << 10;

/// Makes the output of one file and publishes it; returns the path of its beam log, if it has
/// one.
pub(super) fn make(
    (backend, pool): (&dyn Backend, &ThreadPool),
    prepared: &Prepared,
    observer: &dyn Observer,
) -> Result<Option<PathBuf>, Error> {
    let output = &prepared.plan.facts.output;
    let failed = |stage: Stage| prepared.failed(stage);
    let (mut draft, journal) = begin(prepared).map_err(failed)?;
    let planes = Planes {
        prepared,
        backend,
        journal: &journal,
        share: 0..prepared.cube.planes(),
        block_bytes: None,
        observer,
    };
    let filled = fill(pool, &planes, &mut draft);
    // What waits for its batch counts, whatever came after it.
    let flushed = journal.flush().map_err(|error| failed(error.into()));
    let complete = filled
        .and(flushed)
        .and_then(|()| complete(&mut draft, prepared, &journal).map_err(failed));
    let left = |error: Option<&Error>| match error {
        Some(error) if is_useless(prepared, error) => None,
        _ => unfinished(prepared, &journal),
    };
    draft.keep(left(complete.as_ref().err()).is_some());
    let published = match complete {
        Ok(()) => publish(draft, prepared),
        Err(error) => {
            if left(Some(&error)).is_none() {
                // While the lock is held, so that it is no other run's.
                let _ = Folder::of(output).remove();
            }
            drop(draft);
            Err(error)
        }
    };
    let unfinished = left(published.as_ref().err());
    published.map_err(|error| error.leaving(unfinished))
}

/// All that there is to do before the output gets its name, once its planes are stored.
fn complete(draft: &mut Draft, prepared: &Prepared, journal: &Journal) -> Result<(), Stage> {
    gate(journal)?;
    if prepared.checksum {
        stamp(draft, prepared, journal)?;
    }
    // As late as can be: nobody is kept from writing to an input.
    Ok(prepared.image.check_unchanged()?)
}

/// Whether after this failure no run could go on with what is stored: its input is another, or
/// some of it may be missing.
fn is_useless(prepared: &Prepared, error: &Error) -> bool {
    let stage = error.stage();
    stage.is_changed_input() || (stage.is_lost() && !prepared.recovery.durable)
}

/// What a failure would leave for a later run.
fn unfinished(prepared: &Prepared, journal: &Journal) -> Option<Unfinished> {
    let stored = journal.kept();
    let keeps = prepared.is_kept() && !prepared.recovery.discard && stored > 0;
    keeps.then(|| Unfinished {
        output: prepared.plan.facts.output.clone(),
        stored,
        planes: prepared.cube.planes(),
    })
}

/// The log first: once the output has its name, nothing more is to be done.
fn publish(draft: Draft, prepared: &Prepared) -> Result<Option<PathBuf>, Error> {
    let output = &prepared.plan.facts.output;
    let mut is_new = false;
    if prepared.existing != Existing::Overwrite && output.symlink_metadata().is_ok() {
        // Another's output keeps its own log.
        return Err(Error::new(output, OutputError::Exists.into()));
    }
    if let Some((path, text)) = &prepared.beamlog {
        // A log that was there when the request was checked was that of unfinished work.
        let recovery = &prepared.recovery;
        let goes_on = prepared.continues || recovery.resume || recovery.restart;
        let existing = match prepared.existing {
            // The output that a log of this name belonged to is not there.
            Existing::Skip => Existing::Overwrite,
            Existing::Refuse if goes_on => Existing::Overwrite,
            other => other,
        };
        is_new = existing == Existing::Refuse;
        publish_text(path, text, existing).map_err(|error| Error::new(path, error.into()))?;
    }
    let log = prepared.beamlog.as_ref().map(|(path, _)| path.clone());
    // What cannot be removed is of no harm without its working file.
    let forget = || _ = Folder::of(output).remove();
    match draft.publish_with(forget) {
        Ok(_) => Ok(log),
        Err(error) => {
            if let (Some(log), true) = (log, is_new) {
                // Made a moment ago by us, for an output that there is not.
                let _ = std::fs::remove_file(log);
            }
            Err(Error::new(output, error.into()))
        }
    }
}

fn fill(pool: &ThreadPool, planes: &Planes<'_>, draft: &mut Draft) -> Result<(), Error> {
    let prepared = planes.prepared;
    let failed = |stage: Stage| Error::new(&prepared.plan.facts.output, stage);
    let cube = &prepared.cube;
    let ranges = (0..cube.planes()).filter_map(|plane| cube.plane_range(plane));
    let known = planes.journal.count();
    planes
        .observer
        .planes_found(&prepared.plan, known, known * cube.plane_bytes());
    let target = draft
        .target_mut()
        .ok_or_else(|| failed(unmapped().into()))?;
    target.set_pieces(&cube.data_range(), cube.plane_bytes());
    let (slots, behind) = target.slots(ranges).map_err(|error| failed(error.into()))?;
    let slots = slots.into_iter().enumerate();
    let (known, slots): (Vec<_>, Vec<_>) = slots.partition(|(plane, _)| planes.journal.has(*plane));
    if !prepared.writes_behind {
        return planes.fill(pool, slots, None);
    }
    let data = (cube.data_range(), cube.bitpix().size_bytes());
    let behind = WriteBehind::new(behind, origin(prepared), data, PIECE_BYTES);
    let part = part_of(&prepared.plan.facts.output);
    let work = || {
        for (_, slot) in known {
            let (length, (place, _)) = (slot.len_bytes(), slot.into_parts());
            // No piece is begun yet, so none has failed.
            let _ = behind.filled(place.start(), length);
        }
        planes.fill(pool, slots, Some(&behind))
    };
    behind.beside(&part, work).map_err(failed)?
}

/// Where the samples of the output come from.
fn origin(prepared: &Prepared) -> Origin<'_> {
    let image = &prepared.image;
    let cube = image.cube();
    Origin::new(
        image.source(),
        image.path(),
        cube.data_range().start,
        cube.bitpix().size_bytes(),
    )
}

/// Nothing gets its final name that is not whole.
fn gate(journal: &Journal) -> Result<(), Stage> {
    let missing = journal.missing();
    if missing.is_empty() {
        return Ok(());
    }
    let planes = crate::plan::note::ranges(&missing);
    Err(Bug(format!("planes {planes} were not stored")).into())
}

/// Headers, kept HDUs and the beam table; the planes come later.
pub(super) fn write_parts(draft: &mut Draft, prepared: &Prepared) -> Result<(), Stage> {
    put_parts(prepared, |at, bytes| Ok(draft.write_at(at, bytes)?))
}

/// The bytes of everything but the planes, and where they belong.
pub(super) fn put_parts(
    prepared: &Prepared,
    mut put: impl FnMut(u64, &[u8]) -> Result<(), Stage>,
) -> Result<(), Stage> {
    for (part, range) in prepared.extents.parts() {
        match part {
            Part::Kept {
                input: kept, fill, ..
            } => {
                copy_kept(&prepared.image.reader()?, (kept, range.start), &mut put)?;
                let bytes = kept.end.saturating_sub(kept.start);
                let padding = padded_bytes(bytes).unwrap_or(bytes) - bytes;
                put(range.end, &[*fill; BLOCK_BYTES][..padding as usize])?;
            }
            Part::Header { .. } => put(range.start, &prepared.header.render())?,
            Part::BeamTable { .. } => {
                put(range.start, prepared.table.as_deref().unwrap_or_default())?;
            }
            // Of work gone on with it is not known to be zero.
            Part::Data { bytes } => {
                let padding = padded_bytes(*bytes).unwrap_or(*bytes) - bytes;
                put(range.end, &[0; BLOCK_BYTES][..padding as usize])?;
            }
        }
    }
    Ok(())
}

/// Copies an HDU as it is; `at` is where it goes. It is read by position: a map that was cut short
/// would have the writing of it fail.
fn copy_kept(
    reader: &Reader,
    (kept, at): (&Range<u64>, u64),
    mut put: impl FnMut(u64, &[u8]) -> Result<(), Stage>,
) -> Result<(), Stage> {
    let mut buffer = vec![0; COPY_BYTES as usize];
    for start in kept.clone().step_by(COPY_BYTES as usize) {
        let length = (kept.end - start).min(COPY_BYTES) as usize;
        let bytes = &mut buffer[..length];
        reader.read_at(start, bytes)?;
        put(at + (start - kept.start), bytes)?;
    }
    Ok(())
}

/// DATASUM and CHECKSUM from the sums of the planes.
fn stamp(draft: &mut Draft, prepared: &Prepared, journal: &Journal) -> Result<(), Stage> {
    let mut header: Header = prepared.header.clone();
    output::stamp(&mut header, journal.sum())?;
    let (place, bytes) = (
        prepared.extents.header().unwrap_or_default(),
        header.render(),
    );
    if bytes.len() as u64 != place.end - place.start {
        return Err(Bug("the checksums changed the length of the header".to_owned()).into());
    }
    Ok(draft.write_at(place.start, &bytes)?)
}

fn unmapped() -> Bug {
    Bug("the output is published already".to_owned())
}
