// Streams, each a thread with a queue, and events. What the queued work does is not known here.
#include "mock.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <set>

using namespace mock;

namespace mock {

static void sleep_us(long us) { std::this_thread::sleep_for(std::chrono::microseconds(us)); }

// MOCK_CUDA_SLOW=name:us,…
static long slowness(const char *name) {
    const char *slow = getenv("MOCK_CUDA_SLOW");
    size_t length = strlen(name);
    for (const char *item = slow; item; item = strchr(item, ',')) {
        if (*item == ',') item++;
        if (!strncmp(item, name, length) && item[length] == ':') return atol(item + length + 1);
    }
    return 0;
}

static void trace(int stream, const char *name, double from) {
    static FILE *file = getenv("MOCK_CUDA_TRACE") ? fopen(getenv("MOCK_CUDA_TRACE"), "w") : nullptr;
    if (!file) return;
    fprintf(file, "%d %s %.6f %.6f\n", stream, name, from, seconds());
    fflush(file);
}

// Never destroyed, as streams may still run while the process ends.
struct Streams {
    std::mutex mutex;
    std::set<Stream *> all;
    Stream *own[MAX_DEVICES] = {};
    std::atomic<int> ids{0};
};
static Streams &streams() {
    static Streams *it = new Streams;
    return *it;
}

Stream::Stream(int device) : device(device), id(streams().ids++) {
    thread = std::thread([this] { loop(); });
}
Stream::~Stream() {
    {
        std::lock_guard<std::mutex> lock(mutex);
        stop = true;
    }
    changed.notify_all();
    thread.join();
}
void Stream::push(const char *name, std::function<void()> work, bool always) {
    if (int code = late_code())
        work = [code, always, work] {
            sticky = code;
            if (always) work();
        };
    {
        std::lock_guard<std::mutex> lock(mutex);
        queue.push_back({name, always, std::move(work)});
    }
    changed.notify_all();
}
void Stream::drain() {
    std::unique_lock<std::mutex> lock(mutex);
    changed.wait(lock, [&] { return queue.empty() && !busy; });
}
bool Stream::idle() {
    std::lock_guard<std::mutex> lock(mutex);
    return queue.empty() && !busy;
}
void Stream::loop() {
    std::mt19937 random(id * 7919u + (unsigned)number("MOCK_CUDA_SEED", 0));
    long jitter = number("MOCK_CUDA_JITTER", 0);
    std::function<void()> pause = [&] {
        if (jitter > 0) sleep_us(random() % jitter);
    };
    for (;;) {
        Operation operation;
        {
            std::unique_lock<std::mutex> lock(mutex);
            changed.wait(lock, [&] { return stop || !queue.empty(); });
            if (queue.empty()) return;
            operation = std::move(queue.front());
            queue.pop_front();
            busy = true;
        }
        run(operation, pause);
        operation.work = nullptr;
        {
            std::lock_guard<std::mutex> lock(mutex);
            busy = false;
        }
        changed.notify_all();
    }
}
void Stream::run(Operation &operation, std::function<void()> &pause) {
    pause();
    if (long us = slowness(operation.name)) sleep_us(us);
    double from = seconds();
    if (!sticky || operation.always) operation.work();
    trace(id, operation.name, from);
}

Stream *stream_of(void *handle) {
    std::lock_guard<std::mutex> lock(streams().mutex);
    if (handle) return streams().all.count((Stream *)handle) ? (Stream *)handle : nullptr;
    int device = current_device();
    if (device < 0) return nullptr;
    Stream *&own = streams().own[device];
    if (!own) streams().all.insert(own = new Stream(device));
    return own;
}
void drain_device(int device) {
    std::vector<Stream *> those;
    {
        std::lock_guard<std::mutex> lock(streams().mutex);
        for (Stream *stream : streams().all)
            if (stream->device == device) those.push_back(stream);
    }
    for (Stream *stream : those) stream->drain();
}
int enqueue(void *handle, const char *name, double bytes, std::function<void()> work) {
    Stream *stream = stream_of(handle);
    if (!stream) return INVALID_HANDLE;
    stream->push(name, [=] {
        double time = modelled("hbm", bytes);
        if (time >= 0) occupy("hbm", time);
        else work();
    });
    return OK;
}

// What an event was recorded for. An event may be recorded anew while others wait for this.
struct Signal {
    std::mutex mutex;
    std::condition_variable done;
    bool set = false;
    double at = 0;
    void raise() {
        {
            std::lock_guard<std::mutex> lock(mutex);
            set = true;
            at = seconds();
        }
        done.notify_all();
    }
    double wait() {
        std::unique_lock<std::mutex> lock(mutex);
        done.wait(lock, [&] { return set; });
        return at;
    }
    bool raised() {
        std::lock_guard<std::mutex> lock(mutex);
        return set;
    }
};
struct Event {
    int device;
    bool timing;
    std::mutex mutex;
    std::shared_ptr<Signal> signal;
    std::shared_ptr<Signal> last() {
        std::lock_guard<std::mutex> lock(mutex);
        return signal;
    }
};

}  // namespace mock

// One stream's handle, or out of the function.
#define STREAM(name, handle) \
    Stream *name = stream_of(handle); \
    if (!name) return INVALID_HANDLE

API int cuStreamCreate(void **handle, unsigned) {
    GATE; NEEDS_CONTEXT;
    Stream *stream = new Stream(current_device());
    std::lock_guard<std::mutex> lock(streams().mutex);
    streams().all.insert(stream);
    *handle = stream;
    return OK;
}
API int cuStreamCreateWithPriority(void **handle, unsigned flags, int) { return cuStreamCreate(handle, flags); }
API int cuStreamDestroy_v2(void *handle) {
    GATE;
    {
        std::lock_guard<std::mutex> lock(streams().mutex);
        if (!streams().all.erase((Stream *)handle)) return INVALID_HANDLE;
    }
    delete (Stream *)handle;
    return OK;
}
// With a sticky error at once, though the stream may not have come to an end.
API int cuStreamSynchronize(void *handle) {
    GATE; MAYBE_SKIP;
    STREAM(stream, handle);
    stream->drain();
    return sticky;
}
API int cuStreamQuery(void *handle) {
    GATE;
    STREAM(stream, handle);
    return stream->idle() ? OK : NOT_READY;
}
API int cuStreamIsCapturing(void *, int *status) {
    GATE;
    *status = 0;
    return OK;
}
API int cuStreamWaitEvent(void *handle, void *event, unsigned) {
    GATE; MAYBE_SKIP;
    STREAM(stream, handle);
    if (auto signal = ((Event *)event)->last()) stream->push("wait", [signal] { signal->wait(); });
    return OK;
}
API int cuCtxSynchronize() {
    GATE; NEEDS_CONTEXT;
    drain_device(current_device());
    return sticky;
}

API int cuEventCreate(void **event, unsigned flags) {
    GATE; NEEDS_CONTEXT;
    if (flags & ~7u) return INVALID_VALUE;
    *event = new Event{current_device(), !(flags & 2), {}, nullptr};
    return OK;
}
API int cuEventDestroy_v2(void *event) {
    GATE;
    delete (Event *)event;
    return OK;
}
API int cuEventRecord(void *handle, void *on) {
    GATE; MAYBE_SKIP;
    STREAM(stream, on);
    Event *event = (Event *)handle;
    if (stream->device != event->device) return INVALID_HANDLE;
    auto signal = std::make_shared<Signal>();
    {
        std::lock_guard<std::mutex> lock(event->mutex);
        event->signal = signal;
    }
    stream->push("record", [signal] { signal->raise(); }, true);
    return OK;
}
API int cuEventSynchronize(void *event) {
    GATE; MAYBE_SKIP;
    if (auto signal = ((Event *)event)->last()) signal->wait();
    return sticky;
}
API int cuEventQuery(void *event) {
    GATE;
    auto signal = ((Event *)event)->last();
    if (signal && !signal->raised()) return NOT_READY;
    return sticky;
}
API int cuEventElapsedTime(float *ms, void *from, void *to) {
    GATE;
    Event *a = (Event *)from, *b = (Event *)to;
    auto first = a->last(), second = b->last();
    if (!a->timing || !b->timing || !first || !second) return INVALID_HANDLE;
    if (!first->raised() || !second->raised()) return NOT_READY;
    *ms = 1e3f * (float)(second->wait() - first->wait());
    return sticky;
}
API int cuEventElapsedTime_v2(float *ms, void *from, void *to) { return cuEventElapsedTime(ms, from, to); }
