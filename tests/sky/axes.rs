//! Which axis is which, and which channel and Stokes a plane has.

use super::cards;
use fits_layout::Header;
use mmfits::sky::{Axes, AxisKind, PlaneIndex, SkyError, SkyNote};

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
