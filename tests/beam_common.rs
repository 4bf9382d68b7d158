//! Common beams of sets that are random or hostile, against a slow search that shares nothing
//! with the solver, and the properties that any answer must have.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use mmfits::beam::{Beam, common_beam, round_up, smallest_circle};

/// A deterministic stream of numbers in [0, 1).
struct Random(u64);

impl Random {
    fn next(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.next()
    }

    fn beam(&mut self, bmaj: (f64, f64), ratio: (f64, f64)) -> Beam {
        let bmaj = self.between(bmaj.0, bmaj.1);
        let bmin = bmaj * self.between(ratio.0, ratio.1);
        Beam::new(bmaj, bmin, self.between(-90.0, 90.0)).unwrap()
    }
}

/// Least eigenvalue of outer − inner over inner's BMAJ².
fn margin(outer: &Beam, inner: &Beam) -> f64 {
    let rest = outer.covariance().minus(inner.covariance());
    rest.eigenvalues().1 / inner.bmaj_arcsec().powi(2)
}

fn assert_contains(outer: &Beam, beams: &[Beam], what: &str) {
    for inner in beams {
        let margin = margin(outer, inner);
        assert!(
            margin >= -1e-12,
            "{what}: {inner} sticks out of {outer} by {margin:e}"
        );
    }
}

/// The least BMAJ · BMIN of a containing beam, by brute force. Any shape of unit determinant is
/// a point (u, v): [[h − u, v], [v, h + u]] with h = √(1 + u² + v²); the factor it needs to
/// contain a beam is the largest root λ of det(C − λ M) = 0. That it contains all with less than
/// some factor is a convex condition on (u, v), so one search within another finds the least.
fn brute_force(beams: &[Beam]) -> f64 {
    let needed = |u: f64, v: f64| -> f64 {
        let h = (1.0 + u * u + v * v).sqrt();
        let factor = |beam: &Beam| {
            let c = beam.covariance();
            let mixed = 0.5 * (c.ee * (h + u) + c.nn * (h - u)) - c.en * v;
            let det = (beam.bmaj_arcsec() * beam.bmin_arcsec()).powi(2);
            mixed + (mixed * mixed - det).max(0.0).sqrt()
        };
        beams.iter().map(factor).fold(0.0, f64::max)
    };
    least(|u| least(|v| needed(u, v)))
}

/// The least value of a function of one valley between −8 and 8, by golden sections.
fn least(of: impl Fn(f64) -> f64) -> f64 {
    let golden = 0.5 * (5.0_f64.sqrt() - 1.0);
    let (mut low, mut high) = (-8.0, 8.0);
    let (mut left, mut right) = (high - golden * (high - low), low + golden * (high - low));
    let (mut at_left, mut at_right) = (of(left), of(right));
    while high - low > 1e-13 {
        if at_left < at_right {
            (high, right, at_right) = (right, left, at_left);
            left = high - golden * (high - low);
            at_left = of(left);
        } else {
            (low, left, at_left) = (left, right, at_right);
            right = low + golden * (high - low);
            at_right = of(right);
        }
    }
    at_left.min(at_right)
}

fn assert_optimal(beams: &[Beam], what: &str) {
    let got = common_beam(beams).unwrap();
    assert_contains(&got, beams, what);
    let ratio = got.bmaj_arcsec() * got.bmin_arcsec() / brute_force(beams);
    assert!(
        (ratio - 1.0).abs() < 1e-9,
        "{what}: area is {ratio} of the least: {got}"
    );
}

#[test]
fn random_sets_are_optimal() {
    let mut random = Random(7);
    for count in [2, 3, 4, 5, 7, 12, 40] {
        for turn in 0..6 {
            let ratio = if turn % 2 == 0 {
                (0.3, 1.0)
            } else {
                (0.8, 1.0)
            };
            let beams: Vec<Beam> = (0..count)
                .map(|_| random.beam((9.0, 12.0), ratio))
                .collect();
            assert_optimal(&beams, &format!("{count} beams, turn {turn}"));
        }
    }
}

#[test]
fn c01_three_hundred_beams_at_all_angles() {
    let mut random = Random(300);
    let beams: Vec<Beam> = (0..300)
        .map(|_| {
            let (a, b) = (random.between(10.0, 12.0), random.between(7.0, 9.0));
            Beam::new(a, b, random.between(0.0, 180.0)).unwrap()
        })
        .collect();
    assert_optimal(&beams, "c01");
}

#[test]
fn sets_of_symmetry_give_circles() {
    // All beams touch at once: any three spread ones are a basis.
    for count in [2, 3, 4, 6, 36, 360] {
        let step = 180.0 / f64::from(count);
        let beams: Vec<Beam> = (0..count)
            .map(|k| Beam::new(3.0, 1.0, step * f64::from(k)).unwrap())
            .collect();
        let got = common_beam(&beams).unwrap();
        assert!((got.bmaj_arcsec() - 3.0).abs() < 1e-12, "{count}: {got}");
        assert!((got.bmin_arcsec() - 3.0).abs() < 1e-12, "{count}: {got}");
        assert_contains(&got, &beams, "symmetric");
    }
}

#[test]
fn one_that_contains_all_is_the_answer_bit_for_bit() {
    let mut random = Random(11);
    for _ in 0..50 {
        let large = random.beam((20.0, 30.0), (0.6, 1.0));
        let mut beams: Vec<Beam> = (0..20)
            .map(|_| random.beam((3.0, 8.0), (0.5, 1.0)))
            .collect();
        beams.push(large);
        beams.push(
            Beam::new(
                large.bmaj_arcsec(),
                0.5 * large.bmin_arcsec(),
                large.bpa_deg(),
            )
            .unwrap(),
        );
        assert_eq!(common_beam(&beams).unwrap(), large);
    }
    let same = Beam::new(12.1, 7.3, 33.3).unwrap();
    assert_eq!(common_beam(&[same; 5]).unwrap(), same);
    let turned = Beam::new(12.1, 7.3, 213.3).unwrap();
    let got = common_beam(&[same, turned]).unwrap();
    assert!(
        (got.bmin_arcsec() / same.bmin_arcsec() - 1.0).abs() < 1e-14,
        "{got}"
    );
}

#[test]
fn nearly_equal_beams() {
    for part in [1e-3, 1e-6, 1e-9, 1e-12, 1e-15] {
        let near = |a: f64, b: f64, pa: f64| {
            Beam::new(
                10.0 * (1.0 + a * part),
                6.0 * (1.0 + b * part),
                20.0 + pa * part,
            )
            .unwrap()
        };
        let beams = [
            near(0.0, 0.0, 0.0),
            near(1.0, -1.0, 0.0),
            near(-1.0, 1.0, 30.0),
            near(0.5, 0.2, -40.0),
        ];
        let got = common_beam(&beams).unwrap();
        assert_contains(&got, &beams, "nearly equal");
        let ratio = got.bmaj_arcsec() * got.bmin_arcsec() / 60.0;
        assert!(
            ratio >= 1.0 - 1e-15 && ratio < 1.0 + 3.0 * part + 1e-15,
            "{part}: {ratio}"
        );
    }
}

/// Two needles crossing at a small angle 2δ, of axes a and b. Both are symmetric to the bisector;
/// in its frame the optimum is diagonal, diag(A, B) with (A − p)(B − q) = r² touching both, where
/// p = a² cos²δ + b² sin²δ, q = a² sin²δ + b² cos²δ, r = (a² − b²) sinδ cosδ. The least A·B has
/// (A − p)/(B − q) = p/q.
#[test]
fn crossing_needles() {
    for ratio in [10.0, 1e2, 1e3, 1e4] {
        for half_turn in [1e-4_f64, 1e-2, 0.3, 0.7] {
            let (a2, b2) = (ratio * ratio, 1.0);
            let (s, c) = half_turn.sin_cos();
            let (p, q) = (a2 * c * c + b2 * s * s, a2 * s * s + b2 * c * c);
            let r = (a2 - b2) * s * c;
            let area = p * q + r * r + 2.0 * r * (p * q).sqrt();
            let pa = half_turn.to_degrees();
            for axis in [0.0, 90.0, 37.0] {
                let beams = [
                    Beam::new(ratio, 1.0, axis + pa).unwrap(),
                    Beam::new(ratio, 1.0, axis - pa).unwrap(),
                ];
                let got = common_beam(&beams).unwrap();
                let found = (got.bmaj_arcsec() * got.bmin_arcsec()).powi(2) / area;
                assert!(
                    (found - 1.0).abs() < 2e-9,
                    "1:{ratio} at {pa}: {found}, {got}"
                );
                assert_contains(&got, &beams, "needles");
            }
        }
    }
}

#[test]
fn needles_and_circles_at_random() {
    let mut random = Random(5);
    for _ in 0..200 {
        let mut beams: Vec<Beam> = (0..5)
            .map(|_| random.beam((10.0, 1e4), (1e-4, 1e-3)))
            .collect();
        beams.push(random.beam((5.0, 50.0), (0.99, 1.0)));
        let got = common_beam(&beams).unwrap();
        assert_contains(&got, &beams, "needles and circles");
    }
}

#[test]
fn scale_does_not_matter() {
    let mut random = Random(3);
    let beams: Vec<Beam> = (0..30)
        .map(|_| random.beam((9.0, 12.0), (0.3, 1.0)))
        .collect();
    let scaled = |by: f64| -> Vec<Beam> {
        let by = |beam: &Beam| {
            Beam::new(
                beam.bmaj_arcsec() * by,
                beam.bmin_arcsec() * by,
                beam.bpa_deg(),
            )
            .unwrap()
        };
        beams.iter().map(by).collect()
    };
    let want = common_beam(&beams).unwrap();
    for by in [1e-300, 1e-150, 1e-9, 1.0 / 3600.0, 1e9, 1e150, 1e290] {
        let got = common_beam(&scaled(by)).unwrap();
        assert!(
            (got.bmaj_arcsec() / by / want.bmaj_arcsec() - 1.0).abs() < 1e-14,
            "{by:e}: {got}"
        );
        assert!(
            (got.bmin_arcsec() / by / want.bmin_arcsec() - 1.0).abs() < 1e-14,
            "{by:e}: {got}"
        );
        assert!(
            (got.bpa_deg() - want.bpa_deg()).abs() < 1e-11,
            "{by:e}: {got}"
        );
    }
    // Powers of two lose nothing.
    let got = common_beam(&scaled(1024.0)).unwrap();
    assert_eq!(got.bmaj_arcsec(), 1024.0 * want.bmaj_arcsec());
    assert_eq!(got.bpa_deg(), want.bpa_deg());
    // Very large beside very small.
    let mixed = [
        Beam::new(1e-200, 1e-201, 3.0).unwrap(),
        Beam::new(1e200, 1e180, 40.0).unwrap(),
    ];
    assert_eq!(common_beam(&mixed).unwrap(), mixed[1]);
}

#[test]
fn ten_thousand_beams() {
    let mut random = Random(10_000);
    for spread in [(9.0, 12.0), (10.0, 10.000_001), (10.0, 10.0)] {
        let beams: Vec<Beam> = (0..10_000)
            .map(|_| random.beam(spread, (0.5, 1.0)))
            .collect();
        assert_contains(&common_beam(&beams).unwrap(), &beams, "ten thousand");
    }
}

#[test]
fn what_has_no_common_beam() {
    assert!(common_beam(&[]).is_err());
    let line = Beam::new(10.0, 0.0, 0.0).unwrap();
    let error = common_beam(&[line]).unwrap_err().to_string();
    assert!(error.contains("10"), "{error}");
    assert!(smallest_circle(&[]).is_err());
}

#[test]
fn circles() {
    let beams = [
        Beam::new(20.0, 10.0, 30.0).unwrap(),
        Beam::new(15.0, 14.0, -80.0).unwrap(),
    ];
    let circle = smallest_circle(&beams).unwrap();
    assert_eq!(
        (circle.bmaj_arcsec(), circle.bmin_arcsec(), circle.bpa_deg()),
        (20.0, 20.0, 0.0)
    );
    assert_contains(&circle, &beams, "circle");
}

#[test]
fn rounding_goes_up_and_stays_reachable() {
    let beam = |a, b, pa| Beam::new(a, b, pa).unwrap();
    let plain = beam(12.03, 11.91, 41.237);
    assert_eq!(
        round_up(&plain, 0.1, None, &[plain]).unwrap(),
        beam(12.1, 12.0, 41.237)
    );
    // What is on a step stays there, even if its decimal is not a double.
    for on_step in [beam(12.3, 0.7, 10.0), beam(12.3 * (1.0 + 5e-10), 0.7, 10.0)] {
        assert_eq!(
            round_up(&on_step, 0.1, None, &[]).unwrap(),
            beam(12.3, 0.7, 10.0)
        );
    }
    assert_eq!(
        round_up(&beam(12.300_01, 0.7, 1.0), 0.1, None, &[]).unwrap(),
        beam(12.4, 0.7, 1.0)
    );
    assert_eq!(
        round_up(&beam(0.05, 0.03, 0.0), 2.5, None, &[]).unwrap(),
        beam(2.5, 2.5, 0.0)
    );
    assert!(round_up(&plain, 0.0, None, &[]).is_err());
    assert!(round_up(&plain, 0.1, Some(f64::NAN), &[]).is_err());
    // Turning a needle whose axes are already on a step leaves it outside: it is raised.
    for (inner, angle) in [
        (beam(20.0, 1.0, 41.231), 0.01),
        (beam(20.0, 19.9, 41.2), 7.0),
        (beam(20.0, 1.0, 41.2), 40.0),
        (beam(20.0, 5.0, -89.999), 0.01),
    ] {
        for step in [0.1, 1.0, 1e-4] {
            let got = round_up(&inner, step, Some(angle), &[inner]).unwrap();
            assert!(
                margin(&got, &inner) >= -1e-8,
                "{inner} in {got}: {}",
                margin(&got, &inner)
            );
            let turn = got.bpa_deg() / angle;
            assert!(
                got.bpa_deg() == 0.0 || (turn - turn.round()).abs() < 1e-9,
                "{got}"
            );
            assert!(
                got.area_arcsec2() <= smallest_circle(&[inner]).unwrap().area_arcsec2() + 1e-6,
                "{got}"
            );
        }
    }
}

#[test]
fn rounding_takes_any_step() {
    let inner = Beam::new(20.0, 5.0, 41.23).unwrap();
    for step in [1e-25, 1e-12, 1e-3, 7.0, 1e3, 1e20] {
        let got = round_up(&inner, step, Some(10.0), &[inner]).unwrap();
        assert!(margin(&got, &inner) >= -1e-8, "step {step:e}: {got}");
        assert_eq!(got.bpa_deg(), if step < 10.0 { 50.0 } else { 0.0 }, "{got}");
    }
    // The least area at 50 deg, in steps too fine to matter: with p, q, r of the beam in that
    // frame the least of a²b² is (√(pq) + |r|)².
    let (s, c) = f64::to_radians(50.0 - 41.23).sin_cos();
    let (p, q, r) = (
        400.0 * c * c + 25.0 * s * s,
        400.0 * s * s + 25.0 * c * c,
        375.0 * s * c,
    );
    let got = round_up(&inner, 1e-9, Some(10.0), &[inner]).unwrap();
    let ratio = got.bmaj_arcsec() * got.bmin_arcsec() / ((p * q).sqrt() + r);
    assert!((ratio - 1.0).abs() < 1e-8, "{ratio}");
}

/// Stretching the sky north and shrinking it east by the same factor keeps areas, and the common
/// beam goes along: so needles can be judged by a search among rounder beams.
#[test]
fn stretching_the_sky_changes_no_area() {
    let mut random = Random(17);
    for count in [2, 3, 5, 9] {
        for _ in 0..5 {
            let beams: Vec<Beam> = (0..count)
                .map(|_| random.beam((9.0, 12.0), (0.3, 1.0)))
                .collect();
            let stretched: Vec<Beam> = beams.iter().map(|beam| stretch(beam, 30.0)).collect();
            let needle = stretched
                .iter()
                .map(|b| b.bmaj_arcsec() / b.bmin_arcsec())
                .fold(0.0, f64::max);
            assert!(needle > 300.0, "{needle}");
            let got = common_beam(&stretched).unwrap();
            assert_contains(&got, &stretched, "stretched");
            let ratio = got.bmaj_arcsec() * got.bmin_arcsec() / brute_force(&beams);
            assert!((ratio - 1.0).abs() < 1e-9, "{count}: {ratio}");
        }
    }
}

fn stretch(beam: &Beam, by: f64) -> Beam {
    let mut covariance = beam.covariance();
    covariance.nn *= by * by;
    covariance.ee /= by * by;
    covariance.to_beam().unwrap()
}
