//! The command line: commands, flags, their help and which may stand together. Nothing is read
//! from disk here, and no flag is given a meaning beyond its value.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueHint};
use clap_complete::Shell;
use mmfits::plan::{HduChoice, Precision, RefChannel};

use crate::help;
use crate::values::{
    self, BackendWord, BeamFromWord, Compat, EdgeWord, IoWord, ModeWord, NanWord, PrecisionWord,
    ShardWord, UnitWord, WhenWord,
};

/// Bring radio images and spectral cubes to a common beam.
#[derive(Clone, Debug, Parser)]
#[command(name = "mmconv", version, max_term_width = 100, after_long_help = help::STATUSES)]
#[command(arg_required_else_help = true)]
pub struct Cli {
    /// What to do
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Clone, Debug, Subcommand)]
pub enum Command {
    /// Smooth images and cubes to a common beam
    Smooth(Box<Smooth>),
    /// Show the beam of every plane, where it came from, and the common beam
    Beams(Beams),
    /// Show what is in a FITS file: HDUs, axes, beams and units
    Info(Info),
    /// Begin an output that several processes make, and print their command lines
    Plan(Box<Plan>),
    /// Show how far an output under way is
    Status(Progress),
    /// Give an output that several processes made its name
    Finish(Finish),
    /// Remove what is unfinished of an output
    Clean(Clean),
    /// Make a small synthetic cube and smooth it: where to begin
    Demo(Demo),
    /// Show what there is to compute with: threads, GPUs, or why none can be used
    Devices(Devices),
    /// Measure this machine: what bounds it, and what a GPU gains
    Bench(Bench),
    /// Show which shard --shard auto would take here, and from which variables
    Rank,
    /// Print the completions of a shell
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Print the manual page
    Man {
        /// The command whose page is printed; without it, that of mmconv itself
        command: Option<String>,
    },
}

/// Smooth images and cubes to a common beam.
///
/// Every plane (channel and Stokes) of every FILE is convolved with the Gaussian that takes its
/// beam to the target: the smallest common beam of all the files, unless one is given. Lengths are
/// in arcsec, angles in degrees, north through east.
#[derive(Clone, Debug, Args)]
#[command(args_override_self = true, after_long_help = help::SMOOTH_EXAMPLES)]
pub struct Smooth {
    #[command(flatten)]
    pub target: Target,
    #[command(flatten)]
    pub pixels: Pixels,
    #[command(flatten)]
    pub input: Input,
    #[command(flatten)]
    pub output: Output,
    #[command(flatten)]
    pub sharing: Sharing,
    #[command(flatten)]
    pub running: Running,
}

/// Which beam the planes are brought to.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Target")]
pub struct Target {
    /// Major axis of the target beam (FWHM, arcsec)
    #[arg(long, value_name = "ARCSEC", value_parser = values::positive)]
    #[arg(allow_negative_numbers = true, requires_all = ["bmin", "bpa"])]
    pub bmaj: Option<f64>,
    /// Minor axis of the target beam (FWHM, arcsec)
    #[arg(long, value_name = "ARCSEC", value_parser = values::positive)]
    #[arg(allow_negative_numbers = true, requires_all = ["bmaj", "bpa"])]
    pub bmin: Option<f64>,
    /// Position angle of the target beam (degrees)
    #[arg(long, value_name = "DEG", value_parser = values::finite)]
    #[arg(allow_negative_numbers = true, requires_all = ["bmaj", "bmin"])]
    pub bpa: Option<f64>,
    /// Take the target beams from this FITS file or beam log
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    #[arg(conflicts_with_all = ["bmaj", "bmin", "bpa"])]
    pub target_from: Option<PathBuf>,
    /// How one common beam is shared [default: total]
    #[arg(long, value_enum)]
    pub mode: Option<ModeWord>,
    /// Make the common beam round: the smallest circle
    #[arg(long, visible_alias = "circularize")]
    pub circularise: bool,
    /// Round the axes of the common beam up to a multiple of this (arcsec; 0: not at all)
    #[arg(long, value_name = "ARCSEC", value_parser = values::not_negative)]
    #[arg(allow_negative_numbers = true)]
    pub round: Option<f64>,
    /// Blank the planes whose major axis is larger than this (arcsec)
    #[arg(long, value_name = "ARCSEC", value_parser = values::positive)]
    #[arg(allow_negative_numbers = true)]
    pub cutoff: Option<f64>,
    /// Channel whose beam stands in the header where beams differ: first, mid, last or N from 0
    ///
    /// The default is the channel at CRPIX of the spectral axis, or else the first one with a beam.
    #[arg(long, value_name = "CHANNEL", value_parser = values::ref_channel)]
    #[arg(allow_negative_numbers = true)]
    pub ref_chan: Option<RefChannel>,
}

/// What happens to the pixels.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Pixels")]
pub struct Pixels {
    /// What lies outside the image [default: zero]
    #[arg(long, value_enum)]
    pub edge: Option<EdgeWord>,
    /// What happens at blank pixels [default: keep]
    #[arg(long, value_enum)]
    pub nan: Option<NanWord>,
    /// How the pixels scale with the beam, whatever BUNIT says
    #[arg(long, value_enum)]
    pub unit: Option<UnitWord>,
    /// Floating-point type of the transform and of the output
    #[arg(long, value_enum, default_value_t)]
    pub precision: PrecisionWord,
    /// Take over another program's ways; flags given beside it win
    #[arg(long, value_enum, value_name = "PROGRAM")]
    pub compat: Option<Compat>,
}

/// Where the beams of a file are looked for.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Input")]
pub struct BeamInput {
    /// Take the beams of every file from this beam log
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub beamlog: Option<PathBuf>,
    /// Which beam source to take
    #[arg(long, value_name = "SOURCE", value_enum, default_value_t)]
    pub beam_from: BeamFromWord,
    /// The image, as HDU number (from 0) or name [default: the first image]
    #[arg(long, value_name = "N|NAME", value_parser = values::hdu)]
    pub hdu: Option<HduChoice>,
}

/// The files that are read.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Input")]
pub struct Input {
    #[command(flatten)]
    pub beams: BeamInput,
    /// Read more file names from this file, one a line; "-" is standard input
    ///
    /// Blank lines are skipped.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub files_from: Option<PathBuf>,
    /// The names in --files-from end with a NUL byte, as from find -print0
    #[arg(short = '0', long = "null", requires = "files_from")]
    pub null: bool,
    /// FITS images and cubes
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub files: Vec<PathBuf>,
}

/// Where the outputs go.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Output")]
pub struct Output {
    /// Folder of the outputs [default: beside each input]
    #[arg(short, long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub outdir: Option<PathBuf>,
    /// Begin each output's name with this
    #[arg(
        short,
        long,
        value_name = "TEXT",
        default_value = "",
        hide_default_value = true
    )]
    pub prefix: String,
    /// End each output's name with this: PREFIXstem.SUFFIX.fits
    #[arg(short, long, value_name = "TEXT", default_value = "sm")]
    pub suffix: String,
    /// The output's full name, for one input; --outdir, --prefix and --suffix then do nothing
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub output: Option<PathBuf>,
    /// Replace outputs that exist
    #[arg(long, conflicts_with = "skip_existing")]
    pub overwrite: bool,
    /// Leave outputs that exist as they are and make the others
    #[arg(long)]
    pub skip_existing: bool,
}

/// How several processes, on one machine or many, make one output together.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Sharing")]
pub struct Sharing {
    /// Make this share of the planes only: I/N, from 0; auto: as the launcher says; off: all
    ///
    /// Every process is given the same command but for I. Whichever is last gives the output its
    /// name. auto takes I and N from srun, a job array of Slurm, Open MPI or MPICH; see mmconv rank.
    #[arg(long, value_name = "I/N|auto|off", value_parser = values::shard)]
    pub shard: Option<ShardWord>,
    /// Do not finish the output, even if all planes are there: mmconv finish will
    #[arg(long, requires = "shard")]
    pub no_finish: bool,
}

/// How the work is done and told.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Running")]
pub struct Running {
    /// Threads [default: the processors this process may use]
    #[arg(long, value_name = "N", value_parser = values::at_least_one)]
    pub threads: Option<usize>,
    /// Memory to work in, such as 8G or 512M
    ///
    /// K, M, G and T are powers of 1024; KB, MB, GB and TB are powers of 1000. All anonymous memory
    /// of the process counts; the input and the output are mapped, not held, and do not. Planes in
    /// flight, their threads and, for planes that are too large, the method follow from it. The
    /// default is a quarter of what the machine or the cgroup has.
    #[arg(long, value_name = "SIZE", value_parser = values::size_bytes)]
    pub memory: Option<u64>,
    #[command(flatten)]
    pub backend: Backend,
    /// Folder for a file of working memory, where a plane does not fit into --memory
    ///
    /// The file has no name and goes with the run. Only planes that strips cannot do need it.
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub scratch: Option<PathBuf>,
    /// Time that planes in hand are given when this program is asked to end (seconds) [default: 20]
    ///
    /// SIGINT (Ctrl-C), SIGTERM, SIGHUP, SIGXCPU and SIGUSR1 ask. No plane is begun then, and after
    /// this time those in hand are given up; 0 gives them up at once. A second signal waits for
    /// nothing. The exit status is 75, and what to type to go on is told.
    #[arg(long, value_name = "SECONDS", value_parser = values::not_negative)]
    #[arg(allow_negative_numbers = true)]
    pub grace: Option<f64>,
    /// How the outputs' bytes get into their files; the bytes are the same
    #[arg(long, value_name = "WAY", value_enum, default_value_t)]
    pub io: IoWord,
    /// When to write finished bytes to the disk at once and drop them, and the input they came
    /// from, from the page cache
    #[arg(long, value_name = "WHEN", value_enum, default_value_t)]
    pub write_behind: WhenWord,
    #[command(flatten)]
    pub recovery: Recovery,
    /// Check everything and print the plan, make nothing
    #[arg(short, long)]
    pub dry_run: bool,
    /// Print one JSON object a line and a file instead of the output's path
    #[arg(long)]
    pub json: bool,
    /// Print nothing but results and errors
    #[arg(short, long)]
    pub quiet: bool,
    /// Print the plan of every plane
    #[arg(short, long, conflicts_with = "quiet")]
    pub verbose: bool,
}

/// What computes.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Backend")]
pub struct Backend {
    /// What computes [default: $MMCONV_BACKEND, else auto]
    ///
    /// auto takes a GPU where there is one that can be used and where that is expected to save
    /// more than its start takes, and the CPU otherwise; it says which and why. mmconv bench --save
    /// keeps how fast this machine is. mmconv devices shows what there is.
    #[arg(long, value_name = "WHAT", value_enum)]
    pub backend: Option<BackendWord>,
    /// The same as --backend cpu
    #[arg(long, conflicts_with = "backend")]
    pub force_cpu: bool,
    /// The GPU, by its number in mmconv devices
    #[arg(long, value_name = "N", default_value = "0")]
    pub device: usize,
    /// The most of the GPU's memory that may be taken [default: most of what is free]
    #[arg(long, value_name = "SIZE", value_parser = values::size_bytes)]
    pub device_memory: Option<u64>,
}

/// What becomes of unfinished work.
///
/// The planes stored so far outlive an interrupted run, and the same command goes on with them.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Interruptions")]
pub struct Recovery {
    /// Go on after an interruption: also leave outputs that this very request has completed
    ///
    /// Without it, unfinished work of the same request is gone on with too, but outputs that exist
    /// are refused.
    #[arg(long, conflicts_with_all = ["restart", "overwrite", "skip_existing"])]
    pub resume: bool,
    /// Throw away what an earlier run left unfinished, and begin anew
    #[arg(long)]
    pub restart: bool,
    /// Read the planes that an earlier run stored, and make those again that do not match their
    /// checksums
    #[arg(long)]
    pub recheck: bool,
    /// Make what is stored outlive the machine, not only this process; slower
    ///
    /// About once a second all planes stored so far are sent to the disk and waited for, and then
    /// recorded; a complete output is on the disk before it gets its name.
    #[arg(long)]
    pub durable: bool,
    /// After an error leave nothing, not even planes that a later run could use
    #[arg(long)]
    pub discard: bool,
}

/// Show the beam of every plane, where it came from, and the common beam.
#[derive(Clone, Debug, Args)]
#[command(args_override_self = true, after_long_help = help::BEAMS_EXAMPLES)]
pub struct Beams {
    #[command(flatten)]
    pub beams: BeamInput,
    /// Print one JSON object a line and a file
    #[arg(long, help_heading = "Output")]
    pub json: bool,
    /// FITS images and cubes
    #[arg(required = true, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub files: Vec<PathBuf>,
}

/// Show what is in a FITS file: HDUs, axes, beams and units.
#[derive(Clone, Debug, Args)]
#[command(args_override_self = true)]
pub struct Info {
    /// Print one JSON object a line and a file
    #[arg(long)]
    pub json: bool,
    /// FITS files
    #[arg(required = true, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub files: Vec<PathBuf>,
}

/// Begin an output that several processes make, and print their command lines.
///
/// Everything is checked, the target is solved and the working files are made, but no plane. This
/// step may be left out: the first process does the same.
#[derive(Clone, Debug, Args)]
#[command(args_override_self = true)]
pub struct Plan {
    /// How many processes will share the planes
    #[arg(long, value_name = "N", value_parser = values::at_least_one, help_heading = "Sharing")]
    pub shards: usize,
    #[command(flatten)]
    pub smooth: Smooth,
}

/// Show how far an output under way is.
#[derive(Clone, Debug, Args)]
pub struct Progress {
    /// Print one JSON object a line and an output
    #[arg(long)]
    pub json: bool,
    /// Outputs, by their final names
    #[arg(required = true, value_name = "OUTPUT", value_hint = ValueHint::FilePath)]
    pub outputs: Vec<PathBuf>,
}

/// Give outputs that several processes made their names.
///
/// Nothing happens unless all planes are stored; exit status 5 and the missing planes say so.
/// Anybody may do this, any number of times.
#[derive(Clone, Debug, Args)]
pub struct Finish {
    /// Read all planes first and hold them against their checksums
    #[arg(long)]
    pub recheck: bool,
    /// Wait for missing planes so long (seconds): another machine's journal may be late
    #[arg(long, value_name = "SECONDS", value_parser = values::not_negative, default_value = "5")]
    pub wait: f64,
    /// Outputs, by their final names
    #[arg(required = true, value_name = "OUTPUT", value_hint = ValueHint::FilePath)]
    pub outputs: Vec<PathBuf>,
}

/// Remove what is unfinished of an output: its working file and its journals.
///
/// The output itself, if there is one, is left alone.
#[derive(Clone, Debug, Args)]
pub struct Clean {
    /// Do not ask
    #[arg(short, long)]
    pub yes: bool,
    /// Outputs, by their final names
    #[arg(required = true, value_name = "OUTPUT", value_hint = ValueHint::FilePath)]
    pub outputs: Vec<PathBuf>,
}

/// Show what there is to compute with: threads, GPUs, or why none can be used.
///
/// No flag and no variable that chooses a backend changes what is shown.
#[derive(Clone, Debug, Args)]
pub struct Devices {
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

/// Make a small synthetic cube and smooth it: where to begin.
#[derive(Clone, Debug, Args)]
pub struct Demo {
    /// The folder to work in, made anew each time
    #[arg(value_name = "DIR", default_value = "mmconv-demo", value_hint = ValueHint::DirPath)]
    pub dir: PathBuf,
}

/// Measure this machine: what bounds it, and what a GPU gains.
///
/// A cube is made, smoothed in memory and from file to file, and removed. Times are those of a
/// plane. What cannot be measured here is a dash, and told with the reason; what a device would
/// gain is then an estimate. With the defaults it takes some seconds.
#[derive(Clone, Debug, Args)]
#[command(args_override_self = true, after_long_help = help::BENCH_EXAMPLES)]
pub struct Bench {
    /// Pixels in a row
    #[arg(long, value_name = "N", value_parser = values::length, default_value = "2048")]
    pub nx: usize,
    /// Rows
    #[arg(long, value_name = "N", value_parser = values::length, default_value = "2048")]
    pub ny: usize,
    /// Planes of the cube
    #[arg(long, value_name = "N", value_parser = values::length, default_value = "16")]
    pub planes: usize,
    /// Floating-point type of the cube and of the transform: f32 or f64
    #[arg(long, value_name = "TYPE", value_parser = values::precision, default_value = "f32")]
    pub precision: Precision,
    /// Share of the pixels that are blank; with any the mask is smoothed too (--nan racs)
    #[arg(long, value_name = "PERCENT", value_parser = values::percent, default_value = "0")]
    #[arg(allow_negative_numbers = true)]
    pub blank: f64,
    /// Threads [default: the processors this process may use]
    #[arg(long, value_name = "N", value_parser = values::at_least_one)]
    pub threads: Option<usize>,
    /// Folder for the cube and its outputs: the disk that is measured [default: that of temporary
    /// files]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub dir: Option<PathBuf>,
    /// Keep the rates, from which --backend auto chooses, in this file
    ///
    /// The default is $MMCONV_RATES, else mmconv/rates in $XDG_CONFIG_HOME or in .config of the home
    /// folder. The CPU is measured for the other kinds of planes too.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, num_args = 0..=1)]
    #[expect(
        clippy::option_option,
        reason = "without the flag, without a file, with one"
    )]
    pub save: Option<Option<PathBuf>>,
    /// Print one JSON object instead of the table
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub backend: Backend,
}
