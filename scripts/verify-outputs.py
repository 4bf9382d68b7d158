"""Check what mmconv writes, with programs that are not ours: every output must pass fitsverify, open in astropy with
good checksums, keep its other HDUs byte for byte, and hold the pixels that numpy gets from the formulas.

    MMCONV=target/release/mmconv scripts/verify-outputs.py [NAME...]

Three sets: the golden images (tests/data/golden), real files (tests/data/real) and files made here. Prints what is
wrong and a closing count; exit 0 if all is right. Needs numpy, astropy and fitsverify; verify-outputs.sh finds them."""
import json, os, shutil, subprocess, sys, tempfile, warnings
import numpy as np
from astropy.io import fits
from astropy.wcs import WCS
from smoothed import off_by, smoothed, values

HERE = os.path.dirname(os.path.abspath(__file__))
GOLDEN, REAL = f'{HERE}/../tests/data/golden', f'{HERE}/../tests/data/real'
MMCONV = os.path.abspath(os.environ.get('MMCONV', f'{HERE}/../target/release/mmconv'))
WORK = tempfile.mkdtemp(prefix='mmconv-verify-')
F32, F64 = 2e-6, 1e-10
CASES = []
warnings.simplefilter('ignore')


def case(check):
    CASES.append((check.__name__, check))
    return check


def smooth(files, *flags):
    """Runs the command; its JSON, one object a file."""
    out = f'{WORK}/out'
    os.makedirs(out, exist_ok=True)
    done = subprocess.run([MMCONV, 'smooth', '--json', '--overwrite', '--outdir', out, *map(str, flags), *files],
                          capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=300)
    assert done.returncode == 0, f'exit {done.returncode}: {done.stderr.strip()[-300:]}'
    return [json.loads(line) for line in done.stdout.splitlines()]


def beam_flags(beam):
    return ['--bmaj', beam[0], '--bmin', beam[1], '--bpa', beam[2]]


def verify(path):
    """fitsverify, astropy and checksums; the HDUs, unscaled."""
    said = subprocess.run(['fitsverify', '-q', path], capture_output=True, text=True).stdout
    assert 'verification OK' in said, f'fitsverify: {said.strip()[-300:]}'
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter('always')
        with fits.open(path, checksum=True) as hdus:
            hdus.verify('exception')
            [hdu.data for hdu in hdus]
    told = [str(w.message) for w in caught if 'sum' in str(w.message).lower()]
    assert not told, f'astropy: {told}'
    hdus = fits.open(path, do_not_scale_image_data=True)
    assert 'mmconv' in str(hdus[image_of(hdus)].header.get('HISTORY', '')), 'no HISTORY of mmconv'
    return hdus


def image_of(hdus):
    return next(k for k, hdu in enumerate(hdus) if hdu.is_image and hdu.header['NAXIS'] >= 2)


def check_planes(hdus_in, hdus_out, beams, targets, per_beam=True, tolerance=F32):
    """Each plane of the output against the formula, the plane of a beam None being blank."""
    k = image_of(hdus_in)
    header = hdus_in[k].header
    jacobian = WCS(header).celestial.pixel_scale_matrix * 3600
    before, after = values(hdus_in[k]), np.array(hdus_out[k].data, float)
    assert before.shape == after.shape, f'shape {after.shape}, expected {before.shape}'
    before, after = (cube.reshape(-1, *cube.shape[-2:]) for cube in (before, after))
    for i, (plane, found, beam, target) in enumerate(zip(before, after, beams, targets, strict=True)):
        if beam is None:
            assert np.isnan(found).all(), f'plane {i} is not blank'
            continue
        off = off_by(found, smoothed(plane, jacobian, beam, target, per_beam))
        assert off < tolerance, f'plane {i} off by {off:.1e} of its peak'


def check_others(hdus_in, hdus_out, dropped=()):
    """Other HDUs are the bytes they were."""
    def others(hdus):
        with open(hdus.filename(), 'rb') as f:
            raw = f.read()
        at = [hdu.fileinfo() for hdu in hdus]
        image = image_of(hdus)
        return [raw[a['hdrLoc']:a['datLoc'] + a['datSpan']] for k, a in enumerate(at) if k != image and hdus[k].name not in dropped]
    assert others(hdus_in) == others(hdus_out), 'other HDUs differ'


def header_beam(header):
    return header['BMAJ'] * 3600, header['BMIN'] * 3600, header['BPA']


def json_beam(beam):
    return None if beam is None else (beam['bmaj_arcsec'], beam['bmin_arcsec'], beam['bpa_deg'])


def one_target(report, hdus):
    """The target of a report, which the output's header must carry too."""
    target = json_beam(report['target'])
    written = header_beam(hdus[image_of(hdus)].header)
    assert np.allclose(target, written, rtol=1e-6), f'target {target}, header {written}'
    return target


# ---- golden

def golden(entry):
    path = f"{GOLDEN}/{entry['input']}"
    [report] = smooth([path], *beam_flags(entry['target']), '--edge', entry['edge'], '--nan', entry['nan_mode'])
    image = verify(report['output'])[0]
    assert image.header['BITPIX'] == entry['output_bitpix'], f"BITPIX {image.header['BITPIX']}"
    expected = np.fromfile(f"{GOLDEN}/{entry['expected']}", '<f8').reshape(entry['shape'])
    off = off_by(np.array(image.data, float).reshape(entry['shape']), expected)
    exact = 1e-12 if entry['edge'] == 'wrap' else F64
    assert off < (F32 if entry['output_bitpix'] == -32 else exact), f'off by {off:.1e} of the peak'


with open(f'{GOLDEN}/manifest.json') as f:
    for entry in json.load(f)['cases']:
        CASES.append((f"golden {entry['name']}", lambda entry=entry: golden(entry)))


# ---- real

def table_beams(hdus):
    rows = hdus['BEAMS'].data
    return [(float(r['BMAJ']), float(r['BMIN']), float(r['BPA'])) for r in sorted(rows, key=lambda r: (r['CHAN'], r['POL']))]


@case
def real_images_to_one_beam():
    files = [f'{REAL}/wsclean-000{k}-image.fits' for k in range(3)]
    reports = smooth(files)
    assert [r['input'] for r in reports] == files
    targets = {json_beam(r['target']) for r in reports}
    assert len(targets) == 1, f'several targets {targets}'
    for path, report in zip(files, reports):
        before, after = fits.open(path), verify(report['output'])
        check_planes(before, after, [header_beam(before[0].header)], [one_target(report, after)])


@case
def real_cube_in_total_mode():
    [report] = smooth([f'{REAL}/cube.fits'])
    before, after = fits.open(f'{REAL}/cube.fits'), verify(report['output'])
    check_planes(before, after, table_beams(before), [one_target(report, after)] * 3)
    assert [hdu.name for hdu in after] == ['PRIMARY'] and not after[0].header.get('CASAMBM', False)


@case
def real_cube_in_natural_mode_is_passed_through():
    [report] = smooth([f'{REAL}/cube.fits'], '--mode', 'natural')
    before, after = fits.open(f'{REAL}/cube.fits'), verify(report['output'])
    assert before[0].data.tobytes() == after[0].data.tobytes(), 'pixels changed'
    assert np.allclose(table_beams(before), table_beams(after), rtol=1e-6) and after[0].header['CASAMBM'] is True


@case
def real_cube_with_blanks_and_nameless_axis():
    target = (1500.0, 1200.0, 30.0)
    path = f'{REAL}/1904-66_SIN_3d.fits'
    [report] = smooth([path], *beam_flags(target))
    before, after = fits.open(path), verify(report['output'])
    check_planes(before, after, [header_beam(before[0].header)] * 3, [target] * 3)


@case
def real_five_dimensions():
    target = (1500.0, 1200.0, 30.0)
    [report] = smooth([f'{REAL}/small_5D.fits'], *beam_flags(target))
    before, after = fits.open(f'{REAL}/small_5D.fits'), verify(report['output'])
    check_planes(before, after, [header_beam(before[0].header)], [target])


# ---- made here: rectangular, from seeds

def sky(nx, ny, bunit='Jy/beam', beam=(10.0, 7.0, 35.0), matrix=((-2.0, 0.0), (0.0, 2.0))):
    h = fits.Header()
    h['CTYPE1'], h['CTYPE2'] = 'RA---SIN', 'DEC--SIN'
    h['CRVAL1'], h['CRVAL2'], h['CRPIX1'], h['CRPIX2'] = 150.0, -35.0, nx // 2, ny // 2
    for i in (0, 1):
        for j in (0, 1):
            h[f'CD{i + 1}_{j + 1}'] = matrix[i][j] / 3600
    h['BUNIT'] = bunit
    if beam:
        h['BMAJ'], h['BMIN'], h['BPA'] = beam[0] / 3600, beam[1] / 3600, beam[2]
    return h


def add_axes(header, *ctypes):
    for k, ctype in enumerate(ctypes, 3):
        header[f'CTYPE{k}'], header[f'CRVAL{k}'], header[f'CDELT{k}'], header[f'CRPIX{k}'] = ctype, 1.0, 1.0, 1.0


def noise(*shape, seed=1):
    return np.random.default_rng(seed).standard_normal(shape)


def write(name, *hdus):
    path = f'{WORK}/{name}.fits'
    fits.HDUList(list(hdus)).writeto(path, checksum=True, overwrite=True)
    return path


def beams_table(beams, channels, stokes):
    index = np.arange(channels * stokes)
    columns = [fits.Column(n, 'E', unit=u, array=[b[i] for b in beams]) for i, (n, u) in enumerate((('BMAJ', 'arcsec'), ('BMIN', 'arcsec'), ('BPA', 'deg')))]
    columns += [fits.Column('CHAN', 'J', array=index // stokes), fits.Column('POL', 'J', array=index % stokes)]
    table = fits.BinTableHDU.from_columns(columns, name='BEAMS')
    table.header['NCHAN'], table.header['NPOL'] = channels, stokes
    return table


@case
def made_rotated_f64_with_other_hdus_and_checksums():
    matrix = ((-1.6, -0.9), (-0.8, 2.1))
    header = sky(90, 70, 'K', matrix=matrix)
    header['LONGSTRN'] = 'OGIP 1.0'
    header['LONGSTR'] = 'a string that needs CONTINUE cards ' * 5
    header['HIERARCH ESO TEL NAME'] = 'long keyword'
    header.add_history('HISTORY of before')
    data = noise(70, 90)
    data[20:25, 30:40] = np.nan
    table = fits.BinTableHDU.from_columns([fits.Column('A', 'J', array=np.arange(7))], name='SOURCES')
    path = write('rotated', fits.PrimaryHDU(data, header), fits.ImageHDU(np.arange(77).reshape(7, 11), name='WEIGHT'), table)
    target = (25.0, 18.0, -60.0)
    [report] = smooth([path], *beam_flags(target))
    before, after = fits.open(path), verify(report['output'])
    check_planes(before, after, [(10.0, 7.0, 35.0)], [target], per_beam=False, tolerance=F64)
    check_others(before, after)
    assert {'CHECKSUM', 'DATASUM'} <= set(after[0].header) and after[0].header['LONGSTR'] == header['LONGSTR'].rstrip()


@case
def made_int16_with_blank():
    data = np.round(noise(50, 64) * 300).astype('i2')
    data[3, 5] = -32768
    image = fits.PrimaryHDU(data, sky(64, 50))
    image.header['BSCALE'], image.header['BZERO'], image.header['BLANK'] = 0.001, -0.005, -32768
    path = write('int16', image)
    target = (20.0, 15.0, 10.0)
    [report] = smooth([path], *beam_flags(target))
    before, after = fits.open(path, do_not_scale_image_data=True), verify(report['output'])
    assert after[0].header['BITPIX'] == -32 and not {'BSCALE', 'BZERO', 'BLANK'} & set(after[0].header)
    check_planes(before, after, [(10.0, 7.0, 35.0)], [target])


@case
def made_iquv_with_a_beam_per_plane_and_a_blank_channel():
    beams = [(9 + 0.5 * c + 0.1 * s, 6 + 0.3 * c, 20.0 + 7 * c) for c in range(5) for s in range(4)]
    beams[8:12] = [(0.0, 0.0, 0.0)] * 4
    header = sky(64, 48, beam=None)
    add_axes(header, 'STOKES', 'FREQ')
    header['CASAMBM'] = True
    path = write('iquv', fits.PrimaryHDU(noise(5, 4, 48, 64).astype('f4'), header), beams_table(beams, 5, 4))
    [report] = smooth([path])
    before, after = fits.open(path), verify(report['output'])
    target = one_target(report, after)
    check_planes(before, after, [b if b[0] else None for b in beams], [target] * 20)
    assert report['blank_planes'] and [hdu.name for hdu in after] == ['PRIMARY']


@case
def made_cubes_in_natural_mode():
    paths, beams = [], []
    for k in (0, 1):
        beams.append([(9 + k + 0.5 * c, 6 + 0.3 * c - k, 20.0 + 7 * c + 60 * k) for c in range(4)])
        header = sky(60, 45, beam=None)
        add_axes(header, 'FREQ')
        header['CASAMBM'] = True
        paths.append(write(f'natural{k}', fits.PrimaryHDU(noise(4, 45, 60, seed=k).astype('f4'), header), beams_table(beams[k], 4, 1)))
    reports = smooth(paths, '--mode', 'natural')
    outputs = [verify(r['output']) for r in reports]
    first, second = (table_beams(hdus) for hdus in outputs)
    assert first == second, 'files with different targets'
    for path, hdus, own in zip(paths, outputs, beams):
        table = hdus['BEAMS']
        assert table.header['NCHAN'] == 4 and table.header['NPOL'] == 1 and hdus[0].header['CASAMBM'] is True
        assert [c.unit for c in table.columns[:3]] == ['arcsec', 'arcsec', 'deg'] and hdus[0].header['BMAJ'] > 0
        targets = [json_beam(t) for t in next(r['targets'] for r in reports if r['input'] == path)]
        assert np.allclose(targets, first, rtol=1e-6)
        check_planes(fits.open(path), hdus, own, targets)


@case
def made_image_in_an_extension():
    path = write('extension', fits.PrimaryHDU(), fits.ImageHDU(noise(41, 60).astype('f4'), sky(60, 41, 'MJy/sr'), name='SCI'))
    target = (20.0, 15.0, 10.0)
    [report] = smooth([path], *beam_flags(target))
    before, after = fits.open(path), verify(report['output'])
    check_planes(before, after, [(10.0, 7.0, 35.0)], [target], per_beam=False)
    check_others(before, after)


wanted = [(name, check) for name, check in CASES if not sys.argv[1:] or any(w in name for w in sys.argv[1:])]
bad = 0
for name, check in wanted:
    shutil.rmtree(f'{WORK}/out', ignore_errors=True)
    try:
        check()
    except Exception as error:  # whatever goes wrong is the case's failure, not the script's
        bad += 1
        print(f'{name}: {type(error).__name__} {str(error)[:400]}')
shutil.rmtree(WORK)
print(f'{len(wanted) - bad} of {len(wanted)} outputs right')
sys.exit(bad > 0)
