// Tries the mock driver and the mock cuFFT, one trait after the other:
//   smoke KERNELS.ptx TRAIT        status 0 if it is as it should be, else 1 and why
// The knobs that a trait needs are set by the caller: tests/cuda_mock.rs.
#include "cuda.h"
#include "fft.h"

#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

static std::string ptx;

#define EXPECT(condition) \
    do { \
        if (!(condition)) { \
            printf("smoke.cpp:%d: not so: %s\n", __LINE__, #condition); \
            exit(1); \
        } \
    } while (0)
#define CODE(call, code) \
    do { \
        int found = call; \
        if (found != (code)) { \
            printf("smoke.cpp:%d: %s answers %d, not %d\n", __LINE__, #call, found, code); \
            exit(1); \
        } \
    } while (0)
#define RIGHT(call) CODE(call, 0)

static void start(int device = 0) {
    CUcontext context;
    RIGHT(cuInit(0));
    RIGHT(cuDevicePrimaryCtxRetain(&context, device));
    RIGHT(cuCtxSetCurrent(context));
}
static CUstream stream() {
    CUstream it;
    RIGHT(cuStreamCreate(&it, 1));
    return it;
}
static CUdeviceptr memory(size_t bytes) {
    CUdeviceptr p;
    RIGHT(cuMemAlloc_v2(&p, bytes));
    return p;
}
static CUfunction function(const char *name) {
    static CUmodule module = nullptr;
    CUfunction it;
    if (!module) RIGHT(cuModuleLoadData(&module, ptx.c_str()));
    RIGHT(cuModuleGetFunction(&it, module, name));
    return it;
}
template <class... A> static int launch(CUfunction f, CUstream s, A... arguments) {
    void *pointers[] = {&arguments...};
    return cuLaunchKernel(f, 2, 3, 1, 32, 1, 1, 0, s, pointers, nullptr);
}

// Every length to 130 and some large ones against the sums themselves.
static void fft() {
    std::vector<size_t> lengths;
    for (size_t n = 1; n <= 130; n++) lengths.push_back(n);
    for (size_t n : {210, 256, 343, 500, 1024, 1009}) lengths.push_back(n);
    for (size_t n : lengths) {
        mock::Lanes x(n), other(n);
        for (size_t k = 0; k < x.re.size(); k++) x.re[k] = sin(1.0 + 3.7 * (double)k), x.im[k] = cos(2.0 * (double)(k * k % 1000));
        mock::Lanes y = x;
        mock::Fft::of(n).run(y.re, y.im, other);
        size_t lane = n % mock::LANES;
        for (size_t k = 0; k < n; k += 1 + n / 50) {
            mock::Complex sum = 0;
            for (size_t i = 0; i < n; i++) {
                mock::Complex value(x.re[i * mock::LANES + lane], x.im[i * mock::LANES + lane]);
                sum += value * std::polar(1.0, -2 * M_PI * (double)(i * k % n) / (double)n);
            }
            mock::Complex found(y.re[k * mock::LANES + lane], y.im[k * mock::LANES + lane]);
            EXPECT(std::abs(found - sum) < 1e-13 * (double)(n + 20));
        }
        mock::Fft::of(n).run(y.im, y.re, other);
        for (size_t i = 0; i < x.re.size(); i++) EXPECT(std::abs(y.re[i] / (double)n - x.re[i]) < 1e-13);
    }
}

// A plan as the backend makes it, with a work area of its own.
struct Plan {
    int handle;
    size_t bytes;
    CUdeviceptr area = 0;
    Plan(long long nx, long long ny, int type, long long batch, CUstream s) {
        long long n[] = {ny, nx}, real[] = {ny, 2 * (nx / 2 + 1)}, half[] = {ny, nx / 2 + 1};
        bool forward = type == 0x2a || type == 0x6a;
        long long *in = forward ? real : half, *out = forward ? half : real;
        RIGHT(cufftCreate(&handle));
        RIGHT(cufftSetAutoAllocation(handle, 0));
        RIGHT(cufftMakePlanMany64(handle, 2, n, in, 1, in[0] * in[1], out, 1, out[0] * out[1], type, batch, &bytes));
        RIGHT(cufftSetStream(handle, s));
        if (bytes) area = memory(bytes);
        RIGHT(cufftSetWorkArea(handle, (void *)area));
    }
};

// Forward spectra against the sums, and back to the planes; planes of a batch are apart.
template <class R> static void transforms(long long nx, long long ny, long long batch, double allowed) {
    bool single = sizeof(R) == 4;
    long long ld = 2 * (nx / 2 + 1), nh = nx / 2 + 1;
    std::vector<R> plane(ld * ny * batch), spectrum(plane.size()), back(plane.size());
    for (size_t i = 0; i < plane.size(); i++) plane[i] = (R)sin(0.1 + (double)(i * i % 977));
    CUstream s = stream();
    CUdeviceptr work = memory(plane.size() * sizeof(R));
    size_t bytes = plane.size() * sizeof(R);
    Plan forward(nx, ny, single ? 0x2a : 0x6a, batch, s), inverse(nx, ny, single ? 0x2c : 0x6c, batch, s);
    RIGHT(cuMemcpyHtoDAsync_v2(work, plane.data(), bytes, s));
    RIGHT((single ? cufftExecR2C : cufftExecD2Z)(forward.handle, (void *)work, (void *)work));
    RIGHT(cuMemcpyDtoHAsync_v2(spectrum.data(), work, bytes, s));
    RIGHT((single ? cufftExecC2R : cufftExecZ2D)(inverse.handle, (void *)work, (void *)work));
    RIGHT(cuMemcpyDtoHAsync_v2(back.data(), work, bytes, s));
    RIGHT(cuStreamSynchronize(s));
    double size = (double)(nx * ny), worst = 0;
    for (long long b = 0; b < batch; b++)
        for (long long y = 0; y < ny; y++) {
            for (long long x = 0; x < nx; x++) {
                size_t at = (b * ny + y) * ld + x;
                worst = std::max(worst, std::abs((double)back[at] / size - (double)plane[at]));
            }
            for (long long k = 0; k < nh; k++) {
                mock::Complex sum = 0;
                for (long long j = 0; j < ny; j++)
                    for (long long i = 0; i < nx; i++) {
                        double turn = (double)(i * k % nx) / (double)nx + (double)(j * y % ny) / (double)ny;
                        sum += (double)plane[(b * ny + j) * ld + i] * std::polar(1.0, -2 * M_PI * turn);
                    }
                size_t at = (b * ny + y) * ld + 2 * k;
                worst = std::max(worst, std::abs(mock::Complex(spectrum[at], spectrum[at + 1]) - sum) / size);
            }
        }
    if (worst > allowed) printf("%lld x %lld, %lld planes: off by %.1e\n", nx, ny, batch, worst);
    EXPECT(worst <= allowed);
}
static void cufft() {
    start();
    long long shapes[][2] = {{1, 1}, {2, 1}, {1, 2}, {5, 3}, {8, 6}, {9, 17}, {20, 33}, {21, 18}, {16, 35}};
    for (auto &shape : shapes)
        for (long long batch : {1, 3}) {
            transforms<float>(shape[0], shape[1], batch, 2e-7);
            transforms<double>(shape[0], shape[1], batch, 1e-14);
        }
}

// Through all kernels: a plane with blanks comes back as it was, but for the order of its bytes.
static void identity() {
    start();
    const int nx = 7, ny = 5, gx = 9, gy = 8, ld = 10;
    uint32_t in[nx * ny], out[nx * ny];
    for (int i = 0; i < nx * ny; i++) {
        float value = (float)i;
        memcpy(&in[i], &value, 4);
        in[i] = __builtin_bswap32(i == 11 ? 0x7f800000u : in[i]);
    }
    double coef[6] = {0, 0, 0, 1.0 / (gx * gy), 1.0 / (gx * gy), 1};
    CUstream s = stream();
    CUdeviceptr raw = memory(sizeof in), work = memory(4 * ld * gy), blank = memory(nx * ny), factors = memory(sizeof coef);
    Plan forward(gx, gy, 0x2a, 1, s), inverse(gx, gy, 0x2c, 1, s);
    RIGHT(cuMemcpyHtoDAsync_v2(raw, in, sizeof in, s));
    RIGHT(cuMemcpyHtoDAsync_v2(factors, coef, sizeof coef, s));
    RIGHT(launch(function("mm_load_f32_f32"), s, raw, work, blank, 1, nx, ny, gx, gy, 0, 5));
    RIGHT(cufftExecR2C(forward.handle, (void *)work, (void *)work));
    RIGHT(launch(function("mm_filter_f32"), s, work, factors, 1, gx, gy, 0));
    RIGHT(cufftExecC2R(inverse.handle, (void *)work, (void *)work));
    RIGHT(launch(function("mm_store_f32_f32"), s, work, raw, blank, 1, nx, ny, gx, gy, 0, 2, 0.0));
    RIGHT(cuMemcpyDtoHAsync_v2(out, raw, sizeof out, s));
    for (int i = 0; i < nx * ny; i++) {
        float value;
        memcpy(&value, &out[i], 4);
        EXPECT(i == 11 ? out[i] == 0x7fc00000u : std::abs(value - (float)i) < 1e-4f);
    }
}

// MOCK_CUDA_SLOW=h2d:…: without a wait the copy back overtakes, with one it does not.
static void asynchronous() {
    start();
    std::vector<char> in(4096, 1), out(4096, 2);
    RIGHT(cuMemHostRegister_v2(in.data(), in.size(), 1));
    RIGHT(cuMemHostRegister_v2(out.data(), out.size(), 1));
    CODE(cuMemHostRegister_v2(out.data() + 100, 10, 1), 712);
    CUstream there = stream(), back = stream();
    CUdeviceptr p = memory(in.size());
    CUevent event;
    RIGHT(cuEventCreate(&event, 3));
    RIGHT(cuMemcpyHtoDAsync_v2(p, in.data(), in.size(), there));
    RIGHT(cuEventRecord(event, there));
    CODE(cuEventQuery(event), 600);
    RIGHT(cuMemcpyDtoHAsync_v2(out.data(), p, out.size(), back));
    RIGHT(cuStreamSynchronize(back));
    EXPECT(out[0] == 0x55);
    RIGHT(cuStreamWaitEvent(back, event, 0));
    RIGHT(cuMemcpyDtoHAsync_v2(out.data(), p, out.size(), back));
    RIGHT(cuStreamSynchronize(back));
    EXPECT(out[0] == 1);
    RIGHT(cuEventQuery(event));
    // What is pageable is taken at once, and the copy back waited for.
    std::vector<char> pageable(4096, 3), result(4096, 4);
    RIGHT(cuMemcpyHtoDAsync_v2(p, pageable.data(), pageable.size(), there));
    pageable.assign(4096, 5);
    RIGHT(cuMemcpyDtoHAsync_v2(result.data(), p, result.size(), there));
    EXPECT(result[0] == 3);
    // Registered memory is read when its turn comes.
    RIGHT(cuMemcpyHtoDAsync_v2(p, in.data(), in.size(), there));
    in.assign(4096, 6);
    RIGHT(cuMemcpyDtoHAsync_v2(result.data(), p, result.size(), there));
    EXPECT(result[0] == 6);
    RIGHT(cuMemHostUnregister(in.data()));
    CODE(cuMemHostUnregister(in.data()), 713);
    RIGHT(cuEventDestroy_v2(event));
    RIGHT(cuStreamDestroy_v2(back));
    CODE(cuStreamSynchronize(back), 400);
}

// A device pointer used on the host ends the process.
static void pointer() {
    start();
    CUdeviceptr p = memory(64);
    pid_t child = fork();
    EXPECT(child >= 0);
    if (child == 0) {
        signal(SIGSEGV, SIG_DFL);
        *(volatile char *)p = 1;
        _exit(0);
    }
    int status = 0;
    EXPECT(waitpid(child, &status, 0) == child);
    EXPECT(!WIFEXITED(status) || WEXITSTATUS(status) != 0);
}

// A launch with memory that is not the device's is found out later, and sticks.
static void illegal() {
    start();
    CUstream s = stream();
    CUdeviceptr work = memory(1024), none = 0x1234;
    RIGHT(launch(function("mm_filter_f32"), s, work, none, 1, 4, 4, 0));
    CODE(cuStreamSynchronize(s), 700);
    CODE(cuMemFree_v2(work), 700);
    CODE(cuCtxSynchronize(), 700);
}

static std::string changed(const std::string &from, const std::string &what, const std::string &by) {
    std::string text = from;
    size_t at = text.find(what);
    EXPECT(at != std::string::npos);
    return text.replace(at, what.size(), by);
}

// PTX that is not what the source says, too new, or for a newer device.
static void ptx_checks() {
    start();
    CUmodule module;
    CUfunction f;
    RIGHT(cuModuleLoadData(&module, ptx.c_str()));
    CODE(cuModuleGetFunction(&f, module, "mm_load_f16_f16"), 500);
    std::string wrong = changed(ptx, ".param .u64 mm_weight_f64_param_1", ".param .u32 mm_weight_f64_param_1");
    RIGHT(cuModuleLoadData(&module, wrong.c_str()));
    CODE(cuModuleGetFunction(&f, module, "mm_weight_f64"), 200);
    RIGHT(cuModuleGetFunction(&f, module, "mm_load_f32_f32"));
    std::string fewer = changed(ptx, ".entry mm_weight_f64(", ".entry mm_weight_f32(");
    RIGHT(cuModuleLoadData(&module, fewer.c_str()));
    CODE(cuModuleGetFunction(&f, module, "mm_weight_f64"), 500);
    CODE(cuModuleGetFunction(&f, module, "mm_weight_f32"), 500);
    CODE(cuModuleLoadData(&module, changed(ptx, ".version 8.0", ".version 9.7").c_str()), 222);
    CODE(cuModuleLoadData(&module, changed(ptx, ".target sm_70", ".target sm_120").c_str()), 209);
    CODE(cuModuleLoadData(&module, "no PTX at all"), 218);
    RIGHT(cuModuleLoadData(&module, ptx.c_str()));
    RIGHT(cuModuleGetFunction(&f, module, "mm_weight_f64"));
    void *none[1] = {};
    CODE(cuLaunchKernel(f, 1, 65536, 1, 1, 1, 1, 0, nullptr, none, nullptr), 1);
    CODE(cuLaunchKernel(f, 1, 1, 1, 2048, 1, 1, 0, nullptr, none, nullptr), 1);
}

// MOCK_CUDA_VERSION=11080.
static void old_driver() {
    start();
    CUmodule module;
    int version;
    RIGHT(cuDriverGetVersion(&version));
    EXPECT(version == 11080);
    CODE(cuModuleLoadData(&module, ptx.c_str()), 222);
}

// MOCK_CUDA_MEM=1000000, MOCK_CUDA_HELD=100000.
static void out_of_memory() {
    start();
    size_t left, total;
    CUdeviceptr p = memory(600000), q;
    RIGHT(cuMemGetInfo_v2(&left, &total));
    EXPECT(total == 1000000 && left == 300000);
    CODE(cuMemAlloc_v2(&q, 300001), 2);
    RIGHT(cuMemAlloc_v2(&q, 300000));
    RIGHT(cuMemFree_v2(p));
    CODE(cuMemFree_v2(p), 1);
    RIGHT(cuMemAlloc_v2(&p, 600000));
}

// MOCK_CUDA_FAIL=cuMemAlloc:2:2,cuMemsetD8Async:%3:1,cuEventCreate:3+:1,cuStreamSynchronize:2:719
static void failures() {
    start();
    CUstream s = stream();
    CUdeviceptr p = memory(64), q;
    CUevent event;
    CODE(cuMemAlloc_v2(&q, 64), 2);
    RIGHT(cuMemAlloc_v2(&q, 64));
    for (int k = 1; k <= 7; k++) CODE(cuMemsetD8Async(p, 0, 64, s), k % 3 ? 0 : 1);
    for (int k = 1; k <= 5; k++) CODE(cuEventCreate(&event, 2), k < 3 ? 0 : 1);
    RIGHT(cuStreamSynchronize(s));
    CODE(cuStreamSynchronize(s), 719);
    CODE(cuMemAlloc_v2(&q, 64), 719);
    const char *name;
    RIGHT(cuGetErrorName(719, &name));
    EXPECT(!strcmp(name, "CUDA_ERROR_LAUNCH_FAILED"));
}

// MOCK_CUDA_FAIL=cuLaunchKernel:2:late700: the call is right, what waits for it is not.
static void late_failure() {
    start();
    CUstream s = stream();
    CUdeviceptr work = memory(4096), weight = memory(4096);
    CUfunction f = function("mm_weight_f64");
    CUevent event;
    RIGHT(cuEventCreate(&event, 2));
    RIGHT(launch(f, s, work, weight, 1, 2, 2, 4, 4, 0));
    RIGHT(cuStreamSynchronize(s));
    RIGHT(launch(f, s, work, weight, 1, 2, 2, 4, 4, 0));
    while (cuEventRecord(event, s) == 0) usleep(100);
    CODE(cuEventSynchronize(event), 700);
    CODE(cuStreamSynchronize(s), 700);
}

// A kernel told of more planes than there are, to be seen by AddressSanitizer.
static void beyond() {
    start();
    CUstream s = stream();
    CUdeviceptr work = memory(2 * 4 * 4), coef = memory(2 * 48);
    RIGHT(launch(function("mm_filter_f32"), s, work, coef, 2, 1, 4, 0));
    RIGHT(cuStreamSynchronize(s));
}

// MOCK_CUDA_MODEL=h2d:0.1,d2h:0.1,hbm:1: 20 MB are 200 ms each way, both ways at once, and 20 ms filled.
static void model() {
    start();
    const size_t bytes = 20000000;
    std::vector<char> in(bytes), out(bytes);
    RIGHT(cuMemHostRegister_v2(in.data(), bytes, 1));
    RIGHT(cuMemHostRegister_v2(out.data(), bytes, 1));
    CUdeviceptr p = memory(bytes), q = memory(bytes);
    CUstream there = stream(), back = stream();
    CUevent events[3];
    for (auto &event : events) RIGHT(cuEventCreate(&event, 0));
    RIGHT(cuEventRecord(events[0], there));
    RIGHT(cuMemcpyHtoDAsync_v2(p, in.data(), bytes, there));
    RIGHT(cuMemcpyDtoHAsync_v2(out.data(), q, bytes, back));
    RIGHT(cuMemsetD8Async(p, 0, bytes, there));
    RIGHT(cuEventRecord(events[1], there));
    RIGHT(cuEventRecord(events[2], back));
    RIGHT(cuCtxSynchronize());
    float one, other;
    RIGHT(cuEventElapsedTime(&one, events[0], events[1]));
    RIGHT(cuEventElapsedTime(&other, events[0], events[2]));
    printf("%.1f ms there, %.1f ms back\n", one, other);
    EXPECT(one >= 219 && one < 390);
    EXPECT(other >= 199 && other < 390);
}

// Half a spectrum that no real plane has is complained of.
static void no_real_plane() {
    start();
    CUstream s = stream();
    float spectrum[4 * 6] = {0, 1};               // an imaginary sum
    CUdeviceptr work = memory(sizeof spectrum);
    Plan inverse(4, 4, 0x2c, 1, s);
    RIGHT(cuMemcpyHtoDAsync_v2(work, spectrum, sizeof spectrum, s));
    RIGHT(cufftExecC2R(inverse.handle, (void *)work, (void *)work));
    RIGHT(cuStreamSynchronize(s));
}

// What cuFFT refuses; MOCK_CUDA_DEVICES=2.
static void cufft_refusals() {
    CUcontext second;
    start();
    CUstream s = stream();
    CUdeviceptr work = memory(4096);
    Plan plan(4, 4, 0x2a, 1, s);
    CODE(cufftExecC2R(plan.handle, (void *)work, (void *)work), 3);
    CODE(cufftExecR2C(plan.handle + 1, (void *)work, (void *)work), 1);
    CODE(cufftExecR2C(plan.handle, (void *)(work + 4080), (void *)(work + 4080)), 4);
    RIGHT(cufftSetWorkArea(plan.handle, nullptr));
    CODE(cufftExecR2C(plan.handle, (void *)work, (void *)work), 13);
    RIGHT(cufftSetWorkArea(plan.handle, (void *)work));
    CODE(cufftExecR2C(plan.handle, (void *)work, (void *)work), 4);
    RIGHT(cufftSetWorkArea(plan.handle, (void *)plan.area));
    RIGHT(cuDevicePrimaryCtxRetain(&second, 1));
    RIGHT(cuCtxSetCurrent(second));
    CODE(cufftExecR2C(plan.handle, (void *)work, (void *)work), 11);
    RIGHT(cufftDestroy(plan.handle));
    CODE(cufftDestroy(plan.handle), 1);
}

static void no_device() { CODE(cuInit(0), 100); }
static void stub() { CODE(cuInit(0), 34); }
static void cufft_failure() {
    int handle;
    start();
    CODE(cufftCreate(&handle), 18);
}

int main(int count, char **words) {
    const std::map<std::string, std::function<void()>> traits = {
        {"fft", fft}, {"cufft", cufft}, {"identity", identity}, {"asynchronous", asynchronous},
        {"pointer", pointer}, {"illegal", illegal}, {"ptx", ptx_checks}, {"old", old_driver},
        {"memory", out_of_memory}, {"failures", failures}, {"late", late_failure},
        {"spectrum", no_real_plane}, {"beyond", beyond}, {"model", model}, {"refusals", cufft_refusals}, {"none", no_device}, {"stub", stub},
        {"cufft-failure", cufft_failure},
    };
    auto trait = count == 3 ? traits.find(words[2]) : traits.end();
    if (trait == traits.end()) {
        fprintf(stderr, "smoke KERNELS.ptx TRAIT, which is one of");
        for (auto &entry : traits) fprintf(stderr, " %s", entry.first.c_str());
        fprintf(stderr, "\n");
        return 2;
    }
    std::stringstream text;
    text << std::ifstream(words[1]).rdbuf();
    ptx = text.str();
    trait->second();
    return 0;
}
