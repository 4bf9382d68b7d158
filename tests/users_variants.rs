//! Further forms of USERS.md's cases: what a second user with the same trouble would bring. Each
//! test is named by the id it varies.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod support;

use support::checksum::{stamp, verify};
use support::sky::{diagonal, turned};
use support::*;

/// Smooths the usual cube with this table as it stands; every plane must come out right.
fn accepts(table: Hdu) {
    let bench = Bench::new();
    bench.put("c", &[cube(&BEAMS5, &casambm()), table]);
    bench.smooth_to(TGT).file("c").run().ok();
    check_planes(bench.read("c").primary(), TGT, &[]);
}

fn columns(form: char, index: char, names: [&str; 5]) -> Vec<Column> {
    let reals = |i: usize| BEAMS5.iter().map(|b| b[i]).collect();
    let count: Vec<f64> = (0..5).map(f64::from).collect();
    vec![
        Column::new(names[0], form, Some("arcsec"), reals(0)),
        Column::new(names[1], form, Some("arcsec"), reals(1)),
        Column::new(names[2], form, Some("deg"), reals(2)),
        Column::new(names[3], index, None, count),
        Column::new(names[4], index, None, vec![0.0; 5]),
    ]
}

const NAMES: [&str; 5] = ["BMAJ", "BMIN", "BPA", "CHAN", "POL"];

#[test]
fn b03_columns_of_any_width_order_and_case() {
    let counts = Cards::new().set("NCHAN", 5).set("NPOL", 1);
    for (form, index) in [('E', 'I'), ('D', 'K'), ('E', 'J')] {
        accepts(Hdu::table("BEAMS", &columns(form, index, NAMES), &counts));
    }
    let mut reversed = columns('E', 'J', NAMES);
    reversed.reverse();
    accepts(Hdu::table("BEAMS", &reversed, &counts));
    let lower = columns('E', 'J', ["bmaj", "bmin", "bpa", "chan", "pol"]);
    accepts(Hdu::table("BEAMS", &lower, &counts));
    let mut more = columns('E', 'J', NAMES);
    more.insert(0, Column::new("FREQ", 'D', Some("Hz"), vec![1e9; 5]));
    more.push(Column::new("FLAG", 'I', None, vec![0.0; 5]));
    accepts(Hdu::table("BEAMS", &more, &counts));
}

#[test]
fn b06_names_that_contain_beams() {
    for name in ["BEAMS", "beams", "Beams"] {
        accepts(BeamTable::new(&BEAMS5).named(name).hdu());
    }
    let decoy = BeamTable::new(&[[99.0, 99.0, 0.0]; 5])
        .named("CATALOG")
        .hdu();
    let bench = Bench::new();
    bench.put(
        "c",
        &[
            cube(&BEAMS5, &casambm()),
            decoy,
            BeamTable::new(&BEAMS5).named("BEAMS").hdu(),
        ],
    );
    bench.smooth().file("c").run().ok();
    assert_eq!(
        bench.read("c").names(),
        ["CATALOG"],
        "the catalogue is not the beam table"
    );
}

#[test]
fn b12_stokes_beams_of_one_channel() {
    let beams = [
        OLD,
        [17.0, 9.5, 43.0],
        [18.0, 10.0, 46.0],
        [19.0, 10.5, 49.0],
    ];
    let table = BeamTable::new(&beams)
        .chan(&[0; 4])
        .pol(&[0, 1, 2, 3], 4)
        .hdu();
    let g = Grid::default();
    let cards = g
        .cards(Wcs::Cdelt)
        .set("BUNIT", "Jy/beam")
        .and(&scene::axis(3, "STOKES"));
    let pixels = Samples::f32(&scene::planes(&beams));
    let bench = Bench::new();
    bench.put(
        "c",
        &[
            Hdu::primary(&[g.nx, g.ny, 4], &pixels, &cards.and(&casambm())),
            table,
        ],
    );
    bench.smooth_to(TGT).file("c").run().ok();
    check_planes(bench.read("c").primary(), TGT, &[]);
}

#[test]
fn b13_a_two_axis_image_with_a_one_row_table() {
    let g = Grid::default();
    let cards = image_cards([99.0, 99.0, 0.0]).and(&casambm());
    let bench = Bench::new();
    let hdu = Hdu::primary(&[g.nx, g.ny], &Samples::f32(&g.gaussian(OLD)), &cards);
    bench.put("c", &[hdu, BeamTable::new(&[OLD]).hdu()]);
    bench.smooth_to(TGT).file("c").run().ok();
    let fits = bench.read("c");
    check_planes(fits.primary(), TGT, &[]);
    same_beam(fits.primary().beam().unwrap(), TGT, 1e-9);
}

#[test]
fn b25_a_log_beside_a_file_named_without_a_folder() {
    let bench = Bench::new();
    bench.put("my.cube.v1", &[cube(&BEAMS5, &Cards::new())]);
    bench.put_text("beamlog.my.cube.v1.txt", &beam_log_of(&BEAMS5));
    bench.smooth_to(TGT).arg("my.cube.v1.fits").run().ok();
    check_planes(bench.read("my.cube.v1").primary(), TGT, &[]);
}

/// The usual image with its three beam cards written like this.
fn with_beam_lines(lines: &[&str]) -> (Bench, Outcome) {
    let mut cards = Grid::default().cards(Wcs::Cdelt).set("BUNIT", "Jy/beam");
    for line in lines {
        cards = cards.line(line);
    }
    let g = Grid::default();
    let bench = Bench::new();
    let pixels = Samples::f32(&g.gaussian([18.0, 9.0, 0.0]));
    bench.put("c", &[Hdu::primary(&[g.nx, g.ny], &pixels, &cards)]);
    let outcome = bench.smooth_to(TGT).file("c").run();
    (bench, outcome)
}

#[test]
fn b34_ways_to_write_a_beam_card() {
    for lines in [
        [
            "BMAJ    =              5.0E-03",
            "BMIN    =              2.5E-03",
            "BPA     = 0",
        ],
        [
            "BMAJ    = 5.0D-3 / beam",
            "BMIN    = .25D-2",
            "BPA     = 180.0",
        ],
        [
            "BMAJ    = 0.005",
            "BMIN    =               0.0025",
            "BPA     =                 -0.",
        ],
    ] {
        let (bench, outcome) = with_beam_lines(&lines);
        outcome.ok();
        check_planes(bench.read("c").primary(), TGT, &[]);
    }
}

#[test]
fn b34_a_missing_angle_or_axis_is_never_silently_wrong() {
    let (bench, outcome) = with_beam_lines(&["BMAJ    = 0.005", "BMIN    = 0.0025"]);
    if outcome.code == 0 {
        check_planes(bench.read("c").primary(), TGT, &[]);
    } else {
        outcome.refused(3, &["BPA"]);
    }
    let (_bench, outcome) = with_beam_lines(&["BMAJ    = 0.005", "BPA     = 0.0"]);
    outcome.refused(3, &["BMIN"]);
}

#[test]
fn b30_axes_exchanged_in_the_header() {
    let (bench, outcome) =
        with_beam_lines(&["BMAJ    = 0.0025", "BMIN    = 0.005", "BPA     = 0.0"]);
    if outcome.code == 0 {
        let beam = bench.read("c").primary().beam().expect("a beam");
        assert!(beam[0] >= beam[1]);
        check_planes(bench.read("c").primary(), TGT, &[]);
    } else {
        outcome.refused(3, &["BM"]);
    }
}

#[test]
fn c05_a_round_beam_has_no_angle() {
    let bench = Bench::new();
    put_image(&bench, "c", [16.0, 16.0, 0.0]);
    let json = bench
        .smooth_to([16.0, 16.0, 77.0])
        .arg("--json")
        .file("c")
        .run()
        .ok()
        .json();
    assert_eq!(json[0]["passed_through"], 1);
}

#[test]
fn c07_a_beam_equal_to_the_cutoff_stays() {
    for size in [11.0, 15.1, 16.3, 17.0, 19.7, 23.0, 47.3, 49.0] {
        let bench = Bench::new();
        put_image(&bench, "c", [size, 9.0, 0.0]);
        put_cube(&bench, "d", &[[size, 9.0, 0.0]]);
        let cutoff = size.to_string();
        let run = bench
            .smooth()
            .args(["--cutoff", &cutoff, "--json"])
            .file("c")
            .file("d");
        for one in run.run().ok().json() {
            assert_eq!(
                one["blank_planes"],
                serde_json::json!([]),
                "cutoff {cutoff}: {one}"
            );
        }
    }
}

#[test]
fn c09_a_float32_beam_on_the_step_is_not_rounded_further() {
    let bench = Bench::new();
    put_cube(&bench, "c", &[[16.1, 9.3, 40.0]; 2]);
    bench.smooth().args(["--round", "0.1"]).file("c").run().ok();
    let got = bench.read("c").primary().beam().unwrap();
    assert!(
        (got[0] - 16.1).abs() < 1e-6 && (got[1] - 9.3).abs() < 1e-6,
        "{got:?}"
    );
}

#[test]
fn c18_an_image_and_a_cube_share_a_beam() {
    let bench = Bench::new();
    put_image(&bench, "c", [15.0, 12.0, 130.0]);
    put_cube(&bench, "d", &BEAMS5);
    bench.smooth().file("c").file("d").run().ok();
    let beam = bench.read("c").primary().beam().unwrap();
    check_planes(bench.read("c").primary(), beam, &[]);
    check_planes(bench.read("d").primary(), beam, &[]);
}

/// A point on a grid of this size, smoothed; the answer is the kernel cut at the edges.
fn point(nx: usize, ny: usize, at: (usize, usize), target: Beam) {
    let g = Grid {
        nx,
        ny,
        x0: at.0 as f64,
        y0: at.1 as f64,
        ..Grid::default()
    };
    let mut pixels = vec![0.0; nx * ny];
    pixels[at.1 * nx + at.0] = 1.0;
    let cards = g
        .cards(Wcs::Cdelt)
        .set("BUNIT", "Jy/beam")
        .and(&beam_cards(OLD));
    let bench = Bench::new();
    bench.put(
        "c",
        &[Hdu::primary(&[nx, ny], &Samples::f32(&pixels), &cards)],
    );
    bench.smooth_to(target).file("c").run().ok();
    let what = format!("{nx} x {ny}, target {target:?}");
    close(
        &bench.read("c").primary().pixels(),
        &g.response(OLD, target, true),
        &what,
    );
}

#[test]
fn n11_images_smaller_than_the_kernel() {
    point(70, 60, (10, 50), [300.0, 200.0, 30.0]);
    point(5, 3, (1, 2), TGT);
    point(1, 40, (0, 7), TGT);
    point(40, 1, (7, 0), TGT);
    point(1, 1, (0, 0), TGT);
    point(300, 2, (290, 1), [60.0, 50.0, -70.0]);
}

#[test]
fn n12_values_of_any_size() {
    for scale in [1e25, 1e-25, -1.0] {
        let g = Grid::default();
        let pixels: Vec<f64> = g.gaussian(OLD).iter().map(|v| v * scale).collect();
        let bench = Bench::new();
        bench.put(
            "c",
            &[Hdu::primary(
                &[g.nx, g.ny],
                &Samples::f32(&pixels),
                &image_cards(OLD),
            )],
        );
        bench.smooth_to(TGT).file("c").run().ok();
        let got: Vec<f64> = bench
            .read("c")
            .primary()
            .pixels()
            .iter()
            .map(|v| v / scale)
            .collect();
        close(&got, &g.gaussian(TGT), &format!("times {scale}"));
    }
}

/// An image on this grid with these sky cards.
fn oriented(grid: Grid, sky: &Cards, what: &str) {
    let cards = sky.clone().set("BUNIT", "Jy/beam").and(&beam_cards(OLD));
    let pixels = Samples::f32(&grid.gaussian(OLD));
    let bench = Bench::new();
    bench.put("c", &[Hdu::primary(&[grid.nx, grid.ny], &pixels, &cards)]);
    let target = [44.0, 17.0, 100.0];
    bench.smooth_to(target).file("c").run().ok();
    close(
        &bench.read("c").primary().pixels(),
        &grid.gaussian(target),
        what,
    );
}

#[test]
fn a13_matrices_with_elements_left_out() {
    let grid = Grid::with([[-2.0, -0.6], [-0.4, 2.0]]);
    let cards = grid.cards(Wcs::Cdelt).set("PC1_2", 0.3).set("PC2_1", -0.2);
    oriented(grid, &cards, "PC1_2 and PC2_1 only");
    let grid = Grid::with([[-2.0, 0.5], [0.0, 2.0]]);
    oriented(grid, &grid.cards(Wcs::Cd).without("CD2_1"), "no CD2_1");
    let grid = Grid::with([[0.0, 2.0], [2.0, 0.0]]);
    let cards = grid.cards(Wcs::Cd).without("CD1_1").without("CD2_2");
    oriented(grid, &cards, "CD1_2 and CD2_1 only");
}

#[test]
fn a13_a_rotated_cube_in_both_orders() {
    for (types, axes) in [(["STOKES", "FREQ"], [2, 3]), (["FREQ", "STOKES"], [3, 2])] {
        let grid = Grid::with(turned(PIX, 1.5 * PIX, -50.0));
        let beam = |k: usize| {
            if types[0] == "FREQ" {
                BEAMS5[k % 3]
            } else {
                BEAMS5[k / 2]
            }
        };
        let pixels: Vec<f64> = (0..6).flat_map(|k| grid.gaussian(beam(k))).collect();
        let mut cards = grid.cards(Wcs::Cd).set("BUNIT", "Jy/beam").and(&casambm());
        for (i, ctype) in types.iter().enumerate() {
            cards = cards
                .set(&format!("CTYPE{}", i + 3), *ctype)
                .set(&format!("CRVAL{}", i + 3), 1.0)
                .set(&format!("CD{0}_{0}", i + 3), 1.0)
                .set(&format!("CRPIX{}", i + 3), 1.0);
        }
        let shape = [grid.nx, grid.ny, axes[0], axes[1]];
        let bench = Bench::new();
        let hdu = Hdu::primary(&shape, &Samples::f32(&pixels), &cards);
        bench.put("c", &[hdu, BeamTable::new(&BEAMS5[..3]).hdu()]);
        bench.smooth_to([44.0, 20.0, 100.0]).file("c").run().ok();
        for plane in bench.read("c").primary().planes() {
            close(&plane, &grid.gaussian([44.0, 20.0, 100.0]), "rotated cube");
        }
    }
}

#[test]
fn a14_aips_spelling_of_cunit_is_never_silently_wrong() {
    let grid = Grid::with(diagonal(-PIX, PIX));
    for unit in ["DEGREES", "DEG", "degree"] {
        let cards = grid
            .cards(Wcs::Cdelt)
            .set("CUNIT1", unit)
            .set("CUNIT2", unit);
        oriented(grid, &cards, unit);
    }
    let odd = grid
        .cards(Wcs::Cdelt)
        .set("CUNIT1", "furlong")
        .set("CUNIT2", "furlong");
    let cards = odd.set("BUNIT", "Jy/beam").and(&beam_cards(OLD));
    let bench = Bench::new();
    let pixels = Samples::f32(&grid.gaussian(OLD));
    bench.put("c", &[Hdu::primary(&[grid.nx, grid.ny], &pixels, &cards)]);
    bench
        .smooth_to(TGT)
        .file("c")
        .run()
        .refused(3, &["furlong"]);
}

#[test]
fn h01_checksum_of_a_chosen_extension() {
    let g = Grid::default();
    let science = Hdu::extension(
        "SCI",
        &[g.nx, g.ny],
        &Samples::f32(&g.gaussian(OLD)),
        &image_cards(OLD),
    );
    let first = stamp(&Hdu::empty_primary(&Cards::new().set("OBJECT", "x")));
    let bench = Bench::new();
    bench.put("c", &[first.clone(), stamp(&science)]);
    bench.smooth_to(TGT).file("c").run().ok();
    let fits = bench.read("c");
    same_bits(&fits.hdus[0].bytes, &first.bytes(), "the primary HDU");
    verify(&fits.hdus[1]);
}

#[test]
fn h08_headers_that_fill_their_blocks() {
    for extra in 0..40 {
        let mut cards = Cards::new();
        for i in 0..extra {
            cards = cards.set(&format!("KEY{i}"), i);
        }
        let g = Grid::default();
        let bench = Bench::new();
        let all = image_cards(OLD).and(&cards);
        let hdu = Hdu::primary(&[g.nx, g.ny], &Samples::f32(&g.gaussian(OLD)), &all);
        bench.put("c", &[stamp(&hdu)]);
        bench.smooth_to(TGT).file("c").run().ok();
        let fits = bench.read("c");
        verify(fits.primary());
        check_planes(fits.primary(), TGT, &[]);
        assert!(extra == 0 || fits.primary().has(&format!("KEY{}", extra - 1)));
    }
}

#[test]
fn h08_garbage_after_end_is_not_carried_into_an_edited_header() {
    let bench = Bench::new();
    let path = put_image(&bench, "c", OLD);
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[2880 - 100..2880].fill(b'x');
    std::fs::write(&path, bytes).unwrap();
    bench.smooth_to(TGT).file("c").run().ok();
    check_planes(bench.read("c").primary(), TGT, &[]);
}

#[test]
fn h09_history_is_ascii_whatever_the_file_is_called() {
    let bench = Bench::new();
    let name = "Zürich \u{2603} 'quoted'";
    put_image(&bench, name, OLD);
    let run = bench.smooth_to(TGT).file(name).run().ok();
    assert_eq!(run.lines(), [bench.out(name).to_str().unwrap()]);
    let fits = bench.read(name);
    for card in &fits.primary().cards {
        assert!(
            card.iter().all(|b| (0x20..0x7f).contains(b)),
            "{}",
            String::from_utf8_lossy(card)
        );
    }
    check_planes(fits.primary(), TGT, &[]);
}

#[test]
fn h11_zero_blocks_after_the_last_hdu() {
    let bench = Bench::new();
    let path = put_image(&bench, "c", OLD);
    let mut bytes = std::fs::read(&path).unwrap();
    bytes.resize(bytes.len() + 2880, 0);
    std::fs::write(&path, bytes).unwrap();
    let outcome = bench.smooth_to(TGT).file("c").run();
    if outcome.code == 0 {
        let bytes = std::fs::read(bench.out("c")).unwrap();
        assert_eq!(bytes.len() % 2880, 0);
    } else {
        outcome.refused(3, &["c.fits"]);
    }
}

#[test]
fn m12_cubes_without_planes_and_random_groups() {
    for (key, value) in [("NAXIS3", 0), ("NAXIS2", 0)] {
        let bench = Bench::new();
        let mut hdu = cube(&BEAMS5, &beam_cards(OLD));
        hdu.cards = Cards(hdu.cards).set(key, value).0;
        std::fs::write(bench.path("c.fits"), hdu.header_bytes()).unwrap();
        bench.smooth_to(TGT).file("c").run().refused(3, &["c.fits"]);
    }
    let groups = Cards::new()
        .set("GROUPS", true)
        .set("PCOUNT", 3)
        .set("GCOUNT", 2);
    let mut hdu = Hdu::primary(&[1, 4, 2], &Samples::F32(vec![0.0; 8]), &groups);
    hdu.cards = Cards(hdu.cards).set("NAXIS1", 0).0;
    hdu.data = vec![0; 2 * (3 + 8) * 4];
    let bench = Bench::new();
    bench.put("c", &[hdu]);
    bench.smooth_to(TGT).file("c").run().refused(3, &["c.fits"]);
}

#[test]
fn i09_a_linked_folder_does_not_hide_the_input() {
    let bench = Bench::new();
    let path = put_image(&bench, "c", OLD);
    let before = std::fs::read(&path).unwrap();
    std::os::unix::fs::symlink(bench.path(""), bench.path("out/back")).unwrap();
    let run = bench.mmconv(["smooth", "--overwrite", "-s", "", "-o", "out/back"]);
    let flags = ["--bmaj", "30", "--bmin", "28", "--bpa", "20"];
    run.args(flags).file("c").run().fails(2, &["c.fits"]);
    same_bits(&std::fs::read(&path).unwrap(), &before, "the input");
}

#[test]
fn flags_upper_case_extension() {
    let bench = Bench::new();
    let path = bench.path("c.FITS");
    write::write(&path, &[image(OLD)]);
    let run = bench.smooth_to(TGT).path(&path).run().ok();
    let names = bench.outputs();
    assert!(
        names == ["c.sm.fits"] || names == ["c.FITS.sm.fits"],
        "{names:?}"
    );
    assert_eq!(run.lines().len(), 1);
}

#[test]
fn flags_a_target_file_that_will_not_do() {
    let bench = Bench::new();
    put_image(&bench, "c", OLD);
    put_image(&bench, "flagged", [0.0; 3]);
    // A target that is blank throughout: refused, or blank planes and a word about it.
    let run = bench
        .smooth()
        .arg("--target-from")
        .file("flagged")
        .file("c")
        .run();
    if run.code == 0 {
        run.says(&["blank"]);
        check_planes(bench.read("c").primary(), TGT, &[0]);
        std::fs::remove_file(bench.out("c")).unwrap();
    } else {
        run.refused(3, &["flagged.fits"]);
    }
    let run = bench
        .smooth()
        .arg("--target-from")
        .file("absent")
        .file("c")
        .run();
    let code = run.code;
    assert!([2, 3].contains(&code), "exit status {code}");
    run.refused(code, &["absent.fits"]);
}

#[test]
fn flags_a_memory_budget_too_small_for_one_plane() {
    let bench = Bench::new();
    put_image(&bench, "c", OLD);
    let run = bench.smooth_to(TGT).args(["--memory", "1"]).file("c").run();
    assert!(
        [0, 2, 4].contains(&run.code),
        "exit status {}: {}",
        run.code,
        run.stderr
    );
    if run.code == 0 {
        check_planes(bench.read("c").primary(), TGT, &[]);
    }
}
