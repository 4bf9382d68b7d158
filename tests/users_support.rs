//! The tests' own FITS writer, reader, checksum and Gaussians, judged against themselves.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod support;

use support::checksum::{stamp, sum, verify};
use support::sky::{covariance, from_covariance, kernel, margin, same_beam, turned};
use support::*;

#[test]
fn images_of_every_bitpix_have_their_size() {
    let bench = Bench::new();
    let all = [
        Samples::U8(vec![1; 6]),
        Samples::I16(vec![-2; 6]),
        Samples::I32(vec![3; 6]),
        Samples::I64(vec![-4; 6]),
        Samples::F32(vec![0.5; 6]),
        Samples::F64(vec![-0.25; 6]),
    ];
    for samples in all {
        let path = bench.put("x", &[Hdu::primary(&[3, 2], &samples, &Cards::new())]);
        let fits = Fits::read(&path);
        assert_eq!(fits.primary().axes(), [3, 2]);
        assert_eq!(fits.primary().data, samples.bytes());
        assert_eq!(fits.primary().bitpix(), samples.bitpix());
    }
}

#[test]
fn values_come_back() {
    let cards = Cards::new()
        .set("TEXT", "it's / here")
        .set("SMALL", 1e-38)
        .set("BIG", -1.5e9)
        .set("COUNT", 42)
        .set("FLAG", true)
        .history("line");
    let bench = Bench::new();
    let fits = Fits::read(&bench.put("x", &[Hdu::empty_primary(&cards)]));
    let hdu = fits.primary();
    assert_eq!(hdu.text("TEXT").as_deref(), Some("it's / here"));
    assert_eq!(hdu.real("SMALL"), Some(1e-38));
    assert_eq!(hdu.real("BIG"), Some(-1.5e9));
    assert_eq!(hdu.integer("COUNT"), Some(42));
    assert_eq!(hdu.logical("FLAG"), Some(true));
    assert_eq!(hdu.history(), ["line"]);
    assert_eq!(hdu.real("NONE"), None);
}

#[test]
fn tables_come_back() {
    let bench = Bench::new();
    let path = put_cube(&bench, "x", &BEAMS5);
    let fits = Fits::read(&path);
    let table = fits.named("BEAMS").expect("a table");
    assert_eq!(table.column("BPA").unwrap(), [40.0, 43.0, 46.0, 49.0, 52.0]);
    assert_eq!(table.column("CHAN").unwrap(), [0.0, 1.0, 2.0, 3.0, 4.0]);
    assert_eq!(table.text("TUNIT1").as_deref(), Some("arcsec"));
    assert_eq!(fits.primary().planes().len(), 5);
}

#[test]
fn stamped_hdus_verify() {
    let bench = Bench::new();
    let other = Hdu::extension("W", &[3, 1], &Samples::I16(vec![7, 8, 9]), &Cards::new());
    let fits = Fits::read(&bench.put("x", &[stamp(&image(OLD)), stamp(&other)]));
    fits.hdus.iter().for_each(verify);
}

#[test]
fn sums_carry_around() {
    assert_eq!(sum(&[0xff, 0xff, 0xff, 0xff, 0, 0, 0, 2]), 2);
    assert_eq!(sum(&[0x80, 0, 0, 1, 0x80, 0, 0, 1]), 3);
}

#[test]
fn beams_and_covariances_agree() {
    for beam in BEAMS5 {
        same_beam(from_covariance(covariance(beam)), beam, 1e-12);
        assert!(margin(TGT, beam) > 0.0 && margin(beam, TGT) < 0.0);
    }
    same_beam(
        kernel([3.0, 3.0, 0.0], [5.0, 3.0, 90.0]),
        [4.0, 0.0, 90.0],
        1e-9,
    );
}

#[test]
fn a_gaussian_points_where_its_angle_says() {
    // At PA 90 the major axis lies east-west: along x where x is east or west.
    let grid = Grid::default();
    let g = grid.gaussian([20.0, 10.0, 90.0]);
    let at = |x: usize, y: usize| g[y * grid.nx + x];
    assert!((at(34, 31) - 1.0).abs() < 1e-15);
    assert!(
        (at(39, 31) - 0.5).abs() < 1e-12,
        "half at half the major axis"
    );
    assert!(at(34, 36) < 0.1);
    // North through east: east is to the left here, so PA 45 leans up and left.
    let g = grid.gaussian([20.0, 10.0, 45.0]);
    assert!(g[34 * grid.nx + 31] > g[34 * grid.nx + 37]);
}

#[test]
fn wcs_forms_say_the_same_matrix() {
    let grid = Grid::with(turned(-2.0, 3.0, 25.0));
    let value = |cards: &Cards, key: &str| {
        let path = Bench::new();
        let fits = Fits::read(&path.put("x", &[Hdu::empty_primary(cards)]));
        fits.primary().real(key).unwrap()
    };
    let crota = grid.cards(Wcs::Crota(25.0));
    assert!((value(&crota, "CDELT1") * 3600.0 + 2.0).abs() < 1e-12);
    assert!((value(&crota, "CDELT2") * 3600.0 - 3.0).abs() < 1e-12);
    for form in [Wcs::Pc, Wcs::PcAlone] {
        let cards = grid.cards(form);
        let got = value(&cards, "CDELT2") * 3600.0 * value(&cards, "PC2_1");
        assert!((got - grid.matrix[1][0]).abs() < 1e-12, "{form:?}");
    }
    let cards = grid.cards(Wcs::PcOld);
    let got = value(&cards, "CDELT1") * 3600.0 * value(&cards, "PC001002");
    assert!((got - grid.matrix[0][1]).abs() < 1e-12);
}
