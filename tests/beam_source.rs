//! Where beams come from, on files written here byte by byte: USERS.md cases B01 to B32 as the
//! resolver sees them. Images are 5 × 3 pixels.

use std::path::{Path, PathBuf};

use fits_layout::Layout;
use mmfits::beam::source::{BeamFrom, BeamSource, Question, Resolved, resolve};
use mmfits::beam::{Beam, BeamError, BeamNote, log, table};
use tempfile::TempDir;

type Triple = (f64, f64, f64);

const FIVE: [Triple; 5] = [
    (16.0, 9.0, 40.0),
    (17.0, 9.5, 43.0),
    (18.0, 10.0, 46.0),
    (19.0, 10.5, 49.0),
    (20.0, 11.0, 52.0),
];

/// Cards in blocks, as FITS has them.
fn header(cards: &[String]) -> Vec<u8> {
    let mut bytes: Vec<u8> = cards
        .iter()
        .flat_map(|card| format!("{card:<80}").into_bytes())
        .collect();
    bytes.extend(format!("{:<80}", "END").into_bytes());
    bytes.resize(bytes.len().next_multiple_of(2880), b' ');
    bytes
}

fn padded(mut bytes: Vec<u8>) -> Vec<u8> {
    bytes.resize(bytes.len().next_multiple_of(2880), 0);
    bytes
}

/// A primary image of float32 zeros with these axes after 5 × 3, and further cards.
fn image(more_axes: &[u64], cards: &[&str]) -> Vec<u8> {
    let axes: Vec<u64> = [5, 3].iter().chain(more_axes).copied().collect();
    let mut all = vec![
        format!("SIMPLE  = {:>20}", "T"),
        format!("BITPIX  = {:>20}", -32),
        format!("NAXIS   = {:>20}", axes.len()),
    ];
    all.extend(
        axes.iter()
            .enumerate()
            .map(|(k, n)| format!("{:<8}= {n:>20}", format!("NAXIS{}", k + 1))),
    );
    all.extend(cards.iter().map(|card| (*card).to_owned()));
    let mut bytes = header(&all);
    let data = axes.iter().product::<u64>() as usize * 4;
    bytes.extend(padded(vec![0; data]));
    bytes
}

/// What a beam table is made of.
#[derive(Clone)]
struct Beams {
    name: &'static str,
    rows: Vec<Triple>,
    chan: Option<Vec<i32>>,
    pol: Option<Vec<i32>>,
    units: [Option<&'static str>; 3],
}

impl Beams {
    fn of(rows: &[Triple]) -> Self {
        Self {
            name: "BEAMS",
            rows: rows.to_vec(),
            chan: Some((0..rows.len() as i32).collect()),
            pol: Some(vec![0; rows.len()]),
            units: [Some("arcsec"), Some("arcsec"), Some("deg")],
        }
    }

    fn chan(mut self, chan: &[i32]) -> Self {
        self.chan = Some(chan.to_vec());
        self
    }

    fn pol(mut self, pol: &[i32]) -> Self {
        self.pol = Some(pol.to_vec());
        self
    }

    fn bytes(&self) -> Vec<u8> {
        let index = [("CHAN", &self.chan), ("POL", &self.pol)];
        let index: Vec<_> = index
            .into_iter()
            .filter_map(|(name, v)| Some((name, v.as_ref()?)))
            .collect();
        let mut cards = vec![
            "XTENSION= 'BINTABLE'".to_owned(),
            format!("BITPIX  = {:>20}", 8),
            format!("NAXIS   = {:>20}", 2),
            format!("NAXIS1  = {:>20}", 12 + 4 * index.len()),
            format!("NAXIS2  = {:>20}", self.rows.len()),
            format!("PCOUNT  = {:>20}", 0),
            format!("GCOUNT  = {:>20}", 1),
            format!("TFIELDS = {:>20}", 3 + index.len()),
            format!("EXTNAME = '{:<8}'", self.name),
        ];
        for (k, name) in ["BMAJ", "BMIN", "BPA"].into_iter().enumerate() {
            cards.push(format!("{:<8}= '{name:<8}'", format!("TTYPE{}", k + 1)));
            cards.push(format!("{:<8}= 'E       '", format!("TFORM{}", k + 1)));
            if let Some(unit) = self.units[k] {
                cards.push(format!("{:<8}= '{unit:<8}'", format!("TUNIT{}", k + 1)));
            }
        }
        for (k, (name, _)) in index.iter().enumerate() {
            cards.push(format!("{:<8}= '{name:<8}'", format!("TTYPE{}", k + 4)));
            cards.push(format!("{:<8}= 'J       '", format!("TFORM{}", k + 4)));
        }
        let mut data = Vec::new();
        for (k, (a, b, pa)) in self.rows.iter().enumerate() {
            data.extend(
                [a, b, pa]
                    .into_iter()
                    .flat_map(|value| (*value as f32).to_be_bytes()),
            );
            data.extend(index.iter().flat_map(|(_, values)| values[k].to_be_bytes()));
        }
        let mut bytes = header(&cards);
        bytes.extend(padded(data));
        bytes
    }
}

/// A file in a folder of its own.
struct File {
    folder: TempDir,
    bytes: Vec<u8>,
    channels: u64,
    stokes: u64,
    from: BeamFrom,
    beamlog: Option<PathBuf>,
}

impl File {
    fn new(parts: &[Vec<u8>]) -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
            bytes: parts.concat(),
            channels: 5,
            stokes: 1,
            from: BeamFrom::Auto,
            beamlog: None,
        }
    }

    fn planes(mut self, channels: u64, stokes: u64) -> Self {
        (self.channels, self.stokes) = (channels, stokes);
        self
    }

    fn from(mut self, from: BeamFrom) -> Self {
        self.from = from;
        self
    }

    fn put(&self, name: &str, text: &str) -> PathBuf {
        let path = self.folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    }

    fn resolve(&self) -> Result<Resolved, BeamError> {
        let layout = Layout::parse(&self.bytes).unwrap();
        resolve(&Question {
            path: &self.folder.path().join("c.fits"),
            layout: &layout,
            bytes: &self.bytes,
            hdu: 0,
            channels: self.channels,
            stokes: self.stokes,
            beamlog: self.beamlog.as_deref(),
            from: self.from,
            floor_arcsec: 2e-3,
        })
    }

    fn refusal(&self) -> String {
        whole(&self.resolve().expect_err("it should be refused"))
    }
}

/// The message and those below it, as the command joins them.
fn whole(error: &dyn std::error::Error) -> String {
    let below = error.source().map(|source| format!(": {}", whole(source)));
    format!("{error}{}", below.unwrap_or_default())
}

fn assert_beams(found: &Resolved, want: &[Option<Triple>]) {
    assert_eq!(found.beams.len(), want.len());
    for (plane, (got, want)) in found.beams.iter().zip(want).enumerate() {
        let want = want.map(|(a, b, pa)| Beam::new(a, b, pa).unwrap());
        let (Some(got), Some(want)) = (got, want) else {
            assert_eq!(*got, want, "plane {plane}");
            continue;
        };
        let close = (got.bmaj_arcsec() - want.bmaj_arcsec()).abs() < 1e-5
            && (got.bmin_arcsec() - want.bmin_arcsec()).abs() < 1e-5
            && (got.bpa_deg() - want.bpa_deg()).abs() < 1e-5;
        assert!(close, "plane {plane}: {got}, not {want}");
    }
}

fn some(beams: &[Triple]) -> Vec<Option<Triple>> {
    beams.iter().copied().map(Some).collect()
}

const CASAMBM: &str = "CASAMBM =                    T";

fn cards(a: f64, b: f64, pa: f64) -> [String; 3] {
    [("BMAJ", a / 3600.0), ("BMIN", b / 3600.0), ("BPA", pa)]
        .map(|(keyword, value)| format!("{keyword:<8}= {value:>20.13E}"))
}

fn with_beam(more_axes: &[u64], beam: Triple, more: &[&str]) -> Vec<u8> {
    let beam = cards(beam.0, beam.1, beam.2);
    let all: Vec<&str> = beam
        .iter()
        .map(String::as_str)
        .chain(more.iter().copied())
        .collect();
    image(more_axes, &all)
}

#[test]
fn b01_the_table_counts_whether_announced_or_not() {
    for flag in [
        &[CASAMBM][..],
        &[],
        &["CASAMBM = 'T       '"],
        &["CASAMBM =                    F"],
    ] {
        let file = File::new(&[with_beam(&[5], FIVE[0], flag), Beams::of(&FIVE).bytes()]);
        let found = file.resolve().unwrap();
        assert_beams(&found, &some(&FIVE));
        assert_eq!(
            found.source,
            BeamSource::Table {
                hdu: 1,
                name: "BEAMS".into()
            }
        );
        assert_eq!(found.source.to_string(), "table BEAMS in HDU 1");
        // The header's beam is that of a channel: no contradiction.
        assert_eq!(found.notes, []);
    }
}

#[test]
fn a_header_beam_that_is_none_of_the_table_is_told() {
    let file = File::new(&[
        with_beam(&[5], (99.0, 9.0, 0.0), &[]),
        Beams::of(&FIVE).bytes(),
    ]);
    let found = file.resolve().unwrap();
    assert_beams(&found, &some(&FIVE));
    let [
        note @ BeamNote::Disagreement {
            other: BeamSource::Header,
            ..
        },
    ] = found.notes.as_slice()
    else {
        panic!("{:?}", found.notes)
    };
    assert!(
        note.to_string().contains("BEAMS") && note.hint().is_some(),
        "{note}"
    );
}

#[test]
fn b02_announced_and_absent_is_refused() {
    let file = File::new(&[with_beam(&[5], FIVE[0], &[CASAMBM])]);
    let refusal = file.refusal();
    assert!(
        refusal.contains("BEAMS") && refusal.contains("--beamlog"),
        "{refusal}"
    );
    assert!(refusal.contains("c.fits"), "{refusal}");
    // A table of another kind does not help.
    let mut other = Beams::of(&FIVE);
    other.name = "CATALOG";
    let file = File::new(&[with_beam(&[5], FIVE[0], &[CASAMBM]), other.bytes()]);
    assert!(file.refusal().contains("BEAMS"));
    // Naming the source does.
    let file = file.from(BeamFrom::Header);
    assert_beams(&file.resolve().unwrap(), &some(&[FIVE[0]; 5]));
    // So does a log beside it.
    let file = file.from(BeamFrom::Auto);
    file.put(
        "beamlog.c.txt",
        &log::render(&[Beam::new(7.0, 6.0, 5.0).ok(); 5]),
    );
    assert_beams(&file.resolve().unwrap(), &some(&[(7.0, 6.0, 5.0); 5]));
}

#[test]
fn b03_b04_units_of_every_spelling() {
    let units = [
        ("deg", 3600.0),
        ("DEGREES", 3600.0),
        ("Degree", 3600.0),
        ("ARCSEC", 1.0),
        ("arcmin", 60.0),
        ("mas", 1e-3),
        ("rad", 206_264.806_247),
    ];
    for (unit, arcsec) in units {
        let mut beams = Beams::of(&FIVE.map(|(a, b, pa)| (a / arcsec, b / arcsec, pa)));
        beams.units = [Some(unit), Some(unit), Some("DEGREES")];
        let found = File::new(&[image(&[5], &[]), beams.bytes()])
            .resolve()
            .unwrap();
        assert_beams(&found, &some(&FIVE));
    }
    let mut beams = Beams::of(&FIVE);
    beams.units = [Some("furlong"), Some("arcsec"), Some("deg")];
    let refusal = File::new(&[image(&[5], &[]), beams.bytes()]).refusal();
    assert!(
        refusal.contains("furlong") && refusal.contains("BMAJ"),
        "{refusal}"
    );
    beams.units = [None, Some(""), None];
    let found = File::new(&[image(&[5], &[]), beams.bytes()])
        .resolve()
        .unwrap();
    assert_beams(&found, &some(&FIVE));
    let assumed = |note: &&BeamNote| matches!(note, BeamNote::UnitAssumed { .. });
    assert_eq!(found.notes.iter().filter(assumed).count(), 3);
}

#[test]
fn b06_other_tables_are_passed_over() {
    let mut decoy = Beams::of(&[(99.0, 99.0, 0.0); 5]);
    decoy.name = "CATALOG";
    let file = File::new(&[image(&[5], &[]), decoy.bytes(), Beams::of(&FIVE).bytes()]);
    let found = file.resolve().unwrap();
    assert_beams(&found, &some(&FIVE));
    assert_eq!(
        found.source,
        BeamSource::Table {
            hdu: 2,
            name: "BEAMS".into()
        }
    );
    let mut lower = Beams::of(&FIVE);
    lower.name = "my_beams";
    let file = File::new(&[image(&[5], &[]), lower.bytes(), Beams::of(&FIVE).bytes()]);
    let found = file.resolve().unwrap();
    assert!(matches!(
        found.notes.as_slice(),
        [BeamNote::SeveralTables { tables: 2, .. }]
    ));
}

#[test]
fn b07_chan_that_holds_garbage() {
    let at = |chan: &[i32]| File::new(&[image(&[5], &[]), Beams::of(&FIVE).chan(chan).bytes()]);
    let refusal = at(&[7, 123_456, -3, 99, 1 << 30]).refusal();
    assert!(
        ["CHAN 7", "5 channels", "--beamlog"]
            .iter()
            .all(|w| refusal.contains(w)),
        "{refusal}"
    );
    let refusal = at(&[0, 1, 2, 3, 5]).refusal();
    assert!(
        ["row 5", "CHAN 5", "5 channels"]
            .iter()
            .all(|w| refusal.contains(w)),
        "{refusal}"
    );
    // The same number in all rows is a column that nobody filled.
    for unfilled in [0, -1, 1 << 30] {
        let found = at(&[unfilled; 5]).resolve().unwrap();
        assert_beams(&found, &some(&FIVE));
        let [note @ BeamNote::RowOrder { .. }] = found.notes.as_slice() else {
            panic!()
        };
        assert!(note.to_string().contains("CHAN"), "{note}");
    }
    let mut without = Beams::of(&FIVE);
    (without.chan, without.pol) = (None, None);
    let found = File::new(&[image(&[5], &[]), without.bytes()])
        .resolve()
        .unwrap();
    assert_beams(&found, &some(&FIVE));
    assert_eq!(found.notes.len(), 1);
}

#[test]
fn b08_rows_in_any_order() {
    let order = [4, 2, 0, 1, 3];
    let rows = order.map(|k| FIVE[k as usize]);
    let beams = Beams::of(&rows).chan(&order);
    let found = File::new(&[image(&[5], &[]), beams.bytes()])
        .resolve()
        .unwrap();
    assert_beams(&found, &some(&FIVE));
    assert_eq!(found.notes, []);
    let refusal = File::new(&[image(&[5], &[]), beams.chan(&[4, 2, 0, 2, 3]).bytes()]).refusal();
    assert!(
        ["row 4", "row 2", "CHAN 2"]
            .iter()
            .all(|w| refusal.contains(w)),
        "{refusal}"
    );
}

#[test]
fn b12_a_beam_for_each_channel_and_stokes() {
    let beam = |chan: i32, pol: i32| {
        (
            16.0 + f64::from(chan) + 0.25 * f64::from(pol),
            9.0,
            40.0 + f64::from(chan),
        )
    };
    let planes: Vec<(i32, i32)> = (0..5).flat_map(|c| (0..4).map(move |p| (c, p))).collect();
    let want: Vec<Option<Triple>> = planes.iter().map(|(c, p)| Some(beam(*c, *p))).collect();
    let of = |order: &[(i32, i32)]| {
        let rows: Vec<Triple> = order.iter().map(|(c, p)| beam(*c, *p)).collect();
        let (chan, pol): (Vec<i32>, Vec<i32>) = order.iter().copied().unzip();
        Beams::of(&rows).chan(&chan).pol(&pol)
    };
    let file = |beams: Beams| File::new(&[image(&[4, 5], &[]), beams.bytes()]).planes(5, 4);
    let mut stokes_outside: Vec<(i32, i32)> = planes.clone();
    stokes_outside.sort_by_key(|(c, p)| (*p, -*c));
    for order in [&planes, &stokes_outside] {
        assert_beams(&file(of(order)).resolve().unwrap(), &want);
    }
    // A column that nobody filled, while the other says enough.
    let mut sorted = of(&stokes_outside);
    sorted.rows.reverse();
    for beams in [of(&planes).chan(&[0; 20]), of(&planes).pol(&[0; 20])] {
        let found = file(beams).resolve().unwrap();
        assert_beams(&found, &want);
        assert!(matches!(
            found.notes.as_slice(),
            [BeamNote::RowOrder { .. }]
        ));
    }
    let refusal = file(of(&planes).chan(&[0; 20]).pol(&[0; 20])).refusal();
    assert!(
        ["CHAN and POL", "5", "4"]
            .iter()
            .all(|w| refusal.contains(w)),
        "{refusal}"
    );
    let refusal = file(of(&planes).pol(&[1, 2, 3, 4].repeat(5))).refusal();
    assert!(
        refusal.contains("POL 4") && refusal.contains("4 Stokes"),
        "{refusal}"
    );
}

#[test]
fn one_row_a_channel_serves_all_stokes() {
    for pol in [0, 3] {
        let beams = Beams::of(&FIVE).pol(&[pol; 5]);
        let file = File::new(&[image(&[4, 5], &[]), beams.bytes()]).planes(5, 4);
        let want: Vec<Option<Triple>> = FIVE.iter().flat_map(|beam| [Some(*beam); 4]).collect();
        assert_beams(&file.resolve().unwrap(), &want);
    }
    let beams = Beams::of(&FIVE).pol(&[0, 1, 2, 3, 0]);
    let refusal = File::new(&[image(&[4, 5], &[]), beams.bytes()])
        .planes(5, 4)
        .refusal();
    assert!(refusal.contains("POL 1"), "{refusal}");
}

#[test]
fn b13_b14_row_counts() {
    // One row for one channel, even if a cut-out kept its number.
    for chan in [0, 7] {
        let beams = Beams::of(&FIVE[..1]).chan(&[chan]);
        let found = File::new(&[image(&[1], &[]), beams.bytes()])
            .planes(1, 1)
            .resolve()
            .unwrap();
        assert_beams(&found, &some(&FIVE[..1]));
        assert_eq!(found.notes.len(), usize::from(chan != 0));
    }
    for (rows, word) in [(1, "1 row for 5 channels"), (4, "4 rows for 5 channels")] {
        let refusal = File::new(&[image(&[5], &[]), Beams::of(&FIVE[..rows]).bytes()]).refusal();
        assert!(
            refusal.contains(word) && refusal.contains("--beamlog"),
            "{refusal}"
        );
    }
    let refusal = File::new(&[image(&[5], &[]), Beams::of(&[]).bytes()]).refusal();
    assert!(refusal.contains("0 rows for 5 channels"), "{refusal}");
}

#[test]
fn b15_b19_blank_rows_keep_their_place() {
    let tiny = f64::from(f32::MIN_POSITIVE);
    for blank in [0.0, f64::NAN, tiny, 1e-6, f64::INFINITY] {
        let mut rows = FIVE;
        rows[1] = (blank, blank, blank);
        rows[3] = (19.0, blank, 49.0);
        let mut want = some(&FIVE);
        (want[1], want[3]) = (None, None);
        let mut beams = Beams::of(&rows);
        let found = File::new(&[image(&[5], &[]), beams.bytes()])
            .resolve()
            .unwrap();
        assert_beams(&found, &want);
        // B20: the sentinel in degrees is no beam either.
        beams
            .rows
            .iter_mut()
            .for_each(|(a, b, _)| (*a, *b) = (*a / 3600.0, *b / 3600.0));
        beams.rows[1] = (tiny, tiny, tiny);
        beams.units = [Some("deg"); 3];
        assert_beams(
            &File::new(&[image(&[5], &[]), beams.bytes()])
                .resolve()
                .unwrap(),
            &want,
        );
    }
    let none = Beams::of(&[(0.0, 0.0, 0.0); 5]);
    let found = File::new(&[image(&[5], &[]), none.bytes()])
        .resolve()
        .unwrap();
    assert_beams(&found, &[None; 5]);
}

#[test]
fn b11_b20_what_is_written_reads_back_twice() {
    let beam = |(a, b, pa): Triple| Beam::new(a, b, pa).ok();
    let mut beams: Vec<Option<Beam>> = FIVE.iter().flat_map(|one| [beam(*one), None]).collect();
    beams.extend([None, beam((30.0, 30.0, 0.0))]);
    for _ in 0..2 {
        let extension = table::write(&beams, 2).unwrap();
        assert_eq!(extension.len() % 2880, 0);
        let text = String::from_utf8_lossy(&extension[..2880]).into_owned();
        let cards = [
            "TUNIT1  = 'arcsec",
            "TUNIT2  = 'arcsec",
            "TUNIT3  = 'deg",
            "TFORM1  = '1E",
            "TFORM4  = '1J",
            "TFORM5  = '1J",
            "EXTNAME = 'BEAMS",
        ];
        for card in cards {
            assert!(text.contains(card), "{card}: {text}");
        }
        for (keyword, value) in [("NCHAN", 6), ("NPOL", 2), ("NAXIS2", 12), ("NAXIS1", 20)] {
            assert!(
                text.contains(&format!("{keyword:<8}= {value:>20}")),
                "{keyword}: {text}"
            );
        }
        // Row 1 is channel 0, Stokes 1: blank, the sentinel three times, then 0 and 1.
        let sentinel = 1.175_494_4e-38_f32.to_be_bytes();
        let row = [
            sentinel,
            sentinel,
            sentinel,
            0_i32.to_be_bytes(),
            1_i32.to_be_bytes(),
        ]
        .concat();
        assert_eq!(extension[2900..2920], row);
        let file = File::new(&[image(&[2, 6], &[CASAMBM]), extension]).planes(6, 2);
        let found = file.resolve().unwrap();
        assert_eq!(found.beams, beams);
        beams = found.beams;
    }
    assert!(table::write(&beams, 0).is_err() && table::write(&beams, 5).is_err());
    assert!(table::write(&[], 1).is_ok());
}

#[test]
fn b25_logs_beside_and_named() {
    let text = |order: &[usize], beams: &[Triple]| {
        let row = |k: &usize| format!("{k} {} {} {}\n", beams[*k].0, beams[*k].1, beams[*k].2);
        let rows: String = order.iter().map(row).collect();
        format!("# Channel BMAJ[arcsec] BMIN[arcsec] BPA[deg]\n{rows}")
    };
    let mut file = File::new(&[image(&[2, 5], &[])]).planes(5, 2);
    let beside = file.put("beamlog.c.txt", &text(&[4, 3, 2, 1, 0], &FIVE));
    let found = file.resolve().unwrap();
    let want: Vec<Option<Triple>> = FIVE.iter().flat_map(|beam| [Some(*beam); 2]).collect();
    assert_beams(&found, &want);
    assert_eq!(found.source, BeamSource::Log(beside));
    // A named log comes first, and the one beside that says otherwise is told.
    let named = file.put("other.txt", &text(&[0, 1, 2, 3, 4], &[(5.0, 4.0, 3.0); 5]));
    file.beamlog = Some(named.clone());
    let found = file.resolve().unwrap();
    assert_beams(&found, &some(&[(5.0, 4.0, 3.0); 10]));
    assert_eq!(found.source, BeamSource::Log(named));
    assert!(matches!(
        found.notes.as_slice(),
        [BeamNote::Disagreement { .. }]
    ));
    // Gaps and strangers are refused with the log's name and line.
    file.beamlog = Some(file.put("short.txt", &text(&[0, 1, 3, 4], &FIVE)));
    let refusal = file.refusal();
    let words = ["short.txt", "4 rows", "5 channels", "channel 2"];
    assert!(words.iter().all(|w| refusal.contains(w)), "{refusal}");
    file.beamlog = Some(PathBuf::from("no/such/log.txt"));
    assert!(file.refusal().contains("no/such/log.txt"));
    file.from = BeamFrom::Table;
    assert!(matches!(
        file.resolve(),
        Err(BeamError::SourceConflict { .. })
    ));
}

#[test]
fn a_table_comes_before_a_log_beside() {
    let file = File::new(&[image(&[5], &[]), Beams::of(&FIVE).bytes()]);
    file.put("beamlog.c.txt", "broken");
    let found = file.resolve().unwrap();
    assert_beams(&found, &some(&FIVE));
    assert_eq!(found.notes, []);
    file.put(
        "beamlog.c.txt",
        &log::render(&[Beam::new(5.0, 4.0, 3.0).ok(); 5]),
    );
    let found = file.resolve().unwrap();
    assert!(matches!(
        found.notes.as_slice(),
        [BeamNote::Disagreement { .. }]
    ));
    let log = file.from(BeamFrom::Log).resolve().unwrap();
    assert_beams(&log, &some(&[(5.0, 4.0, 3.0); 5]));
}

#[test]
fn numbered_cards_come_before_the_one_beam() {
    let mut all = Vec::new();
    for (k, (a, b, pa)) in FIVE.iter().enumerate() {
        let angle = if k % 2 == 0 { "BPA" } else { "PA" };
        for (keyword, value) in [("BMAJ", a / 3600.0), ("BMIN", b / 3600.0), (angle, *pa)] {
            all.push(format!(
                "{:<8}= {value:>20.13E}",
                format!("{keyword}{}", k + 1)
            ));
        }
    }
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    let file = File::new(&[with_beam(&[5], FIVE[2], &all)]);
    let found = file.resolve().unwrap();
    assert_beams(&found, &some(&FIVE));
    assert_eq!((found.source, found.notes), (BeamSource::Cards, vec![]));
    let refusal = File::new(&[with_beam(&[5], FIVE[2], &all[..12])]).refusal();
    assert!(
        refusal.contains('4') && refusal.contains("5 channels"),
        "{refusal}"
    );
    let found = file.from(BeamFrom::Header).resolve().unwrap();
    assert_beams(&found, &some(&[FIVE[2]; 5]));
}

#[test]
fn b28_history_is_the_last_resort() {
    let history = [
        "HISTORY AIPS   CLEAN BMAJ=  1.1111E-02 BMIN=  1.1111E-02 BPA=   0.00",
        "HISTORY AIPS   CLEAN BMAJ=  4.0000E-03 BMIN=  2.5000E-03 BPA=  40.00",
    ];
    let found = File::new(&[image(&[], &history)])
        .planes(1, 1)
        .resolve()
        .unwrap();
    assert_beams(&found, &[Some((14.4, 9.0, 40.0))]);
    assert_eq!(found.source, BeamSource::History);
    assert!(matches!(
        found.notes.as_slice(),
        [BeamNote::FromHistory { found: 2, .. }]
    ));
    let file = File::new(&[with_beam(&[], FIVE[0], &history)]).planes(1, 1);
    let found = file.resolve().unwrap();
    assert_eq!((found.source, found.notes), (BeamSource::Header, vec![]));
    assert_beams(
        &file.from(BeamFrom::History).resolve().unwrap(),
        &[Some((14.4, 9.0, 40.0))],
    );
}

#[test]
fn b22_b34_one_beam_for_every_plane() {
    let file = File::new(&[with_beam(&[4, 5], FIVE[1], &[])]).planes(5, 4);
    assert_beams(&file.resolve().unwrap(), &some(&[FIVE[1]; 20]));
    let zero = File::new(&[with_beam(&[], (0.0, 0.0, 0.0), &[])]).planes(1, 1);
    assert_beams(&zero.resolve().unwrap(), &[None]);
}

#[test]
fn no_beam_anywhere_is_told_with_what_was_looked_for() {
    let file = File::new(&[image(&[5], &["HISTORY no such luck"])]);
    let refusal = file.refusal();
    for word in [
        "c.fits",
        "beam",
        "BEAMS",
        "beam log",
        "BMAJn",
        "BMAJ, BMIN, BPA",
        "HISTORY",
    ] {
        assert!(refusal.contains(word), "{word}: {refusal}");
    }
    for (from, word) in [
        (BeamFrom::Table, "BEAMS"),
        (BeamFrom::Log, "beamlog.c.txt"),
        (BeamFrom::Cards, "BMAJn"),
        (BeamFrom::Header, "BMAJ, BMIN, BPA"),
        (BeamFrom::History, "HISTORY"),
    ] {
        let file = File::new(&[image(&[5], &[])]).from(from);
        let refusal = file.refusal();
        assert!(
            refusal.contains(word) && refusal.contains("c.fits"),
            "{refusal}"
        );
    }
    assert!(
        File::new(&[image(&[5], &[])])
            .planes(u64::MAX, 2)
            .resolve()
            .is_err()
    );
    assert!(
        File::new(&[image(&[5], &[])])
            .planes(0, 2)
            .resolve()
            .is_err()
    );
}

/// The folder of shared data: `MMFITS_SHARED`, or `shared` beside the project.
fn shared() -> Option<PathBuf> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared");
    let folder = std::env::var_os("MMFITS_SHARED").map_or_else(beside, PathBuf::from);
    folder.is_dir().then_some(folder)
}

#[test]
fn real_files() {
    let Some(shared) = shared() else {
        println!("skipped: no shared data");
        return;
    };
    let cases = [
        (
            "real/cube.fits",
            3,
            BeamSource::Table {
                hdu: 1,
                name: "BEAMS".into(),
            },
        ),
        ("real/wsclean-0000-image.fits", 1, BeamSource::Header),
        ("real/1904-66_SIN_3d.fits", 3, BeamSource::Header),
        (
            "corpus/radio_beam__m33_beams_bintable.fits",
            1178,
            BeamSource::Table {
                hdu: 1,
                name: "BEAMS".into(),
            },
        ),
    ];
    for (name, channels, source) in cases {
        let path = shared.join(name);
        let bytes = std::fs::read(&path).unwrap();
        let layout = Layout::parse(&bytes).unwrap();
        let found = resolve(&Question {
            path: &path,
            layout: &layout,
            bytes: &bytes,
            hdu: 0,
            channels,
            stokes: 1,
            beamlog: None,
            from: BeamFrom::Auto,
            floor_arcsec: 1e-3,
        });
        let found = found.unwrap();
        assert_eq!(found.source, source, "{name}");
        assert_eq!(found.beams.len() as u64, channels);
        assert!(
            found.beams.iter().all(Option::is_some),
            "{name}: {:?}",
            found.beams
        );
        println!("{name}: {} {:?}", found.beams[0].unwrap(), found.notes);
    }
}
