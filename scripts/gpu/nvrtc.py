"""Compiles a CUDA source with a given libnvrtc and writes the PTX to standard output.

    python3 scripts/gpu/nvrtc.py LIBNVRTC SOURCE

Needs nothing but that library: no GPU, no driver. scripts/gpu/ptx.sh calls it.
"""

import ctypes
import sys

# compute_70 is the oldest architecture that CUDA 12 and 13 drivers both still translate. Without
# --fmad=false products and sums would be fused, and the filter differ from the one on the CPU.
OPTIONS = ["--gpu-architecture=compute_70", "--fmad=false"]


class Nvrtc:
    """The five calls of NVRTC that a compilation takes."""

    def __init__(self, path):
        self.library = ctypes.CDLL(path)
        self.library.nvrtcGetErrorString.restype = ctypes.c_char_p

    def call(self, function, *arguments):
        """Calls a function that answers a status; raises unless it is 0."""
        status = getattr(self.library, function)(*arguments)
        if status != 0:
            text = self.library.nvrtcGetErrorString(status).decode()
            raise RuntimeError(f"{function}: {text} ({status})")

    def text(self, kind, program):
        """The program's text of a kind, "PTX" or "ProgramLog"."""
        size = ctypes.c_size_t()
        self.call(f"nvrtcGet{kind}Size", program, ctypes.byref(size))
        buffer = ctypes.create_string_buffer(size.value)
        self.call(f"nvrtcGet{kind}", program, buffer)
        return buffer.value.decode()

    def compile(self, source):
        """The PTX of a source text; the compiler's log goes to standard error."""
        program = ctypes.c_void_p()
        self.call("nvrtcCreateProgram", ctypes.byref(program), source.encode(), b"kernels.cu", 0, None, None)
        options = (ctypes.c_char_p * len(OPTIONS))(*[option.encode() for option in OPTIONS])
        try:
            self.call("nvrtcCompileProgram", program, len(OPTIONS), options)
        finally:
            sys.stderr.write(self.text("ProgramLog", program))
        return self.text("PTX", program)


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    library, path = sys.argv[1:]
    with open(path, encoding="utf-8") as file:
        source = file.read()
    ptx = Nvrtc(library).compile(source)
    sys.stdout.write(ptx.rstrip("\n") + "\n")


if __name__ == "__main__":
    main()
