//! From flags to a request of the library: defaults, presets, and what the flags must agree on.

use std::env;
use std::ffi::{OsStr, OsString};
use std::path::Path;

use clap::ValueEnum;
use mmfits::beam::Beam;
use mmfits::plan::{Mode, Precision, Rounding, Spec, TargetChoice};
use mmfits::run::{
    BackendKind, Choice, Existing, Naming, Recovery, Request, Resources, Stop, Storage,
};

use crate::args::{self, Output, Smooth, Target};
use crate::failure::Failure;
use crate::inputs;
use crate::out::tell;
use crate::rates;
use crate::values::{BackendWord, Compat, EdgeWord, ModeWord, NanWord};

/// The variable that says what computes, where no flag does.
const BACKEND: &str = "MMCONV_BACKEND";

/// What a preset stands for, where no flag says otherwise.
#[derive(Clone, Copy, Debug, Default)]
struct Preset {
    mode: Option<ModeWord>,
    edge: Option<EdgeWord>,
    nan: Option<NanWord>,
    round_arcsec: Option<f64>,
    round_bpa_deg: Option<f64>,
}

impl Preset {
    fn of(compat: Option<Compat>) -> Self {
        match compat {
            None => Self::default(),
            Some(Compat::RacsTools) => Self {
                mode: Some(ModeWord::Natural),
                edge: Some(EdgeWord::Wrap),
                nan: Some(NanWord::Racs),
                round_arcsec: Some(0.1),
                round_bpa_deg: Some(0.01),
            },
        }
    }
}

/// The request behind the flags.
///
/// Reads the list of `--files-from`, which may be standard input; no FITS file is looked at.
pub fn build(args: &Smooth) -> Result<Request, Failure> {
    Ok(Request {
        inputs: inputs::list(&args.input)?,
        spec: spec(args)?,
        naming: naming(&args.output),
        resources: Resources {
            threads: args.running.threads,
            memory_bytes: args.running.memory,
            scratch: args.running.scratch.clone(),
        },
        choice: with_rates(choice(&args.running.backend)?, args.running.quiet)?,
        storage: Storage {
            io: args.running.io.into(),
            write_behind: args.running.write_behind.into(),
        },
        recovery: recovery(&args.running.recovery),
        sharing: None,
        provenance: Some(command_line(env::args_os())),
        stop: Stop::default(),
    })
}

/// The same with what is known of this machine, where the choice rests on it. A file that nobody has
/// named stops no run, whatever is wrong with it.
fn with_rates(mut choice: Choice, quiet: bool) -> Result<Choice, Failure> {
    let path = rates::path().filter(|_| choice.backend == BackendKind::Auto);
    let known = match path.as_deref().map_or(Ok(None), rates::read) {
        Err(failure) if !rates::is_named() => {
            if !quiet {
                tell(&format!(
                    "note: {}; the usual rates are taken",
                    failure.text
                ));
            }
            None
        }
        known => known?,
    };
    if let Some(known) = known {
        choice.rates = known;
    }
    Ok(choice)
}

/// What the flags say, or else the environment. No file is looked at.
pub fn choice(args: &args::Backend) -> Result<Choice, Failure> {
    let backend = match args.backend {
        Some(word) => word,
        None if args.force_cpu => BackendWord::Cpu,
        None => backend_of(env::var_os(BACKEND))?,
    };
    Ok(Choice {
        backend: backend.into(),
        device: args.device,
        device_memory_bytes: args.device_memory,
        ..Choice::default()
    })
}

/// The word in [`BACKEND`]; nothing in it is as if it were not set.
fn backend_of(value: Option<OsString>) -> Result<BackendWord, Failure> {
    let value = value.unwrap_or_default();
    if value.is_empty() {
        return Ok(BackendWord::default());
    }
    let word = value
        .to_str()
        .and_then(|text| BackendWord::from_str(text, true).ok());
    word.ok_or_else(|| {
        let found = value.to_string_lossy();
        Failure::request(format!(
            "{BACKEND} is {found:?}; it may be auto, cpu or cuda"
        ))
    })
}

fn recovery(args: &args::Recovery) -> Recovery {
    Recovery {
        resume: args.resume,
        restart: args.restart,
        recheck: args.recheck,
        durable: args.durable,
        discard: args.discard,
    }
}

fn spec(args: &Smooth) -> Result<Spec, Failure> {
    let preset = Preset::of(args.pixels.compat);
    // `--round 0` asks for no rounding at all, of the angle neither.
    let rounds = args.target.round != Some(0.0);
    Ok(Spec {
        target: target(&args.target, &preset)?,
        circularise: args.target.circularise,
        rounding: args
            .target
            .round
            .or(preset.round_arcsec)
            .filter(|_| rounds)
            .map(|step_arcsec| Rounding {
                step_arcsec,
                bpa_step_deg: preset.round_bpa_deg,
            }),
        cutoff_arcsec: args.target.cutoff,
        beam_from: args.input.beams.beam_from.into(),
        beamlog: args.input.beams.beamlog.clone(),
        hdu: args.input.beams.hdu.clone().unwrap_or_default(),
        edge: args
            .pixels
            .edge
            .or(preset.edge)
            .map(Into::into)
            .unwrap_or_default(),
        nan: args
            .pixels
            .nan
            .or(preset.nan)
            .map(Into::into)
            .unwrap_or_default(),
        unit: args.pixels.unit.map(Into::into),
        precision: Option::<Precision>::from(args.pixels.precision),
        ref_channel: args.target.ref_chan.unwrap_or_default(),
    })
}

fn target(args: &Target, preset: &Preset) -> Result<TargetChoice, Failure> {
    if let Some(path) = &args.target_from {
        return Ok(TargetChoice::From(path.clone()));
    }
    let (Some(bmaj), Some(bmin), Some(bpa)) = (args.bmaj, args.bmin, args.bpa) else {
        let mode = args.mode.or(preset.mode).map(Mode::from);
        return Ok(TargetChoice::Common(mode.unwrap_or_default()));
    };
    // Each is finite and no axis is zero, so only their order can be wrong.
    Beam::new(bmaj, bmin, bpa)
        .map(TargetChoice::Beam)
        .map_err(|_| {
            Failure::request(format!(
                "--bmin {bmin} is larger than --bmaj {bmaj}; the minor axis cannot be"
            ))
        })
}

fn naming(args: &Output) -> Naming {
    Naming {
        outdir: args.outdir.clone(),
        prefix: args.prefix.clone(),
        suffix: args.suffix.clone(),
        output: args.output.clone(),
        existing: match (args.overwrite, args.skip_existing) {
            (true, _) => Existing::Overwrite,
            (false, true) => Existing::Skip,
            (false, false) => Existing::Refuse,
        },
    }
}

/// Flags that say how the work is shared, interrupted and gone on with. They decide no byte, and an
/// output must not tell by its HISTORY how often it was interrupted.
const NOT_TOLD: [(&str, bool); 8] = [
    ("--resume", false),
    ("--restart", false),
    ("--recheck", false),
    ("--durable", false),
    ("--discard", false),
    ("--no-finish", false),
    ("--grace", true),
    ("--shard", true),
];

/// The command line for HISTORY: printable ASCII (FITS 4.0, 4.4.2.4), and not every one of a
/// thousand file names.
pub fn command_line(words: impl IntoIterator<Item = OsString>) -> String {
    const LONGEST: usize = 1000;
    let mut words = words.into_iter();
    // By its name: launchers put the whole path in its place.
    let program = words.next().unwrap_or_default();
    let program = Path::new(&program).file_name().unwrap_or_default();
    let mut told = vec![printable(program)];
    while let Some(word) = words.next() {
        match not_told(&word) {
            Some(takes_next) => {
                if takes_next {
                    words.next();
                }
            }
            None => told.push(printable(&word)),
        }
    }
    let mut line = told.join(" ");
    if line.len() > LONGEST {
        line.truncate(LONGEST);
        line.push_str(" ...");
    }
    line
}

/// For a flag that HISTORY does not tell: whether its value is the next word.
fn not_told(word: &OsStr) -> Option<bool> {
    let word = word.to_str()?;
    NOT_TOLD.iter().find_map(|(flag, has_value)| {
        let rest = word.strip_prefix(flag)?;
        match rest {
            "" => Some(*has_value),
            value if *has_value && value.starts_with('=') => Some(false),
            _ => None,
        }
    })
}

fn printable(word: &OsStr) -> String {
    let ascii = |c: char| {
        if c == ' ' || c.is_ascii_graphic() {
            c
        } else {
            '?'
        }
    };
    let text: String = word.to_string_lossy().chars().map(ascii).collect();
    if text.is_empty() || text.contains(' ') {
        format!("'{text}'")
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    use crate::args::{Cli, Command};
    use clap::{CommandFactory, Parser};
    use mmfits::beam::source::BeamFrom;
    use mmfits::plan::{Edge, HduChoice, NanRule, RefChannel, UnitChoice};

    fn smooth(flags: &[&str]) -> Result<Smooth, clap::Error> {
        let words = ["mmconv", "smooth"].iter().chain(flags);
        match Cli::try_parse_from(words)?.command {
            Command::Smooth(args) => Ok(*args),
            other => panic!("{other:?}"),
        }
    }

    fn request(flags: &[&str]) -> Request {
        build(&smooth(flags).unwrap()).unwrap()
    }

    fn refused(flags: &[&str]) -> Failure {
        build(&smooth(flags).unwrap()).unwrap_err()
    }

    #[test]
    fn the_commands_hold_together() {
        Cli::command().debug_assert();
    }

    #[test]
    fn without_flags_the_library_decides() {
        let request = request(&["a.fits"]);
        assert_eq!(request.inputs, [PathBuf::from("a.fits")]);
        assert_eq!(request.spec, Spec::default());
        assert_eq!(request.naming.suffix, "sm");
        assert_eq!(request.naming.existing, Existing::Refuse);
        assert_eq!(request.resources.threads, None);
    }

    #[test]
    fn history_does_not_tell_of_interruptions() {
        let words = "mmconv smooth --grace 5 a.fits --shard=3/4 --resume --resumed --no-finish -q";
        let line = command_line(words.split(' ').map(OsString::from));
        assert_eq!(line, "mmconv smooth a.fits --resumed -q");
    }

    #[test]
    fn a_target_with_a_negative_angle() {
        let request = request(&["--bmaj", "30", "--bmin", "28", "--bpa", "-160", "a.fits"]);
        let beam = Beam::new(30.0, 28.0, 20.0).unwrap();
        assert_eq!(request.spec.target, TargetChoice::Beam(beam));
    }

    #[test]
    fn an_explicit_target_wins_over_the_mode() {
        let flags = [
            "--mode", "total", "--bmaj=9", "--bmin=8", "--bpa=0", "a.fits",
        ];
        assert!(matches!(request(&flags).spec.target, TargetChoice::Beam(_)));
    }

    #[test]
    fn half_a_target_is_refused() {
        for flags in [
            &["--bmaj", "30", "a.fits"][..],
            &["--bmaj", "30", "--bmin", "28", "a.fits"],
            &["--bpa", "3", "a.fits"],
            &["--bmaj", "nan", "--bmin", "28", "--bpa", "0", "a.fits"],
            &["--bmaj", "30", "--bmin", "0", "--bpa", "0", "a.fits"],
            &["--bmaj", "-30", "--bmin", "28", "--bpa", "0", "a.fits"],
            &[
                "--target-from",
                "b.fits",
                "--bmaj",
                "30",
                "--bmin",
                "28",
                "--bpa",
                "0",
                "a.fits",
            ],
            &["--overwrite", "--skip-existing", "a.fits"],
            &["-0", "a.fits"],
            &["--memory", "lots", "a.fits"],
            &["--threads", "0", "a.fits"],
            &["--round", "-1", "a.fits"],
            &["--cutoff", "0", "a.fits"],
            &["-q", "-v", "a.fits"],
        ] {
            let error = smooth(flags).unwrap_err();
            assert_eq!(error.exit_code(), 2, "{flags:?}");
        }
    }

    #[test]
    fn axes_the_wrong_way_round_are_refused() {
        let failure = refused(&["--bmaj", "28", "--bmin", "30", "--bpa", "0", "a.fits"]);
        assert_eq!(failure.status, crate::failure::Status::Request);
        assert!(failure.text.contains("--bmin 30"));
    }

    fn rounding(step_arcsec: f64, bpa_step_deg: Option<f64>) -> Option<Rounding> {
        Some(Rounding {
            step_arcsec,
            bpa_step_deg,
        })
    }

    #[test]
    fn a_preset_gives_way_to_flags_wherever_they_stand() {
        let preset = request(&["--compat", "racs-tools", "a.fits"]).spec;
        assert_eq!(preset.target, TargetChoice::Common(Mode::Natural));
        assert_eq!((preset.edge, preset.nan), (Edge::Wrap, NanRule::Racs));
        assert_eq!(preset.rounding, rounding(0.1, Some(0.01)));
        for flags in [
            [
                "--mode",
                "total",
                "--edge",
                "zero",
                "--nan",
                "keep",
                "--compat",
                "racs-tools",
            ],
            [
                "--compat",
                "racs-tools",
                "--mode",
                "total",
                "--edge",
                "zero",
                "--nan",
                "keep",
            ],
        ] {
            let flags: Vec<&str> = flags
                .into_iter()
                .chain(["--round", "0", "a.fits"])
                .collect();
            assert_eq!(request(&flags).spec, Spec::default());
        }
        let rounded = request(&["--round", "0.5", "--compat", "racs-tools", "a.fits"]).spec;
        assert_eq!(rounded.rounding, rounding(0.5, Some(0.01)));
    }

    #[test]
    fn every_flag_arrives() {
        let request = request(&[
            "--circularise",
            "--round",
            "0.1",
            "--cutoff",
            "25",
            "--ref-chan",
            "mid",
            "--beamlog",
            "log.txt",
            "--beam-from",
            "cards",
            "--hdu",
            "SCI",
            "--edge",
            "wrap",
            "--nan",
            "interpolate",
            "--unit",
            "surface",
            "--precision",
            "f64",
            "-o",
            "out",
            "-p",
            "x-",
            "-s",
            "blur",
            "--skip-existing",
            "--threads",
            "3",
            "--memory",
            "1G",
            "a.fits",
        ]);
        let spec = request.spec;
        assert!(spec.circularise);
        assert_eq!(spec.rounding, rounding(0.1, None));
        assert_eq!(spec.cutoff_arcsec, Some(25.0));
        assert_eq!(spec.ref_channel, RefChannel::Mid);
        assert_eq!(spec.beamlog, Some(PathBuf::from("log.txt")));
        assert_eq!(spec.beam_from, BeamFrom::Cards);
        assert_eq!(spec.hdu, HduChoice::Name("SCI".to_owned()));
        assert_eq!((spec.edge, spec.nan), (Edge::Wrap, NanRule::Interpolate));
        assert_eq!(
            (spec.unit, spec.precision),
            (Some(UnitChoice::Surface), Some(Precision::F64))
        );
        assert_eq!(request.naming.outdir, Some(PathBuf::from("out")));
        assert_eq!(
            (
                request.naming.prefix.as_str(),
                request.naming.suffix.as_str()
            ),
            ("x-", "blur")
        );
        assert_eq!(request.naming.existing, Existing::Skip);
        assert_eq!(request.resources.threads, Some(3));
        assert_eq!(request.resources.memory_bytes, Some(1 << 30));
    }

    #[test]
    fn a_flag_given_twice_takes_the_last() {
        assert_eq!(
            request(&["-s", "a", "-s", "b", "a.fits"]).naming.suffix,
            "b"
        );
    }

    #[test]
    fn the_command_line_is_short_and_printable() {
        let line = command_line(["mmconv", "a b.fits", "ä\n", ""].map(OsString::from));
        assert_eq!(line, "mmconv 'a b.fits' ?? ''");
        let long = command_line((0..5000).map(|number| OsString::from(number.to_string())));
        assert_eq!(long.len(), 1004);
    }

    #[test]
    fn no_inputs_is_a_request_that_cannot_be() {
        assert!(refused(&[]).text.contains("no input files"));
        let list = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(list.path(), "\n  \n\n").unwrap();
        let path = list.path().to_str().unwrap();
        assert!(
            refused(&["--files-from", path])
                .text
                .contains("has no names")
        );
    }
}
