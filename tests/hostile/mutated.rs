//! The seeds of the fuzz targets, spoiled: what plain `cargo test` runs of `tests/fuzz`.

use std::path::Path;

use super::random::Random;
use super::readers;

/// Runs a check on the seeds of its target and on mutations of them.
fn mutated(target: &str, check: fn(&[u8])) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fuzz");
    let names = std::fs::read_dir(root.join("corpus").join(target)).unwrap();
    let mut paths: Vec<_> = names.map(|name| name.unwrap().path()).collect();
    paths.sort();
    let seeds: Vec<Vec<u8>> = paths
        .iter()
        .map(|path| std::fs::read(path).unwrap())
        .collect();
    assert!(!seeds.is_empty());
    seeds.iter().for_each(|seed| check(seed));
    let words = std::fs::read_to_string(root.join("words.dict")).unwrap();
    let words: Vec<&str> = words
        .lines()
        .filter_map(|line| line.strip_prefix('"')?.strip_suffix('"'))
        .collect();
    let mut random = Random::new(0x5eed);
    for round in 0..1500 {
        let mut bytes = random.of(&seeds).clone();
        for _ in 0..=random.below(4) {
            spoil(&mut bytes, &seeds, &words, &mut random);
        }
        let outcome = std::panic::catch_unwind(|| check(&bytes));
        let text = String::from_utf8_lossy(&bytes);
        assert!(outcome.is_ok(), "{target}, mutation {round}: {text}");
    }
}

fn spoil(bytes: &mut Vec<u8>, seeds: &[Vec<u8>], words: &[&str], random: &mut Random) {
    let at = random.below(bytes.len());
    match random.below(5) {
        0 => bytes[at] = random.bits() as u8,
        1 => bytes.truncate(at + 1),
        2 => {
            let other = random.of(seeds);
            let start = random.below(other.len());
            let end = other.len().min(start + random.below(90));
            drop(bytes.splice(at..at, other[start..end].iter().copied()));
        }
        3 => drop(bytes.splice(at..at, random.of(words).bytes())),
        _ => {
            let word = random.of(words).bytes();
            bytes
                .iter_mut()
                .skip(at)
                .zip(word)
                .for_each(|(to, from)| *to = from);
        }
    }
}

#[test]
fn beam_tables() {
    mutated("beam_table", readers::beam_table);
}

#[test]
fn beam_logs() {
    mutated("beam_log", readers::beam_log);
}

#[test]
fn beams_in_cards() {
    mutated("beam_cards", readers::beam_cards);
}

#[test]
fn units() {
    mutated("bunit", readers::bunit);
}

#[test]
fn sky_axes() {
    mutated("wcs", readers::wcs);
}
