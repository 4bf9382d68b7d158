//! Hostile bytes: seeded mutations of real and made files, none of which may panic.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::path::Path;

use common::{
    Random, data_dir,
    edits::edits,
    exercise::{Effort, exercise},
    three_hdus,
};

/// What a number in a header is replaced by.
const NUMBERS: [&str; 14] = [
    "0",
    "-1",
    "1",
    "999",
    "1000",
    "2147483648",
    "4294967296",
    "9223372036854775807",
    "-9223372036854775808",
    "99999999999999999999",
    "1E308",
    "T",
    "'",
    "",
];

/// Keywords that decide where things lie.
const KEYWORDS: [&str; 16] = [
    "SIMPLE", "BITPIX", "NAXIS", "NAXIS1", "NAXIS2", "NAXIS3", "PCOUNT", "GCOUNT", "GROUPS",
    "TFIELDS", "TFORM1", "TFORM2", "TZERO1", "CONTINUE", "HIERARCH", "END",
];

/// Changes a few things.
fn mutate(bytes: &mut Vec<u8>, random: &mut Random) {
    for _ in 0..=random.below(3) {
        if bytes.len() < 160 {
            return;
        }
        let at = random.below(bytes.len());
        let card = at / 80 * 80;
        match random.below(8) {
            0 => bytes[at] = random.bits() as u8,
            1 => bytes[at] ^= 1 << random.below(8),
            2 => put(
                bytes,
                card + 10,
                &format!("{:>20}", NUMBERS[random.below(NUMBERS.len())]),
            ),
            3 => put(
                bytes,
                card,
                &format!("{:<8}= ", KEYWORDS[random.below(KEYWORDS.len())]),
            ),
            4 => bytes.truncate(at),
            5 => {
                let from = random.below(bytes.len() - 80);
                let copy = bytes[from..from + 80].to_vec();
                put_bytes(bytes, card, &copy);
            }
            6 => put(bytes, card, "CONTINUE  'more&'  / of it"),
            _ => {
                let number = NUMBERS[random.below(NUMBERS.len())];
                let keyword = KEYWORDS[random.below(KEYWORDS.len())];
                put(bytes, card, &format!("{keyword:<8}= {number:>20}{:50}", ""));
            }
        }
    }
}

fn put(bytes: &mut [u8], at: usize, text: &str) {
    put_bytes(bytes, at, text.as_bytes());
}

fn put_bytes(bytes: &mut [u8], at: usize, new: &[u8]) {
    bytes
        .iter_mut()
        .skip(at)
        .zip(new)
        .for_each(|(to, from)| *to = *from);
}

/// The files that are mutated; the first is small, and its every card matters.
fn seeds() -> Vec<Vec<u8>> {
    let mut seeds = vec![three_hdus()];
    for name in [
        "every_form",
        "astropy__io__fits__tdim",
        "astropy__io__fits__invalid__group_invalid",
    ] {
        seeds.push(std::fs::read(data_dir().join(format!("{name}.fits"))).unwrap());
    }
    seeds
}

/// So many mutations, each of which must not panic.
fn run(rounds: usize, mut random: Random) {
    let seeds = seeds();
    for round in 0..rounds {
        let seed = if round % 20 == 0 {
            random.below(seeds.len())
        } else {
            0
        };
        let mut bytes = seeds[seed].clone();
        mutate(&mut bytes, &mut random);
        let effort = Effort {
            only: Some(random.below(3)),
            cards: 4,
            edit: round % 4 == 0,
        };
        let outcome = std::panic::catch_unwind(|| exercise(&bytes, effort));
        assert!(outcome.is_ok(), "mutation {round} of seed {seed} panicked");
    }
}

#[test]
fn seeds_do_not_panic() {
    seeds().iter().for_each(|seed| exercise(seed, Effort::FULL));
}

#[test]
fn ten_thousand_mutations_do_not_panic() {
    run(10_000, Random(0x9e37_79b9_7f4a_7c15));
}

#[test]
fn ten_thousand_more_do_not_panic() {
    run(10_000, Random(0x1234_5678_9abc_def1));
}

#[test]
fn small_arbitrary_bytes_do_not_panic() {
    let mut random = Random(7);
    for length in 0..600 {
        let mut bytes: Vec<u8> = (0..length).map(|_| random.bits() as u8).collect();
        exercise(&bytes, Effort::FULL);
        put(&mut bytes, 0, "SIMPLE  =                    T");
        exercise(&bytes, Effort::FULL);
    }
}

/// The seeds of the fuzz target `edits`, with bytes changed, lines cut and lines of another put in.
#[test]
fn edits_keep_what_they_do_not_touch() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus/edits");
    let names = std::fs::read_dir(folder).unwrap();
    let mut seeds: Vec<_> = names.map(|name| name.unwrap().path()).collect();
    seeds.sort();
    let seeds: Vec<Vec<u8>> = seeds
        .iter()
        .map(|seed| std::fs::read(seed).unwrap())
        .collect();
    seeds.iter().for_each(|seed| edits(seed));
    let mut random = Random(0x51ee_d0fe_d175);
    for round in 0..3000 {
        let mut bytes = seeds[random.below(seeds.len())].clone();
        for _ in 0..=random.below(4) {
            let at = random.below(bytes.len());
            let from = &seeds[random.below(seeds.len())];
            let start = random.below(from.len());
            let end = from.len().min(start + random.below(90));
            match random.below(3) {
                0 => bytes[at] = b" &'=/\n-sdEND"[random.below(12)],
                1 => bytes.truncate(at + 1),
                _ => drop(bytes.splice(at..at, from[start..end].iter().copied())),
            }
        }
        let outcome = std::panic::catch_unwind(|| edits(&bytes));
        let text = String::from_utf8_lossy(&bytes);
        assert!(outcome.is_ok(), "mutation {round}: {text}");
    }
}
