//! Beams for people: circles, and axes rounded up to a step, still reachable by every input.
//! The exact common beam is found in `common`.

use super::{Beam, BeamError, Covariance};

/// How near a multiple of the step a value counts as being it.
const ON_STEP: f64 = 1e-9;
/// How far below zero the least eigenvalue of rounded − input may lie, over the input's BMAJ²:
/// what [`ON_STEP`] can take away, with room.
const SLACK: f64 = 1e-8;

/// The smallest round beam that all of `beams` can be convolved to: as wide as the largest BMAJ,
/// since a circle must reach the end of every major axis and then contains the ellipse.
///
/// # Errors
/// [`BeamError::NoBeams`] of an empty list.
pub fn smallest_circle(beams: &[Beam]) -> Result<Beam, BeamError> {
    let widest = beams.iter().map(|beam| beam.bmaj_arcsec).reduce(f64::max);
    let widest = widest.ok_or(BeamError::NoBeams)?;
    Beam::new(widest, widest, 0.0)
}

/// `beam` with both axes rounded up to a multiple of `step_arcsec` and, if given, its position
/// angle up to a multiple of `bpa_step_deg`; a value within 1e-9 of a multiple is that multiple.
///
/// Turning an ellipse can make it miss a beam that it contained. Then the axes are raised by
/// further steps, as few as it takes, until all of `beams` are contained again (those that
/// `beam` contained; it may be the common beam of them, or larger).
///
/// # Errors
/// [`BeamError::BadStep`] for a step that is not a positive finite number.
pub fn round_up(
    beam: &Beam,
    step_arcsec: f64,
    bpa_step_deg: Option<f64>,
    beams: &[Beam],
) -> Result<Beam, BeamError> {
    let step = Step::new(step_arcsec)?;
    let bpa_deg = match bpa_step_deg {
        Some(angle) => {
            let angle = Step::new(angle)?;
            angle.value(angle.count_up(beam.bpa_deg))
        }
        None => beam.bpa_deg,
    };
    let rounded = Rounded {
        step,
        major: step.count_up(beam.bmaj_arcsec),
        minor: step.count_up(beam.bmin_arcsec),
        bpa_deg,
    };
    let inner: Vec<Covariance> = beams
        .iter()
        .filter(|inner| beam.contains(inner))
        .map(Beam::covariance)
        .collect();
    rounded.raised(&inner).beam()
}

/// A positive step, with the number of steps in one if that is whole: 0.1 is held as 1/10, so
/// that 123 steps are 12.3 and not its neighbour.
#[derive(Clone, Copy, Debug)]
struct Step {
    size: f64,
    per_one: Option<f64>,
}

impl Step {
    fn new(step: f64) -> Result<Self, BeamError> {
        if !(step.is_finite() && step > 0.0) {
            return Err(BeamError::BadStep { step });
        }
        let inverse = (1.0 / step).round();
        let whole = inverse >= 1.0 && (inverse * step - 1.0).abs() < 1e-12;
        Ok(Self {
            size: step,
            per_one: whole.then_some(inverse),
        })
    }

    /// How many steps reach `value`.
    fn count_up(&self, value: f64) -> f64 {
        let steps = self
            .per_one
            .map_or(value / self.size, |per_one| value * per_one);
        let nearest = steps.round();
        if (steps - nearest).abs() <= ON_STEP * nearest.abs() {
            nearest
        } else {
            steps.ceil()
        }
    }

    fn value(&self, count: f64) -> f64 {
        self.per_one
            .map_or(count * self.size, |per_one| count / per_one)
    }
}

/// Axes as numbers of steps.
#[derive(Clone, Copy, Debug)]
struct Rounded {
    step: Step,
    major: f64,
    minor: f64,
    bpa_deg: f64,
}

impl Rounded {
    fn beam(&self) -> Result<Beam, BeamError> {
        let (one, other) = (self.step.value(self.major), self.step.value(self.minor));
        Beam::new(one.max(other), one.min(other), self.bpa_deg)
    }

    fn more(&self, major: f64, minor: f64) -> Self {
        Self {
            major: self.major + major,
            minor: self.minor + minor,
            ..*self
        }
    }

    fn contains(&self, inner: &[Covariance]) -> bool {
        let Ok(beam) = self.beam() else { return false };
        let outer = beam.covariance();
        inner
            .iter()
            .all(|inner| outer.minus(*inner).eigenvalues().1 >= -SLACK * inner.eigenvalues().0)
    }

    /// With as few further steps as contain all of `inner`: first on both axes alike, of which
    /// the minor, then the major gives back what it can. Each search is over a property that
    /// stays true once it is, so halving finds its least count.
    fn raised(&self, inner: &[Covariance]) -> Self {
        if self.contains(inner) {
            return *self;
        }
        let both = least_count(|more| self.more(more, more).contains(inner));
        let minor = least_count(|more| self.more(both, more.min(both)).contains(inner)).min(both);
        let major = least_count(|more| self.more(more.min(both), minor).contains(inner)).min(both);
        self.more(major, minor)
    }
}

/// The least whole number from 0 for which `holds`, which holds for all above it.
fn least_count(holds: impl Fn(f64) -> bool) -> f64 {
    if holds(0.0) {
        return 0.0;
    }
    let mut enough = 1.0;
    while !holds(enough) && enough < 1e15 {
        enough *= 2.0;
    }
    let mut lacking = (0.5 * enough).floor();
    while enough - lacking > 1.0 {
        let middle = (0.5 * (enough + lacking)).floor();
        if holds(middle) {
            enough = middle;
        } else {
            lacking = middle;
        }
    }
    enough
}
