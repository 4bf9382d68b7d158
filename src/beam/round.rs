//! Beams for people: circles, and axes rounded up to a step, still reachable by every input.
//! The exact common beam is found in `common`.

use super::angle::cos_sin;
use super::{Beam, BeamError, Covariance};

/// How near a multiple of the step a value counts as being it: float32 tables and cards in
/// degrees are off by up to 6e-8, and a beam that was rounded once must not be rounded further.
const ON_STEP: f64 = 1e-7;
/// How far below zero the least eigenvalue of rounded − input may lie, over the input's BMAJ²:
/// what [`ON_STEP`] can take away, with room, and within [`TOLERANCE`](super::TOLERANCE).
const SLACK: f64 = 3e-7;

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
/// angle up to a multiple of `bpa_step_deg`; a value within 1e-7 of a multiple is that multiple.
///
/// Turning an ellipse can make it miss a beam that it contained. Then the axes are raised by
/// further steps, to the least area that contains all of `beams` again (those that `beam`
/// contained; it may be the common beam of them, or larger).
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
    if rounded.contains(&inner) {
        return rounded.beam();
    }
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
        Beam::new(
            self.step.value(self.major),
            self.step.value(self.minor),
            self.bpa_deg,
        )
    }

    fn contains(&self, inner: &[Covariance]) -> bool {
        let Ok(beam) = self.beam() else { return false };
        let outer = beam.covariance();
        let holds = |inner: &Covariance| {
            outer.minus(*inner).eigenvalues().1 >= -SLACK * inner.eigenvalues().0
        };
        inner.iter().all(holds)
    }

    /// The least area, in whole steps, that contains all of `inner` at this angle and is no
    /// smaller than this in either axis.
    ///
    /// In the frame of the angle the answer is diagonal, diag(a², b²), and contains a matrix of
    /// elements p, q along and across and r between them where (a² − p)(b² − q) ≥ r². So b tells
    /// the least a; and a·b, which has one valley, is searched over whole steps of b.
    fn raised(&self, inner: &[Covariance]) -> Self {
        let framed: Vec<Framed> = inner.iter().map(|c| Framed::of(*c, self.bpa_deg)).collect();
        let widest = |element: fn(&Framed) -> f64| framed.iter().map(element).fold(0.0, f64::max);
        let at = |minor: f64| {
            let b2 = self.step.value(minor).powi(2);
            let needed = framed
                .iter()
                .map(|one| one.along_for(b2))
                .fold(0.0, f64::max);
            let major = self.step.count_up(needed.sqrt()).max(self.major).max(minor);
            Self {
                major,
                minor,
                ..*self
            }
        };
        let across = self.step.count_up(widest(|one| one.across).sqrt());
        let low = self.minor.max(across);
        let high = low.max(self.step.count_up(widest(|one| one.largest).sqrt()));
        let mut raised = at(valley(low, high, |minor| at(minor).major * minor));
        // Rounding of the frame can leave it a hair short.
        for _ in 0..64 {
            if raised.contains(inner) {
                break;
            }
            let more = (1e-9 * raised.major).ceil();
            raised = Self {
                major: raised.major + more,
                minor: raised.minor + more,
                ..raised
            };
        }
        raised
    }
}

/// The whole number from `low` to `high` where `height`, which has one valley, is least. Above
/// 2⁵³, where not every whole number is a double, near it.
fn valley(mut low: f64, mut high: f64, height: impl Fn(f64) -> f64) -> f64 {
    // Each turn takes a third away; 200 take all of 2¹¹⁰.
    for _ in 0..200 {
        if high - low <= 2.0 {
            break;
        }
        let third = ((high - low) / 3.0).floor().max(1.0);
        if height(low + third) <= height(high - third) {
            high -= third;
        } else {
            low += third;
        }
    }
    let middle = (0.5 * (low + high)).floor();
    let lower = |one: f64, two: f64| if height(two) < height(one) { two } else { one };
    lower(lower(low, middle), high)
}

/// A covariance in the frame of a position angle.
#[derive(Clone, Copy, Debug)]
struct Framed {
    /// Element along the angle.
    along: f64,
    /// Element across it.
    across: f64,
    /// Square of the element between.
    between2: f64,
    /// Largest eigenvalue.
    largest: f64,
}

impl Framed {
    fn of(covariance: Covariance, bpa_deg: f64) -> Self {
        let Covariance { ee, en, nn } = covariance;
        let (c, s) = cos_sin(bpa_deg);
        let between = (ee - nn) * s * c + en * (c - s) * (c + s);
        Self {
            along: ee * s * s + 2.0 * en * s * c + nn * c * c,
            across: ee * c * c - 2.0 * en * s * c + nn * s * s,
            between2: between * between,
            largest: covariance.eigenvalues().0,
        }
    }

    /// The least square of the major axis that contains this with `b2` across; infinite if none.
    fn along_for(&self, b2: f64) -> f64 {
        let room = b2 - self.across;
        if room > 0.0 {
            self.along + self.between2 / room
        } else if self.between2 == 0.0 && room == 0.0 {
            self.along
        } else {
            f64::INFINITY
        }
    }
}
