// The peak rate of a GPU's memory.
#ifndef ZC_RUNTIME_DEVICE_CUDA_LIMITS_H
#define ZC_RUNTIME_DEVICE_CUDA_LIMITS_H

#include "runtime/Device/Cuda/Driver.h"
#include "runtime/Device/Device.h"

namespace zc::cuda {

/// Bytes read and written a second by a copy within the device's memory, which
/// a kernel of few operations an element cannot beat; measured on `stream`. For
/// products the limit is the run's own best one. All 0 where there is no memory
/// left to measure with.
Result<DeviceLimits> measureLimits(const Driver &driver, CUstream stream);

} // namespace zc::cuda

#endif // ZC_RUNTIME_DEVICE_CUDA_LIMITS_H
