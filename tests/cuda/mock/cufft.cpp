// The part of cuFFT that is called, on the mock driver: two dimensions, real, batched, in place.
// Strict where the real one is silent: a spectrum that is not that of a real plane, a missing work
// area, and one that overlaps the data.
#include "fft.h"
#include "mock.h"

#include <cstdlib>
#include <cstring>

using namespace mock;

#ifndef MOCK_CUFFT_VERSION
#define MOCK_CUFFT_VERSION 12000
#endif

namespace {

// cufftResult and cufftType, as in cufft.h.
enum { SUCCESS = 0, INVALID_PLAN = 1, ALLOC_FAILED = 2, INVALID_TYPE = 3, INVALID_ARGUMENT = 4, INTERNAL_ERROR = 5,
       EXEC_FAILED = 6, INVALID_DEVICE_OF_PLAN = 11, NO_WORKSPACE = 13 };
enum { R2C = 0x2a, C2R = 0x2c, D2Z = 0x6a, Z2D = 0x6c };

struct Layout { long long row, plane; };          // elements
struct Plan {
    int device = -1, type = 0;
    long long nx = 0, ny = 0, batch = 0;
    Layout in = {}, out = {};
    bool made = false, own_area = true;
    void *stream = nullptr;
    size_t work_bytes = 0;
    Pointer area = 0, owned = 0;
    bool single() const { return type == R2C || type == C2R; }
    bool is_forward() const { return type == R2C || type == D2Z; }
    size_t real_bytes() const { return single() ? 4 : 8; }
    long long columns() const { return nx / 2 + 1; }
    // From the first element to the last of the batch.
    size_t span_bytes() const {
        Layout half = is_forward() ? out : in, whole = is_forward() ? in : out;
        long long complexes = (batch - 1) * half.plane + (ny - 1) * half.row + columns();
        long long reals = (batch - 1) * whole.plane + (ny - 1) * whole.row + nx;
        return std::max(2 * complexes, reals) * real_bytes();
    }
};

std::mutex &mutex = *new std::mutex;
std::map<int, Plan> &plans = *new std::map<int, Plan>;
int last_handle = 0;

Plan *plan_of(int handle) {
    auto it = plans.find(handle);
    return it == plans.end() ? nullptr : &it->second;
}

size_t work_bytes(const Plan &plan) {
    double times = atof(getenv("MOCK_CUFFT_WORK") ? getenv("MOCK_CUFFT_WORK") : "1");
    double bytes = times * 2.0 * (double)plan.real_bytes() * (double)(plan.ny * plan.columns() * plan.batch);
    return ((size_t)bytes + 255) / 256 * 256;
}

// The plan of the arguments of MakePlanMany64, or why there is none.
int describe(Plan &plan, int rank, const long long *n, const long long *inembed, long long istride, Layout in,
             const long long *onembed, long long ostride, Layout out, int type, long long batch) {
    if (type != R2C && type != C2R && type != D2Z && type != Z2D) return INVALID_TYPE;
    if (rank != 2 || !inembed || !onembed || istride != 1 || ostride != 1 || batch < 1) return INVALID_ARGUMENT;
    plan.ny = n[0], plan.nx = n[1], plan.type = type, plan.batch = batch;
    plan.in = {inembed[1], in.plane}, plan.out = {onembed[1], out.plane};
    if (plan.nx < 1 || plan.ny < 1) return INVALID_ARGUMENT;
    long long in_row = plan.is_forward() ? plan.nx : plan.columns(), out_row = plan.is_forward() ? plan.columns() : plan.nx;
    bool fits = plan.in.row >= in_row && plan.out.row >= out_row;
    bool apart = batch == 1 || (in.plane >= plan.ny * plan.in.row && out.plane >= plan.ny * plan.out.row);
    plan.work_bytes = work_bytes(plan);
    return fits && apart ? SUCCESS : INVALID_ARGUMENT;
}

// What the plan's work area held is lost.
void scribble(const Plan &plan) {
    if (plan.area) memset(host(plan.area), 0xcc, plan.work_bytes);
}

template <class R> void forward(const Plan &plan, void *data) {
    scribble(plan);
    RealPlane plane(plan.nx, plan.ny);
    for (long long b = 0; b < plan.batch; b++) {
        auto *in = (const R *)data + b * plan.in.plane;
        auto *out = (std::complex<R> *)data + b * plan.out.plane;
        plane.forward(in, plan.in.row, out, plan.out.row);
    }
}
template <class R> void inverse(const Plan &plan, void *data) {
    scribble(plan);
    RealPlane plane(plan.nx, plan.ny);
    double allowed = sizeof(R) == 4 ? 1e-5 : 1e-11;
    for (long long b = 0; b < plan.batch; b++) {
        auto *in = (const std::complex<R> *)data + b * plan.in.plane;
        auto *out = (R *)data + b * plan.out.plane;
        double off = plane.asymmetry(in, plan.in.row);
        if (off > allowed) complain("inverse transform of what is no real plane's spectrum (%.1e of its peak)", off);
        plane.inverse(in, plan.in.row, out, plan.out.row);
    }
}

int check(const Plan &plan, int type, Pointer in, Pointer out) {
    if (!plan.made) return INVALID_PLAN;
    if (plan.type != type) return INVALID_TYPE;
    if (plan.device != current_device()) {
        complain("a plan of device %d used with device %d current", plan.device, current_device());
        return INVALID_DEVICE_OF_PLAN;
    }
    if (plan.work_bytes && !plan.area) return NO_WORKSPACE;
    size_t bytes = plan.span_bytes();
    if (in != out || holder(in, bytes) != plan.device) return INVALID_ARGUMENT;
    if (!plan.area) return SUCCESS;
    if (holder(plan.area, plan.work_bytes) != plan.device) return INVALID_ARGUMENT;
    if (in < plan.area + plan.work_bytes && plan.area < in + bytes) {
        complain("a work area that overlaps the data");
        return INVALID_ARGUMENT;
    }
    return SUCCESS;
}

int execute(int handle, void *in, void *out, int type, const char *name) {
    Plan plan;
    {
        std::lock_guard<std::mutex> lock(mutex);
        Plan *found = plan_of(handle);
        if (!found) return INVALID_PLAN;
        plan = *found;
    }
    if (int code = check(plan, type, (Pointer)in, (Pointer)out)) return code;
    if (sticky_code()) return EXEC_FAILED;
    void *data = host((Pointer)in);
    return enqueue(plan.stream, name, 4.0 * (double)plan.span_bytes(), [plan, data] {
        if (plan.single()) plan.is_forward() ? forward<float>(plan, data) : inverse<float>(plan, data);
        else plan.is_forward() ? forward<double>(plan, data) : inverse<double>(plan, data);
    }) ? EXEC_FAILED : SUCCESS;
}

}  // namespace

#define FAIL do { if (int code_ = counted("MOCK_CUFFT_FAIL", __func__)) return code_; } while (0)
// The plan of a handle with the plans locked, or out of the function.
#define PLAN(plan, handle) \
    std::lock_guard<std::mutex> lock(mutex); \
    Plan *plan = plan_of(handle); \
    if (!plan) return INVALID_PLAN

API int cufftGetVersion(int *version) {
    FAIL;
    *version = MOCK_CUFFT_VERSION;
    return SUCCESS;
}
// The real one takes device 0 where no context is current, which is wrong for a plan for another.
API int cufftCreate(int *handle) {
    FAIL;
    if (current_device() < 0) {
        complain("cufftCreate without a current context");
        return INTERNAL_ERROR;
    }
    std::lock_guard<std::mutex> lock(mutex);
    *handle = ++last_handle;
    plans[*handle].device = current_device();
    return SUCCESS;
}
API int cufftDestroy(int handle) {
    FAIL;
    PLAN(plan, handle);
    if (plan->owned) release(plan->owned);
    plans.erase(handle);
    return SUCCESS;
}
API int cufftSetAutoAllocation(int handle, int on) {
    FAIL;
    PLAN(plan, handle);
    plan->own_area = on;
    return SUCCESS;
}
API int cufftSetWorkArea(int handle, void *area) {
    FAIL;
    PLAN(plan, handle);
    plan->area = (Pointer)area;
    return SUCCESS;
}
API int cufftSetStream(int handle, void *stream) {
    FAIL;
    PLAN(plan, handle);
    plan->stream = stream;
    return SUCCESS;
}
API int cufftGetSize(int handle, size_t *bytes) {
    FAIL;
    PLAN(plan, handle);
    *bytes = plan->work_bytes;
    return SUCCESS;
}
API int cufftGetSizeMany64(int handle, int rank, long long *n, long long *inembed, long long istride, long long idist,
                           long long *onembed, long long ostride, long long odist, int type, long long batch,
                           size_t *bytes) {
    FAIL;
    PLAN(plan, handle);
    Plan wanted;
    int code = describe(wanted, rank, n, inembed, istride, {0, idist}, onembed, ostride, {0, odist}, type, batch);
    *bytes = wanted.work_bytes;
    return plan ? code : INVALID_PLAN;
}
API int cufftMakePlanMany64(int handle, int rank, long long *n, long long *inembed, long long istride, long long idist,
                            long long *onembed, long long ostride, long long odist, int type, long long batch,
                            size_t *bytes) {
    FAIL;
    PLAN(plan, handle);
    if (plan->made) return INVALID_PLAN;
    Plan wanted = *plan;
    int code = describe(wanted, rank, n, inembed, istride, {0, idist}, onembed, ostride, {0, odist}, type, batch);
    if (code) return code;
    if (wanted.own_area && wanted.work_bytes) {
        if (allocate(&wanted.owned, wanted.work_bytes)) return ALLOC_FAILED;
        wanted.area = wanted.owned;
    }
    wanted.made = true;
    *bytes = wanted.work_bytes;
    *plan = wanted;
    return SUCCESS;
}
API int cufftExecR2C(int handle, void *in, void *out) { FAIL; return execute(handle, in, out, R2C, "r2c"); }
API int cufftExecC2R(int handle, void *in, void *out) { FAIL; return execute(handle, in, out, C2R, "c2r"); }
API int cufftExecD2Z(int handle, void *in, void *out) { FAIL; return execute(handle, in, out, D2Z, "d2z"); }
API int cufftExecZ2D(int handle, void *in, void *out) { FAIL; return execute(handle, in, out, Z2D, "z2d"); }
