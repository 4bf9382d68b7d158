//! How a step of one pixel moves on the sky, in every form a header may give it.

use super::cards;
use mmfits::sky::{Axes, PixelToSky, SkyError};

/// The Jacobian of a two-axis RA/DEC header with these further cards.
fn jacobian(more: &[&str]) -> Result<[[f64; 2]; 2], SkyError> {
    let sky = ["CTYPE1  = 'RA---SIN'", "CTYPE2  = 'DEC--SIN'"];
    let header = cards(&[&sky, more].concat());
    let axes = Axes::find(&header, &[70, 60, 5])?;
    PixelToSky::from_header(&header, &axes).map(|sky| sky.matrix())
}

#[track_caller]
fn near(found: [[f64; 2]; 2], expected: [[f64; 2]; 2], tolerance: f64) {
    let largest = expected
        .iter()
        .flatten()
        .fold(0.0_f64, |l, e| l.max(e.abs()));
    for (found, expected) in found.iter().flatten().zip(expected.iter().flatten()) {
        let off = (found - expected).abs() / largest;
        assert!(
            off <= tolerance,
            "{found} is not {expected}, off by {off:e}"
        );
    }
}

#[test]
fn a12_to_a15_jacobians_as_astropy_has_them() {
    let text = include_str!("../data/jacobians.json");
    let rows: Vec<serde_json::Value> = serde_json::from_str(text).unwrap();
    let matrix = |value: &serde_json::Value| -> [[f64; 2]; 2] {
        serde_json::from_value(value.clone()).unwrap()
    };
    assert!(rows.len() > 50);
    for row in &rows {
        let name = row["name"].as_str().unwrap();
        let lines: Vec<&str> = row["cards"]
            .as_array()
            .unwrap()
            .iter()
            .map(|c| c.as_str().unwrap())
            .collect();
        let header = cards(&lines);
        let lengths: Vec<u64> = serde_json::from_value(row["axes"].clone()).unwrap();
        let axes = Axes::find(&header, &lengths).unwrap();
        let found =
            PixelToSky::from_header(&header, &axes).unwrap_or_else(|e| panic!("{name}: {e}"));
        if !name.starts_with("lonpole") {
            near(found.matrix(), matrix(&row["matrix"]), 1e-12);
        }
        if row.get("jacobian").is_some() {
            near(found.matrix(), matrix(&row["jacobian"]), 1e-6);
        }
    }
}

#[test]
fn user_cases_define_the_signs() {
    let [half_root_three, half] = [3.0_f64.sqrt() / 2.0, 0.5];
    let turned = [
        [-2.0 * half_root_three, -2.0 * half],
        [-2.0 * half, 2.0 * half_root_three],
    ];
    let step = [
        "CDELT1  = -5.555555555555556E-04",
        "CDELT2  =  5.555555555555556E-04",
    ];
    near(jacobian(&step).unwrap(), [[-2.0, 0.0], [0.0, 2.0]], 1e-12);
    let crota = jacobian(&[step[0], step[1], "CROTA2  =                 30.0"]);
    near(crota.unwrap(), turned, 1e-12);
    let cd = jacobian(&[
        "CD1_1   = -4.811252243246882E-04",
        "CD1_2   = -2.777777777777778E-04",
        "CD2_1   = -2.777777777777778E-04",
        "CD2_2   =  4.811252243246882E-04",
    ]);
    near(cd.unwrap(), turned, 1e-12);
    let pc = jacobian(&[
        step[0],
        step[1],
        "PC1_1   =   0.8660254037844387",
        "PC1_2   =                  0.5",
        "PC2_1   =                 -0.5",
        "PC2_2   =   0.8660254037844387",
    ]);
    near(pc.unwrap(), turned, 1e-12);
}

#[test]
fn precedence_of_the_forms() {
    let cd = ["CD1_1   = -0.001", "CD2_2   = 0.001"];
    let straight = [[-3.6, 0.0], [0.0, 3.6]];
    // CD over CDELT and CROTA2; a CD3_3 alone is no matrix of the sky.
    let stale = ["CDELT1  = 1.0", "CDELT2  = 1.0", "CROTA2  = 45.0"];
    near(
        jacobian(&[&cd[..], &stale].concat()).unwrap(),
        straight,
        1e-12,
    );
    let lone = jacobian(&["CDELT1  = -0.001", "CDELT2  = 0.001", "CD3_3   = 1E6"]);
    near(lone.unwrap(), straight, 1e-12);
    // PC over CROTA2.
    let pc = jacobian(&[
        "CDELT1  = -0.001",
        "CDELT2  = 0.001",
        "CROTA2  = 45.0",
        "PC1_1   = 1",
    ]);
    near(pc.unwrap(), straight, 1e-12);
    // PC without CDELT stands for itself.
    near(
        jacobian(&["PC1_1   = -0.001", "PC2_2   = 0.001"]).unwrap(),
        straight,
        1e-12,
    );
    // Zero-padded indices of CASA.
    let casa = jacobian(&["CDELT1  = -0.001", "CDELT2  = 0.001", "PC01_02 = 0.5"]);
    near(casa.unwrap(), [[-3.6, -1.8], [0.0, 3.6]], 1e-12);
    // Both matrices, agreeing and not.
    let step = ["CDELT1  = -0.001", "CDELT2  = 0.001"];
    let same = jacobian(&[&cd[..], &step, &["PC1_1   = 1.0"]].concat());
    near(same.unwrap(), straight, 1e-12);
    let error = jacobian(&[&cd[..], &step, &["PC1_2   = 0.1"]].concat()).unwrap_err();
    assert!(matches!(error, SkyError::TwoMatrices { .. }), "{error}");
}

#[test]
fn units_of_the_celestial_axes() {
    for (unit, step) in [
        ("deg", "0.001"),
        ("DEG", "0.001"),
        ("degree", "0.001"),
        ("degrees", "0.001"),
        ("        ", "0.001"),
        ("arcsec", "3.6"),
        ("ARCSEC", "3.6"),
        ("arcmin", "0.06"),
        ("mas", "3600.0"),
        ("rad", "1.7453292519943295E-05"),
    ] {
        let found = jacobian(&[
            &format!("CDELT1  = -{step}"),
            &format!("CDELT2  = {step}"),
            &format!("CUNIT1  = '{unit}'"),
            &format!("CUNIT2  = '{unit}'"),
        ]);
        near(found.unwrap(), [[-3.6, 0.0], [0.0, 3.6]], 1e-12);
    }
    let error = jacobian(&["CDELT1  = 1.0", "CDELT2  = 1.0", "CUNIT2  = 'm'"]).unwrap_err();
    assert!(error.to_string().contains("CUNIT2 = 'm'"), "{error}");
}

#[test]
fn headers_without_a_usable_pixel_size_are_refused_by_keyword() {
    let refused = |more: &[&str], keyword: &str| {
        let text = jacobian(more).unwrap_err().to_string();
        assert!(text.contains(keyword), "{more:?}: {text}");
    };
    refused(&[], "CDELT1");
    refused(&["CDELT1  = 0.001"], "CDELT2");
    refused(&["CDELT1  = 0.001", "PC1_1   = 1.0"], "CDELT2");
    refused(&["CDELT1  = 0.001", "CDELT2  = 0.0"], "CDELT2 = 0");
    refused(&["CDELT1  = 0.001", "CDELT2  = 1E999"], "cannot read");
    refused(&["CDELT1  = 1E-200", "CDELT2  = 1E-200"], "CDELT1, CDELT2");
    refused(&["CD1_1   = 0.001"], "CD1_1");
    let parallel = [
        "CD1_1   = 0.001",
        "CD1_2   = 0.002",
        "CD2_1   = 0.0015",
        "CD2_2   = 0.003",
    ];
    refused(&parallel, "CD1_1, CD1_2, CD2_1, CD2_2");
    let step = ["CDELT1  = -0.001", "CDELT2  = 0.001"];
    refused(&[step[0], step[1], "PC3_1   = 0.1"], "PC3_1");
    refused(&[step[0], step[1], "PC2_3   = -0.1"], "PC2_3");
    refused(
        &["CD1_1   = 0.001", "CD2_2   = 0.001", "CD3_2   = 5.0"],
        "CD3_2",
    );
    refused(&[step[0], step[1], "CROTA1  = 30.0"], "CROTA1 = 30");
    refused(&[step[0], step[1], "CROTA2  = 'north'"], "cannot read");
    // Rounding is no coupling, nor is a world axis without pixels, nor a rotation given twice.
    for harmless in ["PC3_1   = 1E-17", "PC1_4   = 0.5", "CROTA1  = 0.0"] {
        near(
            jacobian(&[step[0], step[1], harmless]).unwrap(),
            [[-3.6, 0.0], [0.0, 3.6]],
            1e-12,
        );
    }
}

#[test]
fn the_native_pole_turns_zenithal_images_only() {
    let pole = |projection: &str, lonpole: &str| {
        let header = cards(&[
            &format!("CTYPE1  = 'RA---{projection}'"),
            &format!("CTYPE2  = 'DEC--{projection}'"),
            "CDELT1  = -0.001",
            "CDELT2  = 0.001",
            &format!("LONPOLE = {lonpole}"),
        ]);
        let axes = Axes::find(&header, &[70, 60]).unwrap();
        PixelToSky::from_header(&header, &axes)
    };
    let straight = [[-3.6, 0.0], [0.0, 3.6]];
    for (projection, lonpole) in [("SIN", "180.0"), ("SFL", "180.0"), ("CAR", "0.0")] {
        near(pole(projection, lonpole).unwrap().matrix(), straight, 1e-12);
    }
    near(
        pole("SIN", "90.0").unwrap().matrix(),
        [[0.0, -3.6], [-3.6, 0.0]],
        1e-12,
    );
    let error = pole("CAR", "90.0").unwrap_err();
    assert!(error.to_string().contains("LONPOLE = 90"), "{error}");
}

#[test]
fn a_jacobian_and_its_inverse() {
    let sky = PixelToSky::new([[-2.0, 0.5], [0.25, 3.0]]).unwrap();
    let [[a, b], [c, d]] = sky.matrix();
    let [[e, f], [g, h]] = sky.inverse();
    near(
        [
            [a * e + b * g, a * f + b * h],
            [c * e + d * g, c * f + d * h],
        ],
        [[1.0, 0.0], [0.0, 1.0]],
        1e-15,
    );
    assert!((sky.determinant() + 6.125).abs() < 1e-12);
    assert!((sky.pixel_scale_arcsec() - 6.125_f64.sqrt()).abs() < 1e-12);
    for bad in [
        [[0.0; 2]; 2],
        [[f64::NAN, 0.0], [0.0, 1.0]],
        [[f64::INFINITY, 0.0], [0.0, 1.0]],
    ] {
        assert!(PixelToSky::new(bad).is_err());
    }
}
