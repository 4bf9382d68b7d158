// The knobs in the environment, counted calls and injected failures, modelled time.
#include "mock.h"

#include <chrono>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace mock {

std::atomic<int> sticky{0};
int sticky_code() { return sticky; }

const char *text(const char *name, const char *otherwise) {
    const char *value = getenv(name);
    return value ? value : otherwise;
}
long number(const char *name, long otherwise) {
    const char *value = getenv(name);
    return value ? strtol(value, nullptr, 0) : otherwise;
}

// Never destroyed: streams may still run while the process ends.
struct Calls {
    std::mutex mutex;
    std::map<std::string, long> counts;
    Calls() {
        if (getenv("MOCK_CUDA_CALLS")) atexit(write);
    }
    static void write();
};
static Calls &calls() {
    static Calls *all = new Calls;
    return *all;
}
void Calls::write() {
    FILE *file = fopen(text("MOCK_CUDA_CALLS", ""), "w");
    if (!file) return;
    std::lock_guard<std::mutex> lock(calls().mutex);
    for (auto &entry : calls().counts) fprintf(file, "%s %ld\n", entry.first.c_str(), entry.second);
    fclose(file);
}

// Whether an item's word for when is true of the k-th call: "3", "3+" from then on, "%3" each
// third, "*" each.
static bool due(const std::string &when, long k) {
    if (when == "*") return true;
    if (when[0] == '%') {
        long each = atol(when.c_str() + 1);
        return each > 0 && k % each == 0;
    }
    long first = atol(when.c_str());
    return when.back() == '+' ? k >= first : k == first;
}

static std::vector<std::string> split(const std::string &joined, char by) {
    std::vector<std::string> parts;
    size_t from = 0;
    for (size_t to; (to = joined.find(by, from)) != std::string::npos; from = to + 1)
        parts.push_back(joined.substr(from, to - from));
    parts.push_back(joined.substr(from));
    return parts;
}

// "cuMemAlloc_v2" is "cuMemAlloc" too.
static bool names(const std::string &item, const char *function) {
    std::string full = function;
    size_t version = full.rfind("_v");
    return item == full || (version != std::string::npos && item == full.substr(0, version));
}

static thread_local long call = 0;                // number of this thread's last counted call
// MOCK_CUDA_SKIP=function:k/n:from,…
bool skipped(const char *function) {
    const char *wanted = getenv("MOCK_CUDA_SKIP");
    if (!wanted || !*wanted) return false;
    for (auto &item : split(wanted, ',')) {
        auto words = split(item, ':');
        if (words.size() < 2 || !names(words[0], function)) continue;
        long k = 0, n = 1, from = words.size() > 2 ? atol(words[2].c_str()) : 1;
        if (sscanf(words[1].c_str(), "%ld/%ld", &k, &n) < 1 || n < 1) continue;
        if (call >= from && (call - from) % n == k) return true;
    }
    return false;
}

static thread_local int late = 0;
int late_code() {
    int code = late;
    late = 0;
    return code;
}

int counted(const char *knob, const char *function) {
    late = 0;
    long k;
    {
        std::lock_guard<std::mutex> lock(calls().mutex);
        k = call = ++calls().counts[function];
    }
    const char *wanted = getenv(knob);
    if (!wanted || !*wanted) return 0;
    for (auto &item : split(wanted, ',')) {
        auto words = split(item, ':');              // function:code, function:when:code
        if (words.size() < 2 || !names(words[0], function)) continue;
        std::string when = words.size() > 2 ? words[1] : "*", code = words.back();
        if (!due(when, k)) continue;
        if (code.compare(0, 4, "late") == 0) late = atoi(code.c_str() + 4);
        else return atoi(code.c_str());
    }
    return 0;
}

int gate(const char *function) {
    if (number("MOCK_CUDA_STUB", 0)) return STUB_LIBRARY;
    int code = counted("MOCK_CUDA_FAIL", function);
    if (code >= ILLEGAL_ADDRESS && code != ALREADY_REGISTERED && code != NOT_REGISTERED) sticky = code;
    return code ? code : sticky.load();
}

void complain(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "mock: ");
    vfprintf(stderr, format, arguments);
    fprintf(stderr, "\n");
    va_end(arguments);
    if (number("MOCK_CUDA_STRICT", 0)) abort();
}

double seconds() {
    using namespace std::chrono;
    static const auto start = steady_clock::now();
    return duration<double>(steady_clock::now() - start).count();
}

double modelled(const char *engine, double bytes) {
    const char *model = getenv("MOCK_CUDA_MODEL");
    if (!model || bytes < SMALL_BYTES) return -1;
    for (auto &item : split(model, ',')) {
        auto words = split(item, ':');
        if (words.size() == 2 && words[0] == engine) return bytes / (atof(words[1].c_str()) * 1e9);
    }
    return -1;
}

void occupy(const char *engine, double time) {
    static std::mutex *h2d = new std::mutex, *d2h = new std::mutex, *hbm = new std::mutex;
    std::mutex *taken = !strcmp(engine, "h2d") ? h2d : !strcmp(engine, "d2h") ? d2h : hbm;
    std::lock_guard<std::mutex> lock(*taken);
    std::this_thread::sleep_for(std::chrono::duration<double>(time));
}

}  // namespace mock
