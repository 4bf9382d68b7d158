//! The first step of an output: its working file, begun or gone on with, and its journal.

use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt;

use crate::convolve::vectorised;
use crate::error::{Bug, Stage};
use crate::journal::{Folder, Journal, Opening, PlaneSums, boot};
use crate::map::MapError;
use crate::output::name::part_of;
use crate::output::{Draft, OutputError, Place};
use crate::run::finish::write_parts;
use crate::run::prepare::Prepared;

/// Read in one go when stored planes are checked; a multiple of every sample.
const READ_BYTES: u64 = 256 << 10;

/// The working file with all but the planes that are missing in the journal.
pub(super) fn begin(prepared: &Prepared) -> Result<(Draft, Journal), Stage> {
    let folder = Folder::of(&prepared.plan.facts.output);
    let mut draft = draft(prepared, &folder)?;
    // What an earlier run has stored is not lost because this one cannot begin.
    let keep = prepared.continues && !prepared.recovery.discard;
    draft.keep(keep);
    match open(prepared, &folder, &mut draft) {
        Ok(journal) => Ok((draft, journal)),
        Err(stage) => {
            if !keep {
                // While the lock is held, so that it is no other run's.
                let _ = folder.remove();
            }
            Err(stage)
        }
    }
}

/// All but the planes, and the journal.
fn open(prepared: &Prepared, folder: &Folder, draft: &mut Draft) -> Result<Journal, Stage> {
    if prepared.recovery.durable {
        draft.make_durable();
    }
    if prepared.writes_behind {
        // sync_file_range(2) knows nothing of what the file system notes about them: where its
        // journal fails, only fdatasync(2) says so.
        draft.wait_for_disk();
    }
    // Also of work gone on with: if the machine failed, they may not have reached the disk.
    write_parts(draft, prepared)?;
    let mut journal = Journal::new(prepared.plan.tasks.len());
    if prepared.continues {
        know(prepared, folder, draft, &journal)?;
    }
    if prepared.is_kept() {
        let opening = Opening {
            // Where a write may fail late, a record proves nothing.
            boot: boot().filter(|_| !draft.fails_late()),
            durable: prepared.recovery.durable,
            work: String::new(),
        };
        if !prepared.continues {
            folder.begin(&prepared.job)?;
        }
        let mut writer = folder.journal("whole", &opening)?;
        if prepared.recovery.durable {
            writer.make_durable(opened_again(prepared)?)?;
        }
        journal = journal.kept_in(writer);
    }
    Ok(journal)
}

/// The working file. Whatever journal there is goes before the file that it tells of changes.
fn draft(prepared: &Prepared, folder: &Folder) -> Result<Draft, Stage> {
    let len_bytes = prepared.extents.len_bytes();
    let output = &prepared.plan.facts.output;
    if !prepared.continues {
        let place = Place::claim(output, prepared.existing)?;
        folder.remove()?;
        return Ok(place.create(len_bytes, prepared.io)?);
    }
    let place = Place::claim_unfinished(output, prepared.existing)?;
    // The work was looked at before it was locked: another run may have ended it meanwhile.
    match folder.job()? {
        Some(job) => {
            folder.check(&job, &prepared.job, 0)?;
            Ok(place.reopen(len_bytes, prepared.io)?)
        }
        None => Ok(place.create(len_bytes, prepared.io)?),
    }
}

/// Takes over what the journals of earlier runs say. Planes in doubt are read.
fn know(
    prepared: &Prepared,
    folder: &Folder,
    draft: &mut Draft,
    journal: &Journal,
) -> Result<(), Stage> {
    let stored = folder.stored(prepared.cube.planes(), boot().as_deref(), "")?;
    let file = file(draft, prepared)?;
    for (plane, records) in (0..).zip(&stored.planes) {
        let doubtful = prepared.recovery.recheck || stored.doubtful.contains(&plane);
        let known = match records.as_slice() {
            [] => None,
            [record] if !doubtful => Some(record),
            records => {
                let range = prepared.cube.plane_range(plane);
                let range = range.ok_or_else(|| Bug(format!("there is no plane {plane}")))?;
                let found = sums(&file, &range).map_err(|error| read_error(prepared, error))?;
                records.iter().find(|record| record.sums.agree(&found))
            }
        };
        if let Some(record) = known {
            journal.know(record);
        }
    }
    Ok(())
}

fn file(draft: &mut Draft, prepared: &Prepared) -> Result<File, Stage> {
    let target = draft.target_mut();
    let target = target.ok_or_else(|| Bug("the output is published already".to_owned()))?;
    target.file().map_err(|source| {
        let path = part_of(&prepared.plan.facts.output);
        OutputError::Working { path, source }.into()
    })
}

/// The working file with a memory of its own for what did not reach the disk: who waits with
/// another handle, as write-behind does, would have heard of it in its place (fsync(2)).
fn opened_again(prepared: &Prepared) -> Result<File, Stage> {
    let path = part_of(&prepared.plan.facts.output);
    let file = File::options().read(true).write(true).open(path);
    file.map_err(|error| read_error(prepared, error))
}

fn read_error(prepared: &Prepared, source: std::io::Error) -> Stage {
    let path = part_of(&prepared.plan.facts.output);
    let source = MapError::Open { source };
    OutputError::Working { path, source }.into()
}

/// The sums of what a file holds in this range.
pub(super) fn sums(file: &File, range: &Range<u64>) -> std::io::Result<PlaneSums> {
    let mut buffer = vec![0; READ_BYTES as usize];
    let mut sums = PlaneSums::default();
    for at in range.clone().step_by(READ_BYTES as usize) {
        let length = (range.end - at).min(READ_BYTES) as usize;
        let bytes = &mut buffer[..length];
        file.read_exact_at(bytes, at)?;
        sums = sums.plus(vectorised(
            #[inline(always)]
            || PlaneSums::of_at(at - range.start, bytes),
        ));
    }
    Ok(sums)
}
