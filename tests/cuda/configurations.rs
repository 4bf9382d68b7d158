//! Every kind of plane and rule, in every way of going through the device.

use mmfits::convolve::cuda::Cuda;
use mmfits::convolve::device::Options;
use mmfits::plan::{Edge, NanRule, Precision};

use super::cases::{Blanks, Case, Stored};
use super::child::{for_each, mock, scene as play, tell};

/// One pixel, one row, one column, tiny, odd, prime, tall, wide; never square but for the first.
const SHAPES: [(usize, usize); 13] = [
    (1, 1),
    (34, 1),
    (1, 20),
    (2, 3),
    (13, 16),
    (31, 17),
    (12, 10),
    (64, 50),
    (97, 31),
    (17, 127),
    (101, 53),
    (5, 200),
    (300, 7),
];

const RULES: [NanRule; 3] = [NanRule::Keep, NanRule::Racs, NanRule::Interpolate];

/// Most planes of a case, so that batches are full, partial, and several.
const PLANES: usize = 7;

/// How the image ends.
#[derive(Clone, Copy, Debug)]
enum End {
    Padded,
    Wrapped,
    Haloed,
}

/// Bytes of samples that go together, lanes at once.
const WAYS: [(usize, usize); 4] = [(1, 1), (1, 4), (3, 2), (PLANES, 1)];

/// Plays `f32` or `f64`.
pub fn scene(precision: &str) {
    let precision = match precision {
        "f32" => Precision::F32,
        _ => Precision::F64,
    };
    let mut count = 0;
    for shape in SHAPES {
        let backends = [false, true].map(|double| {
            let bytes = shape.0 * shape.1 * if double { 8 } else { 4 };
            WAYS.map(|(planes, lanes)| {
                let batch_bytes = Some((planes * bytes) as u64);
                let options = Options {
                    batch_bytes,
                    ..Options::default()
                };
                (Cuda::open(&options).unwrap(), lanes)
            })
        });
        for (rule, end) in RULES.into_iter().flat_map(|rule| {
            let ends = [End::Padded, End::Wrapped, End::Haloed];
            ends.map(|end| (rule, end))
        }) {
            let case = case(shape, precision, (rule, end), count);
            let double = rule.transform_precision(precision) == Precision::F64;
            check(&case, &backends[usize::from(double)]);
            count += 1;
        }
    }
    tell("configurations", count);
}

fn case(
    (nx, ny): (usize, usize),
    precision: Precision,
    (rule, end): (NanRule, End),
    number: usize,
) -> Case {
    let mut case = Case::new((nx, ny), precision);
    let (edge, halo_x) = match end {
        End::Padded => (Edge::Zero, 0),
        End::Wrapped => (Edge::Wrap, 0),
        // Never more than once round.
        End::Haloed => (Edge::Wrap, (nx - 1).min(9)),
    };
    for k in 0..PLANES {
        let convolution = case.convolution(number + k, rule, edge, halo_x);
        // Stored in one way, as the planes of a file are.
        let stored = Stored::ALL[number % Stored::ALL.len()];
        let blanks = Blanks::ALL[(k + number) % Blanks::ALL.len()];
        case.add(convolution, stored, blanks);
    }
    case.name = format!("{nx} x {ny}, {precision:?}, {rule:?}, {end:?}, number {number}");
    case
}

fn check(case: &Case, ways: &[(Cuda, usize)]) {
    let expected = case.expected();
    let mut first: Option<Vec<Vec<u8>>> = None;
    for (way, (backend, lanes)) in ways.iter().enumerate() {
        let found = case.together(backend, *lanes).unwrap();
        let first = first.get_or_insert_with(|| {
            case.check(&found, &expected, "by the CPU");
            case.check_by_reference(&found);
            found.clone()
        });
        assert!(*first == found, "{}: other bits in way {way}", case.name);
    }
    let (backend, _) = &ways[0];
    let found = case.one_by_one(backend).unwrap();
    assert!(first.unwrap() == found, "{}: other bits alone", case.name);
}

/// Delayed at random, as on a device where nothing comes when it is expected.
#[test]
fn every_configuration_is_right_and_has_the_same_bits_in_every_way() {
    let Some(mock) = mock() else { return };
    for_each(vec!["f32", "f64"], |precision| {
        let ran = play(Some(mock), &format!("configurations {precision}"))
            .env("MOCK_CUDA_JITTER", "150")
            .env("MOCK_CUDA_STRICT", "1")
            .run()
            .done();
        let count: usize = ran.facts("configurations")[0].parse().unwrap();
        assert!(count >= 100, "only {count} configurations");
    });
}
