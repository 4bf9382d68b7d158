// The calls of the driver and of cuFFT that smoke.cpp makes, as the real headers declare them.
#pragma once
#include <cstddef>

typedef unsigned long long CUdeviceptr;
typedef void *CUstream, *CUevent, *CUmodule, *CUfunction, *CUcontext;

extern "C" {
int cuInit(unsigned);
int cuDriverGetVersion(int *);
int cuDeviceGetCount(int *);
int cuDeviceGet(int *, int);
int cuDevicePrimaryCtxRetain(CUcontext *, int);
int cuCtxSetCurrent(CUcontext);
int cuCtxSynchronize();
int cuStreamCreate(CUstream *, unsigned);
int cuStreamDestroy_v2(CUstream);
int cuStreamSynchronize(CUstream);
int cuStreamWaitEvent(CUstream, CUevent, unsigned);
int cuEventCreate(CUevent *, unsigned);
int cuEventDestroy_v2(CUevent);
int cuEventRecord(CUevent, CUstream);
int cuEventSynchronize(CUevent);
int cuEventQuery(CUevent);
int cuEventElapsedTime(float *, CUevent, CUevent);
int cuMemAlloc_v2(CUdeviceptr *, size_t);
int cuMemFree_v2(CUdeviceptr);
int cuMemGetInfo_v2(size_t *, size_t *);
int cuMemHostRegister_v2(void *, size_t, unsigned);
int cuMemHostUnregister(void *);
int cuMemcpyHtoDAsync_v2(CUdeviceptr, const void *, size_t, CUstream);
int cuMemcpyDtoHAsync_v2(void *, CUdeviceptr, size_t, CUstream);
int cuMemsetD8Async(CUdeviceptr, unsigned char, size_t, CUstream);
int cuModuleLoadData(CUmodule *, const void *);
int cuModuleGetFunction(CUfunction *, CUmodule, const char *);
int cuLaunchKernel(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CUstream,
                   void **, void **);
int cuGetErrorName(int, const char **);
int cufftCreate(int *);
int cufftDestroy(int);
int cufftGetVersion(int *);
int cufftSetAutoAllocation(int, int);
int cufftSetWorkArea(int, void *);
int cufftSetStream(int, CUstream);
int cufftMakePlanMany64(int, int, long long *, long long *, long long, long long, long long *, long long, long long,
                        int, long long, size_t *);
int cufftExecR2C(int, void *, void *);
int cufftExecC2R(int, void *, void *);
int cufftExecD2Z(int, void *, void *);
int cufftExecZ2D(int, void *, void *);
}
