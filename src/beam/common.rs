//! The smallest beam that every one of a set of beams can be convolved to, exactly.
//! No files and no rounding to human steps here.
//!
//! # The problem
//! Minimise det C (the squared area over a constant) over matrices C with C − Cᵢ ⪰ 0 for all i.
//! With t = (nn + ee)/2, x = (nn − ee)/2 and y = en a matrix is a point (t; x, y), det is the
//! Minkowski norm t² − x² − y², and C ⪰ Cᵢ says that C lies in the future light cone of Cᵢ:
//! t − tᵢ ≥ |(x, y) − (xᵢ, yᵢ)|. In the inverse matrices the same problem maximises log det, which
//! is strictly concave, over an intersection of cones, which is convex; so the optimum is unique,
//! and it is the optimum of at most three of the beams (three unknowns; Helly).
//!
//! # The method
//! Start from the beam of the largest trace (if one contains all, it is that one). While some
//! beam sticks out, take the one that does most into the basis, and solve the at most four beams
//! exactly: the best of all optima of one, two and three of them that contains the four. The
//! area grows with each step, so no basis comes twice; a step costs one pass over the beams.
//!
//! # Exact optima
//! *One*: the beam itself. *Two*, z₁ and z₂ = z₁ + δ, neither containing the other: in the basis
//! that makes both diagonal the optimum is the larger element of each pair. With ν± the roots of
//! det(δ − ν z₁) = 0, ν₋ < 0 < ν₊, that is α z₁ + β z₂ with α = (1 + ν₊)(−ν₋)/(ν₊ − ν₋) and
//! β = ν₊/(ν₊ − ν₋): sums of positive terms. *Three*: the point lightlike from all: w = z − z₁ is
//! null and 2⟨w, δⱼ⟩ = ⟨δⱼ, δⱼ⟩ for j = 2, 3, so w is one of the two null directions orthogonal
//! to ⟨δ₃, δ₃⟩ δ₂ − ⟨δ₂, δ₂⟩ δ₃, scaled.
//!
//! All of this is done in sums of two doubles, so that needles and nearly equal beams keep their
//! digits; the passes over all beams are plain doubles, with a second look where it is close.

use super::angle::{cos_sin, degrees_of};
use super::dd::Double;
use super::{Beam, BeamError};

/// How far, over t, a beam may stick out of the solver's optimum. Far below the rounding of a
/// double, far above that of two.
const SLACK: f64 = 1e-22;
/// Where plain doubles cannot tell sticking out from touching, over t.
const DOUBT: f64 = 1e-13;
/// How far, over t, an input may stick out of the answer after rounding to doubles.
const ROUNDING: f64 = 1e-13;
/// Steps after which the answer is taken as it is and grown until it contains all. Random and
/// hostile sets of 10 000 beams were seen to take at most eight.
const MOST_STEPS: usize = 2000;

/// The smallest beam that all of `beams` can be convolved to.
///
/// The area is the optimum's within rounding, every beam is reachable, and the answer depends on
/// the set alone: neither order nor repetition changes a bit. Where one beam contains all others
/// that beam is the answer, bit for bit. 10 000 beams take a few milliseconds.
///
/// # Errors
/// [`BeamError::NoBeams`] of an empty list, [`BeamError::NoWidth`] where a minor axis is zero.
pub fn common_beam(beams: &[Beam]) -> Result<Beam, BeamError> {
    let set = canonical(beams)?;
    let Some(scale) = scale_of(&set) else {
        return Err(BeamError::NoBeams);
    };
    let points: Vec<Point> = set.iter().map(|beam| Point::of(beam, scale)).collect();
    let optimum = solve(&points);
    if let [only] = optimum.members.as_slice()
        && let Some(beam) = set.get(*only)
    {
        return Ok(*beam);
    }
    verified(optimum.point, &points, scale)
}

/// The beams in one order, each once.
fn canonical(beams: &[Beam]) -> Result<Vec<Beam>, BeamError> {
    if let Some(flat) = beams.iter().find(|beam| beam.bmin_arcsec <= 0.0) {
        let Beam {
            bmaj_arcsec,
            bmin_arcsec,
            ..
        } = *flat;
        return Err(BeamError::NoWidth {
            bmaj_arcsec,
            bmin_arcsec,
        });
    }
    let mut set = beams.to_vec();
    let key = |beam: &Beam| (beam.bmaj_arcsec, beam.bmin_arcsec, beam.bpa_deg);
    set.sort_by(|one, other| {
        let (one, other) = (key(one), key(other));
        one.0
            .total_cmp(&other.0)
            .then(one.1.total_cmp(&other.1))
            .then(one.2.total_cmp(&other.2))
    });
    set.dedup();
    Ok(set)
}

/// The power of two that brings the largest axis near one, so that squares neither overflow nor
/// vanish and scaling loses nothing. `None` of an empty set.
fn scale_of(set: &[Beam]) -> Option<f64> {
    let largest = set.last()?.bmaj_arcsec;
    Some((-largest.log2().round()).clamp(-1000.0, 1000.0).exp2())
}

/// A symmetric matrix as (half trace; half difference, off-diagonal), see the head of the file.
#[derive(Clone, Copy, Debug)]
struct Point {
    t: Double,
    x: Double,
    y: Double,
}

impl Point {
    fn of(beam: &Beam, scale: f64) -> Self {
        let (a, b) = (beam.bmaj_arcsec * scale, beam.bmin_arcsec * scale);
        let (a2, b2) = (Double::product(a, a), Double::product(b, b));
        let (c, s) = cos_sin(beam.bpa_deg);
        let radius = (a2 - b2).half();
        // c and s are doubles: c² + s² is off one by their rounding, which scales the whole
        // matrix and turns nothing.
        let (c2, s2) = (Double::product(c, c), Double::product(s, s));
        let norm = c2 + s2;
        Self {
            t: (a2 + b2).half() * norm,
            x: radius * (c2 - s2),
            y: radius * Double::product(s, c).double(),
        }
    }

    fn minus(self, other: Self) -> Self {
        Self {
            t: self.t - other.t,
            x: self.x - other.x,
            y: self.y - other.y,
        }
    }

    fn plus(self, other: Self) -> Self {
        Self {
            t: self.t + other.t,
            x: self.x + other.x,
            y: self.y + other.y,
        }
    }

    fn times(self, factor: Double) -> Self {
        Self {
            t: self.t * factor,
            x: self.x * factor,
            y: self.y * factor,
        }
    }

    /// The Minkowski product, of signature (+, −, −).
    fn dot(self, other: Self) -> Double {
        self.t * other.t - self.x * other.x - self.y * other.y
    }

    /// The determinant of the matrix.
    fn norm(self) -> Double {
        self.dot(self)
    }

    /// Length of the (x, y) part.
    fn radius(self) -> Double {
        (self.x.square() + self.y.square()).sqrt()
    }

    /// How far `inner` sticks out of this point's past cone, over t; negative inside.
    fn excess(self, inner: Self) -> f64 {
        let gap = self.minus(inner);
        let (t, r) = (gap.t.value(), gap.x.value().hypot(gap.y.value()));
        // r − t as (r² − t²)/(r + t): only the difference of squares needs the digits.
        let out = if t > 0.0 {
            -gap.norm().value() / (r + t)
        } else {
            r - t
        };
        out / self.t.value()
    }

    fn is_finite(self) -> bool {
        self.t.is_finite() && self.x.is_finite() && self.y.is_finite()
    }
}

/// The optimum of a few of the points, by their indices.
struct Optimum {
    members: Vec<usize>,
    point: Point,
}

/// The optimum of all points.
fn solve(points: &[Point]) -> Optimum {
    let start = largest_trace(points);
    let mut best = Optimum {
        members: vec![start],
        point: at(points, start),
    };
    for _ in 0..MOST_STEPS {
        let Some(outside) = furthest_out(points, best.point) else {
            break;
        };
        let mut few = best.members.clone();
        few.push(outside);
        let next = solve_few(points, &few);
        if next.point.norm() <= best.point.norm() {
            break;
        }
        best = next;
    }
    best
}

/// The index of the point of the largest t; of equals, of the largest norm.
fn largest_trace(points: &[Point]) -> usize {
    let mut best = 0;
    for (index, point) in points.iter().enumerate() {
        let top = at(points, best);
        let more = point.t > top.t;
        if more || (point.t.value() == top.t.value() && point.norm() > top.norm()) {
            best = index;
        }
    }
    best
}

fn at(points: &[Point], index: usize) -> Point {
    let zero = Point {
        t: Double::ZERO,
        x: Double::ZERO,
        y: Double::ZERO,
    };
    points.get(index).copied().unwrap_or(zero)
}

/// The index of the point that sticks out of `centre` most, if one does by more than [`SLACK`].
fn furthest_out(points: &[Point], centre: Point) -> Option<usize> {
    let (t, x, y) = (centre.t.value(), centre.x.value(), centre.y.value());
    let rough = |point: &Point| {
        let (dx, dy) = (x - point.x.value(), y - point.y.value());
        ((dx * dx + dy * dy).sqrt() - (t - point.t.value())) / t
    };
    let mut worst = (f64::NEG_INFINITY, 0);
    for (index, point) in points.iter().enumerate() {
        let excess = rough(point);
        if excess > worst.0 {
            worst = (excess, index);
        }
    }
    if worst.0 > DOUBT {
        return Some(worst.1);
    }
    let mut worst = (SLACK, None);
    for (index, point) in points.iter().enumerate() {
        if rough(point) > -DOUBT {
            let excess = centre.excess(*point);
            if excess > worst.0 {
                worst = (excess, Some(index));
            }
        }
    }
    worst.1
}

/// The optimum of at most four points: of all optima of one, two and three of them that contain
/// the rest, the one of the least norm. If rounding hides them all, the one that contains best.
fn solve_few(points: &[Point], few: &[usize]) -> Optimum {
    let mut best: Option<(f64, Optimum)> = None;
    for members in subsets(few) {
        let corner: Vec<Point> = members.iter().map(|&index| at(points, index)).collect();
        for point in optima_touching(&corner) {
            let excess = few
                .iter()
                .filter(|index| !members.contains(index))
                .map(|&index| point.excess(at(points, index)))
                .fold(SLACK, f64::max);
            let better = best.as_ref().is_none_or(|(least, known)| {
                excess < *least || (excess == *least && point.norm() < known.point.norm())
            });
            if better && excess.is_finite() {
                best = Some((
                    excess,
                    Optimum {
                        members: members.clone(),
                        point,
                    },
                ));
            }
        }
    }
    let first = few.first().copied().unwrap_or(0);
    best.map_or(
        Optimum {
            members: vec![first],
            point: at(points, first),
        },
        |(_, found)| found,
    )
}

/// All subsets of one, two or three.
fn subsets(few: &[usize]) -> Vec<Vec<usize>> {
    let masks = 1_usize..(1 << few.len().min(4));
    let chosen = |mask: usize| -> Vec<usize> {
        let picked = few
            .iter()
            .enumerate()
            .filter(|(bit, _)| mask & (1 << bit) != 0);
        picked.map(|(_, &index)| index).collect()
    };
    masks
        .map(chosen)
        .filter(|members| members.len() <= 3)
        .collect()
}

/// The points that touch all the corners and can be their optimum.
fn optima_touching(corners: &[Point]) -> Vec<Point> {
    let found = match corners {
        [one] => vec![*one],
        [one, two] => optimum_of_two(*one, *two).into_iter().collect(),
        [one, two, three] => vertices_of_three(*one, *two, *three),
        _ => Vec::new(),
    };
    found
        .into_iter()
        .filter(|point| point.is_finite())
        .collect()
}

/// The optimum of two points of which neither contains the other; `None` where one does.
fn optimum_of_two(one: Point, two: Point) -> Option<Point> {
    let gap = two.minus(one);
    let (norm, cross, size) = (gap.norm(), one.dot(gap), one.norm());
    if norm.value() >= 0.0 {
        return None;
    }
    let root = (cross.square() - size * norm).sqrt();
    // The larger root by a sum, the other by the product of the roots.
    let (above, below) = if cross.is_positive() {
        let above = (cross + root) / size;
        (above, norm / (size * above))
    } else {
        let below = (cross - root) / size;
        (norm / (size * below), below)
    };
    let spread = above - below;
    let grown = one.times(-(above * below) / spread);
    Some(one.plus(grown).plus(gap.times(above / spread)))
}

/// The points lightlike to the future of three points; none, one or two.
fn vertices_of_three(one: Point, two: Point, three: Point) -> Vec<Point> {
    let (second, third) = (two.minus(one), three.minus(one));
    let (norm2, norm3) = (second.norm(), third.norm());
    let axis = second.times(norm3).minus(third.times(norm2));
    let squared = axis.x.square() + axis.y.square();
    let height = (squared - axis.t.square()).sqrt();
    if norm2.value() >= 0.0 || norm3.value() >= 0.0 || !squared.is_positive() {
        return Vec::new();
    }
    let vertex = |height: Double| {
        let null = Point {
            t: squared,
            x: axis.t * axis.x - height * axis.y,
            y: axis.t * axis.y + height * axis.x,
        };
        let (by2, by3) = (null.dot(second), null.dot(third));
        // Both give the same length; the one of the larger product keeps more digits.
        let (norm, by) = if by2 < by3 {
            (norm2, by2)
        } else {
            (norm3, by3)
        };
        // Both norms are negative: to the future is where the product is too.
        by.value()
            .is_sign_negative()
            .then(|| one.plus(null.times((norm / by).half())))
    };
    [height, -height].into_iter().filter_map(vertex).collect()
}

/// The beam of `point`, grown where an input still sticks out of it.
fn verified(mut point: Point, points: &[Point], scale: f64) -> Result<Beam, BeamError> {
    for _ in 0..8 {
        let beam = beam_of(point, scale)?;
        let rounded = Point::of(&beam, scale);
        let excess = points
            .iter()
            .map(|inner| rounded.excess(*inner))
            .fold(0.0, f64::max);
        if excess <= ROUNDING {
            return Ok(beam);
        }
        // Adding a circle of this size to any matrix lifts it over what stuck out.
        point.t = point.t + point.t * Double::from(2.0 * excess);
    }
    let widest = points
        .iter()
        .map(|p| (p.t + p.radius()).value())
        .fold(0.0, f64::max)
        .sqrt();
    Beam::new(widest / scale, widest / scale, 0.0)
}

/// The ellipse of a point.
fn beam_of(point: Point, scale: f64) -> Result<Beam, BeamError> {
    let radius = point.radius();
    let largest = point.t + radius;
    let (a, b) = (
        largest.sqrt().value(),
        (point.norm() / largest).sqrt().value(),
    );
    let round = radius.value() <= 4.0 * f64::EPSILON * point.t.value();
    let bpa_deg = 0.5 * degrees_of(point.y.value(), point.x.value());
    Beam::new(a / scale, if round { a } else { b.min(a) } / scale, bpa_deg)
}
