// Modules and launches. The PTX that is loaded gives the kernels' names and parameters, the same
// source compiled for the host the code; both must agree.
#include "../shim.h"
#include "../../../src/convolve/cuda/kernels.cu"
#include "mock.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <tuple>
#include <utility>

using namespace mock;

namespace mock {

struct Launch { mm_dim3 grid, block; };
struct Kernel {
    const char *name;
    std::vector<size_t> parameters;               // bytes of each
    std::vector<bool> pointers;
    std::function<std::function<void()>(void **, const Launch &)> bind;
};

template <class A> static A argument(void *p) {
    A value;
    memcpy(&value, p, sizeof value);
    if constexpr (std::is_pointer_v<A>) value = (A)host((Pointer)value);
    return value;
}
template <class... A, size_t... I>
static Kernel make(const char *name, void (*kernel)(A...), std::index_sequence<I...>) {
    auto bind = [kernel](void **p, const Launch &launch) -> std::function<void()> {
        std::tuple<A...> arguments{argument<A>(p[I])...};
        return [=] { std::apply([&](auto... a) { mm_launch(launch.grid, launch.block, kernel, a...); }, arguments); };
    };
    return {name, {sizeof(A)...}, {std::is_pointer_v<A>...}, bind};
}
template <class... A> static Kernel make(const char *name, void (*kernel)(A...)) {
    return make(name, kernel, std::index_sequence_for<A...>{});
}
#define KERNEL(name) make(#name, name)
static const std::vector<Kernel> &kernels() {
    static const auto *all = new std::vector<Kernel>{
        KERNEL(mm_load_f32_f32), KERNEL(mm_load_f64_f64), KERNEL(mm_load_f32_f64),
        KERNEL(mm_filter_f32), KERNEL(mm_filter_f64), KERNEL(mm_blank_f32), KERNEL(mm_blank_f64),
        KERNEL(mm_weight_f64), KERNEL(mm_store_f32_f32), KERNEL(mm_store_f64_f64), KERNEL(mm_store_f64_f32),
    };
    return *all;
}

struct Module;
struct Function { const Kernel *kernel; int device; };
struct Module {
    int device;
    std::map<std::string, std::vector<size_t>> entries;
    std::map<std::string, Function> functions;
};

// The two numbers after a directive, "x.y" as 10 x + y, or -1.
static int version_after(const std::string &ptx, const char *directive) {
    size_t at = ptx.find(directive);
    int major = 0, minor = 0;
    if (at == std::string::npos) return -1;
    if (sscanf(ptx.c_str() + at + strlen(directive), " %d.%d", &major, &minor) != 2) return -1;
    return 10 * major + minor;
}
// The newest PTX of a driver: 8.0 came with CUDA 12.0, 9.0 with 13.0, and one with each minor.
static int newest_ptx() {
    int version = (int)number("MOCK_CUDA_VERSION", 13000);
    int minor = version % 1000 / 10;
    return version >= 13000 ? 90 + minor : version >= 12000 ? 80 + minor : 70 + minor;
}
static int check_ptx(const std::string &ptx) {
    int version = version_after(ptx, ".version");
    size_t target = ptx.find(".target sm_");
    if (version < 0 || target == std::string::npos) return INVALID_PTX;
    if (version > newest_ptx()) return UNSUPPORTED_PTX_VERSION;
    int major = 9, minor = 0;
    sscanf(text("MOCK_CUDA_CC", "9.0"), "%d.%d", &major, &minor);
    return atoi(ptx.c_str() + target + 11) > 10 * major + minor ? NO_BINARY_FOR_GPU : OK;
}
// ".entry name(" and ".param .u64 …" up to ")".
static void read_entries(const std::string &ptx, Module &module) {
    for (size_t at = 0; (at = ptx.find(".entry ", at)) != std::string::npos;) {
        at += 7;
        size_t open = ptx.find('(', at), close = ptx.find(')', at);
        if (open == std::string::npos || close == std::string::npos) return;
        std::vector<size_t> sizes;
        for (size_t p = open; (p = ptx.find(".param .", p)) < close;) {
            p += 9;                               // past the type's letter
            sizes.push_back(atoi(ptx.c_str() + p) / 8);
        }
        module.entries[ptx.substr(at, open - at)] = sizes;
    }
}

// Whether every pointer is null or the device's own; `bytes` is what they can reach.
static bool reachable(const Kernel &kernel, void **p, int device, double &bytes) {
    for (size_t i = 0; i < kernel.parameters.size(); i++) {
        if (!kernel.pointers[i]) continue;
        Pointer at;
        memcpy(&at, p[i], sizeof at);
        if (!at) continue;
        if (holder(at, 1) != device) {
            complain("%s: parameter %zu, %#llx, is not memory of device %d", kernel.name, i, at, device);
            return false;
        }
        bytes += (double)reach(at);
    }
    return true;
}

}  // namespace mock

API int cuModuleLoadData(void **handle, const void *image) {
    GATE; NEEDS_CONTEXT;
    std::string ptx((const char *)image);
    if (int code = check_ptx(ptx)) return code;
    auto *module = new Module;
    module->device = current_device();
    read_entries(ptx, *module);
    *handle = module;
    return OK;
}
API int cuModuleLoadDataEx(void **handle, const void *image, unsigned, int *, void **) {
    return cuModuleLoadData(handle, image);
}
API int cuModuleUnload(void *module) {
    GATE;
    delete (Module *)module;
    return OK;
}
API int cuModuleGetFunction(void **function, void *handle, const char *name) {
    GATE;
    Module *module = (Module *)handle;
    auto entry = module->entries.find(name);
    if (entry == module->entries.end()) return NOT_FOUND;
    for (auto &kernel : kernels()) {
        if (entry->first != kernel.name) continue;
        if (entry->second != kernel.parameters) {
            complain("%s: the parameters in the PTX are not those of the source", name);
            return INVALID_IMAGE;
        }
        Function &made = module->functions[name];
        made = {&kernel, module->device};
        *function = &made;
        return OK;
    }
    complain("%s: in the PTX, but not in the source", name);
    return NOT_FOUND;
}
API int cuFuncGetAttribute(int *value, int, void *) {
    GATE;
    *value = 1024;
    return OK;
}

API int cuLaunchKernel(void *handle, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                       unsigned shared_bytes, void *on, void **parameters, void **) {
    GATE; NEEDS_CONTEXT;
    Function *function = (Function *)handle;
    Stream *stream = stream_of(on);
    if (!function || !stream) return INVALID_HANDLE;
    if (stream->device != function->device || stream->device != current_device()) return INVALID_CONTEXT;
    if (!gx || !gy || !gz || gx > 0x7fffffffu || gy > 65535 || gz > 65535) return INVALID_VALUE;
    if (!bx || !by || !bz || bz > 64 || (size_t)bx * by * bz > 1024 || shared_bytes > 49152) return INVALID_VALUE;
    const Kernel &kernel = *function->kernel;
    double bytes = 0;
    if (!reachable(kernel, parameters, stream->device, bytes)) {
        stream->push(kernel.name, [] { sticky = ILLEGAL_ADDRESS; });   // found out later, as on a device
        return OK;
    }
    // Any launch grid is right; a small one costs a host less.
    Launch launch{{gx, gy, gz}, {bx, by, bz}};
    if (!number("MOCK_CUDA_WHOLE_GRID", 0)) launch = {{1, 1, 1}, {1, 1, 1}};
    auto work = kernel.bind(parameters, launch);
    if (strstr(kernel.name, "filter")) bytes *= 2;                     // read and written
    return enqueue(on, kernel.name, bytes, work);
}
