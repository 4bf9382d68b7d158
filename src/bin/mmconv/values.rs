//! How a flag's text becomes a value: numbers with their limits, sizes, and the words of the
//! flags that take one of a few. What the values do is decided elsewhere.

use clap::ValueEnum;
use mmfits::beam::source::BeamFrom;
use mmfits::plan::{Edge, HduChoice, Mode, NanRule, Precision, RefChannel, UnitChoice};
use mmfits::run::{BackendKind, Io, When};

/// How one common beam is shared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ModeWord {
    /// One beam per channel, common over the files and Stokes
    Natural,
    /// One beam over every plane of every file
    Total,
}

impl From<ModeWord> for Mode {
    fn from(word: ModeWord) -> Self {
        match word {
            ModeWord::Natural => Self::Natural,
            ModeWord::Total => Self::Total,
        }
    }
}

/// Which beam source to take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum BeamFromWord {
    /// The first that is there, in the order below
    #[default]
    Auto,
    /// The BEAMS table
    Table,
    /// The beam log beside the file
    Log,
    /// The numbered cards BMAJ1, BMIN1, BPA1, …
    Cards,
    /// The cards BMAJ, BMIN and BPA
    Header,
    /// The last beam in HISTORY
    History,
}

impl From<BeamFromWord> for BeamFrom {
    fn from(word: BeamFromWord) -> Self {
        match word {
            BeamFromWord::Auto => Self::Auto,
            BeamFromWord::Table => Self::Table,
            BeamFromWord::Log => Self::Log,
            BeamFromWord::Cards => Self::Cards,
            BeamFromWord::Header => Self::Header,
            BeamFromWord::History => Self::History,
        }
    }
}

/// How the outputs' bytes get into their files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum IoWord {
    /// Mapped on local file systems, written by position on those of a network
    #[default]
    Auto,
    /// Made in place, in a shared map of the output
    Map,
    /// Written by position, from small buffers
    Write,
}

impl From<IoWord> for Io {
    fn from(word: IoWord) -> Self {
        match word {
            IoWord::Auto => Self::Auto,
            IoWord::Map => Self::Map,
            IoWord::Write => Self::Write,
        }
    }
}

/// When something is done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum WhenWord {
    /// For outputs above a quarter of the machine's memory
    #[default]
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

impl From<WhenWord> for When {
    fn from(word: WhenWord) -> Self {
        match word {
            WhenWord::Auto => Self::Auto,
            WhenWord::Always => Self::Always,
            WhenWord::Never => Self::Never,
        }
    }
}

/// What lies outside the image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum EdgeWord {
    /// Zero: nothing wraps around
    Zero,
    /// The image repeats, as in programs that do not pad
    Wrap,
}

impl From<EdgeWord> for Edge {
    fn from(word: EdgeWord) -> Self {
        match word {
            EdgeWord::Zero => Self::Zero,
            EdgeWord::Wrap => Self::Wrap,
        }
    }
}

/// What happens at blank pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum NanWord {
    /// Blank in, blank out; nothing else is blank
    Keep,
    /// The rule of RACS-tools and convolve-rs: blank areas may shrink
    Racs,
    /// Divide by the smoothed weight of the valid pixels
    Interpolate,
}

impl From<NanWord> for NanRule {
    fn from(word: NanWord) -> Self {
        match word {
            NanWord::Keep => Self::Keep,
            NanWord::Racs => Self::Racs,
            NanWord::Interpolate => Self::Interpolate,
        }
    }
}

/// How the brightness unit reacts to a larger beam.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum UnitWord {
    /// Pixels scale by the ratio of the beam areas (Jy/beam)
    PerBeam,
    /// Pixels keep their scale (K, MJy/sr, Jy/pixel)
    Surface,
}

impl From<UnitWord> for UnitChoice {
    fn from(word: UnitWord) -> Self {
        match word {
            UnitWord::PerBeam => Self::PerBeam,
            UnitWord::Surface => Self::Surface,
        }
    }
}

/// The floating-point type of transform and output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum PrecisionWord {
    /// As the input: single for BITPIX 8, 16 and -32, else double
    #[default]
    Auto,
    /// Single (BITPIX -32)
    F32,
    /// Double (BITPIX -64)
    F64,
}

impl From<PrecisionWord> for Option<Precision> {
    fn from(word: PrecisionWord) -> Self {
        match word {
            PrecisionWord::Auto => None,
            PrecisionWord::F32 => Some(Precision::F32),
            PrecisionWord::F64 => Some(Precision::F64),
        }
    }
}

/// What computes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum BackendWord {
    /// A GPU where there is one that can be used
    #[default]
    Auto,
    /// The processor alone
    Cpu,
    /// A GPU, or an error
    Cuda,
}

impl From<BackendWord> for BackendKind {
    fn from(word: BackendWord) -> Self {
        match word {
            BackendWord::Auto => Self::Auto,
            BackendWord::Cpu => Self::Cpu,
            BackendWord::Cuda => Self::Cuda,
        }
    }
}

/// A program whose ways are taken over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Compat {
    /// beamcon and convolvers: --mode natural --edge wrap --nan racs --round 0.1, and the position
    /// angle rounded up to 0.01 degrees
    RacsTools,
}

/// Which part of the planes this process makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShardWord {
    /// What the launcher's environment says
    Auto,
    /// All of them, whatever launched this process
    Off,
    /// This one of so many
    Part {
        /// From 0.
        index: u64,
        /// At least 1.
        count: u64,
    },
}

/// `auto`, `off` or `I/N`.
pub fn shard(text: &str) -> Result<ShardWord, String> {
    match text {
        "auto" => return Ok(ShardWord::Auto),
        "off" => return Ok(ShardWord::Off),
        _ => {}
    }
    let (index, count) = text
        .split_once('/')
        .and_then(|(index, count)| Some((count_of(index)?, count_of(count)?)))
        .ok_or("must be auto, off or I/N, such as 0/16 for the first of 16")?;
    if index < count {
        return Ok(ShardWord::Part { index, count });
    }
    Err(match count {
        0 => "there must be at least one shard".to_owned(),
        1 => "shards count from 0: the only one is 0/1".to_owned(),
        _ => format!(
            "shards count from 0: the last of {count} is {}/{count}",
            count - 1
        ),
    })
}

/// Digits only: `+3` and `-3` are no counts.
fn count_of(text: &str) -> Option<u64> {
    text.bytes()
        .all(|byte| byte.is_ascii_digit())
        .then(|| text.parse().ok())
        .flatten()
}

/// A finite number.
pub fn finite(text: &str) -> Result<f64, String> {
    let number: f64 = text.parse().map_err(|_| "not a number".to_owned())?;
    if number.is_finite() {
        Ok(number)
    } else {
        Err("not a finite number".to_owned())
    }
}

/// A finite number above zero.
pub fn positive(text: &str) -> Result<f64, String> {
    let number = finite(text)?;
    if number > 0.0 {
        Ok(number)
    } else {
        Err("must be above 0".to_owned())
    }
}

/// A finite number, zero or above.
pub fn not_negative(text: &str) -> Result<f64, String> {
    let number = finite(text)?;
    if number >= 0.0 {
        Ok(number)
    } else {
        Err("must be 0 or above".to_owned())
    }
}

/// A count of one or more.
pub fn at_least_one(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) => Err("must be 1 or more".to_owned()),
        Ok(count) => Ok(count),
        Err(_) => Err("not a whole number".to_owned()),
    }
}

/// A number of pixels, rows or planes. More than there are in any file that can be.
pub fn length(text: &str) -> Result<usize, String> {
    match at_least_one(text)? {
        count if count <= 1_000_000 => Ok(count),
        _ => Err("must be 1000000 or less".to_owned()),
    }
}

/// A share that is not all.
pub fn percent(text: &str) -> Result<f64, String> {
    let number = not_negative(text)?;
    if number < 100.0 {
        Ok(number)
    } else {
        Err("must be below 100".to_owned())
    }
}

/// A floating-point type.
pub fn precision(text: &str) -> Result<Precision, String> {
    match text {
        "f32" => Ok(Precision::F32),
        "f64" => Ok(Precision::F64),
        _ => Err("must be f32 or f64".to_owned()),
    }
}

/// An HDU by its number (all digits) or by its EXTNAME.
pub fn hdu(text: &str) -> Result<HduChoice, String> {
    if text.is_empty() {
        return Err("must be a number or a name".to_owned());
    }
    if text.bytes().all(|byte| byte.is_ascii_digit()) {
        return text
            .parse()
            .map(HduChoice::Index)
            .map_err(|_| "too large".to_owned());
    }
    Ok(HduChoice::Name(text.to_owned()))
}

/// `first`, `last`, `mid` or a channel counted from 0.
pub fn ref_channel(text: &str) -> Result<RefChannel, String> {
    match text {
        "first" => Ok(RefChannel::First),
        "mid" => Ok(RefChannel::Mid),
        "last" => Ok(RefChannel::Last),
        _ => text
            .parse()
            .map(RefChannel::Index)
            .map_err(|_| "must be first, mid, last or a channel counted from 0".to_owned()),
    }
}

/// A number of bytes: `8G`, `512M`, `1.5GiB`, `2GB`, or plain bytes.
///
/// K, M, G and T, alone or before `iB`, are powers of 1024, as in Slurm; KB, MB, GB and TB are
/// powers of 1000.
pub fn size_bytes(text: &str) -> Result<u64, String> {
    const WANTED: &str = "must be a size such as 8G, 512M, 1.5GiB, 2GB or a number of bytes";
    let split = text
        .find(|c: char| c.is_ascii_alphabetic())
        .unwrap_or(text.len());
    let (digits, suffix) = text.split_at(split);
    let number = positive(digits.trim()).map_err(|_| WANTED.to_owned())?;
    let factor = size_factor(&suffix.to_ascii_lowercase()).ok_or_else(|| WANTED.to_owned())?;
    let bytes = number * factor;
    // 2^63: beyond any machine, and still exact to convert.
    if (1.0..9.2e18).contains(&bytes) {
        Ok(bytes as u64)
    } else {
        Err(WANTED.to_owned())
    }
}

fn size_factor(suffix: &str) -> Option<f64> {
    if matches!(suffix, "" | "b") {
        return Some(1.0);
    }
    let (letter, rest) = suffix.split_at(1);
    let power = "kmgt".find(letter)? as i32 + 1;
    match rest {
        "" | "ib" => Some(1024f64.powi(power)),
        "b" => Some(1000f64.powi(power)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_in_every_spelling() {
        assert_eq!(size_bytes("8G"), Ok(8 << 30));
        assert_eq!(size_bytes("512m"), Ok(512 << 20));
        assert_eq!(size_bytes("1.5GiB"), Ok(3 << 29));
        assert_eq!(size_bytes("2GB"), Ok(2_000_000_000));
        assert_eq!(size_bytes("2 GB"), Ok(2_000_000_000));
        assert_eq!(size_bytes("4096"), Ok(4096));
        assert_eq!(size_bytes("1T"), Ok(1 << 40));
    }

    #[test]
    fn sizes_that_are_none() {
        for text in [
            "", "G", "-1G", "0", "8X", "8Gi", "1e30T", "nan", "8GiBs", "é",
        ] {
            assert!(size_bytes(text).is_err(), "{text}");
        }
    }

    #[test]
    fn numbers_have_limits() {
        assert_eq!(finite("-160"), Ok(-160.0));
        assert!(finite("inf").is_err() && finite("nan").is_err() && finite("3 arcsec").is_err());
        assert!(positive("0").is_err() && positive("-1").is_err());
        assert_eq!(not_negative("0"), Ok(0.0));
        assert!(not_negative("-0.1").is_err());
        assert!(at_least_one("0").is_err() && at_least_one("-1").is_err());
    }

    #[test]
    fn an_hdu_is_a_number_or_a_name() {
        assert_eq!(hdu("0"), Ok(HduChoice::Index(0)));
        assert_eq!(hdu("SCI"), Ok(HduChoice::Name("SCI".to_owned())));
        assert_eq!(hdu("-1"), Ok(HduChoice::Name("-1".to_owned())));
        assert!(hdu("").is_err() && hdu("99999999999999999999999").is_err());
    }

    #[test]
    fn a_reference_channel_is_a_word_or_a_number() {
        assert_eq!(ref_channel("mid"), Ok(RefChannel::Mid));
        assert_eq!(ref_channel("12"), Ok(RefChannel::Index(12)));
        assert!(ref_channel("middle").is_err() && ref_channel("-1").is_err());
    }

    #[test]
    fn a_shard_is_a_word_or_one_of_so_many() {
        assert_eq!(shard("auto"), Ok(ShardWord::Auto));
        assert_eq!(shard("off"), Ok(ShardWord::Off));
        let part = |index, count| Ok(ShardWord::Part { index, count });
        assert_eq!(shard("0/1"), part(0, 1));
        assert_eq!(shard("15/16"), part(15, 16));
        assert_eq!(shard("03/64"), part(3, 64));
    }

    #[test]
    fn shards_count_from_nought() {
        let last = shard("16/16").unwrap_err();
        assert_eq!(last, "shards count from 0: the last of 16 is 15/16");
        assert!(shard("1/1").unwrap_err().contains("from 0"));
        assert!(shard("0/0").unwrap_err().contains("at least one"));
        for text in [
            "",
            "/",
            "3",
            "3/",
            "/4",
            "-1/4",
            "+1/4",
            "1/4/5",
            "1 /4",
            "1.0/4",
            "Auto",
            "a/4",
            "99999999999999999999/99999999999999999999",
        ] {
            let error = shard(text).unwrap_err();
            assert!(
                error.contains("0/16 for the first of 16"),
                "{text}: {error}"
            );
        }
    }
}
