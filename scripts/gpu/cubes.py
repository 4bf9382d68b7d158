"""Cubes for scripts/gpu-check.sh: makes them, and compares what was made of them. Python's own library only.

    cubes.py make FILE NX NY NCHAN f32|f64|i16 BLANK_PERCENT [SEED]
    cubes.py compare A B TOLERANCE [BLANKS]  largest |a - b| over the peak of A; status 1 if that is above TOLERANCE, or if
                                             more than BLANKS pixels (0) are blank in one of them only
    cubes.py same A B                        status 1 unless the samples of both images are the same bytes

A cube has noise, sources, and in a BEAMS table a beam of its own for each channel: that of 12 x 10 arcsec at 20 degrees,
which all can be brought to, less a rotated kernel, which in most channels is so narrow that the transfer function is far
from 0 at the Nyquist frequency. One channel in eight has the target's. With blanks there is a border of NaN, NaNs of other bits and infinities are strewn inside,
one channel in eleven has no beam, and one in thirteen no pixel that is not blank. The same SEED gives the same bytes."""
import array, math, multiprocessing, operator, os, random, re, sys
from itertools import compress

BLOCK = 2880
CELL_ARCSEC = 2.5
TARGET = 12.0, 10.0, 20.0                # arcsec, arcsec, degrees
KERNELS_PX = (1.2, 0.8), (2.0, 1.2), (0.9, 0.7), (3.0, 1.1), (1.5, 1.4), (3.2, 2.6), (0.8, 0.4)
BITPIX = {'f32': -32, 'f64': -64, 'i16': 16}
CODES = {-32: 'f', -64: 'd'}
# Sign and fraction of random words are kept; the exponent says 1 to 2. For i16 a value from -2048 to 2047.
KEPT = {'f32': (0x807fffff, 0x3f800000), 'f64': (0x800fffffffffffff, 0x3ff0000000000000), 'i16': (0x0fff, 0)}
ODD = {'f32': ('7fc00000', 'ffc12345', '7f800000', 'ff800000', '7fa00001'),
       'f64': ('7ff8000000000000', 'fff8123456789abc', '7ff0000000000000', 'fff0000000000000', '7ff4000000000001'),
       'i16': ('8000',)}
POOL_BYTES = 4 << 20
PIECE = 1 << 17                          # pixels that are compared at once


def covariance(bmaj, bmin, bpa):
    """East-east, east-north, north-north."""
    s, c = math.sin(math.radians(bpa)), math.cos(math.radians(bpa))
    a, b = bmaj * bmaj, bmin * bmin
    return a * s * s + b * c * c, (a - b) * s * c, a * c * c + b * s * s


def beam(ee, en, nn):
    """Its axes and position angle."""
    half, root = (ee + nn) / 2, math.hypot((ee - nn) / 2, en)
    return math.sqrt(half + root), math.sqrt(half - root), math.degrees(math.atan2(2 * en, nn - ee)) / 2


def beam_of(channel, blanks):
    if blanks and channel % 11 == 10:
        return 0.0, 0.0, 0.0
    if channel % 8 == 7:
        return TARGET
    major, minor = KERNELS_PX[channel % 8]
    kernel = covariance(major * CELL_ARCSEC, minor * CELL_ARCSEC, 35.0 + 40 * channel)
    return beam(*map(operator.sub, covariance(*TARGET), kernel))


def cards(*pairs):
    def card(key, value):
        if isinstance(value, str):
            return f"{key:8}= '{value:8}'".ljust(80)
        return f'{key:8}= {("T" if value else "F") if isinstance(value, bool) else repr(value):>20}'.ljust(80)
    text = ''.join(card(*pair) for pair in pairs) + 'END'.ljust(80)
    return padded(text.encode(), b' ')


def padded(data, filler=b'\0'):
    return data + filler * (-len(data) % BLOCK)


def header(nx, ny, channels, kind):
    bitpix = BITPIX[kind]
    scale = [('BSCALE', 0.01), ('BZERO', 0.125), ('BLANK', -32768)] if bitpix > 0 else []
    step = CELL_ARCSEC / 3600
    axes = ('RA---SIN', 180.0, -step), ('DEC--SIN', -30.0, step), ('FREQ', 8e8, 1e6)
    wcs = [pair for axis, (ctype, value, delta) in enumerate(axes, 1)
           for pair in ((f'CTYPE{axis}', ctype), (f'CRPIX{axis}', 1.0), (f'CRVAL{axis}', value), (f'CDELT{axis}', delta))]
    return cards(('SIMPLE', True), ('BITPIX', bitpix), ('NAXIS', 3), ('NAXIS1', nx), ('NAXIS2', ny), ('NAXIS3', channels),
                 ('EXTEND', True), *scale, ('BUNIT', 'Jy/beam'), ('CASAMBM', True), *wcs)


def table(channels, blanks):
    columns = ('BMAJ', '1E', 'arcsec'), ('BMIN', '1E', 'arcsec'), ('BPA', '1E', 'deg'), ('CHAN', '1J', ''), ('POL', '1J', '')
    named = [pair for at, (name, form, unit) in enumerate(columns, 1)
             for pair in ((f'TTYPE{at}', name), (f'TFORM{at}', form), *([(f'TUNIT{at}', unit)] if unit else []))]
    head = cards(('XTENSION', 'BINTABLE'), ('BITPIX', 8), ('NAXIS', 2), ('NAXIS1', 20), ('NAXIS2', channels), ('PCOUNT', 0),
                 ('GCOUNT', 1), ('TFIELDS', 5), *named, ('EXTNAME', 'BEAMS'), ('NCHAN', channels), ('NPOL', 1))
    rows = b''.join(big_endian('f', beam_of(k, blanks)) + big_endian('i', (k, 0)) for k in range(channels))
    return head + padded(rows)


def big_endian(code, values):
    made = array.array(code, values)
    if sys.byteorder == 'little':
        made.byteswap()
    return made.tobytes()


def noise(kind, size, source):
    """A pool of random samples, from which rows are cut."""
    kept, exponent = (int(f'{word:0{2 * size}x}' * (POOL_BYTES // size), 16) for word in KEPT[kind])
    return (int.from_bytes(source.randbytes(POOL_BYTES), 'big') & kept | exponent).to_bytes(POOL_BYTES, 'big')


def rows(shape, kind, blank_percent, source):
    """The rows of all channels, as they are stored."""
    nx, ny, channels = shape
    size = abs(BITPIX[kind]) // 8
    pool = noise(kind, size, source)
    pool *= 1 + (nx * size + POOL_BYTES // 2) // POOL_BYTES
    starts = (len(pool) - nx * size) // size
    odd = [bytes.fromhex(word) for word in ODD[kind]]
    bright = [big_endian('h', (n,)) if kind == 'i16' else big_endian(CODES[BITPIX[kind]], (n,)) for n in (12, 7, -5, 20)]
    edge = (1 - math.sqrt(1 - blank_percent / 100)) / 2
    left, below = math.ceil(nx * edge), math.ceil(ny * edge)
    nothing = odd[0] * nx
    for channel in range(channels):
        empty = blank_percent and channel % 13 == 12
        for y in range(ny):
            if empty or not below <= y < ny - below:
                yield nothing
                continue
            start = source.randrange(starts) * size
            row = bytearray(pool[start:start + nx * size])
            for words, share in ((bright, 200), (odd if blank_percent else [], 400)):
                for _ in range((nx + source.randrange(share)) // share if words else 0):
                    x = source.randrange(nx) * size
                    row[x:x + size] = words[source.randrange(len(words))]
            if left:
                row[:left * size] = row[-left * size:] = nothing[:left * size]
            yield row


def make(path, nx, ny, channels, kind, blank_percent, seed='1'):
    nx, ny, channels, blank_percent = int(nx), int(ny), int(channels), float(blank_percent)
    with open(path, 'wb', buffering=1 << 20) as file:
        file.write(header(nx, ny, channels, kind))
        for row in rows((nx, ny, channels), kind, blank_percent, random.Random(seed)):
            file.write(row)
        file.write(bytes(-file.tell() % BLOCK))
        file.write(table(channels, blank_percent > 0))


def image(path):
    """BITPIX, pixels, and where they begin, of the first HDU, which has to be the image."""
    with open(path, 'rb') as file:
        head = b''
        while not re.search(rb'(?:^|(?<= ))END {77}', head):
            block = file.read(BLOCK)
            if len(block) < BLOCK:
                sys.exit(f'{path}: no END in its header')
            head += block
    keys = {key: int(value) for key, value in re.findall(rb'(BITPIX|NAXIS\d*) *= *(-?\d+)', head)}
    pixels = math.prod(keys[b'NAXIS%d' % axis] for axis in range(1, keys[b'NAXIS'] + 1))
    return keys[b'BITPIX'], pixels, len(head)


def piece(path, bitpix, begin, first, pixels):
    size = abs(bitpix) // 8
    with open(path, 'rb') as file:
        file.seek(begin + first * size)
        values = array.array(CODES[bitpix], file.read(pixels * size))
    if len(values) != pixels:
        sys.exit(f'{path}: cut short')
    if sys.byteorder == 'little':
        values.byteswap()
    return values


def differences(job):
    """Of one piece: largest difference, peak of A, pixels that both have, and those that only one has."""
    a, b = (piece(*place) for place in job)
    alone = 0
    if not (math.isfinite(sum(a)) and math.isfinite(sum(b))):
        here, there = (bytes(map(math.isfinite, values)) for values in (a, b))
        both = bytes(map(operator.and_, here, there))
        # An infinity is blank, but another one than NaN: planes that are passed through keep theirs.
        alone = sum(map(operator.ne, here, there)) + sum(map(operator.ne, map(math.isinf, a), map(math.isinf, b)))
        a, b = list(compress(a, both)), list(compress(b, both))
    if not a:
        return 0.0, 0.0, 0, alone
    return max(map(abs, map(operator.sub, a, b))), max(max(a), -min(a)), len(a), alone


def compare(first, second, tolerance, blanks='0'):
    images = image(first), image(second)
    if images[0][:2] != images[1][:2] or images[0][0] not in CODES:
        sys.exit(f'BITPIX and pixels are {images[0][:2]} and {images[1][:2]}: they are not to be compared')
    bitpix, pixels, _ = images[0]
    jobs = [[(path, bitpix, begin, at, min(PIECE, pixels - at))
             for path, (_, _, begin) in zip((first, second), images)] for at in range(0, pixels, PIECE)]
    workers = min(len(os.sched_getaffinity(0)), 8) if len(jobs) > 16 else 1
    if workers > 1:
        with multiprocessing.Pool(workers) as pool:
            found = pool.map(differences, jobs, chunksize=4)
    else:
        found = list(map(differences, jobs))
    worst, peak, compared, alone = (fold(column) for fold, column in zip((max, max, sum, sum), zip(*found)))
    relative = worst / peak if peak else math.nan
    print(f'off by {relative:.2e} of the peak {peak:.4g}; {compared} pixels, {pixels - compared} blank'
          + f', {alone} in one only' * (alone > 0))
    return relative <= float(tolerance) and alone <= int(blanks)


def same(first, second):
    images = image(first), image(second)
    if images[0][:2] != images[1][:2]:
        sys.exit(f'BITPIX and pixels are {images[0][:2]} and {images[1][:2]}')
    (bitpix, pixels, begin), (_, _, other) = images
    length, at = pixels * abs(bitpix) // 8, 0
    with open(first, 'rb') as a, open(second, 'rb') as b:
        a.seek(begin), b.seek(other)
        while at < length:
            step = min(1 << 22, length - at)
            ours, theirs = a.read(step), b.read(step)
            if len(ours) < step or ours != theirs:
                byte = next((n for n, (x, y) in enumerate(zip(ours, theirs)) if x != y), min(len(ours), len(theirs)))
                print(f'not the same bits: first at pixel {(at + byte) * 8 // abs(bitpix)}')
                return False
            at += step
    print(f'the same bits: {length} bytes')
    return True


def main(words):
    command, arguments = (words or [''])[0], words[1:]
    if command == 'make' and len(arguments) in (6, 7) and arguments[4] in BITPIX:
        make(*arguments)
    elif command == 'compare' and len(arguments) in (3, 4):
        return 0 if compare(*arguments) else 1
    elif command == 'same' and len(arguments) == 2:
        return 0 if same(*arguments) else 1
    else:
        print(__doc__, file=sys.stderr)
        return 2
    return 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
