//! The HISTORY of an output: what was done, with which target, and where the beams came from.
//!
//! No line may look like one that a beam can be read from (`AIPS CLEAN BMAJ=…`, or a line of
//! CASA's about the beam): a reader of our output would take the old beam for the new one.

use crate::convolve::Backend;
use crate::journal::Job;
use crate::plan::{Edge, FilePlan, Mode, NanRule, Precision, TargetChoice, Targets};
use crate::run::Request;
use crate::run::job::COMMAND;

/// Characters of text in a HISTORY card (FITS 4.0, 4.4.2.4).
const TEXT_CHARACTERS: usize = 72;

/// How the line with the job's name begins.
pub(super) const JOB: &str = "mmconv job: ";

/// How the line begins that says on what an output was made, if not on the CPU.
pub(super) const DEVICE: &str = "mmconv device: ";

/// How the second and further cards of a line begin.
const CONTINUED: &str = "mmconv   ";

/// The HISTORY texts for one output, each of at most 72 characters.
pub(super) fn lines(
    request: &Request,
    plan: &FilePlan,
    job: &Job,
    backend: &dyn Backend,
) -> Vec<String> {
    let version = env!("CARGO_PKG_VERSION");
    let mut lines = vec![format!(
        "mmconv {version}: planes convolved to a common resolution"
    )];
    lines.push(format!("mmconv target: {}", target(request, plan)));
    lines.push(format!("mmconv input beams: {}", plan.facts.beam_source));
    let name = backend.name();
    lines.push(format!("mmconv rules: {}", rules(request, plan, name)));
    if name != "cpu" {
        lines.push(format!("{DEVICE}{}", backend.arithmetic()));
    }
    lines.push(job_line(job));
    if let Some(command) = job.get(COMMAND).filter(|command| !command.is_empty()) {
        lines.push(format!("mmconv command: {command}"));
    }
    lines.iter().flat_map(|line| cards(line)).collect()
}

/// The line by which an output that is complete is known again.
pub(super) fn job_line(job: &Job) -> String {
    format!("{JOB}{}", job.id())
}

/// What `known` cards and one more say of the device: the line that begins with [`DEVICE`], with
/// its further cards.
pub(super) fn device(known: String, card: &str) -> String {
    let ended = known.ends_with('\n');
    if card.starts_with(DEVICE) {
        card.to_owned()
    } else if known.is_empty() || ended {
        known
    } else if let Some(more) = card.strip_prefix(CONTINUED) {
        format!("{known} {more}")
    } else {
        known + "\n"
    }
}

/// A line as the texts of cards, each of which begins with our name: a card that began in the
/// middle of a path could look like anything. Lines part at blanks and slashes where they can.
fn cards(line: &str) -> Vec<String> {
    const ROOM: usize = TEXT_CHARACTERS - CONTINUED.len();
    let mut rest: Vec<char> = line.chars().collect();
    let mut cards = Vec::new();
    while !rest.is_empty() {
        let most = rest.get(..ROOM).unwrap_or_default();
        let seam = most
            .iter()
            .rposition(|c| matches!(c, ' ' | '/'))
            .filter(|&at| at > ROOM / 3);
        let length = if rest.len() <= ROOM {
            rest.len()
        } else {
            seam.map_or(ROOM, |at| at + 1)
        };
        let start = if cards.is_empty() { "" } else { CONTINUED };
        let text: String = rest.drain(..length).collect();
        cards.push(format!("{start}{}", text.trim_end()));
    }
    cards
}

pub(super) fn target(request: &Request, plan: &FilePlan) -> String {
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

pub(super) fn rules(request: &Request, plan: &FilePlan, backend: &str) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_device_is_read_from_all_its_cards() {
        let line =
            format!("{DEVICE}A device of a long name, with more, and still more words, or avx");
        let mut texts = vec!["mmconv rules: x".to_owned()];
        texts.extend(cards(&line));
        texts.extend(cards("mmconv job: 1"));
        texts.extend(cards(&format!("mmconv command: {}", "a, or b ".repeat(20))));
        let found = texts
            .iter()
            .fold(String::new(), |known, card| device(known, card));
        assert_eq!(found.trim_end(), line);
        assert_eq!(device(String::new(), "mmconv   of another line"), "");
    }

    #[test]
    fn long_lines_part_at_blanks_and_slashes() {
        assert_eq!(cards("mmconv 0.1.0: short"), ["mmconv 0.1.0: short"]);
        let folder = "a".repeat(30);
        let line = format!("mmconv input beams: beam log /{folder}/beamlog.d.txt");
        let first = format!("mmconv input beams: beam log /{folder}/");
        assert_eq!(
            cards(&line),
            [&first[..], "mmconv   beamlog.d.txt"].map(str::to_owned)
        );
        for card in cards(&format!(
            "mmconv command: {}",
            "AIPS   CLEAN BMAJ=  1.0 ".repeat(40)
        )) {
            assert!(
                card.starts_with("mmconv") && card.len() <= TEXT_CHARACTERS,
                "{card}"
            );
        }
    }
}
