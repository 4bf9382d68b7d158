// Device memory, page-locked host memory, copies and fills.
#include "mock.h"

#include <cstdlib>
#include <cstring>

using namespace mock;

namespace mock {

constexpr int POISON = 0x55;

struct Block { size_t bytes; int device; };
struct Locked { size_t bytes; bool ours; bool portable; int device; };
// Never destroyed, as streams may still run while the process ends.
struct Memory {
    std::mutex mutex;
    std::map<Pointer, Block> blocks;
    std::map<uintptr_t, Locked> locked;
    size_t used[MAX_DEVICES] = {};
};
static Memory &memory() {
    static Memory *all = new Memory;
    return *all;
}

void *host(Pointer p) { return (void *)(p & ~DEVICE_BIT); }

// The range of a map from start to length that `at` lies in, or the map's end.
template <class M, class A> static typename M::iterator around(M &ranges, A at) {
    auto it = ranges.upper_bound(at);
    if (it == ranges.begin()) return ranges.end();
    --it;
    return at - it->first < it->second.bytes ? it : ranges.end();
}
size_t reach(Pointer p) {
    std::lock_guard<std::mutex> lock(memory().mutex);
    auto it = around(memory().blocks, p);
    return it == memory().blocks.end() ? 0 : it->first + it->second.bytes - p;
}
int holder(Pointer p, size_t bytes) {
    std::lock_guard<std::mutex> lock(memory().mutex);
    auto it = around(memory().blocks, p);
    if (it == memory().blocks.end() || bytes > it->first + it->second.bytes - p) return -1;
    return it->second.device;
}
static bool is_locked(const void *p, size_t bytes) {
    std::lock_guard<std::mutex> lock(memory().mutex);
    auto it = around(memory().locked, (uintptr_t)p);
    if (it == memory().locked.end() || bytes > it->first + it->second.bytes - (uintptr_t)p) return false;
    return it->second.portable || it->second.device == current_device();
}

static size_t total_bytes() { return (size_t)number("MOCK_CUDA_MEM", 1l << 34); }
static size_t free_bytes(int device) {
    size_t gone = memory().used[device] + (size_t)number("MOCK_CUDA_HELD", 0);
    return gone > total_bytes() ? 0 : total_bytes() - gone;
}

int allocate(Pointer *p, size_t bytes) {
    NEEDS_CONTEXT;
    if (!bytes) return INVALID_VALUE;
    std::lock_guard<std::mutex> lock(memory().mutex);
    int device = current_device();
    if (bytes > free_bytes(device)) return OUT_OF_MEMORY;
#ifdef __SANITIZE_ADDRESS__
    void *at = malloc(bytes);                     // no more than that: one byte too far is seen
#else
    void *at = aligned_alloc(512, (bytes + 511) / 512 * 512);
#endif
    if (!at) return OUT_OF_MEMORY;
    // Where time is modelled, large memory is never touched.
    if (!getenv("MOCK_CUDA_MODEL") || (double)bytes < SMALL_BYTES) memset(at, POISON, bytes);
    memory().used[device] += bytes;
    *p = (Pointer)at | DEVICE_BIT;
    memory().blocks[*p] = {bytes, device};
    return OK;
}
int release(Pointer p) {
    if (!p) return OK;
    std::lock_guard<std::mutex> lock(memory().mutex);
    auto it = memory().blocks.find(p);
    if (it == memory().blocks.end()) return INVALID_VALUE;
    memory().used[it->second.device] -= it->second.bytes;
    if ((double)it->second.bytes < SMALL_BYTES) memset(host(p), POISON, it->second.bytes);
    memory().blocks.erase(it);
    free(host(p));
    return OK;
}

static void moved(const char *engine, void *to, const void *from, size_t bytes) {
    double time = modelled(engine, (double)bytes);
    if (time >= 0) occupy(engine, time);
    else memcpy(to, from, bytes);
}

}  // namespace mock

API int cuMemAlloc_v2(Pointer *p, size_t bytes) {
    GATE;
    return allocate(p, bytes);
}
API int cuMemAllocAsync(Pointer *p, size_t bytes, void *stream) {
    GATE;
    if (!stream_of(stream)) return INVALID_HANDLE;
    return allocate(p, bytes);
}
// Does not wait for what is queued, as the real one would: who frees must have waited.
API int cuMemFree_v2(Pointer p) {
    GATE;
    return release(p);
}
API int cuMemFreeAsync(Pointer p, void *handle) {
    GATE;
    Stream *stream = stream_of(handle);
    if (!stream) return INVALID_HANDLE;
    if (p && holder(p, 1) < 0) return INVALID_VALUE;
    stream->push("free", [p] { release(p); }, true);
    return OK;
}
API int cuMemGetInfo_v2(size_t *free, size_t *total) {
    GATE; NEEDS_CONTEXT;
    std::lock_guard<std::mutex> lock(memory().mutex);
    *free = free_bytes(current_device());
    *total = total_bytes();
    return OK;
}

API int cuMemHostAlloc(void **p, size_t bytes, unsigned flags) {
    GATE; NEEDS_CONTEXT;
    if (!bytes) return INVALID_VALUE;
    *p = aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
    if (!*p) return OUT_OF_MEMORY;
    std::lock_guard<std::mutex> lock(memory().mutex);
    memory().locked[(uintptr_t)*p] = {bytes, true, (flags & 1) != 0, current_device()};
    return OK;
}
API int cuMemFreeHost(void *p) {
    GATE;
    {
        std::lock_guard<std::mutex> lock(memory().mutex);
        auto it = memory().locked.find((uintptr_t)p);
        if (it == memory().locked.end() || !it->second.ours) return INVALID_VALUE;
        memory().locked.erase(it);
    }
    free(p);
    return OK;
}
API int cuMemHostRegister_v2(void *p, size_t bytes, unsigned flags) {
    GATE; NEEDS_CONTEXT;
    if (!p || !bytes || number("MOCK_CUDA_NOREG", 0)) return INVALID_VALUE;
    std::lock_guard<std::mutex> lock(memory().mutex);
    auto next = memory().locked.lower_bound((uintptr_t)p);
    bool overlaps = next != memory().locked.end() && next->first - (uintptr_t)p < bytes;
    if (overlaps || around(memory().locked, (uintptr_t)p) != memory().locked.end()) return ALREADY_REGISTERED;
    memory().locked[(uintptr_t)p] = {bytes, false, (flags & 1) != 0, current_device()};
    return OK;
}
API int cuMemHostUnregister(void *p) {
    GATE;
    std::lock_guard<std::mutex> lock(memory().mutex);
    auto it = memory().locked.find((uintptr_t)p);
    if (it == memory().locked.end() || it->second.ours) return NOT_REGISTERED;
    memory().locked.erase(it);
    return OK;
}

// The current context, a stream of it and device memory are needed for what follows.
#define COPY(stream, handle, p, bytes) \
    NEEDS_CONTEXT; \
    Stream *stream = stream_of(handle); \
    if (!stream) return INVALID_HANDLE; \
    if (holder(p, bytes) < 0) return INVALID_VALUE

API int cuMemcpyHtoDAsync_v2(Pointer to, const void *from, size_t bytes, void *handle) {
    GATE;
    COPY(stream, handle, to, bytes);
    if (is_locked(from, bytes)) {
        stream->push("h2d", [=] { moved("h2d", host(to), from, bytes); });
        return OK;
    }
    // Pageable memory is taken at once, by way of the driver's own.
    auto staged = std::make_shared<std::vector<char>>((const char *)from, (const char *)from + bytes);
    stream->push("h2d*", [=] { moved("h2d", host(to), staged->data(), bytes); });
    return OK;
}
API int cuMemcpyDtoHAsync_v2(void *to, Pointer from, size_t bytes, void *handle) {
    GATE;
    COPY(stream, handle, from, bytes);
    bool locked = is_locked(to, bytes);
    stream->push(locked ? "d2h" : "d2h*", [=] { moved("d2h", to, host(from), bytes); });
    if (locked) return OK;
    stream->drain();                              // pageable memory is waited for
    return sticky;
}
API int cuMemcpyDtoDAsync_v2(Pointer to, Pointer from, size_t bytes, void *handle) {
    GATE;
    COPY(stream, handle, to, bytes);
    if (holder(from, bytes) < 0) return INVALID_VALUE;
    stream->push("d2d", [=] { moved("hbm", host(to), host(from), bytes); });
    return OK;
}
API int cuMemsetD8Async(Pointer to, unsigned char value, size_t bytes, void *handle) {
    GATE;
    COPY(stream, handle, to, bytes);
    stream->push("memset", [=] {
        double time = modelled("hbm", (double)bytes);
        if (time >= 0) occupy("hbm", time);
        else memset(host(to), value, bytes);
    });
    return OK;
}
// The synchronous ones wait for all that the device has to do, more than they must.
API int cuMemcpyHtoD_v2(Pointer to, const void *from, size_t bytes) {
    GATE;
    COPY(stream, nullptr, to, bytes);
    drain_device(stream->device);
    if (!sticky) moved("h2d", host(to), from, bytes);
    return sticky;
}
API int cuMemcpyDtoH_v2(void *to, Pointer from, size_t bytes) {
    GATE;
    COPY(stream, nullptr, from, bytes);
    drain_device(stream->device);
    if (!sticky) moved("d2h", to, host(from), bytes);
    return sticky;
}
