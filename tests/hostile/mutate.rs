//! How files are spoiled: cards, their order and their number, lengths, tables, bytes and holes.

use super::file::{HostileFile, card};
use super::random::Random;
use super::words;

/// One way to spoil a file.
type Change = fn(&mut HostileFile, &mut Random);

/// Changes a few things, and says what.
pub fn mutate(file: &mut HostileFile, random: &mut Random) -> String {
    let kinds: &[(&str, Change)] = &[
        ("value", value),
        ("value", value),
        ("type", kind),
        ("order", order),
        ("duplicate", duplicate),
        ("removed", removed),
        ("line", line),
        ("many lines", many_lines),
        ("no END", no_end),
        ("lengths", lengths),
        ("huge axes", huge_axes),
        ("sky", |file, random| keyword(file, random, words::SKY)),
        ("sky", |file, random| keyword(file, random, words::SKY)),
        ("beam cards", |file, random| {
            keyword(file, random, words::BEAMS);
        }),
        ("beam cards", |file, random| {
            keyword(file, random, words::BEAMS);
        }),
        ("table", table),
        ("table", table),
        ("unit", unit),
        ("odd byte in a card", odd_byte),
        ("odd bytes in data", odd_data),
        ("numbers in data", numbers_in_data),
        ("cut", cut),
        ("hole", hole),
        ("part", part),
    ];
    let mut said = Vec::new();
    // Now and then nothing is wrong.
    for _ in 0..random.below(5) {
        let (name, change) = random.of(kinds);
        change(file, random);
        said.push(*name);
    }
    said.join(", ")
}

fn value(file: &mut HostileFile, random: &mut Random) {
    let (keyword, value) = (*random.of(words::KEYWORDS), *random.of(words::VALUES));
    file.pick(random).set(keyword, value, random);
}

/// A number becomes text, and text becomes bare.
fn kind(file: &mut HostileFile, random: &mut Random) {
    let part = file.pick(random);
    if part.cards.is_empty() {
        return;
    }
    let at = random.below(part.cards.len());
    let line = String::from_utf8_lossy(&part.cards[at]).into_owned();
    let Some((keyword, rest)) = line.split_once('=') else {
        return;
    };
    let value = rest.split('/').next().unwrap_or_default().trim();
    let other = match value.strip_prefix('\'') {
        Some(text) => text.trim_end_matches('\'').to_owned(),
        None => format!("'{value}'"),
    };
    part.cards[at] = card(&format!("{keyword}= {other}"));
}

fn order(file: &mut HostileFile, random: &mut Random) {
    let cards = &mut file.pick(random).cards;
    if cards.len() > 1 {
        let (from, to) = (random.below(cards.len()), random.below(cards.len() - 1));
        let card = cards.remove(from);
        cards.insert(to, card);
    }
}

fn duplicate(file: &mut HostileFile, random: &mut Random) {
    let part = file.pick(random);
    if part.cards.is_empty() {
        return;
    }
    let mut copy = *random.of(&part.cards);
    if random.one_in(2) {
        // The same keyword with another value.
        let value = format!("{:>20}", random.of(words::VALUES));
        copy[10..]
            .iter_mut()
            .zip(value.bytes())
            .for_each(|(to, from)| *to = from);
    }
    part.insert(copy, random);
}

fn removed(file: &mut HostileFile, random: &mut Random) {
    let cards = &mut file.pick(random).cards;
    for _ in 0..=random.below(3) {
        if !cards.is_empty() {
            cards.remove(random.below(cards.len()));
        }
    }
}

fn line(file: &mut HostileFile, random: &mut Random) {
    let line = card(random.of::<&str>(words::LINES));
    file.pick(random).insert(line, random);
}

/// Up to a header of 1.6 MB, or now and then of 24 MB.
fn many_lines(file: &mut HostileFile, random: &mut Random) {
    let count = match random.below(40) {
        0 => 300_000,
        1..4 => 20_000,
        _ => random.below(300),
    };
    let line = match random.below(4) {
        0 => "CONTINUE  'and so on &'",
        1 => "HISTORY BMAJ= 1E-3 BMIN= 1E-3 BPA= 0",
        2 => "BMAJ1   =                0.005",
        _ => random.of(words::LINES),
    };
    let part = file.pick(random);
    let at = part.cards.len();
    let numbered = random.one_in(3);
    let lines = (0..count).map(|n| match numbered {
        true => card(&format!("{:<8}= {:>20}", format!("BMAJ{n}"), 0.005)),
        false => card(line),
    });
    part.cards.splice(at..at, lines);
}

fn no_end(file: &mut HostileFile, random: &mut Random) {
    file.pick(random).ends = false;
}

fn lengths(file: &mut HostileFile, random: &mut Random) {
    let keyword = *random.of(&[
        "BITPIX", "NAXIS", "NAXIS1", "NAXIS2", "NAXIS3", "NAXIS4", "PCOUNT", "GCOUNT",
    ]);
    let value = *random.of(&[
        "0",
        "1",
        "2",
        "3",
        "4",
        "5",
        "8",
        "16",
        "-32",
        "-64",
        "-16",
        "64",
        "100",
        "999",
        "1000",
        "-1",
        "2880",
        "4294967297",
        "9223372036854775807",
        "3.0",
        "'3'",
    ]);
    file.pick(random).set(keyword, value, random);
}

/// An image larger than any file, or as large as the hole that the file has then.
fn huge_axes(file: &mut HostileFile, random: &mut Random) {
    let n = 1_u64 << random.below(34);
    let axes = *random.of(&[
        [n, 1, 1],
        [1, n, 1],
        [1, 1, n],
        [n, n, 1],
        [n, 3, n],
        [2, n, 5],
    ]);
    for (keyword, length) in ["NAXIS1", "NAXIS2", "NAXIS3"].into_iter().zip(axes) {
        file.parts[0].set(keyword, &length.to_string(), random);
    }
    let samples = axes
        .iter()
        .try_fold(1_u64, |product, &axis| product.checked_mul(axis));
    if let Some(samples) = samples.filter(|&samples| samples < 1 << 40 && !random.one_in(4)) {
        let header = file.parts[0].cards.len() as u64 * 80 + 5760;
        file.length = Some(header + samples * 8);
    }
}

fn keyword(file: &mut HostileFile, random: &mut Random, all: &[(&str, &[&str])]) {
    let (keyword, values) = random.of(all);
    let value = random.of(values);
    file.parts[0].set(keyword, value, random);
}

fn table(file: &mut HostileFile, random: &mut Random) {
    let (keyword, values) = random.of(words::TABLES);
    let value = random.of(values);
    file.table(random).set(keyword, value, random);
}

fn unit(file: &mut HostileFile, random: &mut Random) {
    file.parts[0].set("BUNIT", random.of::<&str>(words::UNITS), random);
}

fn odd_byte(file: &mut HostileFile, random: &mut Random) {
    let part = file.pick(random);
    if part.cards.is_empty() {
        return;
    }
    for _ in 0..=random.below(4) {
        let at = random.below(part.cards.len());
        part.cards[at][random.below(80)] =
            *random.of(&[0, 7, 9, 10, 13, 27, 127, 128, 0xc3, 0xe9, 255, b'\'', b'=']);
    }
}

fn odd_data(file: &mut HostileFile, random: &mut Random) {
    let data = &mut file.pick(random).data;
    for _ in 0..=random.below(30) {
        if !data.is_empty() {
            let at = random.below(data.len());
            data[at] = random.bits() as u8;
        }
    }
}

/// Infinities, blanks, the largest and the smallest, as pixels and as beams.
fn numbers_in_data(file: &mut HostileFile, random: &mut Random) {
    let number = *random.of(&[
        f32::NAN,
        f32::INFINITY,
        f32::MAX,
        f32::MIN_POSITIVE,
        -1.0,
        0.0,
        1e-30,
        1e30,
    ]);
    let in_table = random.one_in(2);
    let part = if in_table {
        file.table(random)
    } else {
        &mut file.parts[0]
    };
    let stride = *random.of(&[1, 2, 5, 20]);
    let words = part.data.as_chunks_mut::<4>().0;
    words
        .iter_mut()
        .step_by(stride)
        .for_each(|word| *word = number.to_be_bytes());
}

fn cut(file: &mut HostileFile, random: &mut Random) {
    let length = file.bytes().len();
    let at = random.below(length + 1);
    file.length = Some(match random.below(3) {
        0 => at.next_multiple_of(2880),
        1 => at / 80 * 80,
        _ => at,
    } as u64);
}

/// The file goes on with zeros that take no room.
fn hole(file: &mut HostileFile, random: &mut Random) {
    file.length = Some(file.bytes().len() as u64 + (1 << random.below(40)));
}

/// A whole HDU twice, gone, or many times.
fn part(file: &mut HostileFile, random: &mut Random) {
    let copy = random.of(&file.parts).clone();
    match random.below(5) {
        0 if file.parts.len() > 1 => drop(file.parts.remove(random.below(file.parts.len()))),
        1 if copy.bytes_len() < 20_000 => {
            let many = 1 + random.below(300);
            file.parts.extend(std::iter::repeat_n(copy, many));
        }
        2 => file.parts.reverse(),
        _ => file.parts.push(copy),
    }
}
