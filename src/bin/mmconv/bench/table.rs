//! What was found, as a table for a person and as an object for a program. Only text is made here.

use std::fmt::Write as _;

use serde_json::{Map, Value, json};

use super::verdict::{Verdict, short};
use super::{Found, RUNS, TARGET};
use crate::json;
use crate::words::number;

/// Characters in a line of the verdict.
const WIDTH: usize = 100;

/// A line of the table.
struct Line {
    /// Its name for programs.
    key: &'static str,
    /// Its name for people.
    name: String,
    /// Of a plane; none where it was not measured.
    seconds: Option<f64>,
}

/// Lines under one heading, and why some were not measured.
struct Group<'a> {
    heading: String,
    lines: Vec<Line>,
    why_not: Option<&'a str>,
}

/// The table.
pub fn text(found: &Found, verdict: &[String]) -> String {
    let mut text = String::new();
    // Writing to a string does not fail.
    let _ = writeln!(text, "{}\n", title(found));
    let _ = writeln!(
        text,
        "{:44} {:>12} {:>16}",
        "", "ms a plane", "planes a second"
    );
    for group in groups(found) {
        let _ = writeln!(text, "{}", group.heading);
        for line in &group.lines {
            let (milliseconds, planes) = match line.seconds {
                Some(seconds) => (short(1e3 * seconds), short(1.0 / seconds)),
                None => ("-".to_owned(), "-".to_owned()),
            };
            let _ = writeln!(text, "  {:42} {milliseconds:>12} {planes:>16}", line.name);
        }
        if let Some(why) = group.why_not {
            let _ = writeln!(text, "  -: not measured: {why}");
        }
    }
    text.push('\n');
    for sentence in verdict {
        text.push_str(&wrapped(sentence));
    }
    text
}

fn title(found: &Found) -> String {
    let (cube, [bmaj, bmin, bpa]) = (&found.case.cube, TARGET);
    let blanks = if found.case.masked() {
        format!("{} % blank, mask smoothed", number(cube.blank_percent))
    } else {
        "no blanks".to_owned()
    };
    format!(
        "{} x {} x {} {}, {blanks}; to {bmaj} x {bmin} arcsec at {bpa} deg; {} threads, medians of {RUNS}",
        cube.nx,
        cube.ny,
        cube.channels,
        cube.dtype(),
        found.case.threads,
    )
}

fn groups(found: &Found) -> [Group<'_>; 3] {
    [memory(found), device(found), files(found)]
}

fn memory(found: &Found) -> Group<'_> {
    let (lanes, each) = found.lanes;
    let threads = found.case.threads;
    Group {
        heading: "cpu, in memory".to_owned(),
        lines: vec![
            line("cpu_one_thread", "one thread", Some(found.one_thread)),
            Line {
                key: "cpu_all_threads",
                name: format!("all {threads} threads, {lanes} lanes of {each}"),
                seconds: Some(found.all_threads),
            },
        ],
        why_not: None,
    }
}

fn device(found: &Found) -> Group<'_> {
    let parts = super::device::lines(found.parts.as_ref().ok());
    Group {
        heading: match &found.device {
            Ok(name) => format!("device, in memory: {name}"),
            Err(_) => "device, in memory".to_owned(),
        },
        lines: parts
            .into_iter()
            .map(|(key, name, seconds)| line(key, name, seconds))
            .collect(),
        why_not: found.parts.as_ref().err().map(String::as_str),
    }
}

fn files(found: &Found) -> Group<'_> {
    let walls = &found.files;
    let device = walls.device.as_ref();
    let failure = device.and_then(|device| device.as_ref().err());
    let why_not = failure.or(found.device.as_ref().err()).map(String::as_str);
    let device = device.and_then(|device| device.as_ref().ok().copied());
    let lines = [
        ("file_cpu", "cpu", Some(walls.cpu)),
        ("file_device", "device", device),
        (
            "file_swapped",
            "floor: read, swapped, stored",
            Some(walls.swapped),
        ),
        (
            "file_swapped_one_thread",
            "the same, one thread",
            Some(walls.swapped_alone),
        ),
        ("file_copied", "floor: copied", Some(walls.copied)),
        (
            "file_copied_to_disk",
            "copied, and on the disk",
            Some(walls.on_disk),
        ),
    ];
    Group {
        heading: format!("from file to file, in {}", found.folder.display()),
        lines: lines
            .into_iter()
            .map(|(key, name, seconds)| line(key, name, seconds))
            .collect(),
        why_not,
    }
}

fn line(key: &'static str, name: &str, seconds: Option<f64>) -> Line {
    Line {
        key,
        name: name.to_owned(),
        seconds: seconds.filter(|seconds| seconds.is_finite()),
    }
}

/// Lines of no more than [`WIDTH`] characters, of which only the first begins at the left.
fn wrapped(sentence: &str) -> String {
    let (mut text, mut width) = (String::new(), 0);
    for word in sentence.split(' ') {
        let length = word.chars().count();
        if width > 0 && width + 1 + length > WIDTH {
            text.push_str("\n  ");
            width = 2;
        } else if width > 0 {
            text.push(' ');
            width += 1;
        }
        text.push_str(word);
        width += length;
    }
    text.push('\n');
    text
}

/// The same and the verdict, as one object.
pub fn json(found: &Found, verdict: &Verdict, sentences: &[String]) -> Value {
    let cube = &found.case.cube;
    let (lanes, threads_per_lane) = found.lanes;
    let [bmaj_arcsec, bmin_arcsec, bpa_deg] = TARGET;
    json!({
        "nx": cube.nx,
        "ny": cube.ny,
        "planes": cube.channels,
        "precision": cube.dtype(),
        "blank_percent": cube.blank_percent,
        "target": { "bmaj_arcsec": bmaj_arcsec, "bmin_arcsec": bmin_arcsec, "bpa_deg": bpa_deg },
        "threads": found.case.threads,
        "lanes": lanes,
        "threads_per_lane": threads_per_lane,
        "runs": RUNS,
        "device": found.device.as_ref().ok(),
        "dir": json::path(&found.folder),
        "lines": lines(found),
        "bound_by": verdict.bound.key(),
        "gain": verdict.gain,
        "gain_is_estimate": verdict.is_estimate,
        "most": verdict.most,
        "repaid_after_planes": verdict.repaid,
        "auto_from_planes": verdict.taken,
        "verdict": sentences.join(" "),
    })
}

fn lines(found: &Found) -> Value {
    let mut lines = Map::new();
    for group in groups(found) {
        for line in &group.lines {
            let value = match (line.seconds, group.why_not) {
                (Some(seconds), _) => json!({
                    "seconds_per_plane": seconds,
                    "planes_per_second": 1.0 / seconds,
                }),
                (None, why_not) => json!({
                    "seconds_per_plane": null,
                    "planes_per_second": null,
                    "not_measured": why_not,
                }),
            };
            lines.insert(line.key.to_owned(), value);
        }
    }
    Value::Object(lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_is_wrapped_between_words() {
        let sentence = ["plane"; 40].join(" ");
        let text = wrapped(&sentence);
        assert!(text.lines().all(|line| line.len() <= WIDTH), "{text}");
        assert!(text.lines().skip(1).all(|line| line.starts_with("  plane")));
        let words: Vec<&str> = text.split_whitespace().collect();
        assert_eq!(words.join(" "), sentence);
        assert_eq!(wrapped("short"), "short\n");
    }
}
