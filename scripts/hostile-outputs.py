"""Reads outputs of hostile inputs with astropy: N.in.fits and N.out.fits in a folder, all HDUs and their data.

An output keeps the cards of its input verbatim, also those that astropy takes otherwise than we do (the second of two
NAXIS1, say), so an output that cannot be read is a fault only where its input can.
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


def fault(path):
    """What astropy says against a file; nothing if it has an image that can be read to its end."""
    try:
        with fits.open(path, memmap=False, lazy_load_hdus=False) as hdus:
            images = [hdu for hdu in hdus if hdu.is_image and hdu.data is not None and hdu.data.ndim >= 2]
            floats = any(numpy.issubdtype(hdu.data.dtype, numpy.floating) for hdu in images)
            return "" if floats or path.name.endswith(".in.fits") else "no floating-point image"
    except Exception as error:  # whatever it says is what a user would see
        return f"{type(error).__name__}: {error}"


def main(folder):
    read, neither, wrong = 0, 0, 0
    for output in sorted(pathlib.Path(folder).glob("*.out.fits")):
        found = fault(output)
        if not found:
            read += 1
        elif fault(output.with_name(output.name.replace(".out.", ".in."))):
            neither += 1
        else:
            wrong += 1
            print(f"case {output.name.split('.')[0]}: {found}")
    print(f"astropy {astropy.__version__} read {read} outputs, not {neither} whose inputs it cannot read either, not {wrong}")
    return 1 if wrong else 0


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    sys.exit(main(sys.argv[1]))
