//! Faults that are really made, each in a process of its own: this test program, run once more.

use std::fs::OpenOptions;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::thread;

use super::*;
use crate::map::{Io, Source, Target};

const CASE: &str = "MMFITS_GUARD_CASE";
const FILE: &str = "MMFITS_GUARD_FILE";

/// Five pages, of which two are kept.
const LENGTH: u64 = 5 * 65_536;
const KEPT: u64 = 2 * 65_536;

/// What a child does. It fails by not ending.
#[test]
#[ignore = "the children of the other tests run it"]
fn child() {
    let path = PathBuf::from(std::env::var_os(FILE).unwrap());
    match std::env::var(CASE).unwrap().as_str() {
        "input" => {
            install();
            look_into(&cut_source(&path));
        }
        "threads" => {
            install();
            let source = cut_source(&path);
            thread::scope(|scope| {
                for _ in 0..8 {
                    let small = thread::Builder::new().stack_size(16 << 10);
                    small.spawn_scoped(scope, || look_into(&source)).unwrap();
                }
            });
        }
        "output" => {
            install();
            let mut target = Target::create(&path, LENGTH, Io::Map).unwrap();
            let all = 0..LENGTH;
            target.set_pieces(&all, 1000);
            cut(&path);
            let (slots, _) = target.slots([all]).unwrap();
            let (_, memory) = slots.into_iter().next().unwrap().into_parts();
            memory.unwrap()[KEPT as usize] = 1;
        }
        "nothing installed" => look_into(&cut_source(&path)),
        "elsewhere" => {
            install();
            // One of ours lives too.
            let _source = Source::open(&path).unwrap();
            let file = OpenOptions::new().read(true).open(&path).unwrap();
            // SAFETY: a file of this test alone; that it is cut short is what is tested.
            let map = unsafe { memmap2::Mmap::map(&file) }.unwrap();
            cut(&path);
            std::hint::black_box(map[KEPT as usize]);
        }
        "sent" => {
            install();
            // SAFETY: a signal to ourselves touches no memory.
            assert_eq!(unsafe { libc::raise(libc::SIGBUS) }, 0);
        }
        "closed" => {
            install();
            drop(cut_source(&path));
            // SAFETY: as above.
            assert_eq!(unsafe { libc::raise(libc::SIGBUS) }, 0);
        }
        other => panic!("no case {other}"),
    }
    panic!("it went on");
}

fn install() {
    let farewell = Farewell {
        program: "prog",
        input_status: 33,
        output_status: 44,
    };
    install_guard(farewell).unwrap();
    // The first counts.
    let other = Farewell {
        input_status: 55,
        ..farewell
    };
    install_guard(other).unwrap();
}

fn cut(path: &Path) {
    let file = OpenOptions::new().write(true).open(path).unwrap();
    file.set_len(KEPT).unwrap();
}

fn cut_source(path: &Path) -> Source {
    let source = Source::open(path).unwrap();
    source.set_pieces(&(2880..LENGTH), 10_000);
    cut(path);
    source
}

fn look_into(source: &Source) {
    std::hint::black_box(source.bytes()[KEPT as usize + 5]);
}

/// How a child ended, and what it said of what it lost.
fn ended(case: &str) -> (Output, String) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a\nb.fits");
    std::fs::write(&path, vec![7; LENGTH as usize]).unwrap();
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "map::guard::tests::child", "--ignored"])
        .args(["--nocapture", "--test-threads=1"])
        .env(CASE, case)
        .env(FILE, &path)
        .output()
        .unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    let folder = folder.path().display().to_string();
    (output, stderr.replace(&folder, "DIR"))
}

#[test]
fn a_byte_that_an_input_lost_is_told_with_its_piece() {
    for case in ["input", "threads"] {
        let (output, stderr) = ended(case);
        assert_eq!(output.status.code(), Some(33), "{case}: {stderr}");
        let expected = "prog: DIR/a b.fits: byte 131077 (plane 12): the file was cut short or its \
                        disk failed while it was read\n";
        assert_eq!(stderr, expected, "{case}");
    }
}

#[test]
fn a_byte_that_an_output_lost_is_told_with_its_piece() {
    let (output, stderr) = ended("output");
    assert_eq!(output.status.code(), Some(44), "{stderr}");
    let expected = "prog: DIR/a b.fits: byte 131072 (plane 131): its disk is full or failed while \
                    it was written\n";
    assert_eq!(stderr, expected);
}

#[test]
fn what_is_not_ours_is_not_swallowed() {
    for case in ["nothing installed", "elsewhere", "sent", "closed"] {
        let (output, stderr) = ended(case);
        assert_eq!(
            output.status.signal(),
            Some(libc::SIGBUS),
            "{case}: {stderr}"
        );
        assert!(!stderr.contains("prog"), "{case}: {stderr}");
    }
}

#[test]
fn what_is_ignored_is_known() {
    // std ignores SIGPIPE in every program.
    assert!(is_ignored(libc::SIGPIPE));
    assert!(!is_ignored(libc::SIGWINCH));
    assert!(!is_ignored(-1));
}
