//! The target beams: one for everything, or one per channel.

use crate::beam::{Beam, common_beam, round_up, smallest_circle};
use crate::plan::spec::{Mode, RefChannel, Rounding, Spec};
use crate::plan::{Facts, PlanError};

/// The target of every plane of a cube.
#[derive(Clone, Debug, PartialEq)]
pub enum Targets {
    /// One beam for all planes.
    One(Beam),
    /// One per channel; `None` makes the channel blank.
    PerChannel(Vec<Option<Beam>>),
}

impl Targets {
    /// The target of a channel, from 0.
    #[must_use]
    pub fn of(&self, channel: u64) -> Option<Beam> {
        match self {
            Self::One(beam) => Some(*beam),
            Self::PerChannel(beams) => beams.get(usize::try_from(channel).ok()?).copied().flatten(),
        }
    }

    /// Beams given per channel: one for all where there is one only.
    #[must_use]
    pub fn from_list(beams: Vec<Option<Beam>>) -> Self {
        match beams.as_slice() {
            [Some(beam)] => Self::One(*beam),
            _ => Self::PerChannel(beams),
        }
    }

    /// How many beams are listed, if they are listed per channel.
    fn listed(&self) -> Option<u64> {
        match self {
            Self::One(_) => None,
            Self::PerChannel(beams) => Some(beams.len() as u64),
        }
    }
}

/// The beam that stands in the image header, and its channel: of `beams`, one a channel, the one
/// asked for if it is there, else the first that is.
///
/// # Errors
/// The channel asked for does not exist.
pub fn reference(
    beams: &[Option<Beam>],
    choice: RefChannel,
    crpix_channel: Option<u64>,
) -> Result<Option<(u64, Beam)>, PlanError> {
    let channels = beams.len() as u64;
    let last = channels.saturating_sub(1);
    let wanted = match choice {
        RefChannel::Auto => crpix_channel.unwrap_or(0).min(last),
        RefChannel::First => 0,
        RefChannel::Mid => channels / 2,
        RefChannel::Last => last,
        RefChannel::Index(asked) if asked > last => {
            return Err(PlanError::RefChannel { asked, channels });
        }
        RefChannel::Index(asked) => asked,
    };
    let numbered = || {
        (0_u64..)
            .zip(beams)
            .filter_map(|(channel, beam)| Some((channel, (*beam)?)))
    };
    Ok(numbered()
        .find(|(channel, _)| *channel == wanted)
        .or_else(|| numbered().next()))
}

/// What the planes are brought to, with everything read that had to be.
#[derive(Clone, Debug, PartialEq)]
pub enum Wanted {
    /// These beams.
    Given(Targets),
    /// The smallest common beams of the inputs.
    Common(Mode),
}

/// The targets of each file, in the order of the files.
///
/// # Errors
/// Nothing usable to share a beam over, or lists that do not match the channels. The number is
/// the file the error belongs to.
pub fn targets(
    files: &[Facts],
    spec: &Spec,
    wanted: &Wanted,
) -> Result<Vec<Targets>, (usize, PlanError)> {
    match wanted {
        Wanted::Given(given) => shared_list(files, given),
        Wanted::Common(Mode::Total) => {
            let common = total(files, spec).and_then(|beam| beam.ok_or(PlanError::NoBeams));
            let common = common.map_err(|error| (0, error))?;
            Ok(vec![Targets::One(common); files.len()])
        }
        Wanted::Common(Mode::Natural) => natural(files, spec),
    }
}

fn shared_list(files: &[Facts], given: &Targets) -> Result<Vec<Targets>, (usize, PlanError)> {
    if let Some(targets) = given.listed() {
        for (number, file) in files.iter().enumerate() {
            let channels = file.channels();
            if channels != targets {
                return Err((number, PlanError::TargetCount { targets, channels }));
            }
        }
    }
    Ok(vec![given.clone(); files.len()])
}

/// The common beam of every plane of every file.
fn total(files: &[Facts], spec: &Spec) -> Result<Option<Beam>, PlanError> {
    let beams: Vec<Beam> = files
        .iter()
        .flat_map(|file| &file.beams)
        .copied()
        .flatten()
        .collect();
    common(&beams, spec)
}

/// The common beam of each channel over files and Stokes.
fn natural(files: &[Facts], spec: &Spec) -> Result<Vec<Targets>, (usize, PlanError)> {
    let channels = files.first().map_or(0, Facts::channels);
    for (number, file) in files.iter().enumerate() {
        if file.channels() != channels {
            let counts = PlanError::ChannelCounts {
                first: channels,
                found: file.channels(),
            };
            return Err((number, counts));
        }
    }
    let beams = (0..channels)
        .map(|channel| common(&channel_beams(files, channel), spec))
        .collect::<Result<Vec<_>, _>>()
        .map_err(|error| (0, error))?;
    if beams.iter().all(Option::is_none) {
        return Err((0, PlanError::NoBeams));
    }
    Ok(vec![Targets::from_list(beams); files.len()])
}

fn channel_beams(files: &[Facts], channel: u64) -> Vec<Beam> {
    let mut beams = Vec::new();
    for file in files {
        let stokes = usize::try_from(file.stokes()).unwrap_or(usize::MAX);
        let skipped = usize::try_from(channel)
            .unwrap_or(usize::MAX)
            .saturating_mul(stokes);
        beams.extend(
            file.beams
                .iter()
                .skip(skipped)
                .take(stokes)
                .copied()
                .flatten(),
        );
    }
    beams
}

/// The smallest common beam, made round and rounded up where the user wants that; none of no
/// beams.
fn common(beams: &[Beam], spec: &Spec) -> Result<Option<Beam>, PlanError> {
    if beams.is_empty() {
        return Ok(None);
    }
    let failed = |source| PlanError::Common { source };
    let smallest = if spec.circularise {
        smallest_circle(beams)
    } else {
        common_beam(beams)
    };
    let target = smallest.map_err(failed)?;
    let Some(Rounding {
        step_arcsec,
        bpa_step_deg,
    }) = spec.rounding
    else {
        return Ok(Some(target));
    };
    round_up(&target, step_arcsec, bpa_step_deg, beams)
        .map(Some)
        .map_err(failed)
}
