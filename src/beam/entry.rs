//! One beam as it is written down: numbers that may be blank, or in the wrong order.
//! Where they are written is the business of `table`, `log`, `cards` and `history`.

use super::source::BeamSource;
use super::{Beam, BeamNote};

/// An axis that is below this is no beam whatever the pixel: 1e-12 arcsec. The float32 number
/// that RACS-tools and fitscube write for a blank channel, 1.2e-38, is below it in every unit.
const LEAST_ARCSEC: f64 = 1e-12;

/// Nothing is wider than the whole sky, 360°: such an axis is as good as an infinite one, and its
/// square may be beyond a double.
const SKY_ARCSEC: f64 = 360.0 * 3600.0;

/// The beams of a source, with remarks: one a channel, or one a plane.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Entries {
    pub(super) beams: Vec<Option<Beam>>,
    pub(super) notes: Vec<BeamNote>,
}

/// Turns entries into beams, counting those with exchanged axes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reader {
    floor_arcsec: f64,
    swapped: u64,
}

impl Reader {
    /// A reader to which an axis under `floor_arcsec` is blank.
    pub(super) fn new(floor_arcsec: f64) -> Self {
        Self {
            floor_arcsec: floor_arcsec.max(LEAST_ARCSEC),
            swapped: 0,
        }
    }

    /// The beam of an entry; `None` for a blank one: not finite, an axis under the floor, or one
    /// wider than the sky.
    ///
    /// BMIN above BMAJ is a slip of names (known from programs that copy AIPS history), so the
    /// values change places and the angle stays.
    pub(super) fn beam(&mut self, bmaj_arcsec: f64, bmin_arcsec: f64, bpa: f64) -> Option<Beam> {
        let swapped = bmin_arcsec > bmaj_arcsec;
        let beam = Beam::new(
            bmaj_arcsec.max(bmin_arcsec),
            bmaj_arcsec.min(bmin_arcsec),
            bpa,
        )
        .ok()?;
        // `max` and `min` pass over a NaN.
        let whole = bmaj_arcsec.is_finite() && bmin_arcsec.is_finite();
        let fits = beam.bmaj_arcsec() <= SKY_ARCSEC;
        let usable = whole && fits && beam.is_usable(self.floor_arcsec);
        self.swapped += u64::from(swapped && usable);
        usable.then_some(beam)
    }

    /// The remark on exchanged axes, if there were any.
    pub(super) fn note(&self, source: &BeamSource) -> Option<BeamNote> {
        let note = BeamNote::AxesSwapped {
            source: source.clone(),
            beams: self.swapped,
        };
        (self.swapped > 0).then_some(note)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_wider_than_the_sky() {
        let mut reader = Reader::new(1e-3);
        assert!(reader.beam(SKY_ARCSEC, SKY_ARCSEC, 0.0).is_some());
        for wide in [SKY_ARCSEC * 1.001, 1e100, f64::MAX] {
            assert_eq!(reader.beam(wide, 10.0, 0.0), None);
            assert_eq!(reader.beam(10.0, wide, 0.0), None);
        }
        assert_eq!(reader.note(&BeamSource::Header), None);
    }

    #[test]
    fn four_ways_to_be_blank() {
        let mut reader = Reader::new(1e-3);
        let tiny = f64::from(f32::MIN_POSITIVE);
        for bad in [
            0.0,
            f64::NAN,
            f64::INFINITY,
            tiny,
            tiny * 3600.0,
            1e-6,
            -3.0,
        ] {
            assert_eq!(reader.beam(bad, bad, bad), None, "{bad}");
            assert_eq!(reader.beam(10.0, bad, 0.0), None, "{bad}");
            assert_eq!(reader.beam(bad, 10.0, 0.0), None, "{bad}");
        }
        assert_eq!(reader.beam(10.0, 5.0, f64::NAN), None);
        assert_eq!(reader.note(&BeamSource::Header), None);
        // Without a floor the sentinel is still none.
        assert_eq!(Reader::new(0.0).beam(tiny, tiny, tiny), None);
    }

    #[test]
    fn exchanged_axes_are_put_right_and_told() {
        let mut reader = Reader::new(1e-3);
        let beam = reader.beam(5.0, 10.0, 200.0);
        assert_eq!(beam, Beam::new(10.0, 5.0, 20.0).ok());
        let note = reader.note(&BeamSource::Cards);
        assert_eq!(
            note,
            Some(BeamNote::AxesSwapped {
                source: BeamSource::Cards,
                beams: 1
            })
        );
    }
}
