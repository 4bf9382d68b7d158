//! Beam algebra and common beams against `data/beams.json`: optima made with an independent
//! solver, pairs with the Gaussian formulas. The file says what its columns are.

use mmfits::beam::{Beam, Relation, common_beam};
use serde_json::Value;

fn golden() -> Value {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/beams.json");
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn beam(value: &Value) -> Beam {
    let [a, b, pa] = [0, 1, 2].map(|index| value[index].as_f64().unwrap());
    Beam::new(a, b, pa).unwrap()
}

fn assert_same(got: &Beam, want: &Beam, what: &str) {
    let off = |got: f64, want: f64| (got / want - 1.0).abs();
    assert!(
        off(got.bmaj_arcsec(), want.bmaj_arcsec()) < 1e-9,
        "{what}: {got}, not {want}"
    );
    assert!(
        off(got.bmin_arcsec(), want.bmin_arcsec()) < 1e-9,
        "{what}: {got}, not {want}"
    );
    let turn = (got.bpa_deg() - want.bpa_deg()).rem_euclid(180.0);
    assert!(turn.min(180.0 - turn) < 1e-7, "{what}: {got}, not {want}");
}

#[test]
fn common_beams_are_the_optimum() {
    let golden = golden();
    let sets = golden["common"].as_array().unwrap();
    assert_eq!(sets.len(), 52);
    for set in sets {
        let name = set["name"].as_str().unwrap();
        let beams: Vec<Beam> = set["beams"].as_array().unwrap().iter().map(beam).collect();
        let got = common_beam(&beams).unwrap();
        let want = beam(&set["exact_optimum"]);
        let ratio = got.area_arcsec2() / want.area_arcsec2();
        assert!(
            (ratio - 1.0).abs() < 1e-9,
            "{name}: {got}, not {want}: {ratio}"
        );
        for inner in &beams {
            let rest = got.covariance().minus(inner.covariance());
            let margin = rest.eigenvalues().1 / inner.bmaj_arcsec().powi(2);
            assert!(
                margin > -1e-13,
                "{name}: {inner} sticks out of {got} by {margin:e}"
            );
            assert!(got.contains(inner));
        }
        let theirs = beam(&set["radio_beam"]);
        assert!(
            ratio <= theirs.area_arcsec2() / want.area_arcsec2() + 1e-9,
            "{name}"
        );
    }
}

#[test]
fn order_and_repetition_change_no_bit() {
    for set in golden()["common"].as_array().unwrap() {
        let mut beams: Vec<Beam> = set["beams"].as_array().unwrap().iter().map(beam).collect();
        let want = common_beam(&beams).unwrap();
        let mut state = 1_u64;
        for _ in 0..4 {
            for index in (1..beams.len()).rev() {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
                beams.swap(index, (state >> 33) as usize % (index + 1));
            }
            assert_eq!(common_beam(&beams).unwrap(), want, "{}", set["name"]);
        }
        beams.extend(beams.clone());
        assert_eq!(common_beam(&beams).unwrap(), want, "{}", set["name"]);
    }
}

#[test]
fn pairs_convolve_and_deconvolve() {
    let golden = golden();
    let pairs = golden["pairs"].as_array().unwrap();
    assert_eq!(pairs.len(), 60);
    let mut unreachable = 0;
    for pair in pairs {
        let (a, b) = (beam(&pair["a"]), beam(&pair["b"]));
        let both = a.convolve(&b).unwrap();
        assert_same(&both, &beam(&pair["a_conv_b"]), "a * b");
        let back = both.deconvolve(&a).unwrap();
        assert_same(&back, &beam(&pair["a_conv_b_deconv_a"]), "a * b / a");
        let area = pair["area_sr_a"].as_f64().unwrap();
        assert!(
            (a.area_sr() / area - 1.0).abs() < 1e-12,
            "{} {area}",
            a.area_sr()
        );
        let other = beam(&pair["other"]);
        let got = other.deconvolve(&a);
        if pair["other_deconv_a"].get("error").is_some() {
            assert_eq!(got, None, "{other} / {a}");
            assert!(matches!(
                Relation::between(&a, &other),
                Relation::Unreachable { .. }
            ));
            unreachable += 1;
        } else {
            assert_same(&got.unwrap(), &beam(&pair["other_deconv_a"]), "other / a");
        }
    }
    assert!(unreachable > 10 && unreachable < 60, "{unreachable}");
}
