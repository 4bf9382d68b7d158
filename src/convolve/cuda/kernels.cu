// What the device computes beside the transforms: words of a file to padded reals, the filter,
// the blanks, and back to words. What is run when, and how much memory it takes, is not known here.
//
// One source, three readers:
//   * NVRTC, which makes kernels.ptx, the text that the program carries (scripts/gpu/ptx.sh);
//   * a C++ compiler with tests/cuda/shim.h, for the tests of these functions;
//   * the same within the mock driver of tests/cuda/mock.
// So: no includes, no shared memory, no warp intrinsics, no textures. Every kernel is a map over
// (plane, row, column): planes over gridDim.z, rows over gridDim.y, columns over gridDim.x, each
// with a stride loop. Any launch grid is right; it only decides the speed.
//
// Layouts, planes one after another:
//   raw, out        ny rows of nx words, big-endian or native
//   blank, weight   ny rows of nx bytes or doubles
//   work            gy rows of ld = 2 (gx / 2 + 1) reals, as cuFFT has them for an in-place real
//                   transform; after it the same memory is gy rows of gx / 2 + 1 complex numbers
//   coef            six doubles a plane, MM_A to MM_RACS_GAIN
//
// Pixels on the grid. Row y of the image is row y of the grid. Without a halo pixel x is in column
// x and the rest of the grid is zero. With a halo of h columns the row repeats: column i holds
// pixel (i - h + nx) mod nx, every column of the grid holds one, and column x + h is where the
// result for pixel x is read.
//
// Blank is what is not finite in the type of the transform; it counts as zero.
//
// Arithmetic. The filter is evaluated in double for both types and rounded once. Compiled with
// --fmad=false (NVRTC) or -ffp-contract=off (C++), the two differ in exp alone, by an ulp.

#ifndef MM_SHIM
#define MM_KERNEL extern "C" __global__ void
#define MM_FN static __device__ __forceinline__
typedef unsigned char mm_u8;
typedef unsigned int mm_u32;
typedef unsigned long long mm_u64;
#define MM_AS_F32(x) __uint_as_float(x)
#define MM_AS_U32(x) __float_as_uint(x)
#define MM_AS_F64(x) __longlong_as_double((long long)(x))
#define MM_AS_U64(x) ((mm_u64)__double_as_longlong(x))
#endif

#define MM_PLANES(p, planes) for (int p = blockIdx.z; p < (planes); p += gridDim.z)
#define MM_ROWS(row, rows) for (int row = blockIdx.y; row < (rows); row += gridDim.y)
#define MM_COLUMNS(column, columns)                                                                \
    for (int column = blockIdx.x * blockDim.x + threadIdx.x; column < (columns);                   \
         column += gridDim.x * blockDim.x)

// coef: the exponent's factors of x^2, x y and y^2, x and y being integer frequencies; the gain
// of the image and of the mask, both over gx gy, as the transforms are not normalised; and what
// the smoothed mask is multiplied with before it is compared.
enum { MM_A, MM_B, MM_C, MM_GAIN, MM_MASK_GAIN, MM_RACS_GAIN, MM_COEFFICIENTS };

// Flags of mm_load and of mm_store.
enum { MM_LOAD_BIG_ENDIAN = 1, MM_LOAD_MASK = 2, MM_LOAD_NOTE_BLANKS = 4 };
enum { MM_STORE_BIG_ENDIAN = 1, MM_STORE_BLANKS = 2, MM_STORE_WEIGHTS = 4 };

// The order of a word's bytes turned round.
MM_FN mm_u32 mm_swapped(mm_u32 w) {
    return (w >> 24) | ((w >> 8) & 0xff00u) | ((w << 8) & 0xff0000u) | (w << 24);
}
MM_FN mm_u64 mm_swapped(mm_u64 w) {
    return ((mm_u64)mm_swapped((mm_u32)w) << 32) | mm_swapped((mm_u32)(w >> 32));
}

MM_FN float mm_value(mm_u32 w) { return MM_AS_F32(w); }
MM_FN double mm_value(mm_u64 w) { return MM_AS_F64(w); }
MM_FN mm_u32 mm_word(float v) { return MM_AS_U32(v); }
MM_FN mm_u64 mm_word(double v) { return MM_AS_U64(v); }

// By the exponent's bits, so that no flag of a compiler can take the test away.
MM_FN bool mm_is_blank(float v) { return (MM_AS_U32(v) & 0x7f800000u) == 0x7f800000u; }
MM_FN bool mm_is_blank(double v) {
    return (MM_AS_U64(v) & 0x7ff0000000000000ull) == 0x7ff0000000000000ull;
}
MM_FN mm_u32 mm_blank_word(float) { return 0x7fc00000u; }
MM_FN mm_u64 mm_blank_word(double) { return 0x7ff8000000000000ull; }

// Reals in a row of the grid.
MM_FN int mm_row_reals(int gx) { return 2 * (gx / 2 + 1); }

// The first element of row y of plane p.
MM_FN size_t mm_row(int p, int y, int rows, int columns) {
    return ((size_t)p * rows + y) * columns;
}

// The pixel in column i of the grid, or -1 where there is none.
MM_FN int mm_pixel(int i, int nx, int gx, int halo) {
    if (halo != 0) return i < gx ? (i - halo + nx) % nx : -1;
    return i < nx ? i : -1;
}

// The integer frequency of bin k of n, as in numpy's fftfreq: Nyquist is negative.
MM_FN int mm_frequency(int k, int n) { return k < (n + 1) / 2 ? k : k - n; }

// gain exp(-(a x^2 + b x y + c y^2)) at bin (i, j) of the half spectrum.
//
// On the Nyquist column and row of even lengths a bin and its conjugate partner are one wave but
// have different values here if b is not 0. Both get the mean of the two, but for the corner,
// which is its own partner: the half spectrum stays that of a real plane, and the result is the
// real part of the product of full spectra. The same rule is that of GaussianTransfer::bin.
MM_FN double mm_filter_at(int i, int j, int gx, int gy, const double *k, double gain) {
    double x = mm_frequency(i, gx), y = mm_frequency(j, gy);
    double even = k[MM_A] * (x * x) + k[MM_C] * (y * y);
    double odd = k[MM_B] * (x * y);
    double value = gain * exp(-(even + odd));
    bool nyquist_column = 2 * i == gx, nyquist_row = 2 * j == gy;
    if (nyquist_column != nyquist_row) value = 0.5 * (value + gain * exp(-(even - odd)));
    return value;
}

// Words to the reals of the grid, all of it. With MM_LOAD_MASK one where the pixel is blank and
// zero elsewhere. With MM_LOAD_NOTE_BLANKS the same goes to `blank` too, once for each pixel.
template <class W, class R>
MM_FN void mm_load(const W *raw, R *work, mm_u8 *blank, int planes, int nx, int ny, int gx, int gy,
                   int halo, int flags) {
    int ld = mm_row_reals(gx);
    MM_PLANES(p, planes) MM_ROWS(y, gy) {
        R *to = work + mm_row(p, y, gy, ld);
        MM_COLUMNS(i, ld) {
            int x = y < ny ? mm_pixel(i, nx, gx, halo) : -1;
            R real = (R)0;
            if (x >= 0) {
                size_t at = mm_row(p, y, ny, nx) + x;
                W word = raw[at];
                if (flags & MM_LOAD_BIG_ENDIAN) word = mm_swapped(word);
                R value = (R)mm_value(word);
                bool none = mm_is_blank(value);
                if (flags & MM_LOAD_MASK) real = none ? (R)1 : (R)0;
                else real = none ? (R)0 : value;
                if ((flags & MM_LOAD_NOTE_BLANKS) && i == x + halo) blank[at] = none;
            }
            to[i] = real;
        }
    }
}

// The half spectrum times the filter; `which` is 0 for the image's gain, else the mask's.
template <class R>
MM_FN void mm_filter(R *work, const double *coef, int planes, int gx, int gy, int which) {
    int ld = mm_row_reals(gx);
    MM_PLANES(p, planes) {
        const double *k = coef + (size_t)MM_COEFFICIENTS * p;
        double gain = which == 0 ? k[MM_GAIN] : k[MM_MASK_GAIN];
        MM_ROWS(j, gy) {
            R *row = work + mm_row(p, j, gy, ld);
            MM_COLUMNS(i, gx / 2 + 1) {
                R value = (R)mm_filter_at(i, j, gx, gy, k, gain);
                row[2 * i] *= value;
                row[2 * i + 1] *= value;
            }
        }
    }
}

// One where the smoothed mask times its gain is `from` or more, else zero.
template <class R>
MM_FN void mm_blank(const R *work, mm_u8 *blank, const double *coef, int planes, int nx, int ny,
                    int gx, int gy, int halo, double from) {
    int ld = mm_row_reals(gx);
    MM_PLANES(p, planes) {
        double gain = coef[(size_t)MM_COEFFICIENTS * p + MM_RACS_GAIN];
        MM_ROWS(y, ny) {
            const R *mask = work + mm_row(p, y, gy, ld) + halo;
            mm_u8 *to = blank + mm_row(p, y, ny, nx);
            MM_COLUMNS(x, nx) to[x] = gain * (double)mask[x] >= from;
        }
    }
}

// The smoothed weight: one less the smoothed mask.
MM_FN void mm_weight(const double *work, double *weight, int planes, int nx, int ny, int gx, int gy,
                     int halo) {
    int ld = mm_row_reals(gx);
    MM_PLANES(p, planes) MM_ROWS(y, ny) {
        const double *mask = work + mm_row(p, y, gy, ld) + halo;
        double *to = weight + mm_row(p, y, ny, nx);
        MM_COLUMNS(x, nx) to[x] = 1.0 - mask[x];
    }
}

// Reals to words. `aside` says which of them are blank: with MM_STORE_BLANKS those whose byte is
// not zero; with MM_STORE_WEIGHTS those whose weight is below `least`, all others being divided by
// it. It is not looked at without either.
template <class R, class W, class V>
MM_FN void mm_store(const R *work, W *out, const void *aside, int planes, int nx, int ny, int gx,
                    int gy, int halo, int flags, double least) {
    int ld = mm_row_reals(gx);
    const mm_u8 *blank = (const mm_u8 *)aside;
    const double *weight = (const double *)aside;
    MM_PLANES(p, planes) MM_ROWS(y, ny) {
        const R *from = work + mm_row(p, y, gy, ld) + halo;
        size_t row = mm_row(p, y, ny, nx);
        MM_COLUMNS(x, nx) {
            R value = from[x];
            bool none = false;
            if (flags & MM_STORE_BLANKS) none = blank[row + x] != 0;
            if (flags & MM_STORE_WEIGHTS) {
                double w = weight[row + x];
                none = w < least;
                if (!none) value = (R)((double)value / w);
            }
            W word = none ? mm_blank_word((V)0) : mm_word((V)value);
            out[row + x] = flags & MM_STORE_BIG_ENDIAN ? mm_swapped(word) : word;
        }
    }
}

#define MM_LOAD(NAME, W, R)                                                                        \
    MM_KERNEL mm_load_##NAME(const W *raw, R *work, mm_u8 *blank, int planes, int nx, int ny,      \
                             int gx, int gy, int halo, int flags) {                                \
        mm_load<W, R>(raw, work, blank, planes, nx, ny, gx, gy, halo, flags);                      \
    }
#define MM_FILTER(NAME, R)                                                                         \
    MM_KERNEL mm_filter_##NAME(R *work, const double *coef, int planes, int gx, int gy,            \
                               int which) {                                                        \
        mm_filter<R>(work, coef, planes, gx, gy, which);                                           \
    }
#define MM_BLANK(NAME, R)                                                                          \
    MM_KERNEL mm_blank_##NAME(const R *work, mm_u8 *blank, const double *coef, int planes, int nx, \
                              int ny, int gx, int gy, int halo, double from) {                     \
        mm_blank<R>(work, blank, coef, planes, nx, ny, gx, gy, halo, from);                        \
    }
#define MM_STORE(NAME, R, W, V)                                                                    \
    MM_KERNEL mm_store_##NAME(const R *work, W *out, const void *aside, int planes, int nx,        \
                              int ny, int gx, int gy, int halo, int flags, double least) {         \
        mm_store<R, W, V>(work, out, aside, planes, nx, ny, gx, gy, halo, flags, least);           \
    }

// Type in the file, type of the transform.
MM_LOAD(f32_f32, mm_u32, float)
MM_LOAD(f64_f64, mm_u64, double)
MM_LOAD(f32_f64, mm_u32, double)
MM_FILTER(f32, float)
MM_FILTER(f64, double)
MM_BLANK(f32, float)
MM_BLANK(f64, double)
MM_KERNEL mm_weight_f64(const double *work, double *weight, int planes, int nx, int ny, int gx,
                        int gy, int halo) {
    mm_weight(work, weight, planes, nx, ny, gx, gy, halo);
}
// Type of the transform, type in the file.
MM_STORE(f32_f32, float, mm_u32, float)
MM_STORE(f64_f64, double, mm_u64, double)
MM_STORE(f64_f32, double, mm_u32, float)
