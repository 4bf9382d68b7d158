// Smooths planes with the device's kernels built for the CPU and the mock's transforms, in the
// order of the real thing but without a driver, to be compared with other backends:
//   smooth TYPES RULE NX NY GX GY HALO PLANES COEFFICIENTS…  <planes >planes
// TYPES are those of file, transform and output, as in f32_f64_f32; RULE is keep, racs or
// interpolate; six coefficients a plane, as kernels.cu has them. Planes are big-endian.
#include "shim.h"
#include "../../src/convolve/cuda/kernels.cu"
#include "mock/fft.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

struct Case {
    std::string types, rule;
    int nx, ny, gx, gy, halo, planes;
    std::vector<double> coef;
    size_t pixels() const { return (size_t)planes * nx * ny; }
    size_t row() const { return 2 * (gx / 2 + 1); }
};

static const mm_dim3 GRID = {2, 3, 2}, BLOCK = {32, 1, 1};
static const double RACS_BLANK_FROM = 0.99, LEAST_WEIGHT = 1e-3;

// The kernels of one choice of types: W and V are the words of file and output.
template <class W, class R, class V> struct Kernels {
    void (*load)(const W *, R *, mm_u8 *, int, int, int, int, int, int, int);
    void (*filter)(R *, const double *, int, int, int, int);
    void (*blank)(const R *, mm_u8 *, const double *, int, int, int, int, int, int, double);
    void (*store)(const R *, V *, const void *, int, int, int, int, int, int, int, double);
};

// Load, transform, filter, transform: of the mask or of the image.
template <class W, class R, class V>
static void smoothed(const Case &c, const Kernels<W, R, V> &k, const W *raw, R *work, mm_u8 *blank, bool mask) {
    int flags = MM_LOAD_BIG_ENDIAN | (mask ? MM_LOAD_MASK : MM_LOAD_NOTE_BLANKS);
    mm_launch(GRID, BLOCK, k.load, raw, work, blank, c.planes, c.nx, c.ny, c.gx, c.gy, c.halo, flags);
    size_t half = c.gx / 2 + 1;
    mock::RealPlane transform(c.gx, c.gy);
    for (int p = 0; p < c.planes; p++) {
        R *plane = work + p * c.row() * c.gy;
        transform.forward(plane, c.row(), (std::complex<R> *)plane, half);
    }
    mm_launch(GRID, BLOCK, k.filter, work, c.coef.data(), c.planes, c.gx, c.gy, mask ? 1 : 0);
    for (int p = 0; p < c.planes; p++) {
        R *plane = work + p * c.row() * c.gy;
        double off = transform.asymmetry((std::complex<R> *)plane, half);
        if (off > (sizeof(R) == 4 ? 1e-5 : 1e-11)) {
            fprintf(stderr, "plane %d: a spectrum that no real plane has, off by %.1e of its peak\n", p, off);
            exit(1);
        }
        transform.inverse((std::complex<R> *)plane, half, plane, c.row());
    }
}

template <class W, class R, class V> static void run(const Case &c, const Kernels<W, R, V> &k) {
    std::vector<W> raw(c.pixels());
    std::vector<V> out(c.pixels());
    std::vector<R> work(c.planes * c.row() * c.gy);
    std::vector<mm_u8> blank(c.pixels());
    std::vector<double> weight;
    if (fread(raw.data(), sizeof(W), raw.size(), stdin) != raw.size()) exit(3);
    const void *aside = blank.data();
    int flags = MM_STORE_BIG_ENDIAN | MM_STORE_BLANKS;
    if (c.rule == "interpolate") {
        smoothed<W, R, V>(c, k, raw.data(), work.data(), nullptr, true);
        weight.resize(c.pixels());
        if constexpr (sizeof(R) == 8)
            mm_launch(GRID, BLOCK, mm_weight_f64, work.data(), weight.data(), c.planes, c.nx, c.ny, c.gx, c.gy, c.halo);
        aside = weight.data();
        flags = MM_STORE_BIG_ENDIAN | MM_STORE_WEIGHTS;
    }
    std::vector<mm_u8> racs(c.pixels());
    if (c.rule == "racs") {
        smoothed<W, R, V>(c, k, raw.data(), work.data(), nullptr, true);
        mm_launch(GRID, BLOCK, k.blank, work.data(), racs.data(), c.coef.data(), c.planes, c.nx, c.ny, c.gx, c.gy,
                  c.halo, RACS_BLANK_FROM);
        aside = racs.data();
    }
    smoothed<W, R, V>(c, k, raw.data(), work.data(), blank.data(), false);
    mm_launch(GRID, BLOCK, k.store, work.data(), out.data(), aside, c.planes, c.nx, c.ny, c.gx, c.gy, c.halo, flags,
              LEAST_WEIGHT);
    if (fwrite(out.data(), sizeof(V), out.size(), stdout) != out.size() || fflush(stdout)) exit(3);
}

int main(int count, char **words) {
    if (count < 9) {
        fprintf(stderr, "smooth TYPES RULE NX NY GX GY HALO PLANES COEFFICIENTS...\n");
        return 2;
    }
    Case c{words[1], words[2], atoi(words[3]), atoi(words[4]), atoi(words[5]), atoi(words[6]), atoi(words[7]),
           atoi(words[8]), {}};
    for (int i = 9; i < count; i++) c.coef.push_back(strtod(words[i], nullptr));
    if (c.coef.size() != (size_t)MM_COEFFICIENTS * c.planes) return 2;
    if (c.types == "f32_f32_f32")
        run<mm_u32, float, mm_u32>(c, {mm_load_f32_f32, mm_filter_f32, mm_blank_f32, mm_store_f32_f32});
    else if (c.types == "f64_f64_f64")
        run<mm_u64, double, mm_u64>(c, {mm_load_f64_f64, mm_filter_f64, mm_blank_f64, mm_store_f64_f64});
    else if (c.types == "f32_f64_f32")
        run<mm_u32, double, mm_u32>(c, {mm_load_f32_f64, mm_filter_f64, mm_blank_f64, mm_store_f64_f32});
    else if (c.types == "f64_f64_f32")
        run<mm_u64, double, mm_u32>(c, {mm_load_f64_f64, mm_filter_f64, mm_blank_f64, mm_store_f64_f32});
    else return 2;
    return 0;
}
