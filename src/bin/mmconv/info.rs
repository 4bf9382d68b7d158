//! `mmconv info`: what is in a file, at a glance. HDUs that `smooth` would not take are listed too.

use std::fmt::Write as _;
use std::path::Path;

use fits_layout::{Hdu, HduKind, Layout};
use mmfits::beam::Beam;
use mmfits::beam::source::BeamFrom;
use mmfits::image::Image;
use mmfits::map::Source;
use mmfits::plan::HduChoice;
use mmfits::sky::{AxisKind, Brightness, PixelToSky};
use serde_json::{Value, json};

use crate::args::Info;
use crate::failure::{Failure, Status, chain};
use crate::json;
use crate::out::Results;
use crate::words::{self, Spread};

/// Shows each file. One that cannot be read is told of, and the others go on; the status is the
/// worst of all.
pub fn run(args: &Info, results: &Results) -> Status {
    let mut status = Status::Done;
    for path in &args.files {
        match File::look(path) {
            Ok(file) if args.json => results.line(file.object().to_string().as_bytes()),
            Ok(file) => results.write(file.text().as_bytes()),
            Err(failure) => status = status.max(failure.tell()),
        }
    }
    status
}

/// A file, mapped, and its layout.
struct File<'a> {
    path: &'a Path,
    source: Source,
    layout: Layout,
}

impl<'a> File<'a> {
    fn look(path: &'a Path) -> Result<Self, Failure> {
        let parsed = Source::open(path).ok().and_then(|source| {
            let layout = Layout::parse(source.bytes()).ok()?;
            Some(Self {
                path,
                source,
                layout,
            })
        });
        match (parsed, Image::open(path, &HduChoice::FirstImage)) {
            (Some(file), _) => Ok(file),
            // The error that `smooth` gives for such a file.
            (None, Err(error)) => Err(error.into()),
            (None, Ok(_)) => Err(Failure::machine(format!(
                "{}: it has changed",
                path.display()
            ))),
        }
    }

    fn text(&self) -> String {
        let mut text = String::new();
        let _ = writeln!(
            text,
            "{}: {}, {}",
            self.path.display(),
            words::plural(self.layout.hdus.len() as u64, "HDU"),
            words::bytes(self.source.bytes().len() as u64)
        );
        for (number, hdu) in self.layout.hdus.iter().enumerate() {
            hdu_text(&mut text, number, hdu);
            match self.seen(number, hdu) {
                None => {}
                Some(Ok(seen)) => seen.text(&mut text),
                Some(Err(problem)) => line(&mut text, "problem", &problem),
            }
        }
        text
    }

    fn object(&self) -> Value {
        let hdus: Vec<Value> = self
            .layout
            .hdus
            .iter()
            .enumerate()
            .map(|(number, hdu)| hdu_object(number, hdu, self.seen(number, hdu).as_ref()))
            .collect();
        json!({
            "input": json::path(self.path),
            "bytes": self.source.bytes().len(),
            "hdus": hdus,
        })
    }

    /// What the header of an image says; none for tables and empty HDUs.
    fn seen(&self, number: usize, hdu: &Hdu) -> Option<Result<Seen, String>> {
        let is_image = matches!(hdu.kind(), HduKind::Primary | HduKind::Image);
        let has_planes = hdu.axes().len() >= 2 && !hdu.axes().contains(&0);
        if !(hdu.is_compressed_image() || is_image && has_planes) {
            return None;
        }
        let image = Image::open(self.path, &HduChoice::Index(number));
        Some(
            image
                .map(|image| Seen::of(&image))
                .map_err(|error| inner(&error)),
        )
    }
}

/// An error without the path, which stands above already.
fn inner(error: &mmfits::Error) -> String {
    let text = chain(error);
    let path = error
        .path()
        .map(|path| format!("{}: ", path.display()))
        .unwrap_or_default();
    text.strip_prefix(&path).map(str::to_owned).unwrap_or(text)
}

fn line(text: &mut String, label: &str, value: &str) {
    let _ = writeln!(text, "    {label:<10}{value}");
}

fn shape(axes: &[u64]) -> String {
    let lengths: Vec<String> = axes.iter().map(u64::to_string).collect();
    if lengths.is_empty() {
        "no data".to_owned()
    } else {
        lengths.join(" x ")
    }
}

fn hdu_text(text: &mut String, number: usize, hdu: &Hdu) {
    let (header, data) = (hdu.header_range(), hdu.data_range());
    let name = hdu
        .name()
        .map_or_else(String::new, |name| format!("{name}, "));
    let content = match (hdu.kind(), hdu.axes()) {
        (HduKind::BinTable | HduKind::AsciiTable, &[row_bytes, rows]) => {
            format!("{} of {row_bytes} bytes", words::plural(rows, "row"))
        }
        (_, axes) => format!("{}, BITPIX {}", shape(axes), hdu.bitpix().code()),
    };
    let _ = writeln!(text, "  HDU {number}  {name}{}, {content}", hdu.kind());
    let bytes = format!(
        "header {}..{}, data {}..{}",
        header.start, header.end, data.start, data.end
    );
    line(text, "bytes", &bytes);
}

fn hdu_object(number: usize, hdu: &Hdu, seen: Option<&Result<Seen, String>>) -> Value {
    let (header, data) = (hdu.header_range(), hdu.data_range());
    json!({
        "hdu": number,
        "kind": hdu.kind().to_string(),
        "name": hdu.name(),
        "bitpix": hdu.bitpix().code(),
        "shape": hdu.axes(),
        "header_bytes": [header.start, header.end],
        "data_bytes": [data.start, data.end],
        "image": seen.and_then(|seen| seen.as_ref().ok()).map(Seen::object),
        "problem": seen.and_then(|seen| seen.as_ref().err()),
    })
}

/// One axis of an image.
struct Axis {
    ctype: String,
    length: u64,
    role: &'static str,
}

/// What an image's header says. What cannot be found is kept as the reason.
struct Seen {
    axes: Vec<Axis>,
    planes: u64,
    pixel_arcsec: Result<[f64; 2], String>,
    bunit: Option<String>,
    brightness: Result<Brightness, String>,
    beams: Result<(String, Vec<Option<Beam>>), String>,
}

impl Seen {
    fn of(image: &Image) -> Self {
        let bunit = image.header().text("BUNIT").ok().flatten();
        let beams = image.beams(BeamFrom::Auto, None);
        Self {
            axes: axes(image),
            planes: image.cube().planes(),
            pixel_arcsec: image
                .pixel_to_sky()
                .map(pixel_arcsec)
                .map_err(|error| inner(&error)),
            bunit,
            brightness: image.brightness().map_err(|error| inner(&error)),
            beams: beams
                .map(|found| (found.source.to_string(), found.beams))
                .map_err(|error| inner(&error)),
        }
    }

    fn text(&self, text: &mut String) {
        for (number, axis) in self.axes.iter().enumerate() {
            let value = format!("{:<10}{:>8}  {}", axis.ctype, axis.length, axis.role);
            line(text, &format!("axis {}", number + 1), &value);
        }
        line(text, "planes", &self.planes.to_string());
        let pixel =
            |[x, y]: &[f64; 2]| format!("{} x {} arcsec", words::number(*x), words::number(*y));
        line(text, "pixel", &known(&self.pixel_arcsec, pixel));
        line(text, "unit", &self.unit());
        line(
            text,
            "beams",
            &known(&self.beams, |(source, beams)| beams_text(source, beams)),
        );
    }

    fn unit(&self) -> String {
        let bunit = self.bunit.as_deref().unwrap_or("no BUNIT").trim();
        let treated = known(&self.brightness, |brightness| {
            treatment(brightness).to_owned()
        });
        format!("{bunit}: {treated}")
    }

    fn object(&self) -> Value {
        let axes: Vec<Value> = self
            .axes
            .iter()
            .map(|axis| json!({ "ctype": axis.ctype, "length": axis.length, "role": axis.role }))
            .collect();
        let (source, beams) = match &self.beams {
            Ok((source, beams)) => (Some(source), beams.as_slice()),
            Err(_) => (None, [].as_slice()),
        };
        json!({
            "axes": axes,
            "planes": self.planes,
            "pixel_arcsec": self.pixel_arcsec.as_ref().ok(),
            "unit": self.bunit,
            "brightness": self.brightness.as_ref().ok().map(brightness_word),
            "beam_source": source,
            "beams": beams.iter().flatten().count(),
            "bmaj_arcsec": json::spread(spread(beams)),
        })
    }
}

fn known<T>(found: &Result<T, String>, text: impl Fn(&T) -> String) -> String {
    match found {
        Ok(value) => text(value),
        Err(reason) => format!("not known: {reason}"),
    }
}

fn spread(beams: &[Option<Beam>]) -> Option<Spread> {
    Spread::of(beams.iter().flatten().map(Beam::bmaj_arcsec))
}

fn beams_text(source: &str, beams: &[Option<Beam>]) -> String {
    let usable = beams.iter().flatten().count();
    match (words::beams(beams), beams.len()) {
        (None, all) => format!("{source}: none of {all} is usable"),
        (Some(text), 1) => format!("{source}: {text}"),
        (Some(text), all) => format!("{source}: {usable} of {all}, {text}"),
    }
}

fn brightness_word(brightness: &Brightness) -> &'static str {
    match brightness {
        Brightness::PerBeam => "per-beam",
        Brightness::Surface => "surface",
        Brightness::Absent => "absent",
        Brightness::Unknown(_) => "unknown",
    }
}

fn treatment(brightness: &Brightness) -> &'static str {
    match brightness {
        Brightness::PerBeam => "per beam, pixels scale by the ratio of the beam areas",
        Brightness::Surface => "surface brightness, pixels keep their scale",
        Brightness::Absent => "taken as Jy/beam; --unit says otherwise",
        Brightness::Unknown(_) => "not understood; smooth needs --unit per-beam or surface",
    }
}

fn axes(image: &Image) -> Vec<Axis> {
    let found = image.axes();
    let axis = |(number, &length)| Axis {
        ctype: found.ctype(number).to_owned(),
        length,
        role: role(found.kind(number)),
    };
    found.lengths().iter().enumerate().map(axis).collect()
}

fn role(kind: AxisKind) -> &'static str {
    match kind {
        AxisKind::Longitude => "longitude",
        AxisKind::Latitude => "latitude",
        AxisKind::Spectral => "spectral",
        AxisKind::Stokes => "stokes",
        AxisKind::Other => "other",
    }
}

/// Lengths of a pixel's sides on the sky.
fn pixel_arcsec(matrix: PixelToSky) -> [f64; 2] {
    let [[east_x, east_y], [north_x, north_y]] = matrix.matrix();
    [east_x.hypot(north_x), east_y.hypot(north_y)]
}
