//! Beams in header cards: BMAJ, BMIN, BPA, and the numbered ones of one beam a channel.
//! Degrees, as the convention has it (AIPS Memo 117 and every writer since).

use fits_layout::Header;

use super::entry::{Entries, Reader};
use super::source::BeamSource;
use super::{Beam, BeamError, BeamNote};

/// The beam of the cards BMAJ, BMIN and BPA, one for all channels: an inner `None` is a blank
/// beam, `None` no cards. BPA may be absent where the beam is round.
pub(super) fn header_beam(
    header: &Header,
    floor_arcsec: f64,
) -> Result<Option<Entries>, BeamError> {
    let real = |keyword| header.real(keyword).map_err(BeamError::Header);
    let (bmaj, bmin, bpa) = (real("BMAJ")?, real("BMIN")?, real("BPA")?);
    let missing = |keyword: &str, present: &str| BeamError::CardMissing {
        keyword: keyword.to_owned(),
        present: present.to_owned(),
    };
    let (bmaj, bmin) = match (bmaj, bmin) {
        (Some(bmaj), Some(bmin)) => (bmaj, bmin),
        (Some(_), None) => return Err(missing("BMIN", "BMAJ")),
        (None, Some(_)) => return Err(missing("BMAJ", "BMIN")),
        (None, None) => return Ok(None),
    };
    let mut reader = Reader::new(floor_arcsec);
    let beam = reader.beam(bmaj * 3600.0, bmin * 3600.0, bpa.unwrap_or(0.0));
    let mut notes = Vec::from_iter(reader.note(&BeamSource::Header));
    if let (None, Some(beam)) = (bpa, beam) {
        if !is_round(&beam) {
            return Err(missing("BPA", "BMAJ"));
        }
        notes.push(BeamNote::AngleAssumed);
    }
    Ok(Some(Entries {
        beams: vec![beam],
        notes,
    }))
}

/// Round to the digits that float32 keeps, so that an angle does not matter.
fn is_round(beam: &Beam) -> bool {
    beam.bmaj_arcsec() - beam.bmin_arcsec() <= 1e-6 * beam.bmaj_arcsec()
}

/// The beams of the cards BMAJn, BMINn and BPAn (or PAn), n from 1, one a channel; `None` without
/// any BMAJn.
pub(super) fn numbered_beams(
    header: &Header,
    channels: u64,
    floor_arcsec: f64,
) -> Result<Option<Entries>, BeamError> {
    let Some(highest) = highest_number(header) else {
        return Ok(None);
    };
    if highest != channels {
        return Err(BeamError::CardCount {
            cards: highest,
            channels,
        });
    }
    let mut reader = Reader::new(floor_arcsec);
    let mut beams = Vec::new();
    for number in 1..=channels {
        let bmaj = needed(header, &[format!("BMAJ{number}")])?;
        let bmin = needed(header, &[format!("BMIN{number}")])?;
        let bpa = needed(header, &[format!("BPA{number}"), format!("PA{number}")])?;
        beams.push(reader.beam(bmaj * 3600.0, bmin * 3600.0, bpa));
    }
    let notes = Vec::from_iter(reader.note(&BeamSource::Cards));
    Ok(Some(Entries { beams, notes }))
}

/// The value of the first of `keywords` that is there. A value left undefined, the form a NaN
/// takes in a header (FITS 4.0, 4.2.4 has none), is NaN.
fn needed(header: &Header, keywords: &[String]) -> Result<f64, BeamError> {
    match keywords.iter().find(|keyword| header.contains(keyword)) {
        Some(keyword) => {
            let value = header.real(keyword).map_err(BeamError::Header)?;
            Ok(value.unwrap_or(f64::NAN))
        }
        None => Err(BeamError::CardMissing {
            keyword: keywords.join(" or "),
            present: "BMAJn of other channels".to_owned(),
        }),
    }
}

/// The largest n of the cards BMAJn.
fn highest_number(header: &Header) -> Option<u64> {
    let number = |keyword: &str| -> Option<u64> {
        let digits = keyword.strip_prefix("BMAJ")?;
        let plain = digits.bytes().all(|byte| byte.is_ascii_digit()) && !digits.starts_with('0');
        if plain { digits.parse().ok() } else { None }
    };
    header
        .cards()
        .iter()
        .filter_map(|card| number(&card.keyword()))
        .max()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(cards: &[(&str, f64)]) -> Header {
        let mut header = Header::new();
        for (keyword, value) in cards {
            header.set(keyword, *value, None).unwrap();
        }
        header
    }

    #[test]
    fn three_cards_in_degrees() {
        let header = header(&[
            ("BMAJ", 16.0 / 3600.0),
            ("BMIN", 9.0 / 3600.0),
            ("BPA", 220.0),
        ]);
        let found = header_beam(&header, 1e-3).unwrap().unwrap();
        let beam = found.beams[0].unwrap();
        assert!((beam.bmaj_arcsec() - 16.0).abs() < 1e-12 && found.notes.is_empty());
        assert!((beam.bmin_arcsec() - 9.0).abs() < 1e-12 && beam.bpa_deg() == 40.0);
        assert_eq!(header_beam(&Header::new(), 1e-3).unwrap(), None);
    }

    #[test]
    fn incomplete_cards() {
        let round = header(&[("BMAJ", 0.01), ("BMIN", 0.01)]);
        let found = header_beam(&round, 1e-3).unwrap().unwrap();
        assert_eq!(found.notes, [BeamNote::AngleAssumed]);
        for (cards, keyword) in [
            (header(&[("BMAJ", 0.02), ("BMIN", 0.01)]), "BPA"),
            (header(&[("BMAJ", 0.02), ("BPA", 3.0)]), "BMIN"),
            (header(&[("BMIN", 0.02), ("BPA", 3.0)]), "BMAJ"),
        ] {
            let error = header_beam(&cards, 1e-3).unwrap_err().to_string();
            assert!(error.contains(keyword), "{error}");
        }
    }

    #[test]
    fn b22_a_zero_beam_is_blank() {
        let zero = header(&[("BMAJ", 0.0), ("BMIN", 0.0), ("BPA", 0.0)]);
        assert_eq!(header_beam(&zero, 1e-3).unwrap().unwrap().beams, [None]);
    }

    #[test]
    fn numbered_cards_of_both_spellings() {
        let cards = [
            ("BMAJ2", 0.02),
            ("BMIN2", 0.01),
            ("PA2", 30.0),
            ("BMAJ1", 0.04),
            ("BMIN1", 0.03),
            ("BPA1", 10.0),
        ];
        let found = numbered_beams(&header(&cards), 2, 1e-3).unwrap().unwrap();
        let angles: Vec<f64> = found.beams.iter().flatten().map(Beam::bpa_deg).collect();
        assert_eq!(angles, [10.0, 30.0]);
        let error = numbered_beams(&header(&cards), 3, 1e-3)
            .unwrap_err()
            .to_string();
        assert!(error.contains('2') && error.contains('3'), "{error}");
        let error = numbered_beams(&header(&cards[..4]), 2, 1e-3)
            .unwrap_err()
            .to_string();
        assert!(error.contains("BMIN1") || error.contains("BPA1"), "{error}");
        assert_eq!(
            numbered_beams(&header(&[("BMAJ", 0.1)]), 2, 1e-3).unwrap(),
            None
        );
    }
}
