//! The HISTORY of an output: what was done, with which target, and where the beams came from.
//!
//! No line may look like one that a beam can be read from (`AIPS CLEAN BMAJ=…`, or a line of
//! CASA's about the beam): a reader of our output would take the old beam for the new one.

use crate::plan::{Edge, FilePlan, Mode, NanRule, Precision, TargetChoice, Targets};
use crate::run::Request;

/// Characters of text in a HISTORY card (FITS 4.0, 4.4.2.4).
const TEXT_CHARACTERS: usize = 72;

/// How the second and further cards of a line begin.
const CONTINUED: &str = "mmconv   ";

/// The HISTORY texts for one output, each of at most 72 characters.
pub(super) fn lines(request: &Request, plan: &FilePlan, backend: &str) -> Vec<String> {
    let version = env!("CARGO_PKG_VERSION");
    let mut lines = vec![format!(
        "mmconv {version}: planes convolved to a common resolution"
    )];
    lines.push(format!("mmconv target: {}", target(request, plan)));
    lines.push(format!("mmconv input beams: {}", plan.facts.beam_source));
    lines.push(format!("mmconv rules: {}", rules(request, plan, backend)));
    if let Some(provenance) = &request.provenance {
        lines.push(format!("mmconv command: {provenance}"));
    }
    lines.iter().flat_map(|line| cards(line)).collect()
}

/// A line as the texts of cards, each of which begins with our name: a card that began in the
/// middle of a path could look like anything.
fn cards(line: &str) -> Vec<String> {
    let characters: Vec<char> = line.chars().collect();
    let mut cards = Vec::new();
    for part in characters.chunks(TEXT_CHARACTERS - CONTINUED.len()) {
        let start = if cards.is_empty() { "" } else { CONTINUED };
        cards.push(format!("{start}{}", part.iter().collect::<String>()));
    }
    cards
}

fn target(request: &Request, plan: &FilePlan) -> String {
    let how = match &request.spec.target {
        TargetChoice::Beam(_) => "as asked for",
        TargetChoice::From(_) => "from another file",
        TargetChoice::Common(Mode::Total) => "smallest common one of all planes",
        TargetChoice::Common(Mode::Natural) => "smallest common one of each channel",
    };
    match &plan.targets {
        Targets::One(beam) => format!("{beam}, {how}"),
        Targets::PerChannel(_) => format!("one per channel (BEAMS table), {how}"),
    }
}

fn rules(request: &Request, plan: &FilePlan, backend: &str) -> String {
    let edge = match request.spec.edge {
        Edge::Zero => "zero",
        Edge::Wrap => "wrap",
    };
    let nan = match request.spec.nan {
        NanRule::Keep => "keep",
        NanRule::Racs => "racs",
        NanRule::Interpolate => "interpolate",
    };
    let unit = if plan.per_beam { "per-beam" } else { "surface" };
    let precision = match plan.precision {
        Precision::F32 => "f32",
        Precision::F64 => "f64",
    };
    format!("edge {edge}, nan {nan}, unit {unit}, precision {precision}, backend {backend}")
}
