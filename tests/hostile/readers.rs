//! What must hold of the readers of beams, units and sky axes whatever bytes they are given: shared
//! by the mutations of `cargo test` and the fuzz targets of `tests/fuzz`. No file is opened here.

use std::path::Path;

use fits_layout::{Card, Header, Layout};
use mmfits::beam::source::{BeamFrom, Question, resolve};
use mmfits::beam::{Beam, BeamError, log, table};
use mmfits::sky::{Axes, Brightness, PixelToSky, classify};

/// An axis of a beam below this is blank, arcsec.
const FLOOR_ARCSEC: f64 = 1e-3;

/// The cards of text: a line is a card, cut or filled up to 80 bytes.
fn card_of(line: &[u8]) -> Card {
    let mut bytes = [b' '; 80];
    bytes
        .iter_mut()
        .zip(line)
        .for_each(|(to, from)| *to = *from);
    Card::from_bytes(bytes)
}

fn header_of<'a>(lines: impl Iterator<Item = &'a [u8]>) -> Header {
    let mut header = Header::new();
    lines.take(200).for_each(|line| header.push(card_of(line)));
    header
}

fn lines(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    bytes.split(|&byte| byte == b'\n')
}

fn check_beam(beam: Option<Beam>) {
    let Some(beam) = beam else { return };
    let (bmaj, bmin, bpa) = (beam.bmaj_arcsec(), beam.bmin_arcsec(), beam.bpa_deg());
    assert!(
        bmaj.is_finite() && bmaj >= bmin && bmin >= FLOOR_ARCSEC,
        "{beam:?}"
    );
    assert!(bpa > -90.0 && bpa <= 90.0, "{beam:?}");
    assert!(!beam.to_string().is_empty());
}

/// A beam log: what is read is written and read again as the same beams.
pub fn beam_log(bytes: &[u8]) {
    let Some((&channels, text)) = bytes.split_first() else {
        return;
    };
    let text = String::from_utf8_lossy(text);
    let channels = Some(u64::from(channels)).filter(|&channels| channels < 200);
    match log::parse(&text, channels, FLOOR_ARCSEC) {
        Ok(found) => {
            assert!(channels.is_none_or(|channels| channels == found.beams.len() as u64));
            found.beams.iter().copied().for_each(check_beam);
            let again = log::parse(&log::render(&found.beams), channels, FLOOR_ARCSEC);
            let again = again.expect("a log that we wrote can be read");
            assert_eq!(again.beams, found.beams);
            assert!(again.notes.is_empty(), "{:?}", again.notes);
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

/// BUNIT: case and blanks around it change nothing, and what is unknown is told as it stands.
pub fn bunit(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let found = classify(Some(&text));
    assert_eq!(classify(Some(&format!("  {text} "))), found);
    let other_case = classify(Some(&text.to_ascii_uppercase()));
    match (&found, &other_case) {
        (Brightness::Unknown(told), Brightness::Unknown(_)) => assert_eq!(told, text.trim()),
        (found, other_case) => assert_eq!(found, other_case, "{text:?}"),
    }
    assert_eq!(found == Brightness::Absent, text.trim().is_empty());
}

/// The lengths of axes that the first bytes say, and the rest.
fn lengths(bytes: &[u8]) -> (Vec<u64>, &[u8]) {
    let Some((&first, mut rest)) = bytes.split_first() else {
        return (Vec::new(), bytes);
    };
    let mut lengths = Vec::new();
    for _ in 0..first % 7 {
        let Some((&length, more)) = rest.split_first() else {
            break;
        };
        rest = more;
        // The odd ones are beyond any file.
        lengths.push(match length {
            250.. => u64::MAX >> (length - 250),
            length => u64::from(length),
        });
    }
    (lengths, rest)
}

/// Axes and the pixel matrix of a header: what is accepted can be inverted, and is.
pub fn wcs(bytes: &[u8]) {
    let (lengths, rest) = lengths(bytes);
    let header = header_of(lines(rest));
    let axes = match Axes::find(&header, &lengths) {
        Ok(axes) => axes,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    check_axes(&axes, &lengths);
    match PixelToSky::from_header(&header, &axes) {
        Ok(sky) => check_matrix(&sky),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

fn check_axes(axes: &Axes, lengths: &[u64]) {
    let (lon, lat) = axes.celestial();
    assert!(lon + lat == 1);
    for (axis, count) in [
        (axes.spectral(), axes.channels()),
        (axes.stokes(), axes.stokes_count()),
    ] {
        let length = axis.map_or(1, |axis| lengths[axis]);
        assert!(axis.is_none_or(|axis| axis >= 2) && count == length);
    }
    for k in [0, 1, 77, u64::MAX] {
        let plane = axes.plane(k);
        assert!(plane.channel <= axes.channels() && plane.stokes <= axes.stokes_count());
    }
    assert!(
        axes.reference_channel()
            .is_none_or(|channel| channel < axes.channels())
    );
    axes.notes()
        .iter()
        .for_each(|note| assert!(!note.to_string().is_empty()));
}

fn check_matrix(sky: &PixelToSky) {
    let (there, back) = (sky.matrix(), sky.inverse());
    let all = there.as_flattened().iter().chain(back.as_flattened());
    assert!(
        all.clone().all(|element| element.is_finite()),
        "{there:?} {back:?}"
    );
    assert!(sky.pixel_scale_arcsec().is_normal(), "{there:?}");
    // Rows of the product, each against the size of what cancels in it.
    for row in 0..2 {
        for column in 0..2 {
            let terms = [0, 1].map(|k| there[row][k] * back[k][column]);
            let size = terms[0].abs() + terms[1].abs();
            let unit = f64::from(u8::from(row == column));
            let off = (terms[0] + terms[1] - unit).abs();
            assert!(off <= 1e-12 * size.max(1.0), "{there:?} times {back:?}");
        }
    }
}

/// Beams in cards and HISTORY: as many as planes, each of them a beam, or an error.
pub fn beam_cards(bytes: &[u8]) {
    let Some((&shape, rest)) = bytes.split_first() else {
        return;
    };
    let (channels, stokes) = (u64::from(shape % 9), u64::from(shape / 64));
    let mut header = primary([3, 2, channels, stokes]);
    lines(rest)
        .take(200)
        .for_each(|line| header.push(card_of(line)));
    let mut file = header.render();
    file.resize(file.len() + 2880, 0);
    ask(&file, channels, stokes, |question| {
        for from in [BeamFrom::Cards, BeamFrom::Header, BeamFrom::History] {
            check_answer(resolve(&Question { from, ..*question }).map(Some), question);
        }
    });
}

/// A beam table: cards as lines up to a line `END`, which may say anything, and the data.
pub fn beam_table(bytes: &[u8]) {
    let Some((&shape, rest)) = bytes.split_first() else {
        return;
    };
    let (channels, stokes) = (u64::from(shape % 9), u64::from(shape / 64));
    let mut file = primary([3, 2, channels, stokes]).render();
    file.resize(file.len() + 2880, 0);
    let (cards, data) = split_at_end(rest);
    file.extend(header_of(lines(cards)).render());
    file.extend(data);
    ask(&file, channels, stokes, |question| {
        check_answer(table::read(question), question);
        match table::belonging(question.layout, 0) {
            Ok(indices) => assert!(indices.iter().all(|&index| index == 1)),
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    });
}

fn split_at_end(bytes: &[u8]) -> (&[u8], &[u8]) {
    let end = bytes.windows(5).position(|window| window == b"\nEND\n");
    end.map_or((bytes, &[]), |end| (&bytes[..end], &bytes[end + 5..]))
}

fn primary(axes: [u64; 4]) -> Header {
    let mut lines = vec![
        "SIMPLE  =                    T".to_owned(),
        "BITPIX  =                    8".to_owned(),
        "NAXIS   =                    4".to_owned(),
    ];
    let axis = |(n, length): (u64, &u64)| format!("NAXIS{n}  = {length:>20}");
    lines.extend((1..).zip(&axes).map(axis));
    header_of(lines.iter().map(String::as_bytes))
}

/// Asks a file, if it is one.
fn ask(file: &[u8], channels: u64, stokes: u64, answer: impl FnOnce(&Question<'_>)) {
    let Ok(layout) = Layout::parse(file) else {
        return;
    };
    answer(&Question {
        path: Path::new("hostile.fits"),
        layout: &layout,
        bytes: file,
        hdu: 0,
        channels,
        stokes,
        beamlog: None,
        from: BeamFrom::Table,
        floor_arcsec: FLOOR_ARCSEC,
    });
}

fn check_answer(
    answer: Result<Option<mmfits::beam::source::Resolved>, BeamError>,
    question: &Question<'_>,
) {
    match answer {
        Ok(None) => {}
        Ok(Some(found)) => {
            let planes = question.channels * question.stokes;
            assert_eq!(found.beams.len() as u64, planes);
            found.beams.iter().copied().for_each(check_beam);
            let mut notes = found.notes.iter();
            assert!(notes.all(|note| !note.to_string().is_empty()));
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}
