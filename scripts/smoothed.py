"""What a smoothed plane should be, in plain numpy and float64: the formulas of DECISIONS.md and nothing of our code.
Beams are (BMAJ arcsec, BMIN arcsec, PA deg, north through east). Used by verify-outputs.py; run it to try it on the golden images."""
import json, os, sys
import numpy as np

EIGHT_LN2 = 8 * np.log(2)
GOLDEN = os.path.join(os.path.dirname(os.path.abspath(__file__)), '../tests/data/golden')


def covariance(beam):
    """FWHM², rows and columns (east, north)."""
    major, minor, angle = beam
    s, c = np.sin(np.deg2rad(angle)), np.cos(np.deg2rad(angle))
    turn = np.array([[s, c], [c, -s]])
    return turn @ np.diag([major**2, minor**2]) @ turn.T


def in_pixels(beam, jacobian):
    """The covariance of a beam in pixels, rows and columns (x, y)."""
    inverse = np.linalg.inv(jacobian)
    return inverse @ covariance(beam) @ inverse.T


def padded(n, fwhm_px):
    """The next length with factors 2, 3, 5, 7 that leaves room for the kernel."""
    length = n + int(np.ceil(3 * fwhm_px)) + 8
    while True:
        rest = length
        for factor in (2, 3, 5, 7):
            while rest % factor == 0:
                rest //= factor
        if rest == 1:
            return length
        length += 1


def smoothed(plane, jacobian, old, new, per_beam, edge='zero'):
    """A plane (ny rows of nx, NaN where blank) with the beam `old`, smoothed to `new`; blanks stay."""
    plane = np.asarray(plane, float)
    ny, nx = plane.shape
    kernel = in_pixels(new, jacobian) - in_pixels(old, jacobian)
    size = (ny, nx) if edge == 'wrap' else (padded(ny, np.sqrt(max(kernel[1, 1], 0))), padded(nx, np.sqrt(max(kernel[0, 0], 0))))
    v, u = np.meshgrid(np.fft.fftfreq(size[0]), np.fft.fftfreq(size[1]), indexing='ij')
    quadratic = kernel[0, 0] * u * u + 2 * kernel[0, 1] * u * v + kernel[1, 1] * v * v
    transfer = np.exp(-2 * np.pi**2 / EIGHT_LN2 * quadratic)
    blank = ~np.isfinite(plane)
    out = np.fft.ifft2(np.fft.fft2(np.where(blank, 0, plane), size) * transfer).real[:ny, :nx]
    out *= (new[0] * new[1]) / (old[0] * old[1]) if per_beam else 1
    out[blank] = np.nan
    return out


def off_by(found, expected):
    """The largest difference in units of the peak; infinite where the blanks differ."""
    if found.shape != expected.shape or (np.isnan(found) != np.isnan(expected)).any():
        return np.inf
    good = ~np.isnan(expected)
    return np.abs(found - expected)[good].max(initial=0) / max(np.abs(expected)[good].max(initial=0), 1e-30)


def values(hdu):
    """The samples of an image opened with do_not_scale_image_data, in float64; astropy would scale small integers in float32."""
    header = hdu.header
    data = np.array(hdu.data, float)
    blank = data == header['BLANK'] if 'BLANK' in header and header['BITPIX'] > 0 else np.zeros(data.shape, bool)
    return np.where(blank, np.nan, data * header.get('BSCALE', 1) + header.get('BZERO', 0))


def try_on_golden():
    """These formulas against the golden answers, where the image has blanks under `keep` or none."""
    from astropy.io import fits
    from astropy.wcs import WCS
    worst = count = 0
    with open(f'{GOLDEN}/manifest.json') as f:
        cases = json.load(f)['cases']
    for case in cases:
        expected = np.fromfile(f"{GOLDEN}/{case['expected']}", '<f8').reshape(case['shape'])
        with fits.open(f"{GOLDEN}/{case['input']}", do_not_scale_image_data=True) as hdus:
            data, header = values(hdus[0]), hdus[0].header
            jacobian = WCS(header).celestial.pixel_scale_matrix * 3600
        if np.isnan(data).any() and case['nan_mode'] != 'keep':
            continue
        per_beam = 'beam' in header.get('BUNIT', 'beam').lower()
        off = off_by(smoothed(data, jacobian, case['old_beam'], case['target'], per_beam, case['edge']), expected)
        worst, count = max(worst, off), count + 1
        if off > 1e-10:
            print(f"{case['name']}: off by {off:.1e}")
    print(f'{count} of {len(cases)} golden images, off by at most {worst:.1e} of the peak')
    return int(worst > 1e-10)


if __name__ == '__main__':
    sys.exit(try_on_golden())
