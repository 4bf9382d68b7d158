"""A cube for tests of sharing: cube.py FILE [NX NY]. 37 planes of 63 x 119 float32, 29988 bytes each, so that no plane begins
or ends at a block of any file system; a beam per channel in a BEAMS table behind it; one channel blank, and blank pixels in
others. Planes of another size repeat these pixels. Standard library only: the machines of a test have no other."""
import random, struct, sys

NX, NY = 63, 119
nx, ny = map(int, sys.argv[2:4] or (NX, NY))
PLANES, BLANK = 37, 22


def card(keyword, value):
    if isinstance(value, str):
        value = f"'{value:8}'"
    elif isinstance(value, bool):
        value = f'{"FT"[value]:>20}'
    else:
        value = f'{value:>20}'
    return f'{keyword:8}= {value}'.ljust(80)


def header(cards):
    text = ''.join(card(*pair) for pair in cards) + 'END'.ljust(80)
    return padded(text.encode('ascii'), b' ')


def padded(data, filler=b'\0'):
    return data + filler * (-len(data) % 2880)


def plane(rng, number):
    if number == BLANK:
        return [float('nan')] * (NX * NY)
    pixels = [rng.gauss(0, 1e-3) for _ in range(NX * NY)]
    for _ in range(4):
        pixels[rng.randrange(NX * NY)] += rng.uniform(0.5, 2)
    if number % 3 == 0:
        pixels[number * 7:number * 7 + 5] = [float('nan')] * 5
    return pixels


def beam(number):
    if number == BLANK:
        return 0.0, 0.0, 0.0
    return 12.0 - number / 20, 10.0 - number / 20, (number * 7) % 180 - 90


rng = random.Random(37)
image = header([
    ('SIMPLE', True), ('BITPIX', -32), ('NAXIS', 3), ('NAXIS1', nx), ('NAXIS2', ny), ('NAXIS3', PLANES), ('EXTEND', True),
    ('BUNIT', 'Jy/beam'), ('CASAMBM', True),
    ('CTYPE1', 'RA---SIN'), ('CRVAL1', 187.25), ('CRPIX1', 32.0), ('CDELT1', -2.5 / 3600), ('CUNIT1', 'deg'),
    ('CTYPE2', 'DEC--SIN'), ('CRVAL2', -45.5), ('CRPIX2', 60.0), ('CDELT2', 2.5 / 3600), ('CUNIT2', 'deg'),
    ('CTYPE3', 'FREQ'), ('CRVAL3', 8.0e8), ('CRPIX3', 1.0), ('CDELT3', 1.0e6), ('CUNIT3', 'Hz'),
])


def plane_bytes(number):
    values = struct.pack(f'>{NX * NY}f', *plane(rng, number))
    return (values * (4 * nx * ny // len(values) + 1))[:4 * nx * ny]


pixels = b''.join(plane_bytes(number) for number in range(PLANES))
table = header([
    ('XTENSION', 'BINTABLE'), ('BITPIX', 8), ('NAXIS', 2), ('NAXIS1', 20), ('NAXIS2', PLANES), ('PCOUNT', 0), ('GCOUNT', 1),
    ('TFIELDS', 5), ('TTYPE1', 'BMAJ'), ('TFORM1', '1E'), ('TUNIT1', 'arcsec'), ('TTYPE2', 'BMIN'), ('TFORM2', '1E'),
    ('TUNIT2', 'arcsec'), ('TTYPE3', 'BPA'), ('TFORM3', '1E'), ('TUNIT3', 'deg'), ('TTYPE4', 'CHAN'), ('TFORM4', '1J'),
    ('TTYPE5', 'POL'), ('TFORM5', '1J'), ('EXTNAME', 'BEAMS'), ('NCHAN', PLANES), ('NPOL', 1),
])
rows = b''.join(struct.pack('>fffii', *beam(number), number, 0) for number in range(PLANES))
with open(sys.argv[1], 'wb') as file:
    file.write(image + padded(pixels) + table + padded(rows))
