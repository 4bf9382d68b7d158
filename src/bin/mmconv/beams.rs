//! `mmconv beams`: the beam of every plane, its source, the range, and the common beam.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use mmfits::beam::source::Resolved;
use mmfits::beam::{Beam, common_beam};
use mmfits::image::Image;
use serde_json::{Value, json};

use crate::args::{BeamInput, Beams};
use crate::failure::{Failure, Status};
use crate::json;
use crate::out::Results;
use crate::words::{self, Spread, plural};

/// The beams of one file.
struct Found {
    path: PathBuf,
    channels: u64,
    stokes: u64,
    resolved: Resolved,
}

/// Lists the beams of each file. A file that has none is told of, and the others go on; the status
/// is the worst of all.
pub fn run(args: &Beams, results: &Results) -> Status {
    let mut status = Status::Done;
    let mut found = Vec::new();
    for path in &args.files {
        match look(path, &args.beams) {
            Ok(file) => found.push(file),
            Err(failure) => status = status.max(failure.tell()),
        }
    }
    let everything: Vec<Beam> = found.iter().flat_map(Found::usable).collect();
    let common = common_beam(&everything).ok();
    for file in &found {
        if args.json {
            results.line(object(file, common.as_ref()).to_string().as_bytes());
        } else {
            results.write(table(file).as_bytes());
        }
    }
    if !args.json && found.len() > 1 {
        let files = plural(found.len() as u64, "file");
        let text = common.map_or_else(|| "none".to_owned(), |beam| words::beam(&beam));
        results.line(format!("all {files}\n  common    {text}").as_bytes());
    }
    status
}

fn look(path: &Path, wanted: &BeamInput) -> Result<Found, Failure> {
    let image = Image::open(path, &wanted.hdu.clone().unwrap_or_default())?;
    let resolved = image.beams(wanted.beam_from.into(), wanted.beamlog.as_deref())?;
    let axes = image.axes();
    let (channels, stokes) = (axes.channels(), axes.stokes_count());
    Ok(Found {
        path: path.to_owned(),
        channels,
        stokes,
        resolved,
    })
}

impl Found {
    fn usable(&self) -> impl Iterator<Item = Beam> + '_ {
        self.resolved.beams.iter().copied().flatten()
    }

    fn common(&self) -> Option<Beam> {
        common_beam(&self.usable().collect::<Vec<_>>()).ok()
    }

    /// Channel, Stokes and beam of each plane, by channel.
    fn rows(&self) -> impl Iterator<Item = (u64, u64, Option<Beam>)> + '_ {
        let stokes = self.stokes.max(1);
        (0u64..)
            .zip(&self.resolved.beams)
            .map(move |(row, beam)| (row / stokes, row % stokes, *beam))
    }

    fn spread(&self, axis: impl Fn(&Beam) -> f64) -> Option<Spread> {
        Spread::of(self.resolved.beams.iter().flatten().map(axis))
    }

    fn blank(&self) -> usize {
        self.resolved
            .beams
            .iter()
            .filter(|beam| beam.is_none())
            .count()
    }
}

fn table(file: &Found) -> String {
    let mut text = String::new();
    let _ = writeln!(
        text,
        "{}: {}, {} stokes; beams from {}",
        file.path.display(),
        plural(file.channels, "channel"),
        file.stokes,
        file.resolved.source
    );
    text.push_str(" channel  stokes  BMAJ[arcsec]  BMIN[arcsec]  BPA[deg]\n");
    for (channel, stokes, beam) in file.rows() {
        let [bmaj, bmin, bpa] = beam.map_or(["-", "-", "blank"].map(str::to_owned), |beam| {
            [
                words::number(beam.bmaj_arcsec()),
                words::number(beam.bmin_arcsec()),
                words::degrees(beam.bpa_deg()),
            ]
        });
        let _ = writeln!(text, "{channel:8}{stokes:8}{bmaj:>14}{bmin:>14}{bpa:>10}");
    }
    summary(&mut text, file);
    text
}

fn summary(text: &mut String, file: &Found) {
    let axes = [
        file.spread(Beam::bmaj_arcsec),
        file.spread(Beam::bmin_arcsec),
    ];
    for (name, spread) in ["BMAJ", "BMIN"].into_iter().zip(axes) {
        if let Some(spread) = spread {
            let _ = writeln!(
                text,
                "  {name}      {} / {} / {} arcsec (min / median / max)",
                words::number(spread.min),
                words::number(spread.median),
                words::number(spread.max)
            );
        }
    }
    let _ = writeln!(
        text,
        "  blank     {} of {} beams",
        file.blank(),
        file.resolved.beams.len()
    );
    let common = file
        .common()
        .map_or_else(|| "none".to_owned(), |beam| words::beam(&beam));
    let _ = writeln!(text, "  common    {common}");
    for note in &file.resolved.notes {
        let _ = writeln!(text, "  note      {note}");
    }
}

fn object(file: &Found, common_of_all: Option<&Beam>) -> Value {
    let beams: Vec<Value> = file
        .rows()
        .map(|(channel, stokes, beam)| {
            json!({
                "channel": channel,
                "stokes": stokes,
                "bmaj_arcsec": beam.map(|beam| beam.bmaj_arcsec()),
                "bmin_arcsec": beam.map(|beam| beam.bmin_arcsec()),
                "bpa_deg": beam.map(|beam| beam.bpa_deg()),
            })
        })
        .collect();
    let notes: Vec<String> = file
        .resolved
        .notes
        .iter()
        .map(ToString::to_string)
        .collect();
    json!({
        "input": json::path(&file.path),
        "beam_source": file.resolved.source.to_string(),
        "channels": file.channels,
        "stokes": file.stokes,
        "blank": file.blank(),
        "bmaj_arcsec": json::spread(file.spread(Beam::bmaj_arcsec)),
        "bmin_arcsec": json::spread(file.spread(Beam::bmin_arcsec)),
        "common": json::beam(file.common().as_ref()),
        "common_of_all_files": json::beam(common_of_all),
        "notes": notes,
        "beams": beams,
    })
}
