//! The memory that is promised: what a dry run predicts, what `--memory` allows, and what is
//! measured; methods that follow the memory, and working memory in a file.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "what was measured is worth reading"
)]

mod planes;
mod support;

use serde_json::Value;

use support::*;

const MIB: u64 = 1 << 20;

/// Kernels of 8 to 14 px: strips in both precisions.
const WIDE: Beam = [32.0, 30.0, 20.0];
/// Kernels of 3 px along y at the narrowest: the full height.
const NARROW: Beam = [18.0, 11.0, 52.0];

/// Beams of which every one fits into [`NARROW`].
fn beams(channels: usize) -> Vec<Beam> {
    (0..channels)
        .map(|k| [16.0 + 0.1 * (k % 4) as f64, 9.0, 52.0])
        .collect()
}

/// A cube of `nx` × `ny` pixels of noise, with a blank corner.
fn put_noise(bench: &Bench, name: &str, [nx, ny, channels]: [usize; 3], double: bool) {
    let pixels: Vec<f64> = (0..channels)
        .flat_map(|k| planes::Image::noise(nx, ny, k as u64).with_blanks().pixels)
        .collect();
    let samples = if double {
        Samples::F64(pixels)
    } else {
        Samples::f32(&pixels)
    };
    let cards = cube_cards(Order::Plain).and(&casambm());
    let hdu = Hdu::primary(&[nx, ny, channels], &samples, &cards);
    bench.put(name, &[hdu, BeamTable::new(&beams(channels)).hdu()]);
}

fn number(object: &Value, key: &str) -> u64 {
    object[key]
        .as_u64()
        .unwrap_or_else(|| panic!("no number {key} in {object}"))
}

/// The plan that a dry run with `flags` prints.
fn predicted(bench: &Bench, target: Beam, flags: &[&str], names: &[&str]) -> Vec<Value> {
    let run = bench
        .smooth_to(target)
        .args(["--dry-run", "--json", "--overwrite"]);
    let run = names
        .iter()
        .fold(run.args(flags.iter().copied()), |run, name| run.file(name));
    run.run().ok().json()
}

/// Runs it; what was predicted and the peak that was measured.
fn measured(bench: &Bench, target: Beam, flags: &[&str], names: &[&str]) -> (Vec<Value>, u64) {
    let plan = predicted(bench, target, flags, names);
    let run = bench.smooth_to(target).args(["--overwrite"]);
    let run = names
        .iter()
        .fold(run.args(flags.iter().copied()), |run, name| run.file(name));
    (plan, run.run().ok().peak_bytes)
}

/// Whether a prediction is right: the peak is no more than 5 % above it, and no more than 5 % and
/// 1.5 MiB below.
fn close_by(said: u64, peak: u64, what: &str) {
    if peak == 0 {
        eprintln!("skipped: this system does not say how much anonymous memory a process has");
        return;
    }
    let mib = |bytes: u64| bytes as f64 / MIB as f64;
    println!(
        "{what}: predicted {:.2} MiB, measured {:.2}",
        mib(said),
        mib(peak)
    );
    assert!(
        peak <= said + said / 20 && said <= peak + said / 20 + 3 * MIB / 2,
        "{what}: predicted {:.2} MiB, measured {:.2}",
        mib(said),
        mib(peak)
    );
}

#[test]
fn a_dry_run_predicts_the_memory() {
    let bench = Bench::new();
    put_noise(&bench, "single", [1000, 700, 3], false);
    put_noise(&bench, "double", [600, 600, 2], true);
    let settings: [(&str, Beam, &[&str]); 9] = [
        ("single", WIDE, &["--threads", "1"]),
        ("single", WIDE, &["--threads", "3", "--nan", "racs"]),
        ("single", WIDE, &["--threads", "2", "--edge", "wrap"]),
        ("single", NARROW, &["--threads", "2"]),
        ("single", NARROW, &["--threads", "3", "--memory", "12M"]),
        (
            "single",
            NARROW,
            &["--threads", "1", "--nan", "interpolate"],
        ),
        ("double", WIDE, &["--threads", "2", "--nan", "racs"]),
        ("double", NARROW, &["--threads", "2", "--edge", "wrap"]),
        ("double", NARROW, &["--threads", "3", "--precision", "f32"]),
    ];
    for (name, target, flags) in settings {
        let (plan, peak) = measured(&bench, target, flags, &[name]);
        let said = number(&plan[0], "memory_bytes");
        close_by(said, peak, &format!("{name} {target:?} {flags:?}"));
    }
}

#[test]
fn what_is_allowed_is_kept() {
    let bench = Bench::new();
    put_noise(&bench, "single", [1200, 700, 3], false);
    put_noise(&bench, "double", [700, 600, 2], true);
    let mut lanes = Vec::new();
    for (name, target, allowed) in [
        ("single", NARROW, "6M"),
        ("single", NARROW, "9M"),
        ("single", NARROW, "16M"),
        ("double", WIDE, "6M"),
    ] {
        let flags = ["--threads", "3", "--memory", allowed];
        let (plan, peak) = measured(&bench, target, &flags, &[name]);
        let bytes = allowed.trim_end_matches('M').parse::<u64>().unwrap() * MIB;
        let said = number(&plan[0], "memory_bytes");
        assert!(said <= bytes, "{said} of {allowed}");
        assert!(peak <= bytes + bytes / 20, "{name} {allowed}: {peak}");
        lanes.push((
            number(&plan[0], "lanes"),
            number(&plan[0], "threads_per_lane"),
        ));
    }
    println!("{lanes:?}");
    // More memory, more planes at once; little of it, one plane that threads share.
    assert_eq!(lanes[..3], [(1, 3), (2, 2), (3, 1)]);
}

/// Memory of an earlier file must not be kept beside that of a later one.
#[test]
fn several_files_take_no_more_than_the_largest() {
    let bench = Bench::new();
    put_noise(&bench, "a", [700, 600, 2], false);
    put_noise(&bench, "b", [1200, 700, 2], false);
    put_noise(&bench, "c", [1000, 800, 2], false);
    let flags = ["--threads", "2", "--nan", "racs"];
    let (plan, peak) = measured(&bench, NARROW, &flags, &["a", "b", "c"]);
    let said = plan.iter().map(|file| number(file, "memory_bytes")).max();
    close_by(said.unwrap(), peak, "three files");
}

#[test]
fn too_little_is_refused_and_says_what_is_needed() {
    let bench = Bench::new();
    put_noise(&bench, "c", [600, 500, 1], false);
    let run = |flags: &[&str]| {
        bench
            .smooth_to(NARROW)
            .args(flags.iter().copied())
            .file("c")
            .run()
    };
    let refused = run(&["--memory", "2M"]).refused(2, &["--memory", "--scratch", "2097152"]);
    let needed: u64 = refused
        .stderr
        .split("needs ")
        .nth(1)
        .and_then(|rest| rest.split(' ').next())
        .and_then(|word| word.parse().ok())
        .expect("a number of bytes");
    run(&["--memory", &(needed - 1).to_string()]).refused(2, &["needs"]);
    run(&["--memory", &needed.to_string()]).ok();
}

#[test]
fn scratch_changes_no_bit_and_leaves_nothing() {
    let bench = Bench::new();
    put_noise(&bench, "single", [600, 500, 2], false);
    put_noise(&bench, "double", [300, 400, 2], true);
    std::fs::create_dir(bench.path("scratch")).unwrap();
    let scratch = bench
        .path("scratch")
        .into_os_string()
        .into_string()
        .unwrap();
    for (name, nan) in [
        ("single", "keep"),
        ("single", "racs"),
        ("double", "interpolate"),
    ] {
        let plain = ["--overwrite", "--nan", nan];
        bench.smooth_to(NARROW).args(plain).file(name).run().ok();
        let expected = bench.read(name).primary().data.clone();
        for threads in ["1", "3"] {
            let flags = ["--nan", nan, "--memory", "2100K", "--scratch", &scratch];
            let flags = [&flags[..], &["--threads", threads]].concat();
            let (plan, peak) = measured(&bench, NARROW, &flags, &[name]);
            let what = format!("{name} {nan} {threads} threads");
            assert!(
                number(&plan[0], "scratch_bytes") > MIB / 2,
                "{what}: {}",
                plan[0]
            );
            close_by(number(&plan[0], "memory_bytes"), peak, &what);
            same_bits(&bench.read(name).primary().data, &expected, &what);
        }
    }
    assert!(bench.list("scratch").is_empty());
    let none = ["--memory", "2100K", "--scratch", "nowhere", "--overwrite"];
    let run = bench.smooth_to(NARROW).args(none).file("single").run();
    run.fails(2, &["nowhere", "does not exist"]);
    // Room is looked for, and no file made, where nothing is to be done yet either.
    bench.put_text("taken", "a file");
    let file = ["--memory", "2100K", "--scratch", "taken", "--dry-run"];
    let run = bench.smooth_to(NARROW).args(file).args(["--overwrite"]);
    run.file("single")
        .run()
        .fails(2, &["taken", "is no folder"]);
}

/// A short plane with a wide kernel is transformed over its full height, unless the memory does
/// not hold that.
#[test]
fn planes_too_large_for_the_memory_go_by_strips() {
    let bench = Bench::new();
    put_noise(&bench, "c", [5000, 500, 1], false);
    let flags = ["--threads", "2"];
    let full = predicted(&bench, WIDE, &flags, &["c"]);
    let thrifty = ["--threads", "2", "--memory", "5M"];
    let plan = predicted(&bench, WIDE, &thrifty, &["c"]);
    assert!(number(&plan[0], "memory_bytes") <= 5 * MIB);
    assert!(number(&full[0], "memory_bytes") > 5 * MIB);
    assert!(
        plan[0]["notes"].to_string().contains("strips"),
        "{}",
        plan[0]
    );
    bench.smooth_to(WIDE).file("c").run().ok();
    let expected = bench.read("c").primary().pixels();
    let (_, peak) = measured(&bench, WIDE, &thrifty, &["c"]);
    assert!(peak <= 5 * MIB + 5 * MIB / 20, "{peak}");
    planes::assert_close(
        &bench.read("c").primary().pixels(),
        &expected,
        2e-6,
        "strips",
    );
    let two = bench.read("c").primary().data.clone();
    let one = ["--threads", "1", "--memory", "5M", "--overwrite"];
    bench.smooth_to(WIDE).args(one).file("c").run().ok();
    same_bits(&bench.read("c").primary().data, &two, "one thread");
}

#[test]
fn the_plan_in_words_names_memory_disk_and_planes_in_flight() {
    let bench = Bench::new();
    put_noise(&bench, "c", [60, 50, 4], false);
    let run = bench
        .smooth_to(NARROW)
        .args(["--dry-run", "--threads", "2"])
        .file("c")
        .run()
        .ok();
    run.says(&[
        "in flight",
        "2 planes at once, 1 thread each",
        "of memory",
        "of disk",
    ]);
}

/// Every plane's kernel, task and slot is kept, and nothing else grows with their number.
#[test]
fn many_planes_take_little() {
    let bench = Bench::new();
    put_noise(&bench, "c", [16, 12, 6000], false);
    let (plan, peak) = measured(
        &bench,
        NARROW,
        &["--threads", "2", "--memory", "8M"],
        &["c"],
    );
    close_by(number(&plan[0], "memory_bytes"), peak, "6000 planes");
}

/// A number of bytes that the message of a refused run asks for.
fn asked_for(stderr: &str, before: &str) -> u64 {
    let number = stderr.split(before).nth(1);
    let number = number.and_then(|rest| rest.split(' ').next()?.parse().ok());
    number.unwrap_or_else(|| panic!("no number after '{before}' in {stderr}"))
}

/// The method decides the last digits, so what else is asked for must not decide the method.
#[test]
fn other_files_change_no_bit() {
    let bench = Bench::new();
    put_noise(&bench, "c", [5000, 500, 1], false);
    put_noise(&bench, "other", [16, 12, 300], false);
    std::fs::create_dir(bench.path("scratch")).unwrap();
    let alone = predicted(&bench, WIDE, &["--threads", "1"], &["c"]);
    let exactly = number(&alone[0], "memory_bytes").to_string();
    let flags = ["--threads", "1", "--memory", &exactly, "--overwrite"];
    bench.smooth_to(WIDE).args(flags).file("c").run().ok();
    let expected = bench.read("c").primary().data.clone();
    let both = || bench.smooth_to(WIDE).args(flags).file("c").file("other");
    both().run().fails(2, &["--scratch", &exactly]);
    both().args(["--scratch", "scratch"]).run().ok();
    same_bits(&bench.read("c").primary().data, &expected, "two files");
}

/// With the memory that is asked for other methods may be taken, which need more.
#[test]
fn what_is_asked_for_is_enough_where_the_list_of_planes_is_long() {
    let bench = Bench::new();
    put_noise(&bench, "c", [5000, 500, 1], false);
    let alone = |flags: &[&str]| {
        let plan = predicted(&bench, WIDE, flags, &["c"]);
        number(&plan[0], "memory_bytes")
    };
    let full = alone(&["--threads", "1"]);
    let strips = alone(&["--threads", "1", "--memory", &(full - 100_000).to_string()]);
    let known = (full - strips) as usize + 200_000;
    put_noise(&bench, "other", [4, 3, known / 350], false);
    let run = |memory: u64| {
        let flags = [
            "--threads",
            "1",
            "--memory",
            &memory.to_string(),
            "--dry-run",
        ];
        let run = bench.smooth_to(WIDE).args(flags);
        run.file("c").file("other").run()
    };
    let refused = run(full - 100_000).refused(2, &["in flight"]);
    run(asked_for(&refused.stderr, "needs ")).ok();
}

/// A plane of absurd length that takes no room on the disk.
fn put_absurd(bench: &Bench, name: &str, [nx, ny]: [u64; 2]) {
    let path = put_image(bench, name, OLD);
    let mut bytes = std::fs::read(&path).unwrap()[..2880].to_vec();
    for (keyword, length) in [("NAXIS1", nx), ("NAXIS2", ny)] {
        let card = bytes
            .chunks(80)
            .position(|card| card.starts_with(keyword.as_bytes()));
        let at = card.unwrap() * 80;
        bytes[at..at + 80]
            .copy_from_slice(format!("{keyword:8}= {length:>20}{:50}", "").as_bytes());
    }
    std::fs::write(&path, bytes).unwrap();
    let file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
    file.set_len(2880 + (nx * ny * 4).next_multiple_of(2880))
        .unwrap();
}

/// Nothing is planned for what does not fit anyway: the tables of such a row alone take 1.3 GB.
#[test]
fn absurd_lengths_are_refused_before_they_are_planned() {
    let bench = Bench::new();
    put_absurd(&bench, "c", [1 << 27, 1]);
    let flags = [
        "--edge",
        "wrap",
        "--dry-run",
        "--threads",
        "1",
        "--memory",
        "2G",
    ];
    let run = bench
        .smooth()
        .args(["--bmaj", "30", "--bmin", "28", "--bpa", "0"]);
    let refused = run.args(flags).file("c").run();
    let refused = refused.refused(2, &["at least", "2147483648"]);
    assert!(refused.peak_bytes < 32 * MIB, "{}", refused.peak_bytes);
}

/// The tables of a plane that was refused took more than was allowed.
#[test]
fn a_refusal_keeps_to_the_memory() {
    let bench = Bench::new();
    put_absurd(&bench, "c", [1, 1 << 20]);
    let flags = ["--nan", "interpolate", "--memory", "32M", "--dry-run"];
    let run = bench.smooth_to([16.5, 9.5, 40.0]).args(flags).file("c");
    let refused = run.run().refused(2, &["33554432", "--memory"]);
    assert!(refused.peak_bytes <= 32 * MIB, "{}", refused.peak_bytes);
}

/// The list of planes is no plane in flight, and it is not made to be refused.
#[test]
fn a_list_of_planes_too_long_for_the_memory_is_not_made() {
    let bench = Bench::new();
    put_noise(&bench, "c", [2, 1, 100_000], false);
    let run = bench
        .smooth_to(NARROW)
        .args(["--memory", "8M", "--dry-run"]);
    let refused = run.file("c").run();
    let refused = refused.refused(2, &["100000 planes", "8388608", "--memory"]);
    assert!(!refused.stderr.contains("in flight"), "{}", refused.stderr);
    assert!(refused.peak_bytes < 16 * MIB, "{}", refused.peak_bytes);
}

#[test]
fn threads_are_not_started_before_there_is_work() {
    let bench = Bench::new();
    put_noise(&bench, "c", [60, 50, 4], false);
    let started = std::time::Instant::now();
    let flags = ["--threads", "60000", "--dry-run"];
    let run = bench
        .smooth_to(NARROW)
        .args(flags)
        .args(["--memory", "64G"]);
    run.file("c").run().ok().says(&["60000 threads"]);
    assert!(started.elapsed().as_secs() < 20);
}
