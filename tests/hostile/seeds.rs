//! The right files that hostile ones are made of.

use std::path::{Path, PathBuf};

use super::file::HostileFile;
use super::support::{
    BEAMS5, BeamTable, Cards, Hdu, OLD, Order, beam_cards, casambm, checksum, cube, hypercube,
    image, write,
};

/// Larger files take too long to write ten thousand times.
const LARGEST_BYTES: u64 = 150_000;

/// Files, those that `mmconv` can smooth as they are first.
#[derive(Debug)]
pub struct Seeds {
    pub made: Vec<HostileFile>,
    pub found: Vec<HostileFile>,
}

impl Seeds {
    /// Files made here, and those of the tests and of the shared corpus where that is present.
    pub fn new(folder: &Path) -> Self {
        let made = made().into_iter().map(|hdus| {
            let path = folder.join("seed.fits");
            write::write(&path, &hdus);
            HostileFile::of(&std::fs::read(path).unwrap())
        });
        let made = made.collect();
        let mut paths: Vec<PathBuf> = folders().iter().flat_map(|folder| files(folder)).collect();
        paths.sort();
        let found = paths
            .iter()
            .map(|path| HostileFile::of(&std::fs::read(path).unwrap()));
        let found = found.collect();
        Self { made, found }
    }
}

fn made() -> Vec<Vec<Hdu>> {
    let table = BeamTable::new(&BEAMS5);
    let numbered = (1..).zip(&BEAMS5).fold(Cards::new(), |cards, (n, beam)| {
        let [bmaj, bmin, bpa] = beam;
        cards
            .set(&format!("BMAJ{n}"), bmaj / 3600.0)
            .set(&format!("BMIN{n}"), bmin / 3600.0)
            .set(&format!("BPA{n}"), *bpa)
    });
    let history =
        Cards::new().history("AIPS   CLEAN BMAJ=  5.0000E-03 BMIN=  3.0000E-03 BPA=  10.00");
    let four = hypercube(Order::Casa, (3, 2), |c, _| BEAMS5[c], &casambm());
    let both = BeamTable::new(&BEAMS5[..3]);
    let stamped = cube(&BEAMS5, &casambm().and(&beam_cards(OLD)));
    vec![
        vec![image(OLD)],
        vec![cube(&BEAMS5, &casambm()), table.hdu()],
        vec![checksum::stamp(&stamped), checksum::stamp(&table.hdu())],
        vec![cube(&BEAMS5, &numbered)],
        vec![cube(&BEAMS5[..2], &history)],
        vec![four, both.hdu()],
    ]
}

fn folders() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let shared = std::env::var_os("MMFITS_SHARED").map(PathBuf::from);
    let shared = shared.unwrap_or_else(|| root.join("../shared"));
    let own = [
        "tests/data/real",
        "tests/data/golden",
        "fits-layout/tests/data",
    ];
    own.iter()
        .map(|folder| root.join(folder))
        .chain([shared.join("corpus")])
        .collect()
}

/// The files of a folder that are not too large; none where there is no such folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let small = |path: &PathBuf| {
        let is_fits = path
            .extension()
            .is_some_and(|ending| ending == "fits" || ending == "fz");
        is_fits
            && path
                .metadata()
                .is_ok_and(|meta| meta.len() <= LARGEST_BYTES)
    };
    entries.map(|entry| entry.path()).filter(small).collect()
}
