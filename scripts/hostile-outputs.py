"""Reads every output in a folder with astropy: all HDUs, headers and data. Prints how many could be read.

An output keeps the cards of its input verbatim, so what astropy finds wrong with a card alone is no fault of ours: the
HDUs must be found and their data read.
"""

import pathlib
import sys
import warnings

try:
    import astropy
    import numpy
    from astropy.io import fits
except ImportError:
    sys.exit("astropy is not here: the outputs were not read by it")


def read(path):
    """Returns how many HDUs there are and whether the pixels are floating-point numbers."""
    with fits.open(path, memmap=False, lazy_load_hdus=False, ignore_missing_simple=False) as hdus:
        images = [hdu for hdu in hdus if hdu.is_image and hdu.data is not None and hdu.data.ndim >= 2]
        return len(hdus), any(numpy.issubdtype(hdu.data.dtype, numpy.floating) for hdu in images)


def main(folder):
    paths = sorted(pathlib.Path(folder).glob("*.fits"))
    wrong = 0
    for path in paths:
        try:
            hdus, floats = read(path)
            fault = "" if hdus and floats else f"{hdus} HDUs and no floating-point image"
        except Exception as error:  # whatever it says is what a user would see
            fault = f"{type(error).__name__}: {error}"
        if fault:
            wrong += 1
            print(f"case {path.stem}: {fault}")
    print(f"astropy {astropy.__version__} read {len(paths) - wrong} of {len(paths)} outputs")
    return 1 if wrong else 0


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    sys.exit(main(sys.argv[1]))
