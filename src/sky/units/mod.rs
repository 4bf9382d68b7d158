//! What a pixel value counts, from the `BUNIT` text: per beam, or anything else.
//! Only the classification lives here; nobody rewrites a unit, and the text of the header stays.

mod names;
mod parse;

use parse::{Powers, powers};

/// How pixel values answer to a change of the beam.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Brightness {
    /// Per beam (`Jy/beam` and its relatives): values scale by the ratio of the beam areas.
    PerBeam,
    /// Any other unit we know (`K`, `Jy/pixel`, `MJy/sr`, counts, numbers): values do not scale.
    Surface,
    /// No `BUNIT`, or a blank one.
    Absent,
    /// A text that does not say: not a unit, or one that leaves per beam or not open. Holds the
    /// text without surrounding blanks.
    Unknown(String),
}

/// Classifies the text of `BUNIT` (FITS 4.0, section 4.3, and what is found in radio images).
///
/// The text is split into units with exponents; a solidus divides by the one factor after it, so
/// `Jy/beam km/s` is `Jy beam-1 km s-1` as its writers mean. Case does not count: real headers say
/// `JY/BEAM`, and none of the questions asked here hangs on a prefix. A bracket that is no unit,
/// as in `K (Tb)`, is a remark.
///
/// | net factors | answer |
/// |---|---|
/// | `beam-1` | [`Brightness::PerBeam`] |
/// | another power of the beam, such as the variance `Jy2 beam-2`; per beam and per sr | unknown |
/// | flux, power or energy per nothing: `Jy`, `Jy km/s`, `W/m2` | unknown |
/// | logarithms: `mag`, `dB`, `log(Jy/beam)` | unknown |
/// | any other known units, or a pure number | [`Brightness::Surface`] |
///
/// A bare `Jy` is refused on purpose: some writers drop the `/beam`, others the `/pixel`, and the
/// two answers differ by the ratio of the beam areas.
///
/// ```
/// use mmfits::sky::{Brightness, classify};
///
/// assert_eq!(classify(Some("JY/BEAM.KM/S")), Brightness::PerBeam);
/// assert_eq!(classify(Some("K (Tb)")), Brightness::Surface);
/// assert_eq!(classify(Some("  ")), Brightness::Absent);
/// assert_eq!(classify(Some("furlong")), Brightness::Unknown("furlong".to_owned()));
/// ```
pub fn classify(bunit: Option<&str>) -> Brightness {
    let text = bunit.unwrap_or_default().trim();
    if text.is_empty() {
        return Brightness::Absent;
    }
    match powers(text).and_then(|net| meaning(&net)) {
        Some(brightness) => brightness,
        None => Brightness::Unknown(text.to_owned()),
    }
}

/// The answer for known units; `None` where they leave the question open.
fn meaning(net: &Powers) -> Option<Brightness> {
    let areal = net.pixel != 0.0 || net.solid_angle != 0.0;
    let bare_flux = net.flux > 0.0 && !areal && net.angle.abs() < 2.0;
    let per_beam = same(net.beam, -1.0);
    let no_beam = same(net.beam, 0.0);
    if net.logarithmic {
        None
    } else if per_beam && !areal {
        Some(Brightness::PerBeam)
    } else {
        (no_beam && !bare_flux).then_some(Brightness::Surface)
    }
}

/// Equal as exponents, which may be sums of fractions.
fn same(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-9
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks every text of a list parted by `; `.
    fn all(texts: &str, expected: impl Fn(&str) -> Brightness) {
        for text in texts.split("; ") {
            assert_eq!(classify(Some(text)), expected(text), "{text:?}");
        }
    }

    fn unknown(text: &str) -> Brightness {
        Brightness::Unknown(text.trim().to_owned())
    }

    #[test]
    fn per_beam_in_every_spelling() {
        let spellings = "Jy/beam; JY/BEAM; jy/beam; Jy/Beam; Jy / beam;  Jy/beam ; mJy/beam; MJY/BEAM; uJy/beam; \
             µJy/beam; μJy/beam; nJy/beam; Jy/bm; JY/BM; Jy/beams; beam-1 Jy; Jy beam-1; \
             Jy beam^-1; Jy beam**-1; Jy beam**(-1); Jy beam^(-1); Jy beam^{-1}; \
             Jy beam(-1); Jy.beam-1; Jy*beam**-1; Jy·beam-1; Jy beam-1.0; Jy/(beam); \
             (Jy)/(beam); (Jy/beam); [Jy/beam]; Jy per beam; Jy/beam^1; Jansky/beam; \
             JANSKYS/BEAM; 1e-3 Jy/beam; 10**-3 Jy/beam; 10^-6 Jy/beam; 10-3 Jy/beam; \
             0.001Jy/beam; 1E+3Jy/beam";
        all(spellings, |_| Brightness::PerBeam);
    }

    #[test]
    fn per_beam_with_more_factors() {
        let spellings = "Jy/beam km/s; JY/BEAM.KM/S; Jy/beam.km/s; Jy/beam*km/s; JY/BEAM*M/S; \
             JY/B*M/S; Jy km/s /beam; Jy km s-1 beam-1; beam-1 Jy km s-1; Jy/beam m/s; \
             Jy/beam.Hz; Jy/beam/Hz; Jy/(beam Hz); Jy/beam/(rad/m2); Jy/beam/rmsf; W/beam; \
             K/beam; W m-2 Hz-1 beam-1; Jy/beam (Stokes I); counts/beam; \
             erg/s/cm2/Hz/beam";
        all(spellings, |_| Brightness::PerBeam);
    }

    #[test]
    fn known_units_that_are_not_per_beam() {
        let spellings = "K; k; mK; MK; uK; Kelvin; KELVINS; K km/s; K.KM/S; K km s-1; K (Tb); K(Tb); \
             K (Tmb); K (Ta*); K [Tb]; K (main beam); K (T_A^*); K Tmb; Jy/pixel; \
             JY/PIXEL; Jy/pix; Jy/px; Jy pixel-1; Jy/pixel km/s; Jy/pixel.km/s; Jy/sr; \
             MJy/sr; MJY/SR; Jy sr-1; Jy/steradian; kJy/sr; Jy/arcsec**2; Jy/arcsec^2; \
             Jy/arcsec2; mJy/arcsec2; Jy arcsec-2; Jy/arcmin2; Jy/deg**2; Jy/mas^2; \
             Jy/(arcsec arcsec); erg/s/cm2/Hz/sr; erg s-1 cm-2 Hz-1 sr-1; ergs/s/cm**2/sr; \
             W m-2 Hz-1 sr-1; W/m^2/Hz/sr; W/m2 sr-1; 10**-20 W/m2/Hz/sr; adu; ADU; DN; \
             COUNTS; count/s; ct; ELECTRONS; electron/s; ph/s/cm2/sr; photon; km/s; m/s; \
             Hz; rad/m2; rad m-2; deg; %; percent; 1; 10**-3; ratio; dimensionless; \
             Rayleigh; sqrt(K2); Msun/pc2; cm-2; cm**(-2); m(1.5); m**(3/2); pc cm-3; 1/s; \
             /cm2; K2";
        all(spellings, |_| Brightness::Surface);
    }

    #[test]
    fn absent_or_blank() {
        assert_eq!(classify(None), Brightness::Absent);
        all("; ;        ; \t", |_| Brightness::Absent);
    }

    #[test]
    fn what_is_no_unit_is_unknown() {
        let texts = "furlong; UNDEFINED; ???; spectral index; SP INDEX; Jybeam; Jy//beam; Jy/; \
             *Jy; Jy**; Jy^; Jy/(beam; Jy/beam); (); Jy/(); (stuff); (; ); Jy/furlong; \
             furlong/beam; Jy^beam; Jy**1e999/beam; exp(K); Jy/beam=; \u{0}; Jy_beam; \
             Jy @ beam; sqrt; m**(1/0); Jy (per the beam); n/a; \
              furlong ";
        all(texts, unknown);
    }

    #[test]
    fn what_leaves_the_question_open_is_unknown() {
        let texts = "Jy; mJy; JY; Jy km/s; W/m2; W/m2/Hz; erg/s; mag; mag/beam; dB; dex; \
             log(Jy/beam); Jy beam; Jy*beam; Jy/beam-1; Jy2/beam2; (Jy/beam)^2; \
             (Jy/beam)**2; sqrt(Jy/beam); beam; beam/pixel; Jy/beam/sr; Jy/beam/pixel; \
             Jy/beam beam";
        all(texts, unknown);
    }

    #[test]
    fn hostile_texts_end_quickly() {
        let texts = [
            "(".repeat(5000),
            "m ".repeat(5000),
            "µ".repeat(68),
            "(".repeat(150),
        ];
        for text in texts {
            let answer = classify(Some(&text));
            assert!(matches!(answer, Brightness::Unknown(_)), "{answer:?}");
        }
    }
}
