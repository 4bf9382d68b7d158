// What the parts of the mock CUDA driver and the mock cuFFT share: result codes, the knobs in the
// environment, devices, contexts, memory and streams. How the mock is used: README.md.
#pragma once
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#define API extern "C" __attribute__((visibility("default")))
#define SHARED __attribute__((visibility("default")))

namespace mock {

typedef unsigned long long Pointer;
// Set in every device pointer: such an address is none of the host's, and using it there faults.
constexpr Pointer DEVICE_BIT = 1ull << 62;
constexpr int MAX_DEVICES = 16;
// Less than this is done even where time is modelled, so that a self-test passes.
constexpr double SMALL_BYTES = 500000;

// CUresult, as in cuda.h.
enum Code {
    OK = 0, INVALID_VALUE = 1, OUT_OF_MEMORY = 2, NOT_INITIALIZED = 3, STUB_LIBRARY = 34,
    NO_DEVICE = 100, INVALID_DEVICE = 101, INVALID_IMAGE = 200, INVALID_CONTEXT = 201,
    NO_BINARY_FOR_GPU = 209, INVALID_PTX = 218, UNSUPPORTED_PTX_VERSION = 222, INVALID_HANDLE = 400,
    NOT_FOUND = 500, NOT_READY = 600, ILLEGAL_ADDRESS = 700, ALREADY_REGISTERED = 712,
    NOT_REGISTERED = 713, LAUNCH_FAILED = 719,
};

// --- knobs.cpp ---

const char *text(const char *name, const char *otherwise);
long number(const char *name, long otherwise);
// Counts a call of `function`; the code that the knob `knob` asks for, or 0.
// A code that is to come later, when the queued work runs, is kept for `late_code`.
SHARED int counted(const char *knob, const char *function);
// The late code asked for by the last counted call of this thread, or 0; asking takes it away.
int late_code();
// Says what no real driver would have to notice; with MOCK_CUDA_STRICT the process ends.
SHARED void complain(const char *format, ...) __attribute__((format(printf, 1, 2)));
double seconds();
// How long `bytes` take by MOCK_CUDA_MODEL's rate for `engine`, or a negative number without one.
double modelled(const char *engine, double bytes);
// Sleeps that long with the engine taken: what uses the same engine comes one after the other.
void occupy(const char *engine, double time);

// The first error that sticks, or 0. Nothing runs any more once there is one.
extern std::atomic<int> sticky;
SHARED int sticky_code();
// The code to answer from a driver's function before it does anything, or 0.
int gate(const char *function);
// Whether this call, which `gate` has counted, is to be right and to do nothing.
bool skipped(const char *function);
#define MAYBE_SKIP do { if (mock::skipped(__func__)) return mock::OK; } while (0)
#define GATE do { if (int gate_ = mock::gate(__func__)) return gate_; } while (0)
#define NEEDS_CONTEXT do { if (!mock::current) return mock::INVALID_CONTEXT; } while (0)

// --- driver.cpp, memory.cpp ---

struct Context { int device; };
extern thread_local Context *current;
int devices();
// The device of the current context, or -1.
SHARED int current_device();
SHARED void *host(Pointer device_pointer);
// The device whose allocation holds these bytes, or -1.
SHARED int holder(Pointer p, size_t bytes);
// Bytes from here to the end of its allocation that the pointer lies in; 0 if in none.
size_t reach(Pointer p);
SHARED int allocate(Pointer *p, size_t bytes);
SHARED int release(Pointer p);

// --- streams.cpp ---

struct Operation { const char *name; bool always; std::function<void()> work; };
class Stream {
public:
    explicit Stream(int device);
    ~Stream();                              // after all that is queued
    // `always`: runs in spite of a sticky error, so that waiters are let go.
    void push(const char *name, std::function<void()> work, bool always = false);
    void drain();
    bool idle();
    const int device;
private:
    void loop();
    void run(Operation &operation, std::function<void()> &pause);
    const int id;
    std::mutex mutex;
    std::condition_variable changed;
    std::deque<Operation> queue;
    bool busy = false, stop = false;
    std::thread thread;
};
// The stream of a handle: null is the current device's own. Null if there is no such stream.
Stream *stream_of(void *handle);
bool known_stream(void *handle);
void drain_device(int device);
// For the mock cuFFT: work that moves `bytes` of device memory.
SHARED int enqueue(void *stream, const char *name, double bytes, std::function<void()> work);

}  // namespace mock
