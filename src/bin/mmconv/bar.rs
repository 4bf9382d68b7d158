//! Watching the work: a progress bar where someone looks, and each output's name as it is done.

use std::io::IsTerminal;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use mmfits::plan::FilePlan;
use mmfits::progress::Observer;
use mmfits::run::{FileReport, Job};

use crate::args::Running;
use crate::out::{Results, tell};
use crate::{smooth, words};

const STYLE: &str = "{prefix} [{bar:30}] {msg}  {bytes}/{total_bytes}  {bytes_per_sec}  {eta} left";

/// Passes on what the run tells. The bar counts bytes of output, so that speed and time left are
/// right over files of different sizes.
#[derive(Debug)]
pub struct Watch<'a> {
    running: &'a Running,
    results: &'a Results,
    bar: ProgressBar,
    planes: u64,
    stored: AtomicU64,
}

impl<'a> Watch<'a> {
    /// A bar over all the files of the job; hidden unless standard error is a terminal.
    pub fn new(job: &Job, running: &'a Running, results: &'a Results) -> Self {
        let files = || job.files().filter(|file| !file.facts.skipped);
        let planes: u64 = files().map(|file| file.facts.planes).sum();
        let bar = if !running.quiet && std::io::stderr().is_terminal() {
            ProgressBar::new(files().map(|file| file.bytes).sum())
        } else {
            ProgressBar::hidden()
        };
        if let Ok(style) = ProgressStyle::with_template(STYLE) {
            bar.set_style(style.progress_chars("=> "));
        }
        bar.set_message(format!("0/{planes} planes"));
        if !bar.is_hidden() {
            bar.enable_steady_tick(Duration::from_millis(200));
        }
        Self {
            running,
            results,
            bar,
            planes,
            stored: AtomicU64::new(0),
        }
    }

    fn count(&self, planes: u64, bytes: u64) {
        let stored = self.stored.fetch_add(planes, Ordering::Relaxed) + planes;
        self.bar.inc(bytes);
        if !self.bar.is_hidden() {
            self.bar
                .set_message(format!("{stored}/{} planes", self.planes));
        }
    }

    /// Takes the bar away; what was printed above it stays.
    pub fn close(&self) {
        self.bar.finish_and_clear();
    }
}

impl Observer for Watch<'_> {
    fn file_started(&self, plan: &FilePlan) {
        let name = plan.facts.input.file_name().unwrap_or_default();
        self.bar.set_prefix(name.to_string_lossy().into_owned());
    }

    fn planes_found(&self, _plan: &FilePlan, planes: u64, bytes: u64) {
        self.count(planes, bytes);
        // They took no time of this run.
        self.bar.reset_eta();
    }

    fn plane_stored(&self, _plan: &FilePlan, _plane: u64, bytes: u64) {
        self.count(1, bytes);
    }

    fn file_finished(&self, plan: &FilePlan, report: &FileReport) {
        let line = smooth::result(plan, Some(report.seconds), self.running);
        self.bar.suspend(|| {
            match &report.unfinished {
                None => self.results.line(&line),
                Some(left) if !self.running.quiet => tell(&words::unfinished(left)),
                Some(_) => {}
            }
            for note in report.notes.iter().filter(|_| !self.running.quiet) {
                tell(&format!("note: {note}"));
            }
            if let Some(log) = report.beamlog.as_ref().filter(|_| self.running.verbose) {
                tell(&format!("beam log: {}", log.display()));
            }
        });
    }
}
