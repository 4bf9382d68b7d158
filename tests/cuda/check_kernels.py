"""The device's kernels, built for the CPU, against numpy.

    python3 tests/cuda/check_kernels.py LIBKERNELS

LIBKERNELS is what tests/cuda/build.sh makes. Each kernel is compared element by element with what
numpy says, and whole planes with the full complex spectra of numpy in float64, where nothing is
known of half spectra or of a rule for Nyquist bins. Every buffer has guards around it and is
filled with rubbish first, so what is not written, or written beside, is seen.
"""

import ctypes
import itertools
import math
import sys

import numpy as np

REAL = {"f32": np.float32, "f64": np.float64}
COMPLEX = {"f32": np.complex64, "f64": np.complex128}
WORD = {"f32": np.uint32, "f64": np.uint64}
BLANK_WORD = {"f32": 0x7FC00000, "f64": 0x7FF8000000000000}

# Flags, as in kernels.cu.
BIG_ENDIAN, MASK, NOTE_BLANKS = 1, 2, 4
BLANKS, WEIGHTS = 2, 4

# Launch grids and blocks: any must do.
LAUNCHES = [((1, 1, 1), (1, 1, 1)), ((2, 3, 1), (32, 1, 1)), ((5, 40, 2), (64, 1, 1))]

RACS_BLANK_FROM = 0.99
LEAST_WEIGHT = 1e-3


class Guarded:
    """An array with guards before and behind it, filled with a pattern."""

    GUARD = 64

    def __init__(self, shape, kind, like=None):
        kind = np.dtype(kind)
        bytes_ = int(np.prod(shape)) * kind.itemsize
        self.memory = np.full(bytes_ + 2 * self.GUARD, 0xA5, np.uint8)
        self.array = self.memory[self.GUARD : self.GUARD + bytes_].view(kind).reshape(shape)
        if like is not None:
            self.array[...] = like

    @property
    def pointer(self):
        return ctypes.c_void_p(self.array.ctypes.data)

    def check(self):
        ends = np.concatenate([self.memory[: self.GUARD], self.memory[-self.GUARD :]])
        assert (ends == 0xA5).all(), "written outside a buffer"


class Kernels:
    """The library's entries; each call checks the guards of what it was given."""

    def __init__(self, path):
        self.library = ctypes.CDLL(path)

    def __call__(self, name, launch, *arguments):
        passed = [(ctypes.c_uint * 3)(*lengths) for lengths in launch]
        for argument in arguments:
            if isinstance(argument, Guarded):
                passed.append(argument.pointer)
            elif isinstance(argument, float):
                passed.append(ctypes.c_double(argument))
            elif argument is None:
                passed.append(ctypes.c_void_p())
            else:
                passed.append(ctypes.c_int(argument))
        getattr(self.library, "host_" + name)(*passed)
        for argument in arguments:
            if isinstance(argument, Guarded):
                argument.check()


class Shape:
    """Planes of an image on a grid, and where each pixel lies on it."""

    def __init__(self, planes, nx, ny, gx, gy, halo=0):
        self.planes, self.nx, self.ny, self.gx, self.gy, self.halo = planes, nx, ny, gx, gy, halo
        self.row = 2 * (gx // 2 + 1)

    def __repr__(self):
        return f"{self.planes} of {self.nx} x {self.ny} on {self.gx} x {self.gy}, halo {self.halo}"

    @property
    def numbers(self):
        return self.planes, self.nx, self.ny, self.gx, self.gy, self.halo

    @property
    def image(self):
        return self.planes, self.ny, self.nx

    @property
    def work(self):
        return self.planes, self.gy, self.row

    def on_grid(self, image):
        """The image on the grid: repeated along rows if there is a halo, else with zeros around."""
        grid = np.zeros((self.planes, self.gy, self.gx), image.dtype)
        if self.halo == 0:
            grid[:, : self.ny, : self.nx] = image
        else:
            columns = [(i - self.halo) % self.nx for i in range(self.gx)]
            grid[:, : self.ny, :] = image[:, :, columns]
        return grid

    def of_grid(self, grid):
        """The image that lies on the grid."""
        return grid[:, : self.ny, self.halo : self.halo + self.nx]


SHAPES = [
    Shape(1, 1, 1, 1, 1),
    Shape(2, 1, 1, 3, 2),
    Shape(1, 8, 1, 8, 1),
    Shape(1, 1, 8, 1, 8),
    Shape(3, 2, 3, 2, 3),
    Shape(2, 5, 3, 5, 3),
    Shape(1, 16, 12, 16, 12),
    Shape(1, 38, 45, 38, 45),
    Shape(1, 31, 48, 31, 48),
    Shape(2, 31, 48, 40, 60),
    Shape(3, 13, 16, 15, 21),
    Shape(1, 96, 64, 96, 64),
    Shape(1, 130, 77, 140, 90),
    Shape(2, 20, 9, 30, 9, 5),
    Shape(1, 20, 9, 31, 12, 5),
    Shape(1, 7, 6, 21, 6, 7),
    Shape(3, 9, 14, 18, 14, 1),
]


def words_of(values, kind, swapped):
    """Values as the words of a file, big-endian or native."""
    words = values.astype(REAL[kind]).view(WORD[kind])
    return words.byteswap() if swapped else words


def noise(rng, shape, kind):
    """White noise with a bright pixel, the same in all types."""
    image = (rng.standard_normal(shape.image) * 1e-3).astype(np.float32).astype(REAL[kind])
    for plane in image:
        plane[rng.integers(shape.ny), rng.integers(shape.nx)] = 5
    return image


def blanked(rng, image, kind):
    """Words of the image with all kinds of blanks: a block, one alone, infinities, NaNs of any bits."""
    image = image.copy()
    image[:, : image.shape[1] // 3, : image.shape[2] // 4] = np.nan
    image[:, -1, -1] = np.inf
    words = image.view(WORD[kind])
    odd = {
        "f32": [0xFFC00001, 0x7F800001, 0x7FFFFFFF, 0xFF800000],
        "f64": [0xFFF8000000000001, 0x7FF0000000000001, 0x7FFFFFFFFFFFFFFF, 0xFFF0000000000000],
    }[kind]
    for word in odd:
        words[:, rng.integers(image.shape[1]), rng.integers(image.shape[2])] = word
    return image


def check_load(kernels, rng):
    """All words, flags and shapes; zeros everywhere else on the grid."""
    count = 0
    types = [("f32", "f32"), ("f64", "f64"), ("f32", "f64")]
    for shape, (w, r), flags, launch in itertools.product(SHAPES, types, range(8), LAUNCHES):
        image = noise(rng, shape, w)
        if rng.integers(3):
            image = blanked(rng, image, w)
        if w == "f64":
            # Too large and too small for a float.
            image[:, 0, 0] = 1e39
            image[:, -1, 0] = 1e-42
        raw = Guarded(shape.image, WORD[w], words_of(image, w, flags & BIG_ENDIAN))
        work = Guarded(shape.work, REAL[r], np.nan)
        blank = Guarded(shape.image, np.uint8, 7)
        kernels(f"load_{w}_{r}", launch, raw, work, blank, *shape.numbers, flags)
        with np.errstate(over="ignore", invalid="ignore"):
            values = image.astype(REAL[r])
        none = ~np.isfinite(values)
        wanted = none.astype(REAL[r]) if flags & MASK else np.where(none, 0, values)
        assert (work.array[:, :, : shape.gx] == shape.on_grid(wanted)).all(), (shape, w, r, flags)
        assert (work.array[:, :, shape.gx :] == 0).all(), (shape, w, r, flags)
        noted = none if flags & NOTE_BLANKS else 7
        assert (blank.array == noted).all(), (shape, w, r, flags)
        if not flags & NOTE_BLANKS:
            kernels(f"load_{w}_{r}", launch, raw, work, None, *shape.numbers, flags)
        count += 1
    return count


def frequency(k, n):
    return k if k < (n + 1) // 2 else k - n


def filter_value(i, j, shape, coefficients, gain):
    """The kernel's own formula, with the exponential of the C library."""
    a, b, c = coefficients[:3]
    x, y = float(frequency(i, shape.gx)), float(frequency(j, shape.gy))
    even, odd = a * (x * x) + c * (y * y), b * (x * y)
    value = gain * math.exp(-(even + odd))
    if (2 * i == shape.gx) != (2 * j == shape.gy):
        value = 0.5 * (value + gain * math.exp(-(even - odd)))
    return value


def check_filter(kernels, rng):
    """Bit for bit the formula; both gains, each plane with coefficients of its own."""
    count = 0
    for shape, r, which, launch in itertools.product(SHAPES, ("f32", "f64"), (0, 1), LAUNCHES):
        coef = Guarded((shape.planes, 6), np.float64, rng.uniform(0.001, 0.02, (shape.planes, 6)))
        coef.array[:, 1] *= rng.choice([-1, 1])
        spectrum = rng.standard_normal(shape.work).astype(REAL[r])
        work = Guarded(shape.work, REAL[r], spectrum)
        kernels(f"filter_{r}", launch, work, coef, shape.planes, shape.gx, shape.gy, which)
        for p in range(shape.planes):
            k = coef.array[p]
            values = [
                [filter_value(i, j, shape, k, k[4 if which else 3]) for i in range(shape.gx // 2 + 1)]
                for j in range(shape.gy)
            ]
            values = np.repeat(np.array(values).astype(REAL[r]), 2, axis=1)
            assert (work.array[p] == spectrum[p] * values).all(), (shape, r, which)
        count += 1
    return count


def check_blank_and_weight(kernels, rng):
    """The limit itself is blank, and what is just below it is not."""
    count = 0
    for shape, r, launch in itertools.product(SHAPES, ("f32", "f64"), LAUNCHES):
        coef = Guarded((shape.planes, 6), np.float64, np.nan)
        coef.array[:, 5] = rng.choice([1.0, 2.0, 0.5], shape.planes)
        # What would be 1 after the gain, and one step of the type below.
        steps = np.array([1, np.nextafter(REAL[r](1), REAL[r](0)), 0, -1, 1.5], REAL[r])
        mask = rng.choice(steps, shape.work) / coef.array[:, 5].astype(REAL[r])[:, None, None]
        work = Guarded(shape.work, REAL[r], mask)
        blank = Guarded(shape.image, np.uint8, 7)
        kernels(f"blank_{r}", launch, work, blank, coef, *shape.numbers, 1.0)
        wanted = coef.array[:, 5][:, None, None] * shape.of_grid(mask).astype(np.float64) >= 1.0
        assert (blank.array == wanted).all(), (shape, r)
        if r == "f64":
            weight = Guarded(shape.image, np.float64, np.nan)
            kernels("weight_f64", launch, work, weight, *shape.numbers)
            assert (weight.array == 1.0 - shape.of_grid(mask)).all(), shape
        count += 1
    return count


def check_store(kernels, rng):
    """All types and flags; blanks have the bits of the plain NaN."""
    count = 0
    types = [("f32", "f32"), ("f64", "f64"), ("f64", "f32")]
    asides = (0, BLANKS, WEIGHTS)
    for shape, (r, w), order, aside, launch in itertools.product(SHAPES, types, (0, 1), asides, LAUNCHES):
        real = (rng.standard_normal(shape.work) * 10.0 ** rng.integers(-30, 30, shape.work)).astype(REAL[r])
        work = Guarded(shape.work, REAL[r], real)
        out = Guarded(shape.image, WORD[w])
        values = shape.of_grid(real)
        none = np.zeros(shape.image, bool)
        beside = None
        if aside == BLANKS:
            none = rng.integers(0, 2, shape.image).astype(bool)
            beside = Guarded(shape.image, np.uint8, none)
        elif aside == WEIGHTS:
            weight = rng.choice([1.0, 0.3, LEAST_WEIGHT, np.nextafter(LEAST_WEIGHT, 0), 0.0, -0.1], shape.image)
            none = weight < LEAST_WEIGHT
            beside = Guarded(shape.image, np.float64, weight)
            with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
                values = (values.astype(np.float64) / weight).astype(REAL[r])
        kernels(f"store_{r}_{w}", launch, work, out, beside, *shape.numbers, order | aside, LEAST_WEIGHT)
        with np.errstate(over="ignore"):
            words = np.where(none, WORD[w](BLANK_WORD[w]), values.astype(REAL[w]).view(WORD[w]))
        assert (out.array == (words.byteswap() if order else words)).all(), (shape, r, w, order, aside)
        count += 1
    return count


def smoothed(kernels, launch, shape, types, raw, coef, rule):
    """Planes through the kernels as the backend does it, with numpy's transforms of half spectra."""
    w, r, v = types
    work = Guarded(shape.work, REAL[r])

    def convolve(flags, which, noted):
        work.array[...] = np.nan
        kernels(f"load_{w}_{r}", launch, raw, work, noted, *shape.numbers, flags)
        spectra = np.fft.rfft2(work.array[:, :, : shape.gx].astype(np.float64))
        work.array.view(COMPLEX[r])[...] = spectra
        kernels(f"filter_{r}", launch, work, coef, shape.planes, shape.gx, shape.gy, which)
        spectra = work.array.view(COMPLEX[r]).astype(np.complex128)
        work.array[...] = np.nan
        work.array[:, :, : shape.gx] = np.fft.irfft2(spectra, s=(shape.gy, shape.gx), norm="forward")

    blank = Guarded(shape.image, np.uint8, 7)
    aside, flags = blank, BIG_ENDIAN | BLANKS
    if rule == "interpolate":
        convolve(BIG_ENDIAN | MASK, 1, None)
        aside, flags = Guarded(shape.image, np.float64, np.nan), BIG_ENDIAN | WEIGHTS
        kernels("weight_f64", launch, work, aside, *shape.numbers)
    elif rule == "racs":
        convolve(BIG_ENDIAN | MASK, 1, None)
        aside = Guarded(shape.image, np.uint8, 7)
        kernels(f"blank_{r}", launch, work, aside, coef, *shape.numbers, RACS_BLANK_FROM)
    convolve(BIG_ENDIAN | NOTE_BLANKS, 0, blank)
    out = Guarded(shape.image, WORD[v])
    kernels(f"store_{r}_{v}", launch, work, out, aside, *shape.numbers, flags, LEAST_WEIGHT)
    return out.array.byteswap().view(REAL[v]).astype(np.float64)


def reference(shape, image, coef, rule):
    """Full complex spectra in float64, the real part, and the rule for blanks."""
    none = ~np.isfinite(image)
    y = np.fft.fftfreq(shape.gy, 1 / shape.gy)[:, None]
    x = np.fft.fftfreq(shape.gx, 1 / shape.gx)[None, :]
    planes = np.empty(shape.image)
    for p, (a, b, c, gain, mask_gain, racs_gain) in enumerate(coef):
        transfer = np.exp(-(a * x * x + b * x * y + c * y * y)) * (shape.gx * shape.gy)

        def real(plane, factor):
            one = Shape(1, *shape.numbers[1:])
            grid = one.on_grid(plane[None].astype(np.float64))
            return one.of_grid(np.real(np.fft.ifft2(np.fft.fft2(grid) * transfer * factor)))[0]

        value = real(np.where(none[p], 0, image[p]), gain)
        mask = real(none[p], mask_gain)
        if rule == "keep":
            value[none[p]] = np.nan
        elif rule == "racs":
            value[racs_gain * mask >= RACS_BLANK_FROM] = np.nan
        else:
            value = np.where(1 - mask < LEAST_WEIGHT, np.nan, value / np.where(mask == 1, 1, 1 - mask))
        planes[p] = value
    return planes


def coefficients(rng, shape, width):
    """Rotated Gaussians of about this many half widths in the grid, one a plane."""
    bins = shape.gx * shape.gy
    rows = []
    for _ in range(shape.planes):
        a, c = width / shape.gx**2, 0.6 * width / shape.gy**2
        b = rng.choice([-1.2, 1.2]) * math.sqrt(a * c)
        gain = rng.uniform(1, 2)
        rows.append([a, b, c, gain / bins, 1 / bins, rng.uniform(0.9, 1.3)])
    return Guarded((shape.planes, 6), np.float64, np.array(rows))


def check_planes(kernels, rng):
    """Whole planes; the narrow kernels are those that the Nyquist bins matter for."""
    allowed = {"f32": 2e-6, "f64": 1e-12}
    worst = {"f32": 0.0, "f64": 0.0}
    count = 0
    types = [("f32", "f32", "f32"), ("f64", "f64", "f64"), ("f32", "f64", "f32")]
    for shape, chosen, rule in itertools.product(SHAPES, types, ("keep", "racs", "interpolate")):
        if rule == "interpolate" and chosen[1] == "f32":
            continue
        for width, blanks in itertools.product((0.02, 2.0, 9.0), (False, True)):
            image = noise(rng, shape, chosen[0])
            if blanks:
                image = blanked(rng, image, chosen[0])
            raw = Guarded(shape.image, WORD[chosen[0]], words_of(image, chosen[0], True))
            coef = coefficients(rng, shape, width)
            found = smoothed(kernels, LAUNCHES[count % 3], shape, chosen, raw, coef, rule)
            with np.errstate(invalid="ignore"):   # NaNs that signal
                wanted = reference(shape, image.astype(np.float64), coef.array, rule)
            case = (shape, chosen, rule, width, blanks)
            assert (np.isnan(found) == np.isnan(wanted)).all(), case
            if np.isfinite(wanted).any():
                narrow = "f64" if chosen[1:] == ("f64", "f64") else "f32"
                off = np.nanmax(np.abs(found - wanted)) / max(np.nanmax(np.abs(wanted)), 1e-30)
                assert off <= allowed[narrow], (case, off)
                worst[narrow] = max(worst[narrow], off)
            count += 1
    return count, worst


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    kernels = Kernels(sys.argv[1])
    rng = np.random.default_rng(7)
    print(f"load: {check_load(kernels, rng)} cases")
    print(f"filter: {check_filter(kernels, rng)} cases, bit for bit")
    print(f"blank and weight: {check_blank_and_weight(kernels, rng)} cases")
    print(f"store: {check_store(kernels, rng)} cases")
    count, worst = check_planes(kernels, rng)
    print(f"planes: {count} cases, off by {worst['f32']:.1e} (f32) and {worst['f64']:.1e} (f64) of the peak")


if __name__ == "__main__":
    main()
