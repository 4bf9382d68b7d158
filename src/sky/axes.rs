//! Which axes of a cube are the sky, the spectrum and the polarisation, from `CTYPEn`, and which
//! channel and Stokes each plane therefore has. Pixel sizes are `wcs`'s.

use fits_layout::Header;

use super::ctype::{Named, named, projection};
use super::error::SkyError;
use super::note::SkyNote;

/// What an axis does in its cube.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AxisKind {
    /// Celestial longitude.
    Longitude,
    /// Celestial latitude.
    Latitude,
    /// The axis that counts channels.
    Spectral,
    /// The axis that counts polarisations.
    Stokes,
    /// Any other; planes along it share their channel and Stokes.
    Other,
}

/// Where a plane stands along the channels and polarisations, both from 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PlaneIndex {
    /// Index along the spectral axis, 0 where there is none.
    pub channel: u64,
    /// Index along the Stokes axis, 0 where there is none.
    pub stokes: u64,
}

/// The parts that the axes of one image HDU play. Axes are counted from 0 here, `NAXIS1` first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Axes {
    lengths: Vec<u64>,
    ctypes: Vec<String>,
    celestial: (usize, usize),
    spectral: Option<usize>,
    stokes: Option<usize>,
    reference_channel: Option<u64>,
    notes: Vec<SkyNote>,
}

impl Axes {
    /// Finds the axes of an image with these `lengths` (`NAXIS1` first, at least two).
    ///
    /// The celestial axes are recognised by `CTYPEn` wherever they stand, with or without a
    /// projection and in any case, and must be the first two, in either order: a plane is `NAXIS1`
    /// by `NAXIS2` pixels. Where the first two have no name (absent, blank, `LINEAR`) and no other
    /// axis is celestial, they are taken as longitude and latitude. Of several spectral axes the
    /// longest counts channels, the first of equals; where none is named, so does the only other
    /// axis that is longer than 1. What was assumed is in [`Axes::notes`].
    ///
    /// # Errors
    /// [`SkyError::Card`] for a `CTYPEn` that is no string; [`SkyError::TooFewAxes`],
    /// [`SkyError::NotSky`], [`SkyError::HalfSky`], [`SkyError::MixedSky`] and
    /// [`SkyError::SkyNotFirst`] as they say.
    ///
    /// ```
    /// use fits_layout::Header;
    /// use mmfits::sky::Axes;
    ///
    /// let mut header = Header::new();
    /// for (k, ctype) in ["RA---SIN", "DEC--SIN", "STOKES", "FREQ"].iter().enumerate() {
    ///     header.set(&format!("CTYPE{}", k + 1), *ctype, None)?;
    /// }
    /// let axes = Axes::find(&header, &[150, 100, 4, 64])?;
    /// assert_eq!((axes.channels(), axes.stokes_count()), (64, 4));
    /// let plane = axes.plane(9);
    /// assert_eq!((plane.channel, plane.stokes), (2, 1));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn find(header: &Header, lengths: &[u64]) -> Result<Self, SkyError> {
        if lengths.len() < 2 {
            return Err(SkyError::TooFewAxes {
                found: lengths.len(),
            });
        }
        let mut ctypes = Vec::with_capacity(lengths.len());
        for axis in 1..=lengths.len() {
            let ctype = header.text(&format!("CTYPE{axis}"))?;
            ctypes.push(ctype.unwrap_or_default().trim().to_owned());
        }
        let roles: Vec<Named> = ctypes.iter().map(|ctype| named(ctype)).collect();
        let mut axes = Self {
            lengths: lengths.to_vec(),
            celestial: (0, 1),
            ctypes,
            spectral: None,
            stokes: None,
            reference_channel: None,
            notes: Vec::new(),
        };
        axes.set_celestial(&roles)?;
        axes.set_spectral(&roles);
        axes.stokes = axes.longest(|axis| roles.get(axis) == Some(&Named::Stokes));
        axes.reference_channel = axes.spectral.and_then(|axis| axes.reference(header, axis));
        Ok(axes)
    }

    /// The celestial longitude and latitude axes, from 0: `(0, 1)`, or `(1, 0)` where latitude
    /// comes first.
    pub fn celestial(&self) -> (usize, usize) {
        self.celestial
    }

    /// The axis that counts channels, from 0.
    pub fn spectral(&self) -> Option<usize> {
        self.spectral
    }

    /// The axis that counts polarisations, from 0.
    pub fn stokes(&self) -> Option<usize> {
        self.stokes
    }

    /// How many channels there are; 1 without a spectral axis.
    pub fn channels(&self) -> u64 {
        self.spectral.map_or(1, |axis| self.length(axis))
    }

    /// How many polarisations there are; 1 without a Stokes axis.
    pub fn stokes_count(&self) -> u64 {
        self.stokes.map_or(1, |axis| self.length(axis))
    }

    /// Lengths of the axes in pixels, `NAXIS1` first.
    pub fn lengths(&self) -> &[u64] {
        &self.lengths
    }

    /// The text of `CTYPEn` of an axis from 0; empty where it is absent, blank or out of range.
    pub fn ctype(&self, axis: usize) -> &str {
        self.ctypes.get(axis).map_or("", String::as_str)
    }

    /// What an axis from 0 does.
    pub fn kind(&self, axis: usize) -> AxisKind {
        if axis == self.celestial.0 {
            AxisKind::Longitude
        } else if axis == self.celestial.1 {
            AxisKind::Latitude
        } else if Some(axis) == self.spectral {
            AxisKind::Spectral
        } else if Some(axis) == self.stokes {
            AxisKind::Stokes
        } else {
            AxisKind::Other
        }
    }

    /// What had to be assumed.
    pub fn notes(&self) -> &[SkyNote] {
        &self.notes
    }

    /// The channel, from 0, that `CRPIXn` of the spectral axis points at, rounded; `None` without
    /// a spectral axis or `CRPIXn`, or where it points outside the cube.
    pub fn reference_channel(&self) -> Option<u64> {
        self.reference_channel
    }

    /// Channel and Stokes of plane `k`, counted from 0 in file order (the third axis fastest).
    /// Planes outside the cube are taken modulo its axes.
    pub fn plane(&self, k: u64) -> PlaneIndex {
        let along = |wanted: Option<usize>| {
            let Some(wanted) = wanted else { return 0 };
            let before = self.lengths.get(2..wanted).unwrap_or_default();
            let stride = before
                .iter()
                .fold(1_u64, |stride, n| stride.saturating_mul(*n));
            let count = k.checked_div(stride).unwrap_or(0);
            count.checked_rem(self.length(wanted)).unwrap_or(0)
        };
        PlaneIndex {
            channel: along(self.spectral),
            stokes: along(self.stokes),
        }
    }

    fn length(&self, axis: usize) -> u64 {
        self.lengths.get(axis).copied().unwrap_or(1)
    }

    /// Checks that the first two axes are a sky, and notes what is assumed.
    fn set_celestial(&mut self, roles: &[Named]) -> Result<(), SkyError> {
        self.celestial = match roles {
            [Named::Longitude(a), Named::Latitude(b), ..] if a == b => (0, 1),
            [Named::Latitude(a), Named::Longitude(b), ..] if a == b => (1, 0),
            _ if roles.iter().any(is_celestial) => return Err(self.misplaced(roles)),
            [Named::Nameless, Named::Nameless, ..] => {
                let (first, second) = (self.ctype(0).to_owned(), self.ctype(1).to_owned());
                self.notes.push(SkyNote::SkyAssumed { first, second });
                return Ok(());
            }
            _ => {
                let (first, second) = (self.ctype(0).to_owned(), self.ctype(1).to_owned());
                return Err(SkyError::NotSky { first, second });
            }
        };
        let bare = [0, 1]
            .into_iter()
            .find(|axis| projection(self.ctype(*axis)).is_none());
        if let Some(axis) = bare {
            let ctype = self.ctype(axis).to_owned();
            self.notes.push(SkyNote::NoProjection {
                axis: axis + 1,
                ctype,
            });
        }
        Ok(())
    }

    /// Why celestial axes that are there cannot be used.
    fn misplaced(&self, roles: &[Named]) -> SkyError {
        let of = |wanted: fn(&Named) -> Option<&String>| {
            let each = roles.iter().enumerate();
            each.filter_map(|(axis, role)| Some((axis, wanted(role)?)))
                .collect::<Vec<_>>()
        };
        let longitudes = of(|role| match role {
            Named::Longitude(system) => Some(system),
            _ => None,
        });
        let latitudes = of(|role| match role {
            Named::Latitude(system) => Some(system),
            _ => None,
        });
        let axis = |axis: usize| (axis + 1, self.ctype(axis).to_owned());
        for (lon, system) in &longitudes {
            if let Some((lat, _)) = latitudes.iter().find(|(_, other)| other == system) {
                let ((lon_axis, lon_ctype), (lat_axis, lat_ctype)) = (axis(*lon), axis(*lat));
                return SkyError::SkyNotFirst {
                    lon_axis,
                    lon_ctype,
                    lat_axis,
                    lat_ctype,
                };
            }
        }
        match (longitudes.first(), latitudes.first()) {
            (Some((lon, _)), Some((lat, _))) => {
                let ((axis, ctype), (other_axis, other_ctype)) = (axis(*lon), axis(*lat));
                SkyError::MixedSky {
                    axis,
                    ctype,
                    other_axis,
                    other_ctype,
                }
            }
            (lon, lat) => {
                let missing = if lon.is_some() {
                    "latitude"
                } else {
                    "longitude"
                };
                let (axis, ctype) = axis(lon.or(lat).map_or(0, |(axis, _)| *axis));
                SkyError::HalfSky {
                    axis,
                    ctype,
                    missing,
                }
            }
        }
    }

    /// Chooses the channel axis.
    fn set_spectral(&mut self, roles: &[Named]) {
        let named = |axis: usize| roles.get(axis) == Some(&Named::Spectral);
        if let Some(chosen) = self.longest(named) {
            self.spectral = Some(chosen);
            let rest = (2..self.lengths.len()).filter(|axis| *axis != chosen && named(*axis));
            let ignored = rest
                .filter(|axis| self.length(*axis) > 1)
                .map(|axis| self.describe(axis));
            let ignored: Vec<_> = ignored.collect();
            for (axis, ctype, length) in ignored {
                let used = chosen + 1;
                self.notes.push(SkyNote::SpectralIgnored {
                    axis,
                    ctype,
                    length,
                    used,
                });
            }
            return;
        }
        let mut long = (2..self.lengths.len())
            .filter(|axis| self.length(*axis) > 1 && roles.get(*axis) != Some(&Named::Stokes));
        if let (Some(only), None) = (long.next(), long.next()) {
            let (axis, ctype, length) = self.describe(only);
            self.spectral = Some(only);
            self.notes.push(SkyNote::ChannelsAssumed {
                axis,
                ctype,
                length,
            });
        }
    }

    /// Number from 1, type and length of an axis.
    fn describe(&self, axis: usize) -> (usize, String, u64) {
        (axis + 1, self.ctype(axis).to_owned(), self.length(axis))
    }

    /// The longest of these axes behind the first two, the first of equals.
    fn longest(&self, wanted: impl Fn(usize) -> bool) -> Option<usize> {
        let axes = (2..self.lengths.len()).filter(|axis| wanted(*axis));
        axes.rev().max_by_key(|axis| self.length(*axis))
    }

    /// The element from 0 that `CRPIXn` of `axis` points at. A card that is no number does not
    /// point anywhere: only the choice of a default hangs on it.
    fn reference(&self, header: &Header, axis: usize) -> Option<u64> {
        let crpix = header.real(&format!("CRPIX{}", axis + 1)).ok().flatten()?;
        let nearest = crpix.round() - 1.0;
        let inside = nearest >= 0.0 && nearest < self.length(axis) as f64;
        inside.then_some(nearest as u64)
    }
}

fn is_celestial(role: &Named) -> bool {
    matches!(role, Named::Longitude(_) | Named::Latitude(_))
}
