//! What an earlier run left of an output, looked at before any work.

use std::path::Path;

use fits_layout::{Hdu, Layout};

use crate::convolve::OR_ANOTHER;
use crate::error::{Error, Stage};
use crate::journal::{Folder, Job, JournalError, boot};
use crate::map::Source;
use crate::output::name::part_of;
use crate::plan::{FilePlan, Targets};
use crate::run::choice::Begun;
use crate::run::{Request, history, job};

/// Unfinished work that is there.
#[derive(Debug)]
pub(super) struct Earlier {
    pub job: Job,
    /// Its planes that are stored.
    pub stored: u64,
}

/// The unfinished work of each output, if there is any worth going on with.
pub(super) fn find<'o>(
    request: &Request,
    outputs: impl Iterator<Item = &'o Path>,
) -> Result<Vec<Option<Earlier>>, Error> {
    let find = |output: &'o Path| {
        let shared = shared_work(output, request);
        shared.map_err(|error| Error::new(output, error.into()))?;
        if request.recovery.restart {
            return Ok(None);
        }
        if request.sharing.is_some() {
            return shared_at(output);
        }
        at(output).map_err(|error| Error::new(output, Stage::from(error)))
    };
    outputs.map(find).collect()
}

/// Refuses to take away what several processes share, however little of it is stored.
fn shared_work(output: &Path, request: &Request) -> Result<(), JournalError> {
    let folder = Folder::of(output);
    let is_shared = |job: &Job| job::Layout::of(job).is_some();
    match folder.job() {
        Ok(Some(job)) if is_shared(&job) && request.sharing.is_none() => {
            let folder = folder.path().to_owned();
            Err(JournalError::Shared { folder })
        }
        // Whatever is wrong with the work is told where it is gone on with.
        _ => Ok(()),
    }
}

/// Whether there is unfinished work of any kind, as far as can be told.
pub(super) fn is_there(output: &Path) -> bool {
    part_of(output).symlink_metadata().is_ok() && matches!(Folder::of(output).job(), Ok(Some(_)))
}

/// The targets that all of this unfinished work was begun with, if what was asked for is what is
/// asked for now: they are solved once.
pub(super) fn targets(earlier: &[Option<Earlier>], asked: &str) -> Option<Targets> {
    let mut all = earlier.iter().map(|earlier| {
        let job = &earlier.as_ref()?.job;
        let same = job.get(job::ASKED) == Some(asked);
        same.then(|| job::targets(job)).flatten()
    });
    let first = all.next()??;
    all.all(|other| other.as_ref() == Some(&first))
        .then_some(first)
}

/// A job that several processes share counts from its first moment.
fn shared_at(output: &Path) -> Result<Option<Earlier>, Error> {
    let job = Folder::of(output).job();
    let job = job.map_err(|error| Error::new(output, error.into()))?;
    Ok(job.map(|job| Earlier { job, stored: 0 }))
}

/// Without its working file, or without any plane in it, there is nothing to go on with.
fn at(output: &Path) -> Result<Option<Earlier>, JournalError> {
    if part_of(output).symlink_metadata().is_err() {
        return Ok(None);
    }
    let folder = Folder::of(output);
    let Some(job) = folder.job()? else {
        return Ok(None);
    };
    let planes = job.number(job::PLANES).unwrap_or(0);
    let stored = folder.stored(planes, boot().as_deref(), "")?;
    let stored = planes.saturating_sub(stored.missing().len() as u64);
    Ok((stored > 0).then_some(Earlier { job, stored }))
}

/// What there is already of the outputs: unfinished work, and where complete outputs may be left as
/// they are, the first of these that is one of ours.
pub(super) fn begun(
    request: &Request,
    plans: &[FilePlan],
    earlier: &[Option<Earlier>],
) -> Option<Begun> {
    let jobs = earlier.iter().flatten().map(|earlier| &earlier.job);
    let unfinished = jobs.filter_map(job::begun).next();
    let looks = request.recovery.resume || request.sharing.is_some();
    unfinished.or_else(|| {
        let mut outputs = plans.iter().map(|plan| &plan.facts.output);
        outputs.find_map(|output| looks.then(|| made_on(output))?)
    })
}

/// Which backend made the output at this path, if it is one of ours.
fn made_on(output: &Path) -> Option<Begun> {
    if !is_ours(output) {
        return None;
    }
    // Cards of one header, in their order.
    let mut device = String::new();
    has_history(output, |text| {
        device = history::device(std::mem::take(&mut device), text);
        false
    });
    Some(match device.as_str() {
        "" => Begun::OnCpu,
        device => Begun::OnDevice {
            cpu_behind: device.contains(OR_ANOTHER),
        },
    })
}

/// Whether the output at this path was made by this job: its image's HISTORY says so.
pub(super) fn made_by(output: &Path, job: &Job) -> bool {
    let line = history::job_line(job);
    has_history(output, |text| text.trim_end() == line)
}

fn has_history(output: &Path, mut is_it: impl FnMut(&str) -> bool) -> bool {
    let Ok(source) = Source::open(output) else {
        return false;
    };
    let Ok(layout) = Layout::parse(source.bytes()) else {
        return false;
    };
    let mut headers = layout.hdus.iter().map(Hdu::header);
    headers.any(|header| header.commentary("HISTORY").any(|text| is_it(&text)))
}

/// Whether the output at this path was made by this program.
pub(super) fn is_ours(output: &Path) -> bool {
    has_history(output, |text| text.starts_with(history::JOB))
}

impl Earlier {
    /// Refuses to go on with another job than is asked for.
    pub fn check(&self, output: &Path, asked: &Job) -> Result<(), JournalError> {
        Folder::of(output).check(&self.job, asked, self.stored)
    }
}
