//! The front door: a request becomes a checked and planned job, and the job does its work.

mod begin;
mod behind;
mod choice;
mod earlier;
mod finish;
mod gather;
mod history;
mod job;
mod lanes;
mod machine;
mod parts;
mod prepare;
mod recovery;
mod rows;
mod scratch;
mod share;
mod stop;
mod store;
mod tuning;

use std::path::PathBuf;
use std::time::Instant;

pub use crate::output::{Existing, Naming};
pub use choice::{BackendKind, Choice};
pub use gather::{Finish, Finished, Status, clean, finish, status};
pub use prepare::prepare;
pub use recovery::Recovery;
pub use share::Sharing;
pub use stop::Stop;
pub use store::{Io, Storage, When};
pub use tuning::Resources;

use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::error::{Error, ThreadError};
use crate::plan::{FilePlan, Note, Spec};
pub use crate::progress::FileReport;
use crate::progress::Observer;
use choice::Chosen;
use prepare::Prepared;

/// Everything a user asks for in one go.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// The files to smooth; they share their common beam.
    pub inputs: Vec<PathBuf>,
    /// What decides the pixels.
    pub spec: Spec,
    /// What the outputs are called.
    pub naming: Naming,
    /// How much of the machine may be used.
    pub resources: Resources,
    /// Which backend computes.
    pub choice: Choice,
    /// How the outputs are stored.
    pub storage: Storage,
    /// What becomes of unfinished work.
    pub recovery: Recovery,
    /// Which planes are made here, where several processes make an output.
    pub sharing: Option<Sharing>,
    /// How this was asked for, for HISTORY; a command line, say.
    pub provenance: Option<String>,
    /// Ends the job before its time.
    pub stop: Stop,
}

/// A request that has been checked whole and planned; nothing has been made yet.
#[derive(Debug)]
pub struct Job {
    prepared: Vec<Prepared>,
    chosen: Chosen,
    threads: usize,
}

impl Job {
    /// What will be done with each file, in the order of the request.
    pub fn files(&self) -> impl ExactSizeIterator<Item = &FilePlan> {
        self.prepared.iter().map(|prepared| &prepared.plan)
    }

    /// Which backend computes: `cpu` or `cuda`.
    #[must_use]
    pub fn backend(&self) -> &str {
        self.chosen.backend.name()
    }

    /// The backend and what it runs on, for a person.
    #[must_use]
    pub fn backend_text(&self) -> String {
        self.chosen.backend.describe()
    }

    /// Why that backend was taken, where the choice was not the caller's.
    #[must_use]
    pub fn because(&self) -> Option<&str> {
        self.chosen.because.as_deref()
    }

    /// Threads that compute; [`run`](Self::run) starts more where lanes wait for a device.
    #[must_use]
    pub fn threads(&self) -> usize {
        self.threads
    }

    /// Does the work, one file after another, each published when it is complete.
    ///
    /// # Errors
    /// The first file that fails ends the job: files before it are published, of it and those
    /// after it nothing is left. Where the threads cannot be started nothing is made. A job that
    /// was asked to [`Stop`] begins no other file, which is [`Stage::Interrupted`] if one was left.
    ///
    /// [`Stage::Interrupted`]: crate::Stage::Interrupted
    pub fn run(&self, observer: &dyn Observer) -> Result<Vec<FileReport>, Error> {
        let pool = self.pool()?;
        self.prepared
            .iter()
            .map(|prepared| self.run_file(prepared, &pool, observer))
            .collect()
    }

    /// Begins the outputs that several processes are to make, and makes no plane: each then only
    /// joins in. Without this the first of them does it.
    ///
    /// # Errors
    /// They cannot be begun, or were begun in another way.
    pub fn offer(&self) -> Result<(), Error> {
        let shared = self
            .prepared
            .iter()
            .filter(|prepared| prepared.sharing.is_some());
        for prepared in shared.filter(|prepared| !prepared.plan.facts.skipped) {
            share::join(prepared)
                .map_err(|stage| Error::new(&prepared.plan.facts.output, stage))?;
        }
        Ok(())
    }

    fn pool(&self) -> Result<ThreadPool, Error> {
        let lanes = self.files().map(|plan| plan.lanes).max().unwrap_or(0);
        let threads = self.threads.max(lanes);
        let pool = ThreadPoolBuilder::new()
            .num_threads(threads)
            .thread_name(|index| format!("mmfits-{index}"))
            .build();
        pool.map_err(|error| {
            let text = error.to_string();
            Error::general(ThreadError { threads, text }.into())
        })
    }

    fn run_file(
        &self,
        prepared: &Prepared,
        pool: &ThreadPool,
        observer: &dyn Observer,
    ) -> Result<FileReport, Error> {
        let started = Instant::now();
        let plan = &prepared.plan;
        prepared.may_begin()?;
        observer.file_started(plan);
        let output = plan.facts.output.clone();
        let mut report = FileReport {
            output,
            beamlog: None,
            skipped: true,
            unfinished: None,
            notes: Vec::new(),
            seconds: 0.0,
        };
        if !plan.facts.skipped {
            report.skipped = false;
            let engine = (&*self.chosen.backend, pool);
            match &prepared.sharing {
                Some(sharing) => {
                    report.unfinished = share::make(engine, (prepared, sharing), observer)?;
                }
                None => report.beamlog = finish::make(engine, prepared, observer)?,
            }
        }
        let remarks = self.chosen.backend.remarks();
        report.notes = remarks.into_iter().map(Note::Backend).collect();
        report.seconds = started.elapsed().as_secs_f64();
        observer.file_finished(plan, &report);
        Ok(report)
    }
}
