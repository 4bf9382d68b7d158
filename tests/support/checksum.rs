//! The FITS checksum as the standard words it (FITS 4.0, 4.4.2.7 and appendix J), for judging
//! outputs. Independent of the code under test.

use super::read::ReadHdu;
use super::write::Hdu;

/// Ones'-complement sum of big-endian 32-bit words.
pub fn sum(bytes: &[u8]) -> u32 {
    let (words, rest) = bytes.as_chunks::<4>();
    assert!(rest.is_empty(), "a sum over whole words only");
    words.iter().fold(0u32, |total, word| {
        let (low, carry) = total.overflowing_add(u32::from_be_bytes(*word));
        low + u32::from(carry)
    })
}

/// Fails unless DATASUM and CHECKSUM are there and true.
pub fn verify(hdu: &ReadHdu) {
    let mut data = hdu.data.clone();
    data.resize(data.len().next_multiple_of(4), 0);
    let stated = hdu
        .text("DATASUM")
        .expect("DATASUM")
        .parse::<u32>()
        .expect("DATASUM number");
    assert_eq!(stated, sum(&data), "DATASUM");
    assert_eq!(
        hdu.text("CHECKSUM").expect("CHECKSUM").len(),
        16,
        "CHECKSUM length"
    );
    let total = sum(&hdu.bytes);
    assert!(
        total == u32::MAX || total == 0,
        "the HDU sums to {total:08x}, not to minus zero"
    );
}

/// The 16 characters that stand for the complement of a sum.
fn encode(sum: u32) -> String {
    let mut grid = [[0u8; 4]; 4];
    for (i, byte) in (!sum).to_be_bytes().into_iter().enumerate() {
        for (j, row) in grid.iter_mut().enumerate() {
            row[i] = byte / 4 + b'0' + if j == 0 { byte % 4 } else { 0 };
        }
        separate(&mut grid, i);
    }
    let flat: Vec<u8> = grid.concat();
    (0..16).map(|i| char::from(flat[(i + 15) % 16])).collect()
}

/// Moves characters of one column apart in pairs until none is punctuation.
fn separate(grid: &mut [[u8; 4]; 4], i: usize) {
    let bad = |c: u8| (0x3a..=0x40).contains(&c) || (0x5b..=0x60).contains(&c);
    while (0..4).any(|j| bad(grid[j][i])) {
        for j in [0, 2] {
            if bad(grid[j][i]) || bad(grid[j + 1][i]) {
                grid[j][i] += 1;
                grid[j + 1][i] -= 1;
            }
        }
    }
}

/// Adds true DATASUM and CHECKSUM cards to an HDU.
pub fn stamp(hdu: &Hdu) -> Hdu {
    let mut data = hdu.data.clone();
    data.resize(data.len().next_multiple_of(4), 0);
    let cards = super::Cards(hdu.cards.clone())
        .set("CHECKSUM", "0000000000000000")
        .set("DATASUM", sum(&data).to_string().as_str());
    let blank = Hdu {
        cards: cards.clone().0,
        data: hdu.data.clone(),
    };
    let cards = cards.set("CHECKSUM", encode(sum(&blank.bytes())).as_str());
    Hdu {
        cards: cards.0,
        data: hdu.data.clone(),
    }
}
