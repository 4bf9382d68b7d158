//! `mmconv demo`.

use std::fs;
use std::time::{Duration, Instant};

use crate::harness::Folder;

#[test]
fn the_demo_smooths_its_own_cube_again_and_again() {
    let folder = Folder::new();
    for _ in 0..2 {
        let started = Instant::now();
        let ran = folder.run(&["demo"]).done();
        assert!(
            started.elapsed() < Duration::from_secs(20),
            "far above the 2 s of a release build"
        );
        assert!(ran.stdout.contains("mmconv-demo/demo.sm.fits") && ran.stderr.is_empty());
        assert!(folder.join("mmconv-demo/demo.sm.fits").exists());
    }
    assert_eq!(folder.names(), ["mmconv-demo"]);
}

#[test]
fn the_commands_it_names_work() {
    let folder = Folder::new();
    let story = folder.run(&["demo", "d"]).done().stdout;
    let program = env!("CARGO_BIN_EXE_mmconv");
    let commands: Vec<&str> = story
        .lines()
        .filter_map(|line| line.trim_start().strip_prefix(program))
        .collect();
    assert!(commands.len() >= 4, "{story}");
    for command in commands {
        folder
            .run(&command.split_whitespace().collect::<Vec<_>>())
            .done();
    }
    folder.run(&["demo", "d"]).done();
}

#[test]
fn the_demo_leaves_a_folder_alone_that_is_not_its_own() {
    let folder = Folder::new();
    fs::create_dir(folder.join("mmconv-demo")).unwrap();
    fs::write(folder.join("mmconv-demo/demo.fits"), "precious").unwrap();
    folder.run(&["demo"]).refused(2, &["mmconv-demo"]);
    assert_eq!(
        fs::read(folder.join("mmconv-demo/demo.fits")).unwrap(),
        b"precious"
    );
}
