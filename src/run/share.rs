//! One process's share of an output that several make, maybe on several machines. What they have
//! in common is files: `OUT.part`, and `OUT.mmconv/` with the job and a journal of each process.
//!
//! Nobody writes a part of a block, nobody reads or maps the output, and nothing is taken back
//! before it is published: so any plane may be made by any process at any time, also twice, and
//! the result is the same.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::Path;

use fits_layout::Cube;
use rayon::ThreadPool;

use crate::convolve::Backend;
use crate::error::{Blame, Bug, Error, Stage, Unfinished};
use crate::journal::{Folder, Job, Journal, JournalError, Opening, PlaneSums, Record, boot};
use crate::map::{MapError, Shared, page_bytes};
use crate::output::OutputError;
use crate::output::name::part_of;
use crate::plan::Shard;
use crate::progress::Observer;
use crate::run::begin::sums;
use crate::run::earlier::made_by;
use crate::run::finish::put_parts;
use crate::run::gather::{self, Finish, Finished};
use crate::run::job::{self, Layout};
use crate::run::lanes::Planes;
use crate::run::prepare::Prepared;

/// That an output is made by several processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sharing {
    /// Which planes this process makes.
    pub shard: Shard,
    /// Whether it gives the output its name, if all planes are there.
    pub finish: bool,
}

/// No two processes write into one block of so many bytes, nor into one page.
fn block_bytes() -> u64 {
    const BLOCK_BYTES: u64 = 4096;
    BLOCK_BYTES.max(page_bytes())
}

/// Makes the planes of this share that nobody has stored yet, and finishes the output if it can.
/// Says what is missing, if it is not finished.
pub(super) fn make(
    (backend, pool): (&dyn Backend, &ThreadPool),
    (prepared, sharing): (&Prepared, &Sharing),
    observer: &dyn Observer,
) -> Result<Option<Unfinished>, Error> {
    let output = &prepared.plan.facts.output;
    match make_share((backend, pool), (prepared, sharing), observer) {
        // Whatever goes wrong with work that others have finished meanwhile is nothing wrong.
        Err(error) if is_of_files(&error) && gather::is_done_meanwhile(output, &prepared.job) => {
            // We may have made it anew after it got its name: nobody has begun anything in it.
            if let Ok(None) = Folder::of(output).job() {
                let _ = fs::remove_file(part_of(output));
            }
            Ok(None)
        }
        result => result,
    }
}

/// Whether it may come from files that went away as the output got its name.
fn is_of_files(error: &Error) -> bool {
    matches!(error.blame(), Blame::Machine | Blame::Incomplete)
        || matches!(error.stage(), Stage::Output(OutputError::Exists))
}

fn make_share(
    (backend, pool): (&dyn Backend, &ThreadPool),
    (prepared, sharing): (&Prepared, &Sharing),
    observer: &dyn Observer,
) -> Result<Option<Unfinished>, Error> {
    let output = &prepared.plan.facts.output;
    let failed = |stage: Stage| prepared.failed(stage);
    let begun = begin(prepared, sharing).map_err(failed)?;
    let share = sharing.shard.planes(prepared.cube.planes());
    let planes = Planes {
        prepared,
        backend,
        journal: &begun.journal,
        share: share.clone(),
        block_bytes: Some(begun.block_bytes),
        observer,
    };
    let todo = share.filter(|&plane| !begun.journal.has(plane as usize));
    let todo: Vec<u64> = todo.collect();
    let ranges = todo
        .iter()
        .filter_map(|&plane| begun.cube.plane_range(plane));
    let slots = begun.part.slots(ranges).map_err(|e| failed(e.into()))?;
    let slots = todo
        .iter()
        .map(|&plane| plane as usize)
        .zip(slots)
        .collect();
    let filled = planes.fill(pool, slots, None);
    let flushed = begun.journal.flush().map_err(|error| failed(error.into()));
    // Its journal is closed before the folder may go.
    drop(begun);
    filled.and(flushed)?;
    prepared
        .image
        .check_unchanged()
        .map_err(|e| failed(e.into()))?;
    if !sharing.finish {
        return unfinished(prepared);
    }
    let once = Finish::default();
    match gather::finish(output, &once) {
        Ok(Finished { .. }) if made_by(output, &prepared.job) => Ok(None),
        Ok(Finished { .. }) => Err(failed(JournalError::Taken.into())),
        Err(error) if error.is_incomplete() => unfinished(prepared),
        Err(error) => Err(error),
    }
}

/// How far the output is; `None` if it is complete.
fn unfinished(prepared: &Prepared) -> Result<Option<Unfinished>, Error> {
    let output = &prepared.plan.facts.output;
    match gather::status(output)? {
        Some(status) => Ok(Some(Unfinished {
            output: output.to_owned(),
            stored: status.planes - status.missing.len() as u64,
            planes: status.planes,
        })),
        None if made_by(output, &prepared.job) => Ok(None),
        None => Err(prepared.failed(JournalError::Taken.into())),
    }
}

/// A share begun.
struct Begun {
    part: Shared,
    journal: Journal,
    /// As it lies in the output of whoever began the job.
    cube: Cube,
    block_bytes: u64,
}

fn begin(prepared: &Prepared, sharing: &Sharing) -> Result<Begun, Stage> {
    let output = &prepared.plan.facts.output;
    let folder = Folder::of(output);
    let job = join(prepared)?;
    let layout = Layout::of(&job).ok_or_else(|| not_a_job(&folder))?;
    if !layout.block_bytes.is_multiple_of(page_bytes()) {
        let (block_bytes, page_bytes) = (layout.block_bytes, page_bytes());
        return Err(JournalError::Pages {
            block_bytes,
            page_bytes,
        }
        .into());
    }
    let path = part_of(output);
    let part = Shared::open(&path, layout.output_bytes);
    let part = part.map_err(|source| OutputError::Working { path, source })?;
    let axes = prepared.image.cube().axes();
    let cube = Cube::new(prepared.plan.precision.bitpix(), axes, layout.data_at)?;
    let work = job.get(job::REST).unwrap_or_default();
    let journal = journal(prepared, sharing, (&folder, &part, work), &cube)?;
    Ok(Begun {
        part,
        journal,
        cube,
        block_bytes: layout.block_bytes,
    })
}

/// The planes that are stored, and this process's own journal for more of them.
fn journal(
    prepared: &Prepared,
    sharing: &Sharing,
    (folder, part, work): (&Folder, &Shared, &str),
    cube: &Cube,
) -> Result<Journal, Stage> {
    let planes = cube.planes();
    let journal = Journal::new(prepared.plan.tasks.len());
    let stored = folder.stored(planes, boot().as_deref(), work)?;
    let share = sharing.shard.planes(planes);
    for (plane, records) in (0..).zip(&stored.planes) {
        let Some(record) = records.first() else {
            continue;
        };
        let recheck = prepared.recovery.recheck && share.contains(&plane);
        if !recheck || is_whole(prepared, cube, record)? {
            journal.know(record);
        }
    }
    let opening = Opening {
        boot: boot(),
        durable: true,
        work: work.to_owned(),
    };
    let label = format!("{}of{}", sharing.shard.index, sharing.shard.count);
    let mut writer = folder.journal(&label, &opening)?;
    let data = part.file().map_err(|source| OutputError::Working {
        path: part_of(&prepared.plan.facts.output),
        source,
    })?;
    writer.make_durable(data)?;
    Ok(journal.kept_in(writer))
}

/// Whether the file and the record hold what the record says. The file is opened for reading here
/// and nowhere else, and closed again before anything is written.
fn is_whole(prepared: &Prepared, cube: &Cube, record: &Record) -> Result<bool, Stage> {
    let path = part_of(&prepared.plan.facts.output);
    let plane = record.plane;
    let range = cube.plane_range(plane);
    let range = range.ok_or_else(|| Bug(format!("there is no plane {plane}")))?;
    let found = gather::plane_sums(&path, &range, record);
    let found = found.map_err(|source| OutputError::Working {
        path,
        source: MapError::Open { source },
    })?;
    Ok(found.agree(&record.sums))
}

/// The job under way, which must be the one that was asked for.
pub(super) fn join(prepared: &Prepared) -> Result<Job, Stage> {
    let job = offer(prepared)?;
    let folder = Folder::of(&prepared.plan.facts.output);
    folder.check(&job, &prepared.job, 0)?;
    Ok(job)
}

/// The job that is under way: that of whoever was first. Makes the working file and offers our job
/// if there is none.
fn offer(prepared: &Prepared) -> Result<Job, Stage> {
    let output = &prepared.plan.facts.output;
    let folder = Folder::of(output);
    if let Some(job) = folder.job()? {
        return Ok(job);
    }
    folder.make()?;
    let path = part_of(output);
    Shared::create(&path, prepared.extents.len_bytes())
        .map_err(|source| OutputError::Working { path, source })?;
    let mut job = prepared.job.clone();
    let data = prepared.extents.data().unwrap_or_default();
    let rest = folder.unique_file("rest");
    write_rest(&folder.file(&rest), prepared, (data.start, data.end))?;
    job::share(&mut job, prepared, (&rest, block_bytes()));
    if let Some((_, text)) = &prepared.beamlog {
        let name = folder.unique_file("beamlog");
        let path = folder.file(&name);
        let written = File::create_new(&path).and_then(|mut file| {
            file.write_all(text.as_bytes())?;
            file.sync_data()
        });
        written.map_err(|source| JournalError::Write { path, source })?;
        job.set(job::BEAMLOG, name);
    }
    let is_first = folder.offer(&job)?;
    if is_first && made_by(output, &prepared.job) {
        // It was finished while we made ready: nothing is begun anew.
        folder.remove()?;
        let _ = fs::remove_file(part_of(output));
        return Err(OutputError::Exists.into());
    }
    let job = folder.job()?;
    // Finished by the others between two looks: there is nothing left to do.
    job.ok_or_else(|| OutputError::Exists.into())
}

/// All of the output but its planes, in a file of its own: what stands before them, and right
/// after it what stands behind them.
fn write_rest(path: &Path, prepared: &Prepared, data: (u64, u64)) -> Result<(), Stage> {
    let failed = |source: io::Error| JournalError::Write {
        path: path.to_owned(),
        source,
    };
    let file = OpenOptions::new().write(true).create_new(true).open(path);
    let file = file.map_err(failed)?;
    let (before, behind) = data;
    let length = prepared.extents.len_bytes() - (behind - before);
    file.set_len(length).map_err(failed)?;
    put_parts(prepared, |at, bytes| {
        let at = if at < behind {
            at
        } else {
            at - behind + before
        };
        file.write_all_at(bytes, at).map_err(|e| failed(e).into())
    })?;
    Ok(file.sync_data().map_err(failed)?)
}

fn not_a_job(folder: &Folder) -> Stage {
    let path = folder.job_path();
    JournalError::NotAJob { path }.into()
}

/// What is in the file and in the record.
pub(super) fn record_sums(
    file: &File,
    range: &Range<u64>,
    record: &Record,
) -> io::Result<PlaneSums> {
    let (head, tail) = (record.head.len() as u64, record.tail.len() as u64);
    let inside = range.start + head..range.end.saturating_sub(tail);
    let middle = sums(file, &inside)?.moved(head);
    let last = inside.end.saturating_sub(range.start);
    let edges = PlaneSums::of_at(0, &record.head).plus(PlaneSums::of_at(last, &record.tail));
    Ok(middle.plus(edges))
}
