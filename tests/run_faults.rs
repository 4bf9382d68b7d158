//! Runs that something goes wrong with under way: an input that changes, a panic, a log that a
//! forced exit left. What is told, what is kept, and whether a later run makes the same bytes.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod cubes;

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use mmfits::map::MapError;
use mmfits::output::{Existing, OutputError};
use mmfits::plan::FilePlan;
use mmfits::progress::Observer;
use mmfits::run::{FileReport, Io, Request, Storage, prepare};
use mmfits::{Blame, Error, Stage};

use cubes::{PLANES, folder, output, request};

/// Does something once, when so many planes are stored.
struct At<F> {
    planes: u64,
    stored: AtomicU64,
    act: F,
}

impl<F: Fn() + Sync> Observer for At<F> {
    fn plane_stored(&self, _: &FilePlan, _: u64, _: u64) {
        if self.stored.fetch_add(1, Ordering::Relaxed) + 1 == self.planes {
            (self.act)();
        }
    }
}

fn run_with(
    request: &Request,
    planes: u64,
    act: impl Fn() + Sync,
) -> Result<Vec<FileReport>, Error> {
    let stored = AtomicU64::new(0);
    prepare(request)?.run(&At {
        planes,
        stored,
        act,
    })
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// An input is changed in this way when two planes are stored.
fn changed(change: impl Fn(&Path) + Sync) -> (tempfile::TempDir, Error) {
    let (folder, inputs) = folder(1);
    let request = request(&inputs, Storage::default());
    let error = run_with(&request, 2, || change(&inputs[0])).unwrap_err();
    assert_eq!(error.path(), Some(&*inputs[0]));
    assert_eq!(error.blame(), Blame::Input);
    (folder, error)
}

fn writable(path: &Path) -> File {
    File::options().write(true).open(path).unwrap()
}

fn text(error: &Error) -> String {
    let source = std::error::Error::source(error).unwrap();
    format!("{error}: {source}")
}

#[test]
fn an_output_of_an_input_that_grew_is_not_published() {
    let (folder, error) = changed(|input| writable(input).set_len(99_999).unwrap());
    assert!(text(&error).contains("it has 99999 bytes, and had "));
    assert!(error.unfinished().is_none());
    assert_eq!(names(folder.path()), ["0.fits"]);
}

#[test]
fn an_output_of_an_input_that_was_written_to_is_not_published() {
    let (folder, error) = changed(|input| {
        let modified = fs::metadata(input).unwrap().modified().unwrap();
        let later = modified + Duration::from_millis(2500);
        writable(input).set_modified(later).unwrap();
    });
    assert!(text(&error).ends_with("was written to, and is newer by 2.5 s"));
    assert_eq!(names(folder.path()), ["0.fits"]);
}

/// Its time of last change is as it was: whoever wrote has put it back.
#[test]
fn an_output_of_an_input_with_another_header_is_not_published() {
    let (folder, error) = changed(|input| {
        let modified = fs::metadata(input).unwrap().modified().unwrap();
        let file = writable(input);
        file.write_all_at(b"7", 80 * 3 + 29).unwrap();
        file.set_modified(modified).unwrap();
    });
    let Stage::Map(MapError::ChangedAt { at_bytes }) = error.stage() else {
        panic!("{error:?}");
    };
    assert_eq!(*at_bytes, 80 * 3 + 29);
    assert_eq!(names(folder.path()), ["0.fits"]);
}

/// Its planes are kept: it may be a disk that went away and comes back.
#[test]
fn an_output_of_an_input_that_is_gone_is_not_published_but_goes_on() {
    let (folder, inputs) = folder(1);
    let request = request(&inputs, Storage::default());
    let aside = inputs[0].with_extension("aside");
    let error = run_with(&request, 2, || fs::rename(&inputs[0], &aside).unwrap()).unwrap_err();
    assert_eq!(error.blame(), Blame::Input);
    assert!(matches!(error.stage(), Stage::Map(MapError::Open { .. })));
    assert_eq!(error.unfinished().unwrap().stored, PLANES as u64);
    assert!(!output(&inputs[0]).exists());
    fs::rename(&aside, &inputs[0]).unwrap();
    // Nothing is left to be made.
    run_with(&request, 1, || panic!("a plane was made again")).unwrap();
    assert_eq!(
        names(folder.path()),
        ["0.fits", "0.sm.fits", "beamlog.0.sm.txt"]
    );
}

/// An HDU that is copied as it is was written from the map, which a cut turns into an error of the
/// output.
#[test]
fn a_cut_before_the_work_is_the_inputs() {
    for io in [Io::Map, Io::Write] {
        let (folder, inputs) = folder(1);
        let mut bytes = fs::read(&inputs[0]).unwrap();
        let length = bytes.len() as u64;
        bytes.extend(extension());
        fs::write(&inputs[0], &bytes).unwrap();
        let storage = Storage {
            io,
            ..Storage::default()
        };
        let job = prepare(&request(&inputs, storage)).unwrap();
        writable(&inputs[0]).set_len(length + 2880).unwrap();
        let error = job.run(&()).unwrap_err();
        assert_eq!(error.path(), Some(&*inputs[0]));
        assert_eq!(error.blame(), Blame::Input, "{error:?}");
        assert_eq!(names(folder.path()), ["0.fits"]);
    }
}

/// Eight blocks behind a header.
fn extension() -> Vec<u8> {
    let cards = [
        "XTENSION= 'IMAGE   '",
        "BITPIX  =                    8",
        "NAXIS   =                    1",
        "NAXIS1  =                23040",
        "PCOUNT  =                    0",
        "GCOUNT  =                    1",
        "END",
    ];
    let mut bytes: Vec<u8> = cards.map(|card| format!("{card:<80}")).concat().into();
    bytes.resize(2880, b' ');
    bytes.resize(9 * 2880, 5);
    bytes
}

#[test]
fn an_extension_is_copied_whole() {
    let (_folder, inputs) = folder(1);
    let mut bytes = fs::read(&inputs[0]).unwrap();
    bytes.extend(extension());
    fs::write(&inputs[0], &bytes).unwrap();
    prepare(&request(&inputs, Storage::default()))
        .unwrap()
        .run(&())
        .unwrap();
    let made = fs::read(output(&inputs[0])).unwrap();
    assert!(made.ends_with(&extension()));
}

/// A panic without the line and the backtrace of one.
fn inject() {
    std::panic::resume_unwind(Box::new("injected"));
}

/// The bytes of an undisturbed run, which is taken away again.
fn undisturbed(request: &Request) -> Vec<u8> {
    prepare(request).unwrap().run(&()).unwrap();
    let made = output(&request.inputs[0]);
    let bytes = fs::read(&made).unwrap();
    fs::remove_file(&made).unwrap();
    fs::remove_file(log(&request.inputs[0])).unwrap();
    bytes
}

fn log(input: &Path) -> PathBuf {
    input.with_file_name("beamlog.0.sm.txt")
}

/// The lane that stores the third plane takes no fourth before a panic in another is known.
struct Slow<F>(At<F>);

impl<F: Fn() + Sync> Observer for Slow<F> {
    fn plane_stored(&self, plan: &FilePlan, plane: u64, bytes: u64) {
        if self.0.stored.load(Ordering::Relaxed) >= 2 {
            std::thread::sleep(Duration::from_millis(400));
        }
        self.0.plane_stored(plan, plane, bytes);
    }
}

/// Two lanes; the second plane to be stored ends one of them.
#[test]
fn a_panic_in_a_lane_names_its_plane_and_loses_no_other() {
    for io in [Io::Map, Io::Write] {
        let (folder, inputs) = folder(1);
        let storage = Storage {
            io,
            ..Storage::default()
        };
        let mut request = request(&inputs, storage);
        request.resources.threads = Some(2);
        let expected = undisturbed(&request);
        let observer = At {
            planes: 2,
            stored: AtomicU64::new(0),
            act: inject,
        };
        let error = prepare(&request).unwrap().run(&Slow(observer)).unwrap_err();
        assert_eq!(error.blame(), Blame::Bug);
        assert!(error.plane().is_some_and(|plane| plane < PLANES as u64));
        assert!(text(&error).contains("panicked: injected"), "{error:?}");
        // The lanes beside it have finished what they had in hand.
        let stored = error.unfinished().unwrap().stored;
        assert!((2..=3).contains(&stored), "{stored}");
        assert_eq!(
            names(folder.path()),
            ["0.fits", "0.sm.fits.mmconv", "0.sm.fits.part"]
        );
        let count = At {
            planes: 0,
            stored: AtomicU64::new(0),
            act: || (),
        };
        prepare(&request).unwrap().run(&count).unwrap();
        assert_eq!(count.stored.into_inner(), PLANES as u64 - stored);
        assert!(fs::read(output(&inputs[0])).unwrap() == expected);
    }
}

#[test]
fn a_panic_leaves_nothing_where_that_was_asked_for() {
    let (folder, inputs) = folder(1);
    let mut request = request(&inputs, Storage::default());
    request.recovery.discard = true;
    let error = run_with(&request, 2, inject).unwrap_err();
    assert!(error.unfinished().is_none());
    assert_eq!(names(folder.path()), ["0.fits"]);
}

/// A run that ended between the publishing of its log and that of its output.
#[test]
fn a_log_beside_unfinished_work_is_no_output() {
    let changes: [fn(&mut Request); 3] = [
        |_| (),
        |request| request.recovery.resume = true,
        |request| request.recovery.restart = true,
    ];
    for change in changes {
        let (_folder, inputs) = folder(1);
        let mut request = request(&inputs, Storage::default());
        let expected = undisturbed(&request);
        run_with(&request, PLANES as u64, inject).unwrap_err();
        fs::write(log(&inputs[0]), "left").unwrap();
        change(&mut request);
        prepare(&request).unwrap().run(&()).unwrap();
        assert!(fs::read(output(&inputs[0])).unwrap() == expected);
        assert!(
            fs::read_to_string(log(&inputs[0]))
                .unwrap()
                .starts_with("# Channel")
        );
    }
}

#[test]
fn a_log_without_unfinished_work_of_the_same_kind_is_refused() {
    let (_folder, inputs) = folder(1);
    let mut request = request(&inputs, Storage::default());
    fs::write(log(&inputs[0]), "somebody's").unwrap();
    let refused = prepare(&request).unwrap_err();
    assert!(matches!(
        refused.stage(),
        Stage::Output(OutputError::Exists)
    ));
    fs::remove_file(log(&inputs[0])).unwrap();
    run_with(&request, 2, inject).unwrap_err();
    fs::write(log(&inputs[0]), "somebody's").unwrap();
    request.spec.edge = mmfits::plan::Edge::Wrap;
    let refused = prepare(&request).unwrap_err();
    assert_eq!(refused.blame(), Blame::Request);
    assert!(text(&refused).contains("edge"), "{refused:?}");
    request.naming.existing = Existing::Overwrite;
    assert!(prepare(&request).is_err(), "the work is of another kind");
    let kept = fs::read_to_string(log(&inputs[0])).unwrap();
    assert_eq!(kept, "somebody's");
}
