//! The house rules that no compiler checks: who may use whom (the table of rooms in DECISIONS.md),
//! where `unsafe` may stand, how long a file may be, and that no path of one machine is written
//! down. Sources are read as text; `source` takes comments and strings away first.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod source;
mod table;

use source::{Source, sources, texts};
use table::{Room, room};

/// Nothing may be longer than this many lines.
const LONGEST_FILE: usize = 600;

#[test]
fn rooms_use_only_what_the_table_allows() {
    let mut wrong = Vec::new();
    for file in sources("src") {
        let Some(Room { may_use, .. }) = room(file.room()) else {
            wrong.push(format!(
                "{}: no room called {:?} in the table",
                file.path,
                file.room()
            ));
            continue;
        };
        for (line, used) in file.rooms_used() {
            let same = used == file.room();
            if !same && room(&used).is_some() && !may_use.contains(&used.as_str()) {
                wrong.push(format!("{}:{line}: {} uses {used}", file.path, file.room()));
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "arrows the wrong way:\n{}",
        wrong.join("\n")
    );
}

#[test]
fn crates_are_used_only_in_their_rooms() {
    let mut wrong = Vec::new();
    for file in sources("src") {
        for (line, used) in file.crates_used() {
            if table::homes(&used).is_some_and(|homes| !homes.contains(&file.room())) {
                wrong.push(format!("{}:{line}: {} uses {used}", file.path, file.room()));
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "crates out of their rooms:\n{}",
        wrong.join("\n")
    );
}

#[test]
fn pure_rooms_open_nothing() {
    let mut wrong = Vec::new();
    for file in sources("src") {
        let is_open = room(file.room()).is_some_and(|room| room.opens_files);
        if is_open || table::LOOKS_AROUND.contains(&file.path.as_str()) {
            continue;
        }
        for word in [
            "std::fs",
            "fs::File",
            "File::open",
            "OpenOptions",
            "std::env",
            "std::process",
        ] {
            wrong.extend(
                file.find(word)
                    .map(|line| format!("{}:{line}: {word}", file.path)),
            );
        }
    }
    assert!(
        wrong.is_empty(),
        "files or machine in a pure room:\n{}",
        wrong.join("\n")
    );
}

#[test]
fn the_command_is_built_on_the_public_library() {
    for file in sources("src/bin") {
        for word in ["#[path", "include!", "pub(in"] {
            assert_eq!(file.find(word).next(), None, "{}: {word}", file.path);
        }
    }
}

#[test]
fn unsafe_stands_only_where_it_may() {
    let may = |path: &str| {
        let folders = ["src/map/", "src/convolve/cuda/"];
        // The test that counts allocations has an allocator of its own.
        ["src/convolve/cpu/simd.rs", "tests/allocations.rs"].contains(&path)
            || folders.iter().any(|folder| path.starts_with(folder))
    };
    let all = ["src", "tests", "benches", "examples", "fits-layout"]
        .into_iter()
        .flat_map(sources);
    let wrong: Vec<String> = all
        .filter(|file| !may(&file.path))
        .flat_map(|file| {
            file.words("unsafe")
                .map(|line| format!("{}:{line}", file.path))
                .collect::<Vec<_>>()
        })
        .collect();
    assert!(
        wrong.is_empty(),
        "unsafe out of its rooms:\n{}",
        wrong.join("\n")
    );
    let lib = Source::read("fits-layout/src/lib.rs");
    assert!(
        lib.find("#![forbid(unsafe_code)]").next().is_some(),
        "fits-layout forbids unsafe"
    );
}

#[test]
fn files_are_short_and_say_what_lives_in_them() {
    let mut wrong = Vec::new();
    for (path, text) in texts() {
        let lines = text.lines().count();
        let code = path.ends_with(".rs") || path.ends_with(".py") || path.ends_with(".sh");
        if code && lines > LONGEST_FILE {
            wrong.push(format!("{path}: {lines} lines, at most {LONGEST_FILE}"));
        }
        if path.ends_with(".rs") && !text.starts_with("//!") && !path.contains("fuzz/") {
            wrong.push(format!("{path}: does not begin with //!"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn no_path_of_one_machine_is_written_down() {
    // In two parts, or this file would be the first to be found.
    let roots = [
        ["/wo", "rk/"],
        ["/ro", "ot/"],
        ["/ho", "me/"],
        ["/tm", "p/w/"],
        ["/tm", "p/t/"],
    ];
    let mut wrong = Vec::new();
    for (path, text) in texts() {
        for root in roots.map(|parts| parts.concat()) {
            let found = text
                .lines()
                .enumerate()
                .filter(|(_, line)| names_path(line, &root));
            wrong.extend(found.map(|(k, line)| format!("{path}:{}: {}", k + 1, line.trim())));
        }
    }
    assert!(
        wrong.is_empty(),
        "paths of one machine:\n{}",
        wrong.join("\n")
    );
}

/// Whether `line` holds the absolute path `root`, and not the tail of another (`target/work/`).
fn names_path(line: &str, root: &str) -> bool {
    line.match_indices(root).any(|(at, _)| {
        let before = line.get(..at).and_then(|before| before.chars().next_back());
        !before.is_some_and(|c| c.is_alphanumeric() || "._-})".contains(c))
    })
}

#[test]
fn the_table_has_no_cycles_and_no_strangers() {
    for here in table::ROOMS {
        for used in here.may_use {
            // The outer error wraps what the rooms that answer with it have to say.
            let shared = here.name == "error" || *used == "error";
            let other = room(used).unwrap_or_else(|| panic!("{} may use {used}?", here.name));
            assert!(
                shared || !other.may_use.contains(&here.name),
                "{} and {used} use one another",
                here.name
            );
        }
    }
}
