//! Which lengths are transformed fast. Only numbers are known here.

/// Transforms longer than this are not planned; no plane in memory has such a row.
pub(super) const LONGEST: usize = 1 << 28;

/// A complex transform is fast only where its length is a multiple of this, which fills vectors.
const FAST_MULTIPLE: usize = 4;

/// What a point costs beside the transform, in the unit of [`FACTORS`].
const POINT: u64 = 24;

/// Prime factors, and what each makes a transform cost more a point.
const FACTORS: [(usize, u64); 5] = [(2, 2), (3, 2), (5, 6), (7, 7), (11, 8)];

/// Twos beyond this many, which put points of one butterfly into the same cache sets, and what
/// each of them costs more than another two.
const MANY_TWOS: (u32, u64) = (10, 6);

/// How many times more a length costs that is no multiple of [`FAST_MULTIPLE`], and one that is an
/// odd row's or has other factors.
const PENALTIES: (u64, u64) = (2, 4);

/// What a length is the length of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Axis {
    /// Of rows, which are real: complex transforms of half the length.
    Row,
    /// Of columns of the spectrum, which are complex.
    Column,
}

impl Axis {
    /// Values of a length in one complex value of its transform.
    fn values(self) -> usize {
        match self {
            Self::Row => 2,
            Self::Column => 1,
        }
    }
}

/// The smallest number with no factors but 2, 3, 5, 7 that is not below `least`.
pub(super) fn next_smooth(least: usize) -> Option<usize> {
    let shortest = |best: Option<usize>, length| Some(best.map_or(length, |b| b.min(length)));
    smooth_from(least, 7, 1)?.fold(None, shortest)
}

/// The length of all those not below `least` that costs least, with factors 2, 3, 5, 7 and 11.
/// What is cheap was measured: DECISIONS.md, "Padded lengths".
pub(super) fn fastest(least: usize, axis: Axis) -> Option<usize> {
    let twos = FAST_MULTIPLE * axis.values();
    smooth_from(least, 11, twos)?.min_by_key(|&length| (cost(length, axis), length))
}

/// What rows or columns of this length cost, by its factors.
pub(super) fn cost(length: usize, axis: Axis) -> u64 {
    let mut rest = length / axis.values();
    let mut point = POINT;
    for (prime, each) in FACTORS {
        let (left, times) = without(rest, prime);
        rest = left;
        point += u64::from(times) * each;
        if prime == 2 {
            let (few, more) = MANY_TWOS;
            point += u64::from(times.saturating_sub(few)) * more;
        }
    }
    let penalty = if rest > 1 || !length.is_multiple_of(axis.values()) {
        PENALTIES.1
    } else if length.is_multiple_of(FAST_MULTIPLE * axis.values()) {
        1
    } else {
        PENALTIES.0
    };
    (length as u64).saturating_mul(penalty * point)
}

/// A number without its factors of one prime, and how many these were.
fn without(mut number: usize, prime: usize) -> (usize, u32) {
    let mut times = 0;
    while number > 0 && number.is_multiple_of(prime) {
        number /= prime;
        times += 1;
    }
    (number, times)
}

/// For each odd number without prime factors above `largest_prime`: the product of it and a power
/// of two, at least `twos`, that is the first not below `least`. All but the shortest of those
/// with the same odd part, which cost more, are left out, and so are those beyond twice `least`.
fn smooth_from(
    least: usize,
    largest_prime: usize,
    twos: usize,
) -> Option<impl Iterator<Item = usize>> {
    if least > LONGEST {
        return None;
    }
    let last = least.next_power_of_two().max(twos);
    let elevens = powers(11, if largest_prime < 11 { 1 } else { last });
    let odd = elevens
        .flat_map(move |e| powers(7, last / e).map(move |s| e * s))
        .flat_map(move |es| powers(5, last / es).map(move |f| es * f))
        .flat_map(move |esf| powers(3, last / esf).map(move |t| esf * t));
    Some(odd.filter_map(move |odd| {
        let power = least.div_ceil(odd).next_power_of_two().max(twos);
        odd.checked_mul(power)
    }))
}

/// 1, base, base², … up to `last`.
fn powers(base: usize, last: usize) -> impl Iterator<Item = usize> {
    std::iter::successors(Some(1_usize), move |p| p.checked_mul(base))
        .take_while(move |&p| p <= last)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_smooth(n: usize, primes: &[usize]) -> bool {
        primes.iter().fold(n, |rest, &prime| without(rest, prime).0) == 1
    }

    #[test]
    fn finds_the_next_smooth_length_as_trial_division_does() {
        for least in (1..3000).chain([5039, 10_007, 16_385, 65_537]) {
            let expected = (least..).find(|&n| is_smooth(n, &[2, 3, 5, 7]));
            assert_eq!(next_smooth(least), expected, "from {least}");
        }
        assert_eq!(next_smooth(LONGEST + 1), None);
        assert_eq!(fastest(usize::MAX, Axis::Row), None);
    }

    #[test]
    fn no_length_in_reach_is_cheaper_than_the_fastest() {
        for axis in [Axis::Row, Axis::Column] {
            for least in (1..400).chain([1047, 2073, 3021, 5071, 10_272]) {
                let found = fastest(least, axis).unwrap();
                let step = FAST_MULTIPLE * axis.values();
                assert!(found >= least, "{axis:?} {least}");
                let others = (least..2 * least + step)
                    .filter(|&n| n.is_multiple_of(step) && is_smooth(n, &[2, 3, 5, 7, 11]));
                let cheapest = others.min_by_key(|&n| (cost(n, axis), n));
                assert_eq!(Some(found), cheapest, "{axis:?} {least}");
            }
        }
    }

    #[test]
    fn lengths_that_were_measured_as_fast_are_chosen() {
        let rows = [
            (535, 576),
            (1047, 1080),
            (2073, 2160),
            (3030, 3072),
            (10_272, 10_368),
        ];
        for (least, expected) in rows {
            assert_eq!(fastest(least, Axis::Row), Some(expected));
        }
        assert_eq!(fastest(535, Axis::Column), Some(540));
        assert_eq!(fastest(4119, Axis::Column), Some(4320));
    }

    #[test]
    fn awkward_lengths_are_dear() {
        for (awkward, fast) in [(1050, 1080), (2600, 2688), (5039, 5184), (575, 576)] {
            assert!(
                cost(awkward, Axis::Row) > cost(fast, Axis::Row),
                "{awkward}"
            );
        }
        assert!(cost(4096, Axis::Column) > cost(4320, Axis::Column));
    }
}
