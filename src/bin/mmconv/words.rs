//! Beams, ranges, sizes and counts as people read them.

use mmfits::Unfinished;
use mmfits::beam::Beam;

/// Least, middle and greatest of some numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    pub min: f64,
    pub median: f64,
    pub max: f64,
}

impl Spread {
    /// Of all the numbers; none if there are none.
    pub fn of(numbers: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut sorted: Vec<f64> = numbers.into_iter().collect();
        sorted.sort_by(f64::total_cmp);
        let (min, max) = (*sorted.first()?, *sorted.last()?);
        let (low, high) = ((sorted.len() - 1) / 2, sorted.len() / 2);
        let median = (sorted.get(low)? + sorted.get(high)?) / 2.0;
        Some(Self { min, median, max })
    }

    /// `16, 18 and 20 arcsec`, or one number if all are the same to the digits shown.
    pub fn text(&self, unit: &str) -> String {
        let [min, median, max] = [self.min, self.median, self.max].map(number);
        if min == max {
            return format!("{min}{unit}");
        }
        format!("{min} / {median} / {max}{unit}")
    }
}

/// Five digits, without the zeros at the end.
pub fn number(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return format!("{value}");
    }
    let magnitude = value.abs().log10().floor() as i32;
    if !(-5..15).contains(&magnitude) {
        return format!("{value:.4e}");
    }
    let decimals = usize::try_from(4 - magnitude).unwrap_or(0);
    let text = format!("{value:.decimals$}");
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

/// An angle to a hundredth of a degree.
pub fn degrees(value: f64) -> String {
    let text = format!("{value:.2}");
    if text == "-0.00" {
        "0.00".to_owned()
    } else {
        text
    }
}

/// `20 x 18.5 arcsec, PA 32.10 deg`.
pub fn beam(beam: &Beam) -> String {
    format!(
        "{} x {} arcsec, PA {} deg",
        number(beam.bmaj_arcsec()),
        number(beam.bmin_arcsec()),
        degrees(beam.bpa_deg())
    )
}

/// One beam, or the least, middle and greatest of each axis.
pub fn beams(beams: &[Option<Beam>]) -> Option<String> {
    let valid = || beams.iter().flatten();
    let first = valid().next()?;
    if valid().all(|beam| beam == first) {
        return Some(beam(first));
    }
    let bmaj = Spread::of(valid().map(Beam::bmaj_arcsec))?;
    let bmin = Spread::of(valid().map(Beam::bmin_arcsec))?;
    Some(format!(
        "BMAJ {}, BMIN {} (min / median / max)",
        bmaj.text(" arcsec"),
        bmin.text(" arcsec")
    ))
}

/// `12.3 GiB`, or plain bytes where they are few.
pub fn bytes(count: u64) -> String {
    const UNITS: [&str; 5] = ["KiB", "MiB", "GiB", "TiB", "PiB"];
    if count < 1024 {
        return plural(count, "byte");
    }
    let mut value = count as f64 / 1024.0;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    let unit = UNITS.get(unit).copied().unwrap_or_default();
    format!("{value:.1} {unit}")
}

/// `1 plane`, `3 planes`.
pub fn plural(count: u64, noun: &str) -> String {
    if count == 1 {
        format!("1 {noun}")
    } else {
        format!("{count} {noun}s")
    }
}

/// Seconds, with fewer digits the longer it was.
pub fn seconds(value: f64) -> String {
    if value < 60.0 {
        return format!("{value:.2} s");
    }
    let whole = value.round() as u64;
    let (hours, minutes, rest) = (whole / 3600, whole / 60 % 60, whole % 60);
    if hours == 0 {
        format!("{minutes} min {rest:02} s")
    } else {
        format!("{hours} h {minutes:02} min")
    }
}

/// How far an output of several processes is.
pub fn unfinished(left: &Unfinished) -> String {
    let (stored, planes) = (left.stored, left.planes);
    let what = if stored == planes {
        "they wait for mmconv finish"
    } else {
        "others are still to be made"
    };
    let output = left.output.display();
    format!("{output}: {stored} of {planes} planes are stored; {what}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_five_digits() {
        assert_eq!(number(16.0), "16");
        assert_eq!(number(0.05123456), "0.051235");
        assert_eq!(number(123_456.7), "123457");
        assert_eq!(number(9.99999), "10");
        assert_eq!(number(-160.25), "-160.25");
        assert_eq!(number(0.0), "0");
        assert_eq!(number(3e-38), "3.0000e-38");
        assert_eq!(degrees(-0.001), "0.00");
    }

    #[test]
    fn a_spread_has_the_middle_of_two() {
        let spread = Spread::of([4.0, 1.0, 2.0, 3.0]).unwrap();
        assert_eq!(
            spread,
            Spread {
                min: 1.0,
                median: 2.5,
                max: 4.0
            }
        );
        assert_eq!(spread.text(" arcsec"), "1 / 2.5 / 4 arcsec");
        assert_eq!(Spread::of([2.0, 2.0]).unwrap().text(""), "2");
        assert!(Spread::of([]).is_none());
    }

    #[test]
    fn sizes_and_times_are_short() {
        assert_eq!(bytes(1), "1 byte");
        assert_eq!(bytes(1023), "1023 bytes");
        assert_eq!(bytes(1536), "1.5 KiB");
        assert_eq!(bytes(27 << 30), "27.0 GiB");
        assert_eq!(bytes(u64::MAX), "16384.0 PiB");
        assert_eq!(seconds(1.234), "1.23 s");
        assert_eq!(seconds(75.0), "1 min 15 s");
        assert_eq!(seconds(7300.0), "2 h 01 min");
    }
}
