// A libcuda.so.1 with the entry point alone: a driver too old to have what is called.
extern "C" __attribute__((visibility("default"))) int cuInit(unsigned) { return 0; }
