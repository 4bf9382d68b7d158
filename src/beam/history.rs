//! Beams in the prose of HISTORY cards: AIPS CLEAN and the old CASA imager.
//! A last resort: header cards and tables come first.
//!
//! AIPS writes `AIPS   CLEAN BMAJ=  1.3889E-03 BMIN=  1.3889E-03 BPA=   0.00`, in degrees, once a
//! deconvolution. CASA writes `Fitted beam used in` and, on the next card, `> restoration: 1.35 by
//! 0.83 (arcsec) at pa 82.9 (deg)`, where `>` marks the rest of a long line. Several programs may
//! have left a beam each; the last is that of the image.

use fits_layout::Header;

use super::BeamNote;
use super::entry::{Entries, Reader};
use super::source::BeamSource;

/// The last beam in the HISTORY of `header`, one for all channels, or `None`.
pub(super) fn history_beam(header: &Header, floor_arcsec: f64) -> Option<Entries> {
    let texts = joined(header.commentary("HISTORY"));
    let found = beams_in(&texts);
    let (text, beam) = found.last()?;
    let mut reader = Reader::new(floor_arcsec);
    let beam = reader.beam(beam.bmaj_arcsec, beam.bmin_arcsec, beam.bpa_deg);
    let mut notes = Vec::from_iter(reader.note(&BeamSource::History));
    notes.push(BeamNote::FromHistory {
        text: (*text).clone(),
        found: found.len() as u64,
    });
    Some(Entries {
        beams: vec![beam],
        notes,
    })
}

/// Characters of text in a HISTORY card (FITS 4.0, 4.4.2.4).
const TEXT_CHARACTERS: usize = 72;

/// Every beam and the text it stands in. A line that a program has wrapped goes on in the next
/// card: in the middle of a word where it fills its card, else after a blank.
fn beams_in(texts: &[String]) -> Vec<(String, Written)> {
    let mut found = Vec::new();
    for (number, text) in texts.iter().enumerate() {
        let alone = written(text).map(|beam| (text.clone(), beam));
        let next = texts.get(number + 1).filter(|next| written(next).is_none());
        let wrapped = || {
            let blank = if text.len() < TEXT_CHARACTERS {
                " "
            } else {
                ""
            };
            let both = format!("{text}{blank}{}", next?);
            written(&both).map(|beam| (both, beam))
        };
        found.extend(alone.or_else(wrapped));
    }
    found
}

/// The texts, with those that begin with `>` added to the one before.
fn joined(texts: impl Iterator<Item = String>) -> Vec<String> {
    let mut whole: Vec<String> = Vec::new();
    for text in texts {
        let text = text.trim();
        match (text.strip_prefix('>'), whole.last_mut()) {
            (Some(rest), Some(before)) => {
                before.push(' ');
                before.push_str(rest.trim());
            }
            (Some(rest), None) => whole.push(rest.trim().to_owned()),
            (None, _) => whole.push(text.to_owned()),
        }
    }
    whole
}

/// A beam as the text has it.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Written {
    bmaj_arcsec: f64,
    bmin_arcsec: f64,
    bpa_deg: f64,
}

fn written(text: &str) -> Option<Written> {
    let upper = text.to_ascii_uppercase();
    aips(&upper).or_else(|| casa(&upper))
}

/// `AIPS … CLEAN … BMAJ= a BMIN= b BPA= p`, degrees.
fn aips(upper: &str) -> Option<Written> {
    let rest = after(upper.trim_start().strip_prefix("AIPS")?, "CLEAN")?;
    let value = |keyword| number_after(after(rest, keyword)?.trim_start().strip_prefix('=')?);
    Some(Written {
        bmaj_arcsec: value("BMAJ")? * 3600.0,
        bmin_arcsec: value("BMIN")? * 3600.0,
        bpa_deg: value("BPA")?,
    })
}

/// `restoration:` or `restoring beam:` and `a by b (arcsec) at pa p (deg)`.
fn casa(upper: &str) -> Option<Written> {
    let rest = after(upper, "RESTOR")?;
    let rest = after(rest, ":").filter(|_| rest.contains("ARCSEC"))?;
    let bmin = after(rest, " BY ")?;
    let pa = after(bmin, " PA ")?;
    Some(Written {
        bmaj_arcsec: number_after(rest)?,
        bmin_arcsec: number_after(bmin)?,
        bpa_deg: number_after(pa)?,
    })
}

fn after<'a>(text: &'a str, mark: &str) -> Option<&'a str> {
    text.split_once(mark).map(|(_, rest)| rest)
}

/// The number that `text` begins with, blanks aside; D counts as an exponent.
fn number_after(text: &str) -> Option<f64> {
    let word = text.split_whitespace().next()?;
    word.trim_end_matches([',', ';'])
        .replace('D', "E")
        .parse()
        .ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::beam::Beam;

    fn read(lines: &[&str]) -> Option<Entries> {
        let mut header = Header::new();
        for line in lines {
            header.push_commentary("HISTORY", line);
        }
        history_beam(&header, 1e-3)
    }

    fn assert_beam(found: &Option<Entries>, want: (f64, f64, f64)) {
        let beam = found.as_ref().unwrap().beams[0].unwrap();
        let want = Beam::new(want.0, want.1, want.2).unwrap();
        assert!(
            (beam.bmaj_arcsec() - want.bmaj_arcsec()).abs() < 1e-9,
            "{beam} {want}"
        );
        assert!(
            (beam.bmin_arcsec() - want.bmin_arcsec()).abs() < 1e-9,
            "{beam} {want}"
        );
        assert!(
            (beam.bpa_deg() - want.bpa_deg()).abs() < 1e-9,
            "{beam} {want}"
        );
    }

    #[test]
    fn b28_the_last_aips_clean_counts() {
        let found = read(&[
            "AIPS   CLEAN BMAJ=  1.1111E-02 BMIN=  1.1111E-02 BPA=   0.00",
            "AIPS   CLEAN NITER=     1000 PRODUCT=1   / NORMAL",
            "AIPS   CLEAN BMAJ=  4.0000E-03 BMIN=  2.5000E-03 BPA= -11.55",
            "mmconv 0.1.0: BMAJ= 1 BMIN= 1 BPA= 1",
        ]);
        assert_beam(&found, (14.4, 9.0, -11.55));
        let note = found.unwrap().notes.pop().unwrap();
        assert!(
            matches!(note, BeamNote::FromHistory { found: 2, .. }),
            "{note}"
        );
    }

    #[test]
    fn casa_prose_over_two_cards_and_on_one() {
        let found = read(&[
            "Sat May 10 20:53:11 2014",
            "imager::clean() [] Fitted beam used in",
            "> restoration: 1.34841 by 0.830715 (arcsec)",
            ">      at pa 82.8827 (deg)",
        ]);
        assert_beam(&found, (1.34841, 0.830715, 82.8827));
        let found = read(&["restoring beam: 4.0 by 3.0 (arcsec) at pa 20.0 (deg)"]);
        assert_beam(&found, (4.0, 3.0, 20.0));
    }

    #[test]
    fn casa_prose_that_was_wrapped() {
        let line = "Fitted beam used in restoration: 16.25 by 9 (arcsec) at pa 40 (deg)";
        let (one, two) = line.split_at(line.find("25 by").unwrap());
        let full = format!("{}{one}", "x".repeat(TEXT_CHARACTERS - one.len()));
        assert_beam(&read(&[&full, two]), (16.25, 9.0, 40.0));
        let (one, two) = line.split_once(" by ").unwrap();
        assert_beam(&read(&[one, &format!("by {two}")]), (16.25, 9.0, 40.0));
    }

    #[test]
    fn b30_exchanged_axes() {
        let found = read(&["AIPS   CLEAN BMAJ=  2.5000D-03 BMIN=  4.0000D-03 BPA=  20.00"]);
        assert_beam(&found, (14.4, 9.0, 20.0));
    }

    #[test]
    fn prose_that_only_looks_like_it() {
        assert_eq!(
            read(&["RESTOR:   beam=n0925.beam", "AIPS   CLEAN BMAJ= none"]),
            None
        );
        assert_eq!(
            read(&["> restoration: wide by far (arcsec) at pa x (deg)"]),
            None
        );
        assert_eq!(read(&[]), None);
    }
}
