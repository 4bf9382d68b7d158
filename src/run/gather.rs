//! The gate to an output's final name where several processes make it: everything is there, or
//! nothing happens. Anybody may finish, at any time and any number of times; all write the same
//! bytes, and link(2) lets one of them win.

use std::fs::{self, File};
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use fits_layout::{Header, Sum};

use crate::error::{Error, Stage};
use crate::journal::{Folder, Job, JournalError, PlaneSums, Record, Stored, boot, is_listed};
use crate::map::{Claim, FileId, FileStamp, MapError, Shared};
use crate::output::name::{beamlog_of, part_of};
use crate::output::{self, OutputError, no_links, sync_folder};
use crate::run::earlier::{is_ours, made_by};
use crate::run::job::{self, Layout};
use crate::run::share::record_sums;

/// How an output is finished.
#[derive(Clone, Copy, Debug, Default)]
pub struct Finish {
    /// All stored planes are read and held against their checksums first.
    pub recheck: bool,
    /// How long missing planes are waited for: on a network file system another machine's journal
    /// may be a second late.
    pub wait: Duration,
}

/// What finishing came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finished {
    /// The output.
    pub output: PathBuf,
    /// It had its name already.
    pub already: bool,
}

/// How far an output under way is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    /// All its planes.
    pub planes: u64,
    /// Those that nobody has stored.
    pub missing: Vec<u64>,
    /// The journals read.
    pub journals: usize,
    /// Of these, those with a torn end.
    pub torn: usize,
    /// What it is made from.
    pub input: String,
    /// The command line of whoever began it.
    pub command: String,
    /// Whether several processes make it.
    pub is_shared: bool,
}

/// How far the output at this path is; `None` where nothing is under way.
///
/// # Errors
/// Its folder cannot be read.
pub fn status(output: &Path) -> Result<Option<Status>, Error> {
    let failed = |error: JournalError| Error::new(output, error.into());
    let folder = Folder::of(output);
    let Some(job) = folder.job().map_err(failed)? else {
        return Ok(None);
    };
    let planes = job.number(job::PLANES).unwrap_or(0);
    let work = job.get(job::REST).unwrap_or_default();
    let stored = folder.stored(planes, boot().as_deref(), work);
    let stored = stored.map_err(failed)?;
    Ok(Some(Status {
        planes,
        missing: stored.missing(),
        journals: stored.journals,
        torn: stored.torn,
        input: job.get(job::INPUT).unwrap_or_default().to_owned(),
        command: job.get(job::COMMAND).unwrap_or_default().to_owned(),
        is_shared: Layout::of(&job).is_some(),
    }))
}

/// Removes what is unfinished of this output; whether there was anything.
///
/// # Errors
/// Somebody is at work on it, or it cannot be removed.
pub fn clean(output: &Path) -> Result<bool, Error> {
    let failed = |stage: Stage| Error::new(output, stage);
    let (folder, part) = (Folder::of(output), part_of(output));
    let there = part.symlink_metadata().is_ok();
    let working = |source| {
        failed(
            OutputError::Working {
                path: part.clone(),
                source,
            }
            .into(),
        )
    };
    let lock = there.then(|| Claim::of(&part)).transpose();
    let lock = lock.map_err(working)?;
    let had_folder = folder.path().symlink_metadata().is_ok();
    folder.remove().map_err(|error| failed(error.into()))?;
    if there {
        fs::remove_file(&part).map_err(|source| working(MapError::Create { source }))?;
    }
    drop(lock);
    Ok(there || had_folder)
}

/// Gives the output at this path its name, if all its planes are stored.
///
/// # Errors
/// Planes are missing, or do not match their records; another file has the name.
pub fn finish(output: &Path, how: &Finish) -> Result<Finished, Error> {
    finish_stages(output, how).map_err(|stage| Error::new(output, stage))
}

fn finish_stages(output: &Path, how: &Finish) -> Result<Finished, Stage> {
    let folder = Folder::of(output);
    // `None` is for ever.
    let until = Instant::now().checked_add(how.wait);
    loop {
        let Some(job) = folder.job()? else {
            return already(output);
        };
        let layout = Layout::of(&job).ok_or(JournalError::Alone)?;
        if made_by(output, &job) {
            // What stands beside it was begun by a process that came late.
            let _ = folder.remove();
            let _ = fs::remove_file(part_of(output));
            return already(output);
        }
        let work = job.get(job::REST).unwrap_or_default();
        let stored = folder.stored(layout.planes, boot().as_deref(), work)?;
        let missing = stored.missing();
        if missing.is_empty() {
            let gather = Gather {
                output,
                folder: &folder,
                job: &job,
                layout,
            };
            return match gather.finish(&stored, how) {
                // Whatever we ran into is nothing wrong where another process was faster.
                Err(stage) if is_of_files(&stage) && is_done_meanwhile(output, &job) => {
                    let _ = folder.remove();
                    already(output)
                }
                result => result,
            };
        }
        if until.is_some_and(|until| Instant::now() >= until) {
            return Err(JournalError::Incomplete {
                missing,
                planes: layout.planes,
                journals: stored.journals,
                torn: stored.torn,
            }
            .into());
        }
        thread::sleep(Duration::from_millis(200));
    }
}

/// Whether it is about a file that was not there, or not as it was.
fn is_of_files(stage: &Stage) -> bool {
    !matches!(
        stage,
        Stage::Journal(JournalError::Mismatch { .. } | JournalError::Input { .. })
    )
}

/// Whether another process has finished the output. On a network file system its name may come
/// into sight a little later than the working name goes.
pub(super) fn is_done_meanwhile(output: &Path, job: &Job) -> bool {
    const LOOKS: usize = 10;
    (0..LOOKS).any(|look| {
        if look > 0 {
            thread::sleep(Duration::from_millis(200));
        }
        is_listed(output).unwrap_or(false) && made_by(output, job)
    })
}

/// Without a job under way the output is finished, or there never was one.
fn already(output: &Path) -> Result<Finished, Stage> {
    let listed = is_listed(output).map_err(|source| OutputError::Look { source })?;
    if !listed || !is_ours(output) {
        return Err(JournalError::Nothing.into());
    }
    Ok(Finished {
        output: output.to_owned(),
        already: true,
    })
}

/// One attempt at finishing.
struct Gather<'a> {
    output: &'a Path,
    folder: &'a Folder,
    job: &'a Job,
    layout: Layout,
}

impl Gather<'_> {
    fn finish(&self, stored: &Stored, how: &Finish) -> Result<Finished, Stage> {
        let path = part_of(self.output);
        // It is never made here: whoever comes late must not begin anew.
        let part = match Shared::open(&path, self.layout.output_bytes) {
            Ok(part) => part,
            Err(MapError::Create { source }) if source.kind() == io::ErrorKind::NotFound => {
                return Err(self.gone());
            }
            Err(source) => return Err(OutputError::Working { path, source }.into()),
        };
        self.check_input()?;
        let records = self.choose(stored)?;
        self.write_edges(&part, &records)
            .and_then(|()| part.cut())
            .and_then(|()| part.sync())
            .map_err(|source| OutputError::Working {
                path: path.clone(),
                source,
            })?;
        if how.recheck {
            self.recheck(&path, &records)?;
        }
        self.publish(&path, &part)
    }

    /// The input is what it was when the work began, as far as this machine sees it.
    fn check_input(&self) -> Result<(), Stage> {
        let path = self.job.get(job::INPUT).unwrap_or_default();
        let Ok(metadata) = fs::metadata(path) else {
            return Ok(());
        };
        let stamp = FileStamp::of(&metadata);
        let begun = job::input_stamp(self.job);
        if Some(&job::stamp_words(&stamp)) == begun.as_ref() {
            return Ok(());
        }
        Err(JournalError::Input {
            path: path.to_owned(),
            found: job::stamp_words(&stamp),
            begun: begun.unwrap_or_default(),
        }
        .into())
    }

    /// The working file is not there any more.
    fn gone(&self) -> Stage {
        OutputError::Working {
            path: part_of(self.output),
            source: MapError::Create {
                source: io::Error::from(io::ErrorKind::NotFound),
            },
        }
        .into()
    }

    fn range(&self, plane: u64) -> Range<u64> {
        let start = self.layout.data_at + plane * self.layout.plane_bytes;
        start..start + self.layout.plane_bytes
    }

    /// One record of each plane: where there are several, the one that the file agrees with.
    fn choose<'s>(&self, stored: &'s Stored) -> Result<Vec<&'s Record>, Stage> {
        let path = part_of(self.output);
        let mut chosen = Vec::with_capacity(stored.planes.len());
        let mut wrong = Vec::new();
        for (plane, records) in (0..).zip(&stored.planes) {
            let found = match records.as_slice() {
                [record] => Some(record),
                records => self.agreeing(&path, plane, records)?,
            };
            match found {
                Some(record) => chosen.push(record),
                None => wrong.push(plane),
            }
        }
        if wrong.is_empty() {
            return Ok(chosen);
        }
        Err(JournalError::Mismatch { planes: wrong }.into())
    }

    fn agreeing<'s>(
        &self,
        path: &Path,
        plane: u64,
        records: &'s [Record],
    ) -> Result<Option<&'s Record>, Stage> {
        for record in records {
            let found = plane_sums(path, &self.range(plane), record).map_err(|e| self.read(e))?;
            if found.agree(&record.sums) {
                return Ok(Some(record));
            }
        }
        Ok(None)
    }

    fn read(&self, source: io::Error) -> Stage {
        let path = part_of(self.output);
        let source = MapError::Open { source };
        OutputError::Working { path, source }.into()
    }

    /// Everything that is not a plane's own block, in whole blocks.
    fn write_edges(&self, part: &Shared, records: &[&Record]) -> Result<(), MapError> {
        let rest = self.rest().map_err(|source| MapError::Open { source })?;
        let stamped = self.stamped(&rest, records)?;
        let mut edges = EdgeWriter {
            part,
            block_bytes: self.layout.block_bytes,
            at: 0,
            bytes: Vec::new(),
        };
        let layout = &self.layout;
        let rest = Rest {
            file: rest,
            stamped: (layout.header.start, stamped),
        };
        rest.copy(0..layout.data_at, 0, &mut edges)?;
        for record in records {
            let range = self.range(record.plane);
            edges.put(range.start, &record.head)?;
            edges.put(range.end - record.tail.len() as u64, &record.tail)?;
        }
        let data_end = layout.data_at + layout.planes * layout.plane_bytes;
        let behind = layout.output_bytes - data_end;
        rest.copy(
            layout.data_at..layout.data_at + behind,
            data_end,
            &mut edges,
        )?;
        edges.flush()
    }

    fn rest(&self) -> io::Result<File> {
        let name = self.job.get(job::REST).unwrap_or("rest");
        File::open(self.folder.file(name))
    }

    /// The header with its checksums, where it has some; else nothing.
    fn stamped(&self, rest: &File, records: &[&Record]) -> Result<Vec<u8>, MapError> {
        let open = |source| MapError::Open { source };
        if !self.layout.datasum {
            return Ok(Vec::new());
        }
        let range = &self.layout.header;
        let mut bytes = vec![0; (range.end - range.start) as usize];
        rest.read_exact_at(&mut bytes, range.start).map_err(open)?;
        let invalid = |error: &dyn std::fmt::Display| open(io::Error::other(error.to_string()));
        let (mut header, _) = Header::parse(&bytes, range.start).map_err(|e| invalid(&e))?;
        let sum: Sum = records.iter().map(|record| record.sums.fits()).sum();
        output::stamp(&mut header, sum).map_err(|e| invalid(&e))?;
        Ok(header.render())
    }

    /// Reads every plane from the disk, or as near to it as the system lets us.
    fn recheck(&self, path: &Path, records: &[&Record]) -> Result<(), Stage> {
        let file = File::open(path).map_err(|error| self.read(error))?;
        let mut wrong = Vec::new();
        for record in records {
            let found = crate::run::begin::sums(&file, &self.range(record.plane));
            if !found.map_err(|error| self.read(error))?.agree(&record.sums) {
                wrong.push(record.plane);
            }
        }
        if wrong.is_empty() {
            return Ok(());
        }
        Err(JournalError::Mismatch { planes: wrong }.into())
    }

    /// The log first, as in a run of one process. The file gets its name by a name of our own, under
    /// which it is looked at once more: another process may have begun anew under the working name.
    fn publish(&self, path: &Path, part: &Shared) -> Result<Finished, Stage> {
        let working = |source| OutputError::Working {
            path: path.to_owned(),
            source,
        };
        let ours = Some(part.id().map_err(working)?);
        let own = self.folder.file(&self.folder.unique_file("done"));
        take(path, &own).map_err(|source| self.refused(path, source))?;
        if id(&own) != ours {
            let _ = fs::remove_file(&own);
            return Err(self.gone());
        }
        let overwrites = self.job.get(job::EXISTING) == Some(job::OVERWRITE);
        if !overwrites && id(self.output).is_some_and(|found| Some(found) != ours) {
            let _ = fs::remove_file(&own);
            // Another's output keeps its own log.
            return Err(OutputError::Exists.into());
        }
        self.publish_log()?;
        let already = self.name(&own, ours, overwrites)?;
        if id(path) == ours {
            let _ = fs::remove_file(path);
        }
        let _ = self.folder.remove();
        sync_folder(self.output).map_err(|source| OutputError::Write { source })?;
        Ok(Finished {
            output: self.output.to_owned(),
            already,
        })
    }

    /// Gives the file at `own` its final name; whether it had it.
    fn name(&self, own: &Path, ours: Option<FileId>, overwrites: bool) -> Result<bool, Stage> {
        if id(self.output) == ours {
            return Ok(true);
        }
        let named = if overwrites {
            fs::rename(own, self.output)
        } else {
            take(own, self.output)
        };
        match named {
            Ok(()) => Ok(false),
            // Another process was faster; on some servers an answer that got lost is one, too.
            Err(_) if id(self.output) == ours || made_by(self.output, self.job) => Ok(true),
            Err(source) => Err(self.refused(own, source)),
        }
    }

    fn refused(&self, part: &Path, source: io::Error) -> Stage {
        match source.kind() {
            io::ErrorKind::AlreadyExists => OutputError::Exists,
            _ => OutputError::Publish {
                part: part.to_owned(),
                source,
            },
        }
        .into()
    }

    fn publish_log(&self) -> Result<(), Stage> {
        let Some(name) = self.job.get(job::BEAMLOG) else {
            return Ok(());
        };
        // Moved there, so that nothing new stands in the folder while another finisher removes it.
        let part = self.folder.file(name);
        let synced = File::open(&part).and_then(|log| log.sync_all());
        match synced.and_then(|()| fs::rename(&part, beamlog_of(self.output))) {
            Ok(()) => Ok(()),
            // Gone, maybe with the folder: whoever finished has moved it.
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(source) => Err(OutputError::Publish { part, source }.into()),
        }
    }
}

fn id(path: &Path) -> Option<FileId> {
    FileId::at(path).ok().flatten()
}

/// Gives a file a second name, which must be free; where there are no links, another name.
fn take(from: &Path, to: &Path) -> io::Result<()> {
    match fs::hard_link(from, to) {
        Err(error) if no_links(&error) => {
            if to.symlink_metadata().is_ok() {
                return Err(io::Error::from(io::ErrorKind::AlreadyExists));
            }
            fs::rename(from, to)
        }
        result => result,
    }
}

/// What is not planes, and the header that takes the place of the one in it.
struct Rest {
    file: File,
    stamped: (u64, Vec<u8>),
}

impl Rest {
    /// Copies bytes of the rest to byte `at` of the output.
    fn copy(&self, range: Range<u64>, at: u64, to: &mut EdgeWriter<'_>) -> Result<(), MapError> {
        const PIECE_BYTES: u64 = 1 << 20;
        let mut bytes = vec![0; PIECE_BYTES as usize];
        for start in range.clone().step_by(PIECE_BYTES as usize) {
            let length = (range.end - start).min(PIECE_BYTES) as usize;
            let piece = &mut bytes[..length];
            let read = self.file.read_exact_at(piece, start);
            read.map_err(|source| MapError::Open { source })?;
            self.overlay(start, piece);
            to.put(at + (start - range.start), piece)?;
        }
        Ok(())
    }

    fn overlay(&self, start: u64, piece: &mut [u8]) {
        let (header_at, header) = &self.stamped;
        for (place, byte) in (start..).zip(piece) {
            let stamped = place.checked_sub(*header_at);
            let stamped = stamped.and_then(|place| header.get(usize::try_from(place).ok()?));
            if let Some(stamped) = stamped {
                *byte = *stamped;
            }
        }
    }
}

/// Gathers neighbouring bytes and writes them together: what is put in order ends where a plane's
/// own blocks begin, so whole blocks are written.
struct EdgeWriter<'a> {
    part: &'a Shared,
    block_bytes: u64,
    at: u64,
    bytes: Vec<u8>,
}

/// Written together at the most, and what is put at once.
const MOST_GATHERED: usize = 8 << 20;

impl EdgeWriter<'_> {
    fn put(&mut self, at: u64, bytes: &[u8]) -> Result<(), MapError> {
        if bytes.is_empty() {
            return Ok(());
        }
        if self.at + self.bytes.len() as u64 != at {
            self.flush()?;
            self.at = at;
        }
        self.bytes.extend(bytes);
        if self.bytes.len() < MOST_GATHERED {
            return Ok(());
        }
        let beyond = (self.at + self.bytes.len() as u64) % self.block_bytes;
        let kept = self.bytes.split_off(self.bytes.len() - beyond as usize);
        self.flush()?;
        self.bytes = kept;
        Ok(())
    }

    fn flush(&mut self) -> Result<(), MapError> {
        self.part.write_at(self.at, &self.bytes)?;
        self.at += self.bytes.len() as u64;
        self.bytes.clear();
        Ok(())
    }
}

/// The sums of a plane: what the file at `path` has of it, and what the record has.
pub(super) fn plane_sums(
    path: &Path,
    range: &Range<u64>,
    record: &Record,
) -> io::Result<PlaneSums> {
    record_sums(&File::open(path)?, range, record)
}
