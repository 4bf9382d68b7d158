"""Makes every_form.fits and every_form.json with astropy: what the crate must read from it.

The cards are those that astropy writes, and some that it only reads (free format, odd exponents).
The expectations are what astropy makes of the file once written, so they come from outside.
"""

import json
import warnings

import numpy as np
from astropy.io import fits

RAW = [  # legal in free format (FITS 4.0, 4.2), as other writers have them
    "FREEINT =   +42 / not at column 30",
    "FREEREAL= 1. / no digit after the point",
    "FREEHALF= .5",
    "FREEEXPD=                 1D-3 / exponent D",
    "FREEEXPE=              -2.5E+2 / signed exponent",
    "FREELATE=                                             17 / beyond column 30",
    "FREELOG = T / logical at column 11",
    "BIGINT  =  123456789012345678901234567890 / beyond 64 bits",
    "QUOTED  = 'it''s /not/ a comment'  / but this is",
    "EMPTYSTR= ''                   / null string",
    "BLANKSTR= '     '              / blanks",
    "LEADING = '  two before'       / leading blanks count",
    "UNDEF   =                      / no value",
    "CPLXINT = (2, -3)              / complex integer",
    "CPLXREAL= (1.5,-2.5E3)         / complex",
]


def header():
    cards = fits.Header()
    cards["LOGICALT"] = (True, "a true one")
    cards["LOGICALF"] = False
    cards["INTEGER"] = (-12345, "negative")
    cards["MAXINT"] = 9223372036854775807
    cards["REAL"] = (0.0041666666666667, "[deg] axis")
    cards["TINY"] = 1.25e-300
    cards["LONGSTR"] = ("a long string that doesn't fit, " * 6 + "end", "goes on")
    cards["HIERARCH ESO DET CHIP1 NAME"] = ("CCD", "long keyword")
    cards["HIERARCH ESO DET CHIP1 GAIN"] = 1.75
    cards["DUPLICAT"] = 1
    cards.append(("DUPLICAT", 2), end=True)
    cards["HISTORY"] = "first line of history"
    cards["HISTORY"] = "second line = with an equals sign"
    cards["COMMENT"] = "a comment / with a slash"
    for raw in RAW:
        cards.append(fits.Card.fromstring(raw.ljust(80)), end=True)
    return cards


def table():
    rows = 3
    columns = [
        fits.Column("FLAG", "L", array=np.array([True, False, True])),
        fits.Column("BITS", "11X", array=np.arange(33).reshape(3, 11) % 3 == 0),
        fits.Column("BYTE", "B", array=np.array([0, 127, 255], "u1"), null=127),
        fits.Column("SHORT", "I", array=np.array([-5, 0, 32767], "i2")),
        fits.Column("USHORT", "I", array=np.array([0, 40000, 65535], "u2"), bzero=32768),
        fits.Column("INT", "J", array=np.array([-7, 1, 2**31 - 1], "i4"), unit="pix"),
        fits.Column("LONG", "K", array=np.array([-(2**62), 3, 2**62], "i8")),
        fits.Column("NAME", "9A", array=np.array(["one", "two's", "three 3 3"])),
        fits.Column("BMAJ", "E", array=np.array([16.25, np.nan, 1e-30], "f4"), unit="arcsec"),
        fits.Column("TRIPLE", "3D", array=np.arange(9.0).reshape(rows, 3) / 7),
        fits.Column("SINGLE", "C", array=np.array([1 + 2j, 3, 4j], "c8")),
        fits.Column("DOUBLE", "M", array=np.array([1 + 2j, 3, 4j], "c16")),
        fits.Column("VARI", "PE()", array=np.array([[1.0], [2.0, 3.0], []], object)),
        fits.Column("VARQ", "QJ()", array=np.array([[1], [2, 3], []], object)),
        fits.Column("SCALED", "I", array=np.array([1, 2, -3], "i2")),
    ]
    hdu = fits.BinTableHDU.from_columns(columns, name="KINDS")
    hdu.header["TSCAL15"], hdu.header["TZERO15"] = 0.5, 1.0
    return hdu


def plain(value):
    if isinstance(value, fits.card.Undefined):
        return {"undefined": True}
    if isinstance(value, complex):
        return {"complex": [value.real, value.imag]}
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    return value


def finite(values):
    return [None if isinstance(v, float) and np.isnan(v) else v for v in values]


def main():
    image = np.arange(2 * 3 * 5, dtype=">i2").reshape(2, 3, 5)
    primary = fits.PrimaryHDU(image, header())
    second = fits.ImageHDU(np.linspace(0, 1, 7 * 4, dtype=">f4").reshape(4, 7), name="WEIGHT", ver=3)
    fits.HDUList([primary, table(), second]).writeto("every_form.fits", overwrite=True, checksum=True)
    with fits.open("every_form.fits", checksum=True) as hdus:
        cards = {}
        for card in hdus[0].header.cards:
            if card.keyword not in cards and card.keyword not in ("HISTORY", "COMMENT", ""):
                cards[card.keyword] = {"value": plain(card.value), "comment": card.comment}
        layout = []
        for hdu in hdus:
            info = hdu.fileinfo()
            layout.append(
                {
                    "class": type(hdu).__name__,
                    "name": hdu.name,
                    "header_offset": info["hdrLoc"],
                    "data_offset": info["datLoc"],
                    "data_span": info["datSpan"],
                }
            )
        columns = []
        bintable = hdus["KINDS"]
        dtype = bintable.columns.dtype
        for column in bintable.columns:
            values = bintable.data[column.name]
            stored, offset = dtype.fields[column.name][:2]
            entry = {"name": column.name, "form": column.format, "unit": column.unit,
                     "offset": offset, "width": stored.itemsize}
            if values.dtype.kind in "biufU":
                entry["values"] = [finite(np.atleast_1d(row).tolist()) for row in values]
            columns.append(entry)
        result = {"cards": cards, "hdus": layout, "columns": columns,
                  "row_bytes": bintable.header["NAXIS1"],
                  "history": [str(line) for line in hdus[0].header["HISTORY"]]}
    with open("every_form.json", "w") as out:
        json.dump(result, out, indent=1)
        out.write("\n")


if __name__ == "__main__":
    warnings.simplefilter("error")
    main()
