//! Hearing of the work as it goes on: the library prints nothing, it tells an observer.

use crate::plan::FilePlan;
use crate::run::FileReport;

/// Hears of files and planes. Every method may be called from any thread; what it does is paid
/// for by the work it interrupts.
pub trait Observer: Sync {
    /// Work on a file begins.
    fn file_started(&self, plan: &FilePlan) {
        let _ = plan;
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
