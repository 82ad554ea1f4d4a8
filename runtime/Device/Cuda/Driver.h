// NVIDIA's driver as a table of functions, filled when the driver's library is
// opened: programs start on machines that have none, and tests open a recording
// fake instead.
#ifndef ZC_RUNTIME_DEVICE_CUDA_DRIVER_H
#define ZC_RUNTIME_DEVICE_CUDA_DRIVER_H

#include "runtime/Base/Status.h"

#include <cuda.h>

namespace zc::cuda {

// cuda.h renames functions to their newest versions; the names below go through
// its macros, so the table asks the library for those.
#define ZC_CUDA_DRIVER_FUNCTIONS(F)                                            \
  F(cuInit)                                                                    \
  F(cuGetErrorString)                                                          \
  F(cuDeviceGetCount)                                                          \
  F(cuDeviceGet)                                                               \
  F(cuDeviceGetName)                                                           \
  F(cuDeviceGetAttribute)                                                      \
  F(cuDeviceGetUuid)                                                           \
  F(cuDevicePrimaryCtxRetain)                                                  \
  F(cuDevicePrimaryCtxRelease)                                                 \
  F(cuCtxSetCurrent)                                                           \
  F(cuMemGetInfo)                                                              \
  F(cuMemAlloc)                                                                \
  F(cuMemFree)                                                                 \
  F(cuMemsetD8Async)                                                           \
  F(cuMemHostAlloc)                                                            \
  F(cuMemFreeHost)                                                             \
  F(cuMemcpyHtoDAsync)                                                         \
  F(cuMemcpyDtoHAsync)                                                         \
  F(cuMemcpyDtoDAsync)                                                         \
  F(cuModuleLoadDataEx)                                                        \
  F(cuModuleUnload)                                                            \
  F(cuModuleGetFunction)                                                       \
  F(cuModuleGetGlobal)                                                         \
  F(cuLaunchKernel)                                                            \
  F(cuLaunchHostFunc)                                                          \
  F(cuStreamCreate)                                                            \
  F(cuStreamDestroy)                                                           \
  F(cuStreamSynchronize)                                                       \
  F(cuStreamQuery)                                                             \
  F(cuStreamWaitEvent)                                                         \
  F(cuStreamBeginCapture)                                                      \
  F(cuStreamEndCapture)                                                        \
  F(cuGraphInstantiate)                                                        \
  F(cuGraphLaunch)                                                             \
  F(cuGraphDestroy)                                                            \
  F(cuGraphExecDestroy)                                                        \
  F(cuEventCreate)                                                             \
  F(cuEventDestroy)                                                            \
  F(cuEventRecord)                                                             \
  F(cuEventQuery)                                                              \
  F(cuEventSynchronize)                                                        \
  F(cuEventElapsedTime)

/// The table; a member per function, under the name that cuda.h gives it.
struct Driver {
#define F(name) decltype(&::name) name = nullptr;
  ZC_CUDA_DRIVER_FUNCTIONS(F)
#undef F

  /// An error unless `result` is success: which call failed, and why. It says
  /// if only a new process helps: a GPU failed or fell off the bus.
  Status check(CUresult result, const char *call) const;

  /// Opens `libcuda.so.1`, or the library that ZC_CUDA_DRIVER names, once a
  /// process.
  static Result<const Driver *> open();
};

/// Calls a function of the driver and returns its error from this function.
#define ZC_CUDA_CALL(driver, name, ...)                                        \
  ZC_RETURN_IF_ERROR((driver).check((driver).name(__VA_ARGS__), #name))

} // namespace zc::cuda

#endif // ZC_RUNTIME_DEVICE_CUDA_DRIVER_H
