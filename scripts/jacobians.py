"""Make tests/data/jacobians.json, the judge of src/sky/wcs.rs: scripts/jacobians.py HEADER.fits...

The world coordinates come from astropy (WCSLIB). For every image HDU of the files whose first two axes are celestial,
and for made-up headers of every form (CDELT, CROTA, CD, PC, PC00i00j, units, latitude first, LONPOLE), it notes the cards and
  matrix    astropy's pixel_scale_matrix of the celestial axes, in arcsec per pixel, rows (longitude, latitude);
  jacobian  where there is a projection: east and north of the sky positions half a hundredth of a pixel to either
            side of the reference pixel, on the sphere, in arcsec per pixel. It knows of LONPOLE, the matrix does not.
Needs numpy and astropy; only people run it, the tests read the table."""
import json, os, sys, warnings
import numpy as np
from astropy.io import fits
from astropy.wcs import WCS

warnings.simplefilter('ignore')
KEYS = ('CTYPE', 'CRPIX', 'CRVAL', 'CDELT', 'CROTA', 'CUNIT', 'CD1_', 'CD2_', 'CD3_', 'CD4_', 'PC1_', 'PC2_', 'PC3_', 'PC4_', 'PC0', 'LONPOLE', 'LATPOLE')
STEP_PX = 0.005


def unit_vector(lon, lat):
    lon, lat = np.deg2rad(lon), np.deg2rad(lat)
    return np.array([np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)])


def jacobian(wcs):
    """East and north per pixel about the reference pixel, from positions on the sphere."""
    def at(dx, dy):
        pixel = wcs.wcs.crpix.copy()
        pixel[:2] += dx, dy
        world = wcs.wcs_pix2world([pixel], 1)[0]
        return world[wcs.wcs.lng], world[wcs.wcs.lat]
    lon, lat = np.deg2rad(at(0, 0))
    east = np.array([-np.sin(lon), np.cos(lon), 0])
    north = np.array([-np.sin(lat) * np.cos(lon), -np.sin(lat) * np.sin(lon), np.cos(lat)])
    columns = []
    for dx, dy in ((STEP_PX, 0), (0, STEP_PX)):
        d = unit_vector(*at(dx, dy)) - unit_vector(*at(-dx, -dy))
        columns.append([d @ east, d @ north])
    return np.rad2deg(np.array(columns).T / (2 * STEP_PX)) * 3600


def entry(name, header, shape):
    linear = [c for c in header.cards if c.keyword.startswith(KEYS) and c.keyword[-1] in '0123456789E'
              and not isinstance(c.value, fits.card.Undefined) and '-TAB' not in str(c.value)]
    wcs = WCS(fits.Header([('NAXIS', len(shape)), *linear]), fix=False)
    wcs.wcs.set()
    rows = [wcs.wcs.lng, wcs.wcs.lat]
    matrix = wcs.pixel_scale_matrix[np.ix_(rows, [0, 1])] * 3600
    made = {'name': name, 'axes': shape, 'cards': [c.image.rstrip() for c in linear], 'matrix': matrix.tolist()}
    if '-' in header['CTYPE1'] and abs(wcs.wcs.crval[wcs.wcs.lat]) < 89:
        made['jacobian'] = jacobian(wcs).tolist()
    return made


def from_files(paths):
    for path in paths:
        try:
            hdus = fits.open(path, disable_image_compression=True)
        except OSError as error:
            print(f'{path}: left out, {error}')
            continue
        with hdus:
            for k, hdu in enumerate(hdus):
                h = hdu.header
                naxis = h.get('NAXIS', 0)
                pair = [str(h.get(f'CTYPE{i}', ''))[:4].rstrip('-') for i in (1, 2)]
                if naxis >= 2 and h.get('XTENSION', 'IMAGE').strip() == 'IMAGE' and sorted(pair) == ['DEC', 'RA']:
                    yield entry(f'{os.path.basename(path)}[{k}]', h, [h[f'NAXIS{i + 1}'] for i in range(naxis)])


def made_up():
    def base(ctypes=('RA---SIN', 'DEC--SIN'), lat=-45.0):
        h = fits.Header([('NAXIS', 2), ('NAXIS1', 70), ('NAXIS2', 60)])
        for i, ctype in enumerate(ctypes, 1):
            h[f'CTYPE{i}'] = ctype
            h[f'CRVAL{i}'] = lat if ctype[:3] == 'DEC' or 'LAT' in ctype or 'LT' in ctype[2:4] else 180.0
            h[f'CRPIX{i}'] = 31.0 + i
        return h

    def step(h, x, y):
        h['CDELT1'], h['CDELT2'] = x, y
        return h

    def block(h, form, m):
        for i in (1, 2):
            for j in (1, 2):
                h[form.format(i=i, j=j)] = m[i - 1][j - 1]
        return h

    def turned(angle, x, y):
        c, s = np.cos(np.deg2rad(angle)), np.sin(np.deg2rad(angle))
        return [[x * c, -y * s], [x * s, y * c]]

    a = 2 / 3600
    made = [(f'cdelt {x:+.0f} {y:+.0f}', step(base(), x * a, y * a)) for x in (-1, 1) for y in (-1, 1)]
    made.append(('oblong', step(base(), -a, 1.5 * a)))
    for angle in (30, -100, 165.5):
        h = step(base(), -a, 1.5 * a)
        h['CROTA2'] = angle
        made.append((f'crota2 {angle}', h))
        made.append((f'cd {angle}', block(base(), 'CD{i}_{j}', turned(angle, -a, 1.5 * a))))
        made.append((f'pc {angle}', block(step(base(), -a, 1.5 * a), 'PC{i}_{j}', turned(angle, 1, 1))))
        made.append((f'old pc {angle}', block(step(base(), -a, a), 'PC{i:03d}{j:03d}', turned(angle, 1, 1))))
    h = step(base(('DEC--SIN', 'RA---SIN')), a, -1.5 * a)
    made.append(('latitude first', h.copy()))
    h['CROTA1'] = 30.0
    made.append(('latitude first crota1', h))
    made.append(('latitude first cd', block(base(('DEC--TAN', 'RA---TAN')), 'CD{i}_{j}', [[1e-4, 2e-4], [-3e-4, 1e-4]])))
    for unit, scale in (('arcsec', 3600), ('arcmin', 60), ('rad', np.pi / 180), ('mas', 3.6e6)):
        h = step(base(), -a * scale, 1.5 * a * scale)
        h['CUNIT1'] = h['CUNIT2'] = unit
        h['CRVAL1'], h['CRVAL2'] = 180.0 * scale, -45.0 * scale
        made.append((f'in {unit}', h))
    h = step(base(), -a * 3600, 1.5 * a)
    h['CUNIT1'], h['CRVAL1'] = 'arcsec', 180.0 * 3600
    made.append(('mixed units', h.copy()))
    h['CROTA2'] = 30.0
    made.append(('mixed units crota2', h))
    h = base()
    h['CD1_1'], h['CD2_2'] = -a, a
    made.append(('cd diagonal only', h))
    h = step(base(), -a, a)
    h['PC1_2'] = 0.3
    made.append(('pc one element', h))
    h = step(base(), 1, 1)
    made.append(('cd beside cdelt', block(h, 'CD{i}_{j}', turned(20, -a, a))))
    h = step(base(), -a, a)
    h['CROTA2'], h['PC1_1'], h['PC2_2'] = 40.0, 1.0, 1.0
    made.append(('pc diagonal', h))
    made.append(('galactic', step(base(('GLON-CAR', 'GLAT-CAR'), 0.0), -a, a)))
    made.append(('ecliptic', block(base(('ELON-ZEA', 'ELAT-ZEA'), 20.0), 'CD{i}_{j}', turned(50, -a, 2 * a))))
    made.append(('solar', step(base(('HPLN-TAN', 'HPLT-TAN'), 0.1), a, a)))
    for projection in ('SIN', 'TAN', 'ARC', 'ZEA', 'STG'):
        h = step(base((f'RA---{projection}', f'DEC--{projection}')), -a, 1.5 * a)
        h['LONPOLE'] = 150.0
        made.append((f'lonpole {projection}', h))
    h = step(base(('RA---SFL', 'DEC--SFL'), 30.0), -a, a)
    made.append(('sanson flamsteed', h))
    made.append(('bare', step(base(('RA', 'DEC')), -a, a)))
    return [entry(name, h, [70, 60]) for name, h in made]


rows = [*made_up(), *from_files(sorted(sys.argv[1:]))]
with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), '../tests/data/jacobians.json'), 'w') as f:
    f.write('[\n' + ',\n'.join(json.dumps(row) for row in rows) + '\n]\n')
print(len(rows), 'headers')
