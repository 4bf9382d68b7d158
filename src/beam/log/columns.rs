//! The header lines of a beam log: which column is which, in what unit.
//! Rows are read in the parent.

use super::{BeamError, arcsec_in, degrees_in};

/// Where the columns of a beam stand.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Columns {
    /// `None` where there is no channel column.
    pub(super) channel: Option<usize>,
    pub(super) bmaj: Column,
    pub(super) bmin: Column,
    pub(super) bpa: Column,
}

/// A column and what its numbers are multiplied by to be arcsec or degrees.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Column {
    pub(super) index: usize,
    pub(super) factor: f64,
}

impl Columns {
    /// As the header lines of `text` say; channel, BMAJ, BMIN, BPA in arcsec and degrees if there
    /// are none.
    pub(super) fn of(text: &str) -> Result<Self, BeamError> {
        let Some(names) = header_lines(text).map(names).find(|names| is_header(names)) else {
            let column = |index| Column { index, factor: 1.0 };
            return Ok(Self {
                channel: Some(0),
                bmaj: column(1),
                bmin: column(2),
                bpa: column(3),
            });
        };
        let units = header_lines(text)
            .map(fields)
            .find(|units| units.len() == names.len() && units.iter().all(|unit| is_unit(unit)));
        let find = |wanted: &str, factor: fn(&str) -> Option<f64>| {
            let (index, unit) = column(&names, wanted)?;
            let unit = match (unit, units.as_ref().and_then(|units| units.get(index))) {
                (Some(unit), _) => unit,
                (None, Some(unit)) if !is_none(unit) => unit.clone(),
                (None, _) => return Ok(Column { index, factor: 1.0 }),
            };
            let factor = factor(&unit);
            let unknown = || BeamError::UnknownUnit {
                name: wanted.to_owned(),
                unit,
            };
            Ok(Column {
                index,
                factor: factor.ok_or_else(unknown)?,
            })
        };
        Ok(Self {
            channel: ["CHANNEL", "CHAN", "CHANNELS"]
                .iter()
                .find_map(|wanted| column(&names, wanted).ok())
                .map(|(index, _)| index),
            bmaj: find("BMAJ", arcsec_in)?,
            bmin: find("BMIN", arcsec_in)?,
            bpa: find("BPA", degrees_in).or_else(|error| find("PA", degrees_in).or(Err(error)))?,
        })
    }
}

/// The index of the column `wanted`, or of `Target wanted`, and the unit in its brackets.
fn column(names: &[String], wanted: &str) -> Result<(usize, Option<String>), BeamError> {
    let parted = |name: &String| -> (String, Option<String>) {
        match name.split_once(['[', '(']) {
            Some((name, unit)) => {
                let unit = unit.trim_end_matches([']', ')']).trim().to_owned();
                (
                    name.trim().to_ascii_uppercase(),
                    Some(unit).filter(|unit| !is_none(unit)),
                )
            }
            None => (name.trim().to_ascii_uppercase(), None),
        }
    };
    let parted: Vec<_> = names.iter().map(parted).collect();
    for spelling in [wanted.to_owned(), format!("TARGET {wanted}")] {
        let found = parted.iter().position(|(name, _)| *name == spelling);
        if let Some((index, (_, unit))) = found.and_then(|at| Some((at, parted.get(at)?))) {
            return Ok((index, unit.clone()));
        }
    }
    Err(BeamError::LogColumn {
        column: wanted.to_owned(),
        columns: names.join(", "),
    })
}

/// The lines that may name columns: comments, and a first line that does not begin with a number.
fn header_lines(text: &str) -> impl Iterator<Item = &str> {
    let comments = text
        .lines()
        .filter_map(|line| line.trim().strip_prefix('#'));
    comments.chain(uncommented_header(text).map(|(_, line)| line))
}

/// A first line of names without a comment mark, as comma-separated files have.
fn uncommented_header(text: &str) -> Option<(usize, &str)> {
    let (index, first) = lines(text).next()?;
    is_header(&names(first)).then_some((index, first))
}

/// The rows, with their line numbers from 1.
pub(super) fn rows(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let header = uncommented_header(text).map(|(line, _)| line);
    lines(text).filter(move |(line, _)| Some(*line) != header)
}

/// Lines that are neither empty nor comments.
fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let numbered = text
        .lines()
        .zip(1..)
        .map(|(line, number)| (number, line.trim()));
    numbered.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
}

fn is_header(names: &[String]) -> bool {
    names
        .iter()
        .any(|name| name.to_ascii_uppercase().contains("BMAJ"))
}

fn is_none(unit: &str) -> bool {
    unit.is_empty() || unit.eq_ignore_ascii_case("none")
}

fn is_unit(unit: &str) -> bool {
    is_none(unit) || arcsec_in(unit).is_some()
}

/// The fields of a line, parted by blanks or commas; quotes keep blanks inside.
pub(super) fn fields(line: &str) -> Vec<String> {
    let mut fields = Vec::new();
    let mut field = String::new();
    let mut quote = None;
    for letter in line.chars() {
        match quote {
            Some(mark) if letter == mark => quote = None,
            None if letter == '"' => quote = Some(letter),
            None if letter.is_whitespace() || letter == ',' => {
                fields.push(std::mem::take(&mut field));
            }
            _ => field.push(letter),
        }
    }
    fields.push(field);
    fields.retain(|field| !field.is_empty());
    fields
}

/// The fields of a header line, a unit in brackets joined to the name before it.
fn names(line: &str) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for field in fields(line) {
        match names.last_mut() {
            Some(name) if field.starts_with(['[', '(']) => name.push_str(&field),
            _ => names.push(field),
        }
    }
    names
}
