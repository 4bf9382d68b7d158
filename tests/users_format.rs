//! USERS.md 1f, M01 to M09: integers, doubles, extensions, missing padding, through the
//! command. One test or more for each id. Not yet read, so only refused: M05, M06.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::cast_possible_truncation,
    reason = "a test fails by panicking, and writes small numbers"
)]

mod support;

use support::*;

/// An image of integers whose physical value is `zero + scale * q`.
fn integers(samples: &Samples, scale: f64, zero: f64, blank: Option<i64>) -> Hdu {
    let g = Grid::default();
    let mut cards = image_cards(OLD).set("BSCALE", scale).set("BZERO", zero);
    if let Some(blank) = blank {
        cards = cards.set("BLANK", blank);
    }
    Hdu::primary(&[g.nx, g.ny], samples, &cards)
}

/// The usual source in steps of `scale` from `zero`, as whole numbers.
fn quantised(scale: f64, zero: f64) -> Vec<i64> {
    Grid::default()
        .gaussian(OLD)
        .iter()
        .map(|v| ((v - zero) / scale).round() as i64)
        .collect()
}

fn of_width(bitpix: i64, q: &[i64]) -> Samples {
    match bitpix {
        8 => Samples::U8(q.iter().map(|v| u8::try_from(*v).unwrap()).collect()),
        16 => Samples::I16(q.iter().map(|v| i16::try_from(*v).unwrap()).collect()),
        32 => Samples::I32(q.iter().map(|v| i32::try_from(*v).unwrap()).collect()),
        64 => Samples::I64(q.to_vec()),
        other => panic!("BITPIX {other}"),
    }
}

/// Every kind of integer: BITPIX, BSCALE, BZERO, a BLANK.
const KINDS: [(i64, f64, f64, i64); 8] = [
    (16, 0.001, -0.005, -32768),
    (8, 0.005, -0.1, 255),
    (32, 1e-6, 0.0, i32::MIN as i64),
    (64, 1e-9, 0.25, i64::MIN),
    // Unsigned and signed by the usual BZERO, with a step.
    (16, 2e-5, 0.65536, -1),
    (32, 1e-9, 2.147_483_648, -2_147_483_648),
    (8, 0.01, -1.28, 0),
    (16, -0.001, 0.5, 7777),
];

#[test]
fn m01_integers_are_scaled_and_smoothed() {
    for (bitpix, scale, zero, blank) in KINDS {
        let bench = Bench::new();
        let q = quantised(scale, zero);
        bench.put("c", &[integers(&of_width(bitpix, &q), scale, zero, None)]);
        bench.smooth_to(TGT).file("c").run().ok();
        let hdu = bench.read("c").primary().clone();
        assert_eq!(hdu.bitpix(), if bitpix < 32 { -32 } else { -64 });
        let what = format!("BITPIX {bitpix}, BSCALE {scale}, BLANK {blank}");
        // Rounding is a seventh of a step or so after smoothing, times the area ratio.
        close_to(
            &hdu.pixels(),
            &Grid::default().gaussian(TGT),
            4.0 * scale.abs() + 2e-5,
            &what,
        );
        for key in ["BSCALE", "BZERO", "BLANK"] {
            assert!(!hdu.has(key), "{what}: {key} is left");
        }
    }
}

#[test]
fn m01_blanks_of_integers_become_nan() {
    for (bitpix, scale, zero, blank) in KINDS {
        let g = Grid::default();
        let mut q = quantised(scale, zero);
        q.iter_mut().filter(|v| **v == blank).for_each(|v| *v += 1);
        let holes = [5 * g.nx + 5, 0, g.pixels() - 1, 45 * g.nx + 12];
        holes.iter().for_each(|at| q[*at] = blank);
        let bench = Bench::new();
        bench.put(
            "c",
            &[integers(&of_width(bitpix, &q), scale, zero, Some(blank))],
        );
        bench.smooth_to(TGT).file("c").run().ok();
        let mut want = g.gaussian(TGT);
        holes.iter().for_each(|at| want[*at] = f64::NAN);
        let got = bench.read("c").primary().pixels();
        same_blanks(&got, &want, &format!("BITPIX {bitpix}, BLANK {blank}"));
        let what = format!("BITPIX {bitpix}");
        let valid = |v: &[f64]| -> Vec<f64> {
            v.iter()
                .zip(&want)
                .filter(|(_, w)| !w.is_nan())
                .map(|(v, _)| *v)
                .collect()
        };
        close_to(&valid(&got), &valid(&want), 6.0 * scale.abs() + 2e-5, &what);
    }
}

#[test]
fn m01_equal_beams_give_the_physical_values() {
    for (bitpix, scale, zero, _) in KINDS {
        let q = quantised(scale, zero);
        let bench = Bench::new();
        bench.put("c", &[integers(&of_width(bitpix, &q), scale, zero, None)]);
        bench.smooth_to(OLD).file("c").run().ok();
        let want: Vec<f64> = q.iter().map(|v| zero + scale * *v as f64).collect();
        let tol = if bitpix < 32 { 1.2e-7 } else { 1e-15 };
        let what = format!("BITPIX {bitpix}, BSCALE {scale}");
        close_to(&bench.read("c").primary().pixels(), &want, tol, &what);
    }
}

#[test]
fn m01_unsigned_integers_by_bzero() {
    let g = Grid::default();
    let at = |i: usize| i as f64 / g.pixels() as f64;
    let n = g.pixels();
    let cards = |zero: f64| image_cards(OLD).set("BSCALE", 1.0).set("BZERO", zero);
    let u16s: Vec<u16> = (0..n).map(|i| (at(i) * 65535.0) as u16).collect();
    let i8s: Vec<i8> = (0..n).map(|i| (at(i) * 255.0 - 128.0) as i8).collect();
    let u32s: Vec<u32> = (0..n).map(|i| (at(i) * 4_294_967_295.0) as u32).collect();
    let bench = Bench::new();
    let flip16 = u16s.iter().map(|v| (v ^ 0x8000) as i16).collect();
    let flip8 = i8s.iter().map(|v| (*v as u8) ^ 0x80).collect();
    let flip32 = u32s.iter().map(|v| (v ^ 0x8000_0000) as i32).collect();
    bench.put(
        "a",
        &[Hdu::primary(
            &[g.nx, g.ny],
            &Samples::I16(flip16),
            &cards(32768.0),
        )],
    );
    bench.put(
        "b",
        &[Hdu::primary(
            &[g.nx, g.ny],
            &Samples::U8(flip8),
            &cards(-128.0),
        )],
    );
    bench.put(
        "c",
        &[Hdu::primary(
            &[g.nx, g.ny],
            &Samples::I32(flip32),
            &cards(2_147_483_648.0),
        )],
    );
    bench
        .smooth_to(OLD)
        .file("a")
        .file("b")
        .file("c")
        .run()
        .ok();
    let want: Vec<f64> = u16s.iter().map(|v| f64::from(*v)).collect();
    close_to(&bench.read("a").primary().pixels(), &want, 1e-9, "uint16");
    let want: Vec<f64> = i8s.iter().map(|v| f64::from(*v)).collect();
    close_to(&bench.read("b").primary().pixels(), &want, 1e-9, "int8");
    let want: Vec<f64> = u32s.iter().map(|v| f64::from(*v)).collect();
    close_to(&bench.read("c").primary().pixels(), &want, 1e-9, "uint32");
}

#[test]
fn m01_scale_cards_on_a_float_image_are_applied() {
    let g = Grid::default();
    let pixels: Vec<f64> = g.gaussian(OLD).iter().map(|v| (v - 0.5) / 2.0).collect();
    let cards = image_cards(OLD).set("BSCALE", 2.0).set("BZERO", 0.5);
    let bench = Bench::new();
    bench.put(
        "c",
        &[Hdu::primary(&[g.nx, g.ny], &Samples::f32(&pixels), &cards)],
    );
    bench.smooth_to(TGT).file("c").run().ok();
    let hdu = bench.read("c").primary().clone();
    close(&hdu.pixels(), &g.gaussian(TGT), "scaled floats");
    assert!(!hdu.has("BSCALE") && !hdu.has("BZERO"));
}

#[test]
fn m03_results_are_never_rounded_to_integers() {
    let q = quantised(0.001, -0.005);
    let bench = Bench::new();
    bench.put("c", &[integers(&of_width(16, &q), 0.001, -0.005, None)]);
    bench.smooth_to(TGT).file("c").run().ok();
    let hdu = bench.read("c").primary().clone();
    assert_eq!(hdu.bitpix(), -32);
    let steps = hdu
        .pixels()
        .iter()
        .filter(|v| ((*v / 0.001).fract().abs() - 0.5).abs() < 0.4)
        .count();
    assert!(steps > 1000, "values lie on the steps of the input");
}

#[test]
fn m04_doubles_stay_doubles() {
    let g = Grid::default();
    let bench = Bench::new();
    let samples = Samples::F64(g.gaussian(OLD));
    bench.put(
        "c",
        &[Hdu::primary(&[g.nx, g.ny], &samples, &image_cards(OLD))],
    );
    bench.smooth_to(TGT).file("c").run().ok();
    let hdu = bench.read("c").primary().clone();
    assert_eq!(hdu.bitpix(), -64);
    // The tails outside the image are the largest difference from the analytic answer.
    close_to(&hdu.pixels(), &g.gaussian(TGT), 1e-8, "doubles");
}

#[test]
fn m04_a_small_signal_on_a_large_level() {
    let g = Grid::default();
    let level = |b: Beam, scale: f64| -> Vec<f64> {
        g.gaussian(b)
            .iter()
            .map(|v| 1e6 + 1e-3 * v * scale)
            .collect()
    };
    let bench = Bench::new();
    let cards = image_cards(OLD).set("BUNIT", "K");
    bench.put(
        "c",
        &[Hdu::primary(
            &[g.nx, g.ny],
            &Samples::F64(level(OLD, 1.0)),
            &cards,
        )],
    );
    bench
        .smooth_to(TGT)
        .args(["--edge", "wrap"])
        .file("c")
        .run()
        .ok();
    let want = level(TGT, 1.0 / area_ratio(TGT, OLD));
    close_to(
        &bench.read("c").primary().pixels(),
        &want,
        1e-7,
        "1e6 and 1e-3",
    );
}

#[test]
fn m04_precision_can_be_asked_for() {
    let g = Grid::default();
    for (samples, flag, bitpix) in [
        (Samples::F64(g.gaussian(OLD)), "f32", -32),
        (Samples::f32(&g.gaussian(OLD)), "f64", -64),
        (Samples::f32(&g.gaussian(OLD)), "auto", -32),
        (Samples::F64(g.gaussian(OLD)), "auto", -64),
    ] {
        for target in [TGT, OLD] {
            let bench = Bench::new();
            bench.put(
                "c",
                &[Hdu::primary(&[g.nx, g.ny], &samples, &image_cards(OLD))],
            );
            bench
                .smooth_to(target)
                .args(["--precision", flag])
                .file("c")
                .run()
                .ok();
            let hdu = bench.read("c").primary().clone();
            assert_eq!(hdu.bitpix(), bitpix);
            close(&hdu.pixels(), &g.gaussian(target), flag);
        }
    }
}

#[test]
fn m05_gzip_is_refused_with_the_command_that_unpacks_it() {
    let gzip = [&b"\x1f\x8b\x08\x00\0\0\0\0\0\x03"[..], &[0x55; 3000]].concat();
    for name in ["g.fits.gz", "g.fits", "g.gz"] {
        let bench = Bench::new();
        let path = bench.path(name);
        std::fs::write(&path, &gzip).unwrap();
        bench
            .smooth_to(TGT)
            .path(&path)
            .run()
            .refused(3, &["gunzip", name]);
    }
    let old = [&b"\x1f\x9d\x90"[..], &[0x55; 3000]].concat();
    let bench = Bench::new();
    let path = bench.path("g.fits.Z");
    std::fs::write(&path, old).unwrap();
    let outcome = bench
        .smooth_to(TGT)
        .path(&path)
        .run()
        .refused(3, &["g.fits.Z"]);
    let said = &outcome.stderr;
    assert!(
        said.contains("gunzip") || said.contains("uncompress"),
        "{said}"
    );
}

/// A tile-compressed image as it stands in a file.
fn compressed() -> Hdu {
    let cards = Cards::new()
        .set("ZIMAGE", true)
        .set("ZCMPTYPE", "RICE_1")
        .set("ZBITPIX", -32)
        .set("ZNAXIS", 2)
        .set("ZNAXIS1", 70)
        .set("ZNAXIS2", 60)
        .and(&image_cards(OLD));
    let column = Column::new("COMPRESSED_DATA", 'J', None, vec![0.0; 60]);
    Hdu::table("", &[column], &cards)
}

#[test]
fn m06_tile_compressed_images_are_refused_with_the_command_that_unpacks_them() {
    for name in ["c.fits.fz", "c.fits"] {
        let bench = Bench::new();
        let path = bench.path(name);
        write::write(&path, &[Hdu::empty_primary(&Cards::new()), compressed()]);
        bench
            .smooth_to(TGT)
            .path(&path)
            .run()
            .refused(3, &["funpack", name]);
    }
}

fn extension(name: &str, beam: Beam) -> Hdu {
    let g = Grid::default();
    Hdu::extension(
        name,
        &[g.nx, g.ny],
        &Samples::f32(&g.gaussian(beam)),
        &image_cards(beam),
    )
}

#[test]
fn m07_an_image_in_an_extension() {
    let bench = Bench::new();
    bench.put(
        "c",
        &[Hdu::empty_primary(&Cards::new()), extension("SCI", OLD)],
    );
    bench.smooth_to(TGT).file("c").run().ok();
    let fits = bench.read("c");
    check_planes(&fits.hdus[1], TGT, &[]);
    assert_eq!(fits.hdus[1].text("XTENSION").as_deref(), Some("IMAGE"));
    assert_eq!(fits.names(), ["SCI"]);
}

#[test]
fn m07_the_hdu_can_be_named_or_numbered() {
    for choice in ["2", "SCI", "sci"] {
        let bench = Bench::new();
        let first = extension("ERR", [20.0, 19.0, 0.0]);
        bench.put(
            "c",
            &[
                Hdu::empty_primary(&Cards::new()),
                first.clone(),
                extension("SCI", OLD),
            ],
        );
        bench
            .smooth_to(TGT)
            .args(["--hdu", choice])
            .file("c")
            .run()
            .ok();
        let fits = bench.read("c");
        same_bits(&fits.hdus[1].bytes, &first.bytes(), "ERR");
        check_planes(&fits.hdus[2], TGT, &[]);
    }
    let bench = Bench::new();
    put_image(&bench, "c", OLD);
    for choice in ["0", "PRIMARY"] {
        bench
            .smooth_to(TGT)
            .args(["--overwrite", "--hdu", choice])
            .file("c")
            .run()
            .ok();
        check_planes(bench.read("c").primary(), TGT, &[]);
    }
}

#[test]
fn m07_an_hdu_that_is_not_there_or_no_image() {
    let bench = Bench::new();
    bench.put("c", &[image(OLD), BeamTable::new(&[OLD]).named("T").hdu()]);
    for choice in ["7", "NOWHERE", "1", "T"] {
        let outcome = bench.smooth_to(TGT).args(["--hdu", choice]).file("c").run();
        let code = outcome.code;
        assert!([2, 3].contains(&code), "--hdu {choice}: exit status {code}");
        outcome.refused(code, &[choice]);
    }
    let empty = bench.put("d", &[Hdu::empty_primary(&Cards::new())]);
    bench
        .smooth_to(TGT)
        .path(&empty)
        .run()
        .refused(3, &["image", "d.fits"]);
}

#[test]
fn m07_a_beam_table_beside_an_image_extension() {
    let g = Grid::default();
    let cards = cube_cards(Order::Plain).and(&casambm());
    let pixels = Samples::f32(&scene::planes(&BEAMS5));
    let science = Hdu::extension("SCI", &[g.nx, g.ny, 5], &pixels, &cards);
    let bench = Bench::new();
    let hdus = [
        Hdu::empty_primary(&Cards::new()),
        science,
        BeamTable::new(&BEAMS5).hdu(),
    ];
    bench.put("c", &hdus);
    bench.smooth_to(TGT).file("c").run().ok();
    check_planes(&bench.read("c").hdus[1], TGT, &[]);
}

#[test]
fn m08_sixty_four_bit_integers() {
    let scale = 2f64.powi(-60);
    let q = quantised(scale, 0.0);
    let bench = Bench::new();
    bench.put("c", &[integers(&Samples::I64(q), scale, 0.0, None)]);
    bench.smooth_to(TGT).file("c").run().ok();
    let hdu = bench.read("c").primary().clone();
    assert_eq!(hdu.bitpix(), -64);
    close_to(&hdu.pixels(), &Grid::default().gaussian(TGT), 1e-8, "int64");
}

#[test]
fn m09_missing_final_padding_is_accepted_and_written() {
    for short in [0, 1, 1000] {
        let bench = Bench::new();
        let path = put_image(&bench, "c", OLD);
        cut(&path, 2880 + 70 * 60 * 4 + short);
        bench.smooth_to(TGT).file("c").run().ok();
        check_planes(bench.read("c").primary(), TGT, &[]);
    }
}

#[test]
fn m09_a_table_without_its_final_padding() {
    let bench = Bench::new();
    let path = put_cube(&bench, "c", &BEAMS5);
    let whole = std::fs::metadata(&path).unwrap().len();
    cut(&path, whole - 2880 + 5 * 20);
    bench.smooth_to(TGT).file("c").run().ok();
    check_planes(bench.read("c").primary(), TGT, &[]);
}
