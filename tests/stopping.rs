//! Jobs that are asked to stop: which planes are finished, which files are published, and what is
//! told.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod cubes;

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use mmfits::output::Existing;
use mmfits::plan::FilePlan;
use mmfits::progress::Observer;
use mmfits::run::{FileReport, Io, Request, Stop, Storage, When, prepare};
use mmfits::{Blame, Error, Interrupted, Stage};

use cubes::{PLANES, folder, output, request};

/// Asks for a stop when so many planes are stored.
struct StopAt {
    planes: u64,
    stored: AtomicU64,
    stop: Stop,
    now: bool,
}

impl Observer for StopAt {
    fn plane_stored(&self, _: &FilePlan, _: u64, _: u64) {
        if self.stored.fetch_add(1, Ordering::Relaxed) + 1 == self.planes {
            if self.now {
                self.stop.now();
            } else {
                self.stop.after_planes();
            }
        }
    }
}

/// What became of a job that is asked to stop when so many planes are stored.
fn stopped_at(planes: u64, now: bool, request: &Request) -> (Result<Vec<FileReport>, Error>, u64) {
    let job = prepare(request).unwrap();
    let observer = StopAt {
        planes,
        stored: AtomicU64::new(0),
        stop: request.stop.clone(),
        now,
    };
    let result = job.run(&observer);
    (result, observer.stored.into_inner())
}

fn interrupted(result: Result<Vec<FileReport>, Error>, input: &Path) -> u64 {
    let error = result.unwrap_err();
    assert_eq!(error.path(), Some(input));
    assert_eq!(error.blame(), Blame::Interrupted);
    let Stage::Interrupted(Interrupted { stored, planes }) = *error.stage() else {
        panic!("{error:?}");
    };
    assert_eq!(planes, PLANES as u64);
    stored
}

#[test]
fn no_more_planes_are_begun_and_no_other_file() {
    for now in [false, true] {
        let (_folder, inputs) = folder(2);
        let request = request(&inputs, Storage::default());
        let (result, stored) = stopped_at(2, now, &request);
        assert_eq!(stored, 2);
        assert_eq!(interrupted(result, &inputs[0]), 2);
        assert!(!output(&inputs[0]).exists() && !output(&inputs[1]).exists());
    }
}

#[test]
fn a_file_whose_planes_are_all_stored_is_published() {
    for (io, write_behind) in [(Io::Map, When::Never), (Io::Write, When::Always)] {
        let (_folder, inputs) = folder(2);
        let request = request(&inputs, Storage { io, write_behind });
        let (result, _) = stopped_at(PLANES as u64, true, &request);
        assert_eq!(interrupted(result, &inputs[1]), 0);
        assert!(output(&inputs[0]).exists() && !output(&inputs[1]).exists());
    }
}

#[test]
fn a_stop_after_the_last_plane_of_the_last_file_is_none() {
    let (_folder, inputs) = folder(2);
    let request = request(&inputs, Storage::default());
    let (result, _) = stopped_at(2 * PLANES as u64, false, &request);
    assert_eq!(result.unwrap().len(), 2);
    assert!(output(&inputs[0]).exists() && output(&inputs[1]).exists());
}

/// There is nothing to be done for them.
#[test]
fn files_that_are_skipped_are_not_interrupted() {
    let (_folder, inputs) = folder(2);
    std::fs::write(output(&inputs[1]), "there already").unwrap();
    let mut request = request(&inputs, Storage::default());
    request.naming.existing = Existing::Skip;
    let (result, _) = stopped_at(PLANES as u64, false, &request);
    assert!(result.unwrap()[1].skipped);
}

#[test]
fn a_stop_before_the_work_leaves_nothing() {
    let (folder, inputs) = folder(1);
    let request = request(&inputs, Storage::default());
    request.stop.after_planes();
    let (result, stored) = stopped_at(1, false, &request);
    assert_eq!((interrupted(result, &inputs[0]), stored), (0, 0));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}
