// The device's kernels built for the CPU, each with a C entry `host_…` for a test in any language:
// the three lengths of the launch grid, the three of a block, then the kernel's own parameters.
#include "shim.h"
#include "../../src/convolve/cuda/kernels.cu"

#define ENTRY(name) extern "C" __attribute__((visibility("default"))) void host_##name
#define LAUNCH(name, ...) mm_launch({g[0], g[1], g[2]}, {b[0], b[1], b[2]}, name, __VA_ARGS__)

#define LOAD(types, W, R)                                                                          \
    ENTRY(load_##types)(const unsigned *g, const unsigned *b, const W *raw, R *work, mm_u8 *blank, \
                        int planes, int nx, int ny, int gx, int gy, int halo, int flags) {         \
        LAUNCH(mm_load_##types, raw, work, blank, planes, nx, ny, gx, gy, halo, flags);            \
    }
#define FILTER(type, R)                                                                            \
    ENTRY(filter_##type)(const unsigned *g, const unsigned *b, R *work, const double *coef,        \
                         int planes, int gx, int gy, int which) {                                  \
        LAUNCH(mm_filter_##type, work, coef, planes, gx, gy, which);                               \
    }
#define BLANK(type, R)                                                                             \
    ENTRY(blank_##type)(const unsigned *g, const unsigned *b, const R *work, mm_u8 *blank,         \
                        const double *coef, int planes, int nx, int ny, int gx, int gy, int halo,  \
                        double from) {                                                             \
        LAUNCH(mm_blank_##type, work, blank, coef, planes, nx, ny, gx, gy, halo, from);            \
    }
#define STORE(types, R, W)                                                                         \
    ENTRY(store_##types)(const unsigned *g, const unsigned *b, const R *work, W *out,              \
                         const void *aside, int planes, int nx, int ny, int gx, int gy, int halo,  \
                         int flags, double least) {                                                \
        LAUNCH(mm_store_##types, work, out, aside, planes, nx, ny, gx, gy, halo, flags, least);    \
    }

LOAD(f32_f32, mm_u32, float)
LOAD(f64_f64, mm_u64, double)
LOAD(f32_f64, mm_u32, double)
FILTER(f32, float)
FILTER(f64, double)
BLANK(f32, float)
BLANK(f64, double)
ENTRY(weight_f64)(const unsigned *g, const unsigned *b, const double *work, double *weight, int planes, int nx, int ny,
                  int gx, int gy, int halo) {
    LAUNCH(mm_weight_f64, work, weight, planes, nx, ny, gx, gy, halo);
}
STORE(f32_f32, float, mm_u32)
STORE(f64_f64, double, mm_u64)
STORE(f64_f32, double, mm_u32)
