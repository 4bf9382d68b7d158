// The driver itself: start, devices, primary contexts, the names of errors.
#include "mock.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

using namespace mock;

namespace mock {

thread_local Context *current = nullptr;
static Context contexts[MAX_DEVICES];
static std::atomic<bool> started{false};

int devices() {
    const char *visible = getenv("CUDA_VISIBLE_DEVICES");
    if (visible && !*visible) return 0;
    long n = number("MOCK_CUDA_DEVICES", 1);
    return n < 0 ? 0 : n > MAX_DEVICES ? MAX_DEVICES : (int)n;
}
int current_device() { return current ? current->device : -1; }

static bool is_device(int d) { return d >= 0 && d < devices(); }
// MOCK_CUDA_CC=major.minor as ten times the major number and the minor.
static int compute_capability() {
    int major = 9, minor = 0;
    sscanf(text("MOCK_CUDA_CC", "9.0"), "%d.%d", &major, &minor);
    return 10 * major + minor;
}
// The attributes that are not simply "yes".
static int attribute(int which) {
    switch (which) {
    case 1: return 1024;                                     // MAX_THREADS_PER_BLOCK
    case 16: return (int)number("MOCK_CUDA_PROCESSORS", 4);  // MULTIPROCESSOR_COUNT
    case 75: return compute_capability() / 10;
    case 76: return compute_capability() % 10;
    case 115: return !number("MOCK_CUDA_NOPOOLS", 0);        // MEMORY_POOLS_SUPPORTED
    default: return 1;
    }
}

}  // namespace mock

#define NEEDS_START do { if (!started) return NOT_INITIALIZED; } while (0)
#define NEEDS_DEVICE(d) do { if (!is_device(d)) return INVALID_DEVICE; } while (0)

API int cuInit(unsigned flags) {
    GATE;
    if (flags) return INVALID_VALUE;
    if (!devices()) return NO_DEVICE;
    started = true;
    return OK;
}
API int cuDriverGetVersion(int *version) {
    GATE;
    *version = (int)number("MOCK_CUDA_VERSION", 13000);
    return OK;
}
API int cuDeviceGetCount(int *n) {
    GATE; NEEDS_START;
    *n = devices();
    return OK;
}
API int cuDeviceGet(int *device, int ordinal) {
    GATE; NEEDS_START; NEEDS_DEVICE(ordinal);
    *device = ordinal;
    return OK;
}
API int cuDeviceGetName(char *name, int size, int device) {
    GATE; NEEDS_DEVICE(device);
    snprintf(name, size, "Mock GPU %d", device);
    return OK;
}
API int cuDeviceTotalMem_v2(size_t *bytes, int device) {
    GATE; NEEDS_DEVICE(device);
    *bytes = (size_t)number("MOCK_CUDA_MEM", 1l << 34);
    return OK;
}
API int cuDeviceGetAttribute(int *value, int which, int device) {
    GATE; NEEDS_DEVICE(device);
    *value = attribute(which);
    return OK;
}
API int cuDeviceGetUuid_v2(void *uuid, int device) {
    GATE; NEEDS_DEVICE(device);
    memset(uuid, 0xa0 + device, 16);
    return OK;
}
API int cuDeviceGetUuid(void *uuid, int device) { return cuDeviceGetUuid_v2(uuid, device); }
API int cuDeviceGetPCIBusId(char *name, int size, int device) {
    GATE; NEEDS_DEVICE(device);
    snprintf(name, size, "0000:%02x:00.0", device + 1);
    return OK;
}

API int cuDevicePrimaryCtxRetain(void **context, int device) {
    GATE; NEEDS_START; NEEDS_DEVICE(device);
    contexts[device].device = device;
    *context = &contexts[device];
    return OK;
}
API int cuDevicePrimaryCtxRelease_v2(int device) {
    GATE; NEEDS_DEVICE(device);
    return OK;
}
API int cuCtxGetCurrent(void **context) {
    GATE;
    *context = current;
    return OK;
}
API int cuCtxSetCurrent(void *context) {
    GATE;
    current = (Context *)context;
    return OK;
}
API int cuCtxGetDevice(int *device) {
    GATE; NEEDS_CONTEXT;
    *device = current->device;
    return OK;
}
API int cuCtxSetFlags(unsigned) {
    GATE; NEEDS_CONTEXT;
    return OK;
}

// Not counted and never failing, as they are called to tell of failures.
API int cuGetErrorName(int code, const char **name) {
    static const std::map<int, const char *> names = {
        {OK, "CUDA_SUCCESS"}, {INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE"},
        {OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY"}, {NOT_INITIALIZED, "CUDA_ERROR_NOT_INITIALIZED"},
        {STUB_LIBRARY, "CUDA_ERROR_STUB_LIBRARY"}, {NO_DEVICE, "CUDA_ERROR_NO_DEVICE"},
        {INVALID_DEVICE, "CUDA_ERROR_INVALID_DEVICE"}, {INVALID_IMAGE, "CUDA_ERROR_INVALID_IMAGE"},
        {INVALID_CONTEXT, "CUDA_ERROR_INVALID_CONTEXT"}, {NO_BINARY_FOR_GPU, "CUDA_ERROR_NO_BINARY_FOR_GPU"},
        {INVALID_PTX, "CUDA_ERROR_INVALID_PTX"}, {UNSUPPORTED_PTX_VERSION, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION"},
        {INVALID_HANDLE, "CUDA_ERROR_INVALID_HANDLE"}, {NOT_FOUND, "CUDA_ERROR_NOT_FOUND"},
        {NOT_READY, "CUDA_ERROR_NOT_READY"}, {ILLEGAL_ADDRESS, "CUDA_ERROR_ILLEGAL_ADDRESS"},
        {ALREADY_REGISTERED, "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED"},
        {NOT_REGISTERED, "CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED"}, {LAUNCH_FAILED, "CUDA_ERROR_LAUNCH_FAILED"},
        {999, "CUDA_ERROR_UNKNOWN"},
    };
    auto it = names.find(code);
    *name = it == names.end() ? nullptr : it->second;
    return it == names.end() ? INVALID_VALUE : OK;
}
API int cuGetErrorString(int code, const char **words) {
    *words = code == OUT_OF_MEMORY ? "out of memory" : code == ILLEGAL_ADDRESS ? "an illegal memory access was encountered"
           : "an error of the mock driver";
    return OK;
}
