//! The longer help texts. The one-liners stand beside their flags in `args`.

/// What the exit status says, for the main help and the manual page.
pub const STATUSES: &str = "\
Exit status:
  0   done
  2   the request cannot be met: flags, an unreachable target, an output that exists
  3   an input is wrong: format, beams, units, or cut short
  4   the machine failed: disk, memory, permission, a GPU
  5   incomplete: planes that other processes make are missing
  6   stored planes do not match their checksums
  70  a bug in mmconv; please report it
  75  interrupted; the same command goes on

Begin with: mmconv demo";

/// Examples for `smooth`.
pub const SMOOTH_EXAMPLES: &str = "\
Examples:
  mmconv smooth a.fits b.fits
      Both to the smallest beam they can share: a.sm.fits and b.sm.fits
  mmconv smooth --dry-run cube.fits
      What would be done, from what beams; makes nothing
  mmconv smooth --bmaj 20 --bmin 20 --bpa 0 -o smoothed *.fits
      To a round beam of 20 arcsec, outputs in the folder smoothed
  mmconv smooth --mode natural q.fits u.fits
      One beam per channel, shared by both cubes
  mmconv smooth --target-from i.fits q.fits u.fits
      To the beams of another file
  mmconv smooth --cutoff 25 --circularise cube.fits
      Without the channels above 25 arcsec, to a round beam
  find . -name '*.fits' -print0 | mmconv smooth --files-from - -0 --json
      File names from find, results as JSON
  mmconv smooth --compat racs-tools --mode total cube.fits
      As beamcon_3D or convolvers would

The paths of the outputs are printed on standard output, one a line, as each is finished; all else
goes to standard error. All inputs are checked before any output is made.";

/// Examples for `beams`.
pub const BEAMS_EXAMPLES: &str = "\
Examples:
  mmconv beams cube.fits
      A line for every plane, then the range and the common beam
  mmconv beams --json *.fits
      One JSON object a file, with the common beam of the file and of all files
  mmconv beams --beam-from header cube.fits
      The beam in the header, although there may be a table";

/// Examples for `bench`.
pub const BENCH_EXAMPLES: &str = "\
Examples:
  mmconv bench
      16 planes of 2048 x 2048 in f32: a table, and a verdict in words
  mmconv bench --nx 10240 --ny 10240 --planes 4 --blank 25
      Large planes, a quarter of the pixels blank and the mask smoothed
  mmconv bench --dir /data/scratch
      The disk that the cubes are on
  mmconv bench --save
      Also keep what was found, for the choice of a backend";
