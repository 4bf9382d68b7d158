//! Hearing of the work as it goes on: the library prints nothing, it tells an observer.

use std::path::PathBuf;

use crate::error::Unfinished;
use crate::plan::{FilePlan, Note};

/// What came of one file.
#[derive(Clone, Debug, PartialEq)]
pub struct FileReport {
    /// Its output.
    pub output: PathBuf,
    /// The log of its target beams, where one was written.
    pub beamlog: Option<PathBuf>,
    /// It was there already and has been left as it was.
    pub skipped: bool,
    /// What there is of it, where other processes have planes still to make, or to finish it.
    pub unfinished: Option<Unfinished>,
    /// What is to be said of how it was made.
    pub notes: Vec<Note>,
    /// How long it took, seconds.
    pub seconds: f64,
}

/// Hears of files and planes. Every method may be called from any thread; what it does is paid
/// for by the work it interrupts.
pub trait Observer: Sync {
    /// Work on a file begins.
    fn file_started(&self, plan: &FilePlan) {
        let _ = plan;
    }

    /// Planes of this file, with this many bytes together, were stored by an earlier run.
    fn planes_found(&self, plan: &FilePlan, planes: u64, bytes: u64) {
        let _ = (plan, planes, bytes);
    }

    /// A plane is stored: its number in file order and its length in bytes.
    fn plane_stored(&self, plan: &FilePlan, plane: u64, bytes: u64) {
        let _ = (plan, plane, bytes);
    }

    /// A file has its final name.
    fn file_finished(&self, plan: &FilePlan, report: &FileReport) {
        let _ = (plan, report);
    }
}

/// An observer that does not listen.
impl Observer for () {}
