#include "runtime/Device/Cuda/Driver.h"
#include "runtime/Device/Cuda/Record.h"

#include <cstdlib>
#include <dlfcn.h>
#include <mutex>

namespace zc::cuda {
namespace {

Status fill(void *library, const std::string &path, Driver &driver) {
#define ZC_TEXT(name) #name
#define F(name)                                                                \
  driver.name = reinterpret_cast<decltype(driver.name)>(                       \
      ::dlsym(library, ZC_TEXT(name)));                                        \
  if (!driver.name)                                                            \
    return makeError(StatusCode::Unsupported, "NVIDIA's driver '", path,       \
                     "' has no ", ZC_TEXT(name),                               \
                     "; zc needs a driver for CUDA 13 (580 or newer)");
  ZC_CUDA_DRIVER_FUNCTIONS(F)
#undef F
#undef ZC_TEXT
  return Status();
}

/// Errors after which every further call fails.
bool isLost(CUresult result) {
  switch (result) {
  case CUDA_ERROR_DEINITIALIZED:
  case CUDA_ERROR_ECC_UNCORRECTABLE:
  case CUDA_ERROR_NVLINK_UNCORRECTABLE:
  case CUDA_ERROR_ILLEGAL_ADDRESS:
  case CUDA_ERROR_LAUNCH_FAILED:
  case CUDA_ERROR_LAUNCH_TIMEOUT:
  case CUDA_ERROR_HARDWARE_STACK_ERROR:
  case CUDA_ERROR_ILLEGAL_INSTRUCTION:
  case CUDA_ERROR_MISALIGNED_ADDRESS:
  case CUDA_ERROR_INVALID_ADDRESS_SPACE:
  case CUDA_ERROR_INVALID_PC:
  case CUDA_ERROR_EXTERNAL_DEVICE:
  case CUDA_ERROR_DEVICE_UNAVAILABLE:
  case CUDA_ERROR_SYSTEM_NOT_READY:
  case CUDA_ERROR_UNKNOWN:
    return true;
  default:
    return false;
  }
}

} // namespace

Status Driver::check(CUresult result, const char *call) const {
  if (result == CUDA_SUCCESS)
    return Status();
  const char *why = nullptr;
  if (cuGetErrorString(result, &why) != CUDA_SUCCESS || !why)
    why = "an error without a name";
  if (isLost(result))
    return makeError(StatusCode::Internal, "the GPU failed: ", call, ": ", why,
                     " (", int(result),
                     "); checkpoints written before are whole: continue from "
                     "the latest with --resume");
  StatusCode code = result == CUDA_ERROR_OUT_OF_MEMORY
                        ? StatusCode::ResourceExhausted
                        : StatusCode::Internal;
  return makeError(code, call, ": ", why, " (", int(result), ")");
}

Result<const Driver *> Driver::open() {
  static std::mutex mutex;
  static Driver driver;
  static bool opened = false;
  std::lock_guard<std::mutex> lock(mutex);
  if (opened)
    return &driver;
  const char *other = std::getenv("ZC_CUDA_DRIVER");
  std::string path = other ? other : "libcuda.so.1";
  void *library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library)
    return makeError(StatusCode::NotFound,
                     "this machine has no NVIDIA driver: ", ::dlerror(),
                     "; for CPUs, compile the model with --target cpu");
  ZC_RETURN_IF_ERROR(fill(library, path, driver));
  ZC_RETURN_IF_ERROR(recordCalls(driver));
  opened = true;
  return &driver;
}

} // namespace zc::cuda
