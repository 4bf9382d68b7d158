//! Results as JSON: one object a line and a file. Numbers are given in full, blanks are null.

use std::path::Path;

use mmfits::beam::Beam;
use mmfits::plan::{FilePlan, Targets};
use serde_json::{Map, Value, json};

use crate::words::Spread;

/// A path; what is not UTF-8 in it is replaced.
pub fn path(path: &Path) -> Value {
    Value::from(path.to_string_lossy())
}

/// A beam, or null.
pub fn beam(beam: Option<&Beam>) -> Value {
    beam.map_or(Value::Null, |beam| {
        json!({
            "bmaj_arcsec": beam.bmaj_arcsec(),
            "bmin_arcsec": beam.bmin_arcsec(),
            "bpa_deg": beam.bpa_deg(),
        })
    })
}

/// Least, middle and greatest, or null.
pub fn spread(spread: Option<Spread>) -> Value {
    spread.map_or(
        Value::Null,
        |Spread { min, median, max }| json!({ "min": min, "median": median, "max": max }),
    )
}

/// What is planned for a file, and what it took if it is done.
pub fn file(file: &FilePlan, seconds: Option<f64>) -> Value {
    let facts = &file.facts;
    let mut object = Map::new();
    let mut put = |key: &str, value: Value| object.insert(key.to_owned(), value);
    put("input", path(&facts.input));
    put("output", path(&facts.output));
    put("beam_source", facts.beam_source.to_string().into());
    put("planes", facts.planes.into());
    put("blank_planes", file.blank_planes().into());
    put("passed_through", file.passed_through().into());
    match &file.targets {
        Targets::One(target) => put("target", beam(Some(target))),
        Targets::PerChannel(_) => {
            let stored = file.stored_by_channel();
            put(
                "targets",
                stored.iter().map(|target| beam(target.as_ref())).collect(),
            )
        }
    };
    put(
        "notes",
        file.notes
            .iter()
            .map(|note| Value::from(note.to_string()))
            .collect(),
    );
    put("bytes", file.bytes.into());
    put("memory_bytes", file.memory_bytes.into());
    put("seconds", seconds.into());
    put("skipped", facts.skipped.into());
    put("lanes", file.lanes.into());
    put("threads_per_lane", file.threads_per_lane.into());
    put("scratch_bytes", file.scratch_bytes.into());
    Value::Object(object)
}
