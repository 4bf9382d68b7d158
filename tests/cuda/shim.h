// Lets a C++ compiler read src/convolve/cuda/kernels.cu: the CUDA words that it uses, on the CPU.
// A launch is one thread after the other, in any launch grid. Nothing about the kernels is known
// here but that they never wait for each other.
#pragma once
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

#define MM_SHIM 1
#define MM_KERNEL extern "C" void
#define MM_FN static inline

typedef unsigned char mm_u8;
typedef unsigned int mm_u32;
typedef unsigned long long mm_u64;

struct mm_dim3 { unsigned x, y, z; };
// Set by mm_launch, read by the kernels; a host thread has its own, as streams are threads.
static thread_local mm_dim3 threadIdx, blockIdx, blockDim, gridDim;

using std::exp;

template <class To, class From> static inline To mm_cast(From from) {
    static_assert(sizeof(To) == sizeof(From), "the same bits");
    To to;
    std::memcpy(&to, &from, sizeof to);
    return to;
}
#define MM_AS_F32(x) mm_cast<float>((mm_u32)(x))
#define MM_AS_U32(x) mm_cast<mm_u32>((float)(x))
#define MM_AS_F64(x) mm_cast<double>((mm_u64)(x))
#define MM_AS_U64(x) mm_cast<mm_u64>((double)(x))

// Runs a kernel in a launch grid of `grid` blocks of `block` threads.
template <class... P, class... A>
static inline void mm_launch(mm_dim3 grid, mm_dim3 block, void (*kernel)(P...), A... arguments) {
    gridDim = grid;
    blockDim = block;
    mm_dim3 b, t;
    for (b.z = 0; b.z < grid.z; b.z++)
        for (b.y = 0; b.y < grid.y; b.y++)
            for (b.x = 0; b.x < grid.x; b.x++)
                for (t.z = 0; t.z < block.z; t.z++)
                    for (t.y = 0; t.y < block.y; t.y++)
                        for (t.x = 0; t.x < block.x; t.x++) {
                            blockIdx = b;
                            threadIdx = t;
                            kernel(arguments...);
                        }
}
