//! Disks that are full, fail or refuse, made for real: small file systems in memory and on loop
//! devices, other users, limits. Each fault is one line and the status that belongs to it, and
//! nothing has the final name. Where this process may not mount, tests say so and look at nothing.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod place;
mod scene;
mod shim;

use std::fs::{self, File, Permissions};
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use place::{Place, names, skipped};
use scene::{COMPLETE, OUTPUT, Ran, Scene, UNFINISHED, cube};

/// The ways to store an output.
const WAYS: [&[&str]; 3] = [
    &["--io", "map"],
    &["--io", "write"],
    &["--write-behind", "always"],
];

/// Hundreds of planes: their journal needs more than one block.
fn many_planes() -> Scene {
    Scene::new([24, 15], 200)
}

#[test]
fn a_file_system_too_small_is_told_before_any_work() {
    let scene = many_planes();
    let half = scene.output_bytes() / 2;
    let Some(place) = Place::tmpfs(half) else {
        return;
    };
    for way in WAYS {
        let ran = scene.run(&place.path, way);
        ran.failed(
            4,
            &["cannot be reserved on its disk", "No space left on device"],
        );
        assert!(place.names().is_empty());
    }
}

#[test]
fn a_full_ext4_is_told_before_any_work() {
    let scene = many_planes();
    let Some(place) = Place::on_loop(tempfile::tempdir().unwrap(), &[], 8 << 20) else {
        return;
    };
    place.fill_but(scene.output_bytes() / 2);
    for way in WAYS {
        let ran = scene.run(&place.path, way);
        ran.failed(
            4,
            &["cannot be reserved on its disk", "No space left on device"],
        );
        assert_eq!(place.names(), ["filler"]);
    }
}

/// There is room for the output and for the first block of its journal.
#[test]
fn a_disk_that_fills_under_way_keeps_what_is_stored_or_nothing() {
    let scene = many_planes();
    let expected = scene.expected();
    let pages = scene.output_bytes().div_ceil(4096) + 2;
    for way in WAYS {
        let Some(place) = Place::tmpfs(4096 * pages) else {
            return;
        };
        let discard = [way, &["--discard"]].concat();
        scene
            .run(&place.path, &discard)
            .failed(4, &["cannot write", "No space left on device"]);
        assert!(place.names().is_empty());
        let ran = scene.run(&place.path, way);
        let text = ran.failed(4, &["No space left on device", "of 200 planes of "]);
        assert!(
            text.ends_with("are kept; the same command goes on with them)\n"),
            "{text}"
        );
        assert_eq!(place.names(), UNFINISHED);
        place.remount(&format!("size={}", 4096 * (pages + 20)));
        scene.run(&place.path, way).done();
        assert_eq!(place.names(), COMPLETE);
        assert!(scene.samples(&place.path) == expected);
    }
}

/// Not even its journal can be begun.
#[test]
fn a_disk_with_room_for_the_output_alone_has_nothing_on_it() {
    let scene = many_planes();
    let Some(place) = Place::tmpfs(4096 * scene.output_bytes().div_ceil(4096)) else {
        return;
    };
    let ran = scene.run(&place.path, &[]);
    ran.failed(4, &["cannot write", ".mmconv", "No space left on device"]);
    assert!(place.names().is_empty());
}

/// ext3 reserves no blocks, so it is full when planes are written to it.
#[test]
fn without_reserved_blocks_a_disk_fills_while_planes_are_written() {
    let scene = Scene::new([80, 62], 40);
    let expected = scene.expected();
    let options = ["-O", "^extent,^has_journal"];
    let Some(place) = Place::on_loop(tempfile::tempdir().unwrap(), &options, 8 << 20) else {
        return;
    };
    let filler = place.fill_but(scene.output_bytes() / 2);
    let mapped = scene.run(&place.path, &["--io", "map"]);
    mapped.failed(
        4,
        &["cannot be reserved on its disk", "No space left on device"],
    );
    assert_eq!(place.names(), ["filler"]);
    let way = ["--io", "write"];
    let discard = [&way[..], &["--discard"]].concat();
    let words = [
        "c.sm.fits.part, plane ",
        "cannot be stored at byte ",
        "No space left on device",
    ];
    scene.run(&place.path, &discard).failed(4, &words);
    assert_eq!(place.names(), ["filler"]);
    let ran = scene.run(&place.path, &way);
    let text = ran.failed(4, &words);
    assert!(
        text.ends_with("are kept; the same command goes on with them)\n"),
        "{text}"
    );
    assert_eq!(place.names(), [&UNFINISHED[..], &["filler"]].concat());
    fs::remove_file(filler).unwrap();
    scene.run(&place.path, &way).done();
    assert_eq!(place.names(), COMPLETE);
    assert!(scene.samples(&place.path) == expected);
}

#[test]
fn where_nothing_can_be_reserved_every_way_makes_the_same_bytes() {
    let scene = Scene::new([90, 70], 6);
    let expected = scene.expected();
    let options = ["-O", "^extent,^has_journal"];
    let Some(place) = Place::on_loop(tempfile::tempdir().unwrap(), &options, 8 << 20) else {
        return;
    };
    for way in WAYS {
        scene.run(&place.path, way).done();
        assert_eq!(place.names(), COMPLETE);
        assert!(scene.samples(&place.path) == expected);
        for name in COMPLETE {
            fs::remove_file(place.path.join(name)).unwrap();
        }
    }
}

/// The disk takes what it is given and loses it: only who waits for it hears of that.
#[test]
fn a_disk_that_loses_what_it_was_given_is_heard_of() {
    let scene = Scene::new([120, 100], 80);
    for way in [&["--durable"][..], &["--write-behind", "always"]] {
        // A third of what is written: a loop device calls a write that it took half of a whole one.
        let Some(below) = Place::tmpfs(1 << 20) else {
            return;
        };
        let folder = tempfile::tempdir_in(&below.path).unwrap();
        let Some(place) = Place::on_loop(folder, &["-O", "^has_journal"], 16 << 20) else {
            return;
        };
        let ran = scene.run(&place.path, way);
        let text = ran.failed(4, &["c.sm.fits", "did not reach its disk"]);
        if way == ["--durable"] {
            // What is told to be kept was waited for.
            assert!(!place.path.join(OUTPUT).exists());
        } else {
            // Nobody knows which planes are there.
            assert!(!text.contains("are kept"), "{text}");
            assert!(place.names().is_empty());
        }
    }
}

#[test]
fn a_read_only_mount_is_told() {
    let scene = Scene::new([40, 31], 3);
    let Some(place) = Place::tmpfs(1 << 20) else {
        return;
    };
    place.remount("ro");
    let ran = scene.run(&place.path, &[]);
    ran.failed(
        4,
        &["c.sm.fits", "cannot be created", "Read-only file system"],
    );
    assert!(place.names().is_empty());
}

/// What a user without rights gets to hear; `None` where this process cannot be one.
fn as_nobody(scene: &Scene, outdir: &Path) -> Option<Ran> {
    const NOBODY: u32 = 65_534;
    let built = env!("CARGO_BIN_EXE_mmconv");
    // Where it was built others may not reach it.
    let program = scene.path("mmconv");
    if !program.exists() {
        fs::hard_link(built, &program)
            .or_else(|_| fs::copy(built, &program).map(|_| ()))
            .unwrap();
    }
    let mut command = scene.command(&program, outdir, &[]);
    match command.uid(NOBODY).gid(NOBODY).output() {
        Ok(output) => Some(Ran::from(output)),
        Err(error) => skipped(&format!("this process cannot be another user: {error}")),
    }
}

fn folder_with_mode(scene: &Scene, name: &str, mode: u32) -> PathBuf {
    let path = scene.path(name);
    fs::create_dir_all(&path).unwrap();
    fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
    path
}

#[test]
fn a_folder_that_may_not_be_written_is_told() {
    let scene = Scene::new([40, 31], 3);
    let outdir = folder_with_mode(&scene, "out", 0o555);
    let Some(ran) = as_nobody(&scene, &outdir) else {
        return;
    };
    ran.failed(4, &["c.sm.fits", "cannot be created", "Permission denied"]);
    assert!(names(&outdir).is_empty());
}

/// It is there, but nobody can tell.
#[test]
fn a_folder_that_may_not_be_looked_into_is_told() {
    let scene = Scene::new([40, 31], 3);
    let closed = folder_with_mode(&scene, "closed", 0o700);
    let inner = folder_with_mode(&scene, "closed/inner", 0o777);
    for outdir in [&closed, &inner] {
        let Some(ran) = as_nobody(&scene, outdir) else {
            return;
        };
        ran.failed(4, &["c.sm.fits", "Permission denied"]);
    }
    assert!(names(&inner).is_empty());
}

#[test]
fn an_input_that_may_not_be_read_is_told() {
    let scene = Scene::new([40, 31], 3);
    let outdir = folder_with_mode(&scene, "out", 0o777);
    fs::set_permissions(scene.path("c.fits"), Permissions::from_mode(0o600)).unwrap();
    let Some(ran) = as_nobody(&scene, &outdir) else {
        return;
    };
    ran.failed(4, &["c.fits", "cannot be opened", "Permission denied"]);
    assert!(names(&outdir).is_empty());
}

#[test]
fn an_input_that_is_not_there_is_told() {
    let scene = Scene::new([40, 31], 3);
    let outdir = folder_with_mode(&scene, "out", 0o755);
    fs::remove_file(scene.path("c.fits")).unwrap();
    let ran = scene.run(&outdir, &[]);
    ran.failed(3, &["c.fits", "cannot be opened", "No such file"]);
    assert!(names(&outdir).is_empty());
}

/// The end of the disk is gone, and with it the end of the input.
#[test]
fn a_disk_that_cannot_be_read_is_told_with_its_plane() {
    let Some(place) = Place::on_loop(
        tempfile::tempdir().unwrap(),
        &["-O", "^has_journal"],
        16 << 20,
    ) else {
        return;
    };
    let scene = Scene::new([240, 200], 1);
    let input = place.path.join("c.fits");
    cube(&input, [240, 200], 40);
    let file = File::open(&input).unwrap();
    file.sync_all().unwrap();
    File::options()
        .write(true)
        .open(place.image())
        .and_then(|image| image.set_len(5 << 20))
        .unwrap();
    let mut forget = Command::new("dd");
    let argument = format!("of={}", input.display());
    forget.args([&argument, "oflag=nocache", "conv=notrunc", "count=0"]);
    assert!(place::done(&mut forget));
    if file.read_exact_at(&mut [0; 2880], 0).is_err() {
        return skipped("the input's header lies at the end of this disk").unwrap_or_default();
    }
    let outdir = tempfile::tempdir().unwrap();
    for way in WAYS {
        let program = Path::new(env!("CARGO_BIN_EXE_mmconv"));
        let mut command = scene.command(program, outdir.path(), way);
        command.current_dir(&place.path);
        let ran = Ran::from(command.output().unwrap());
        ran.failed(3, &["c.fits", "plane ", "byte "]);
        assert!(!outdir.path().join(OUTPUT).exists());
    }
}

/// `ulimit -f` sends a signal with its error.
#[test]
fn a_limit_on_the_length_of_files_is_told() {
    let scene = Scene::new([200, 150], 4);
    let outdir = folder_with_mode(&scene, "out", 0o755);
    let program = Path::new(env!("CARGO_BIN_EXE_mmconv"));
    for way in WAYS {
        let line = scene.command(program, &outdir, way);
        let mut shell = Command::new("sh");
        shell
            .args(["-c", "ulimit -f 200; exec \"$@\"", "sh"])
            .arg(line.get_program())
            .args(line.get_args())
            .current_dir(scene.path(""));
        let ran = Ran::from(shell.output().unwrap());
        ran.failed(4, &["cannot be reserved on its disk", "File too large"]);
        assert!(names(&outdir).is_empty());
    }
}

/// The kernel must be built with quotas for real ones.
#[test]
fn a_quota_that_is_used_up_is_told() {
    let scene = Scene::new([40, 31], 30);
    let outdir = folder_with_mode(&scene, "out", 0o755);
    let Some(shim) = shim::built(&scene.path("shim.so")) else {
        return;
    };
    for way in WAYS {
        let ran = shim.run(&scene, &outdir, way, "quota");
        ran.failed(4, &["cannot be reserved on its disk", "quota"]);
        assert!(names(&outdir).is_empty());
    }
    // Where nothing can be reserved it is the writing that fails.
    let faults = "nofallocate quota=100000";
    let way = ["--io", "write"];
    let ran = shim.run(&scene, &outdir, &way, faults);
    ran.failed(
        4,
        &["plane ", "cannot be stored at byte ", "quota", "are kept"],
    );
    assert_eq!(names(&outdir), UNFINISHED);
    let discard = [&way[..], &["--discard", "--restart"]].concat();
    shim.run(&scene, &outdir, &discard, faults)
        .failed(4, &["quota"]);
    assert!(names(&outdir).is_empty());
}

#[test]
fn a_file_system_without_reservations_and_shared_maps_is_written_to() {
    let scene = Scene::new([90, 70], 6);
    let expected = scene.expected();
    let outdir = folder_with_mode(&scene, "out", 0o755);
    let Some(shim) = shim::built(&scene.path("shim.so")) else {
        return;
    };
    let insisted = shim.run(&scene, &outdir, &["--io", "map"], "nomap");
    insisted.failed(4, &["cannot be mapped", "No such device"]);
    assert!(names(&outdir).is_empty());
    let insisted = shim.run(&scene, &outdir, &["--io", "map"], "nofallocate");
    insisted.failed(4, &["cannot be reserved on its disk", "not supported"]);
    assert!(names(&outdir).is_empty());
    for faults in ["nomap", "nofallocate", "nofallocate nomap"] {
        for way in [&[][..], &["--io", "write"], &["--write-behind", "always"]] {
            shim.run(&scene, &outdir, way, faults).done();
            assert_eq!(names(&outdir), COMPLETE);
            assert!(scene.samples(&outdir) == expected, "{faults} {way:?}");
            for name in COMPLETE {
                fs::remove_file(outdir.join(name)).unwrap();
            }
        }
    }
}
