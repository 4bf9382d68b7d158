//! The axes and the pixel sizes of headers, judged by astropy (`tests/data/jacobians.json`, made by
//! `scripts/jacobians.py`), by the FITS standard and by the user cases on axes and orientation.
//! Headers are made from cards here; whole files are tried elsewhere.

use fits_layout::Header;
use mmfits::sky::{Axes, AxisKind, PixelToSky, PlaneIndex, SkyError, SkyNote};

/// A header of these cards, each as it stands in a file.
fn cards(cards: &[&str]) -> Header {
    let mut bytes = Vec::new();
    for card in cards.iter().chain(&["END"]) {
        bytes.extend_from_slice(format!("{card:<80}").as_bytes());
    }
    bytes.resize(bytes.len().next_multiple_of(2880), b' ');
    Header::parse(&bytes, 0).unwrap().0
}

/// A header with these axis types; an empty one has no card.
fn ctypes(types: &[&str]) -> Header {
    let texts: Vec<String> = types
        .iter()
        .enumerate()
        .filter(|(_, ctype)| !ctype.is_empty())
        .map(|(k, ctype)| format!("CTYPE{}  = '{ctype:<8}'", k + 1))
        .collect();
    cards(&texts.iter().map(String::as_str).collect::<Vec<_>>())
}

fn find(types: &[&str], lengths: &[u64]) -> Result<Axes, SkyError> {
    Axes::find(&ctypes(types), lengths)
}

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

// ---- axes

#[test]
fn a01_axes_are_found_by_name_in_any_order() {
    for (types, lengths) in [
        (["RA---SIN", "DEC--SIN", "STOKES", "FREQ"], [150, 100, 4, 5]),
        (["RA---SIN", "DEC--SIN", "FREQ", "STOKES"], [150, 100, 5, 4]),
    ] {
        let axes = find(&types, &lengths).unwrap();
        assert_eq!((axes.channels(), axes.stokes_count()), (5, 4), "{types:?}");
        assert_eq!(axes.celestial(), (0, 1));
        assert!(axes.notes().is_empty());
    }
}

#[test]
fn planes_know_their_channel_and_stokes() {
    let casa = find(&["RA---SIN", "DEC--SIN", "STOKES", "FREQ"], &[15, 10, 4, 5]).unwrap();
    assert_eq!(
        casa.plane(0),
        PlaneIndex {
            channel: 0,
            stokes: 0
        }
    );
    assert_eq!(
        casa.plane(6),
        PlaneIndex {
            channel: 1,
            stokes: 2
        }
    );
    assert_eq!(
        casa.plane(19),
        PlaneIndex {
            channel: 4,
            stokes: 3
        }
    );
    let askap = find(&["RA---SIN", "DEC--SIN", "FREQ", "STOKES"], &[15, 10, 5, 4]).unwrap();
    assert_eq!(
        askap.plane(6),
        PlaneIndex {
            channel: 1,
            stokes: 1
        }
    );
    let time = ["RA---SIN", "DEC--SIN", "TIME", "STOKES", "BEAM", "FREQ"];
    let axes = find(&time, &[15, 10, 3, 2, 7, 5]).unwrap();
    assert_eq!((axes.spectral(), axes.stokes()), (Some(5), Some(3)));
    // time 2, stokes 1, beam 6, channel 4
    assert_eq!(
        axes.plane(2 + 3 * (1 + 2 * (6 + 7 * 4))),
        PlaneIndex {
            channel: 4,
            stokes: 1
        }
    );
    assert_eq!(axes.kind(2), AxisKind::Other);
    assert_eq!(axes.kind(5), AxisKind::Spectral);
}

#[test]
fn a02_a04_a07_a08_a11_shapes() {
    let two = find(&["RA---SIN", "DEC--SIN"], &[150, 100]).unwrap();
    assert_eq!(
        (two.channels(), two.stokes_count(), two.spectral()),
        (1, 1, None)
    );
    let no_stokes = find(&["RA---SIN", "DEC--SIN", "FREQ"], &[150, 100, 8]).unwrap();
    assert_eq!((no_stokes.channels(), no_stokes.stokes_count()), (8, 1));
    let iquv = find(&["RA---SIN", "DEC--SIN", "STOKES"], &[150, 100, 4]).unwrap();
    assert_eq!((iquv.channels(), iquv.stokes_count()), (1, 4));
    assert_eq!(
        iquv.plane(3),
        PlaneIndex {
            channel: 0,
            stokes: 3
        }
    );
    let five = ["RA---SIN", "DEC--SIN", "FREQ", "STOKES", "TIME"];
    let degenerate = find(&five, &[150, 100, 1, 1, 1]).unwrap();
    assert_eq!((degenerate.channels(), degenerate.stokes_count()), (1, 1));
    assert_eq!(degenerate.spectral(), Some(2));
    assert!(degenerate.notes().is_empty());
}

#[test]
fn celestial_types_in_every_spelling() {
    let pairs = [
        ("RA---SIN", "DEC--SIN"),
        ("ra---tan", "dec--tan"),
        ("RA--SIN", "DEC-SIN"),
        ("GLON-CAR", "GLAT-CAR"),
        ("ELON-AIT", "ELAT-AIT"),
        ("SLON-TAN", "SLAT-TAN"),
        ("HPLN-TAN", "HPLT-TAN"),
        ("LL---SIN", "MM---SIN"),
        ("RA---TAN-SIP", "DEC--TAN-SIP"),
    ];
    for (lon, lat) in pairs {
        assert_eq!(
            find(&[lon, lat], &[150, 100]).unwrap().celestial(),
            (0, 1),
            "{lon}"
        );
        let swapped = find(&[lat, lon], &[150, 100]).unwrap();
        assert_eq!(swapped.celestial(), (1, 0), "{lat}");
        assert_eq!(swapped.kind(0), AxisKind::Latitude);
        assert!(swapped.notes().is_empty());
    }
    for (lon, lat) in [("RA", "DEC"), ("LL", "MM"), ("GLON", "GLAT")] {
        let axes = find(&[lon, lat], &[150, 100]).unwrap();
        let note = SkyNote::NoProjection {
            axis: 1,
            ctype: lon.to_owned(),
        };
        assert_eq!(axes.notes(), &[note]);
    }
}

#[test]
fn unnamed_axes_are_taken_as_the_sky_with_a_note() {
    for (first, second) in [
        ("", ""),
        ("LINEAR", "LINEAR"),
        ("PIXEL", "PIXEL"),
        ("X", "Y"),
    ] {
        let axes = find(&[first, second, "FREQ"], &[150, 100, 3]).unwrap();
        assert_eq!(axes.celestial(), (0, 1));
        let (first, second) = (first.to_owned(), second.to_owned());
        assert_eq!(axes.notes(), &[SkyNote::SkyAssumed { first, second }]);
    }
    assert!(Axes::find(&cards(&["CTYPE1  =", "CTYPE2  = '        '"]), &[15, 10]).is_ok());
}

#[test]
fn a_lone_unnamed_axis_is_the_channel_axis_with_a_note() {
    let axes = find(&["RA---SIN", "DEC--SIN", "", "STOKES"], &[150, 100, 3, 1]).unwrap();
    assert_eq!(axes.channels(), 3);
    let ctype = String::new();
    assert_eq!(
        axes.notes(),
        &[SkyNote::ChannelsAssumed {
            axis: 3,
            ctype,
            length: 3
        }]
    );
    let time = find(
        &["RA---SIN", "DEC--SIN", "STOKES", "TIME"],
        &[150, 100, 4, 6],
    )
    .unwrap();
    assert_eq!((time.spectral(), time.channels()), (Some(3), 6));
    let two = find(&["RA---SIN", "DEC--SIN", "TIME", "IF"], &[150, 100, 4, 6]).unwrap();
    assert_eq!((two.spectral(), two.channels()), (None, 1));
    let named = find(&["RA---SIN", "DEC--SIN", "FREQ", "TIME"], &[150, 100, 1, 6]).unwrap();
    assert_eq!((named.channels(), named.plane(5).channel), (1, 0));
}

#[test]
fn of_two_spectral_axes_the_longer_counts() {
    let types = ["RA---SIN", "DEC--SIN", "FREQ", "VELO-LSR"];
    let short = find(&types, &[150, 100, 1, 9]).unwrap();
    assert_eq!((short.spectral(), short.channels()), (Some(3), 9));
    assert!(short.notes().is_empty());
    let both = find(&types, &[150, 100, 7, 3]).unwrap();
    assert_eq!((both.spectral(), both.plane(8).channel), (Some(2), 1));
    assert!(matches!(
        both.notes(),
        [SkyNote::SpectralIgnored {
            axis: 4,
            used: 3,
            ..
        }]
    ));
    let equal = find(&types, &[150, 100, 3, 3]).unwrap();
    assert_eq!(equal.spectral(), Some(2));
}

#[test]
fn the_reference_channel_is_that_of_crpix() {
    let reference = |crpix: &str| {
        let spectral = "CTYPE3  = 'FREQ    '";
        let header = cards(&[
            "CTYPE1  = 'RA---SIN'",
            "CTYPE2  = 'DEC--SIN'",
            spectral,
            crpix,
        ]);
        Axes::find(&header, &[15, 10, 5])
            .unwrap()
            .reference_channel()
    };
    assert_eq!(reference("CRPIX3  =                  1.0"), Some(0));
    assert_eq!(reference("CRPIX3  =                    5"), Some(4));
    assert_eq!(reference("CRPIX3  =                  2.6"), Some(2));
    assert_eq!(reference("CRPIX3  =                  6.0"), None);
    assert_eq!(reference("CRPIX3  =                  0.4"), None);
    assert_eq!(reference("CRPIX3  =                1E300"), None);
    assert_eq!(reference("CRPIX3  = 'first   '"), None);
    assert_eq!(reference("CRPIX4  =                  1.0"), None);
}

#[test]
fn a_sky_that_is_not_first_is_refused() {
    let error = find(&["FREQ", "RA---SIN", "DEC--SIN"], &[5, 150, 100]).unwrap_err();
    let text = error.to_string();
    assert!(text.contains("2 ('RA---SIN') and 3 ('DEC--SIN')"), "{text}");
    assert!(text.contains("transpose"), "{text}");
    let split = find(&["RA---SIN", "FREQ", "DEC--SIN"], &[150, 5, 100]).unwrap_err();
    assert!(matches!(
        split,
        SkyError::SkyNotFirst {
            lon_axis: 1,
            lat_axis: 3,
            ..
        }
    ));
    let groups = find(&["", "", "", "", "RA", "DEC"], &[3, 1, 128, 1, 1, 1]).unwrap_err();
    assert!(matches!(
        groups,
        SkyError::SkyNotFirst {
            lon_axis: 5,
            lat_axis: 6,
            ..
        }
    ));
}

#[test]
fn what_is_no_sky_is_refused() {
    let uv = find(&["UU---SIN", "VV---SIN"], &[150, 100]).unwrap_err();
    assert!(uv.to_string().contains("UU---SIN"), "{uv}");
    let slit = find(&["LAMBDA", "ANGLE"], &[62, 44]).unwrap_err();
    assert!(matches!(slit, SkyError::NotSky { .. }));
    let half = find(&["RA---SIN", "FREQ"], &[150, 5]).unwrap_err();
    assert!(matches!(
        half,
        SkyError::HalfSky {
            axis: 1,
            missing: "latitude",
            ..
        }
    ));
    let other_half = find(&["", "DEC--SIN"], &[150, 5]).unwrap_err();
    assert!(matches!(
        other_half,
        SkyError::HalfSky {
            axis: 2,
            missing: "longitude",
            ..
        }
    ));
    let mixed = find(&["RA---SIN", "GLAT-SIN"], &[150, 100]).unwrap_err();
    assert!(matches!(
        mixed,
        SkyError::MixedSky {
            axis: 1,
            other_axis: 2,
            ..
        }
    ));
    let one = find(&["RA---SIN"], &[150]).unwrap_err();
    assert!(matches!(one, SkyError::TooFewAxes { found: 1 }));
    let number = Axes::find(&cards(&["CTYPE1  =                    1"]), &[15, 10]).unwrap_err();
    assert!(matches!(number, SkyError::Card(_)));
    assert!(std::error::Error::source(&number).is_some());
}

#[test]
fn hostile_axes_do_no_harm() {
    let axes = find(&["RA", "DEC", "TIME", "IF", "FREQ"], &[u64::MAX; 5]).unwrap();
    assert_eq!(axes.plane(u64::MAX).channel, 1);
    let empty = find(&["RA", "DEC", "TIME", "FREQ"], &[3, 2, 0, 0]).unwrap();
    assert_eq!(empty.plane(7), PlaneIndex::default());
    assert!(find(&[], &[3; 999]).is_ok());
}

// ---- pixel sizes

#[test]
fn a12_to_a15_jacobians_as_astropy_has_them() {
    let text = include_str!("data/jacobians.json");
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
