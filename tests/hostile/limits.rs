//! Files that are too long for the memory that is allowed, in ways that cost a hostile hand nothing.

use super::file::card;
use super::support::{BEAMS5, Bench, Cards, OLD, cube, put_image};

const MIB: u64 = 1 << 20;

const TARGET: [&str; 8] = [
    "--bmaj", "30", "--bmin", "28", "--bpa", "0", "--memory", "16M",
];

/// A header of 40 MB, with as many keywords as cards, was taken into memory before anybody asked
/// how much there is.
#[test]
fn headers_that_the_memory_has_no_room_for() {
    let bench = Bench::new();
    let path = put_image(&bench, "c", OLD);
    let bytes = std::fs::read(&path).unwrap();
    let end = bytes
        .as_chunks::<80>()
        .0
        .iter()
        .position(|card| card.starts_with(b"END "))
        .unwrap();
    let mut long = bytes[..end * 80].to_vec();
    for n in 0..500_000 {
        long.extend(card(&format!("K{n:07}= 5")));
    }
    long.extend(card("END"));
    long.resize(long.len().next_multiple_of(2880), b' ');
    long.extend(&bytes[2880 * (end * 80 / 2880 + 1)..]);
    std::fs::write(&path, long).unwrap();
    let run = bench.smooth().args(TARGET).file("c").run();
    let run = run.refused(2, &["headers", "16777216 bytes of memory", "--memory"]);
    assert!(run.peak_bytes <= 16 * MIB, "{}", run.peak_bytes);
}

/// A beam log that is a hole of eight gigabytes was read into memory.
#[test]
fn a_beam_log_that_is_a_hole() {
    let bench = Bench::new();
    bench.put("c", &[cube(&BEAMS5, &Cards::new())]);
    let log = bench.put_text("beamlog.c.txt", "");
    let log = std::fs::OpenOptions::new().write(true).open(log).unwrap();
    log.set_len(8 << 30).unwrap();
    let run = bench
        .smooth()
        .args(TARGET)
        .args(["--memory", "32M"])
        .file("c")
        .run();
    let run = run.refused(3, &["beamlog.c.txt", "no beam log has"]);
    assert!(run.peak_bytes <= 32 * MIB, "{}", run.peak_bytes);
}

/// Rows that no channel is for were kept to be counted.
#[test]
fn a_beam_log_of_a_million_rows() {
    let bench = Bench::new();
    bench.put("c", &[cube(&BEAMS5, &Cards::new())]);
    bench.put_text("beamlog.c.txt", &"0 1 1 1\n".repeat(1_000_000));
    let run = bench.smooth().args(TARGET).file("c").run();
    let run = run.refused(3, &["1000000 rows for 5 channels"]);
    assert!(run.peak_bytes <= 16 * MIB, "{}", run.peak_bytes);
}
