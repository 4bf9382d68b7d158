//! Help, version, completions, manual, and what no command can make sense of.

use std::fs::File;
use std::process::Stdio;

use crate::harness::Folder;

#[test]
fn help_and_version_are_results() {
    let folder = Folder::new();
    for words in [
        &["--help"][..],
        &["-h"],
        &["--version"],
        &["help", "smooth"],
        &["smooth", "--help"],
        &["beams", "-h"],
        &["info", "-h"],
        &["demo", "-h"],
    ] {
        let ran = folder.run(words).done();
        assert!(!ran.stdout.is_empty() && ran.stderr.is_empty(), "{words:?}");
    }
    assert!(folder.run(&["--version"]).stdout.starts_with("mmconv "));
    let help = folder.run(&["smooth", "--help"]).stdout;
    for heading in [
        "Target:",
        "Pixels:",
        "Input:",
        "Output:",
        "Running:",
        "Examples:",
    ] {
        assert!(help.contains(heading), "{heading}");
    }
}

#[test]
fn what_cannot_be_understood_is_status_2() {
    let folder = Folder::new();
    folder.image("a.fits", [16.0, 9.0, 40.0]);
    for words in [
        &[][..],
        &["blur"],
        &["beams"],
        &["info"],
        &["smooth"],
        &["smooth", "--files-from", "absent.txt"],
        &["smooth", "--bmaj", "30", "a.fits"],
        &["smooth", "--bmaj", "30", "--bmin", "28", "a.fits"],
        &[
            "smooth", "--bmaj", "inf", "--bmin", "28", "--bpa", "0", "a.fits",
        ],
        &[
            "smooth", "--bmaj", "28", "--bmin", "30", "--bpa", "0", "a.fits",
        ],
        &[
            "smooth", "--bmaj", "30", "--bmin", "0", "--bpa", "0", "a.fits",
        ],
        &["smooth", "--mode", "best", "a.fits"],
        &["smooth", "--overwrite", "--skip-existing", "a.fits"],
        &["smooth", "--memory", "a lot", "a.fits"],
        &["smooth", "--hdu", "", "a.fits"],
        &["completions", "cmd.exe"],
        &["man", "blur"],
    ] {
        let ran = folder.run(words);
        ran.refused(2, &[]);
        assert!(!ran.stderr.is_empty(), "{words:?}");
    }
    assert_eq!(folder.names(), ["a.fits"]);
}

#[test]
fn completions_for_every_shell_know_the_flags() {
    let folder = Folder::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let ran = folder.run(&["completions", shell]).done();
        assert!(ran.stdout.contains("target-from"), "{shell}");
    }
}

#[test]
fn the_manual_has_a_page_for_each_command() {
    let folder = Folder::new();
    let page = folder.run(&["man"]).done().stdout;
    assert!(
        page.contains(".TH MMCONV 1") && page.contains("Exit status"),
        "{page}"
    );
    for command in ["smooth", "beams", "info", "demo", "completions", "man"] {
        let page = folder.run(&["man", command]).done().stdout;
        assert!(page.contains(&format!("mmconv\\-{command}")), "{command}");
    }
}

#[test]
fn nobody_reading_is_no_failure() {
    let folder = Folder::new();
    let beams: Vec<_> = (0..4000)
        .map(|k| Some([16.0 + f64::from(k) / 1e3, 9.0, 40.0]))
        .collect();
    folder.cube("c.fits", &beams);
    folder.image("a.fits", [16.0, 9.0, 40.0]);
    let target = ["--bmaj", "30", "--bmin", "28", "--bpa", "20"];
    let smooth: Vec<&str> = ["smooth", "-q"]
        .into_iter()
        .chain(target)
        .chain(["a.fits"])
        .collect();
    for words in [
        &["beams", "c.fits"][..],
        &["info", "a.fits"],
        &["man"],
        &["--help"],
        &smooth,
    ] {
        let mut command = folder.command(words);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{words:?}");
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{words:?}");
    }
    assert!(
        folder.join("a.sm.fits").exists(),
        "the work is done all the same"
    );
}

#[test]
#[cfg(target_os = "linux")]
fn results_that_cannot_be_written_are_the_machines_fault() {
    let folder = Folder::new();
    folder.image("a.fits", [16.0, 9.0, 40.0]);
    let mut command = folder.command(&["beams", "a.fits"]);
    command.stdout(File::options().write(true).open("/dev/full").unwrap());
    let output = command
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
        .wait_with_output()
        .unwrap();
    assert_eq!(output.status.code(), Some(4));
    assert!(String::from_utf8_lossy(&output.stderr).contains("results"));
}
