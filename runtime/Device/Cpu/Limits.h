// Peak rates of this process's threads, for profiles.
#ifndef ZC_RUNTIME_DEVICE_CPU_LIMITS_H
#define ZC_RUNTIME_DEVICE_CPU_LIMITS_H

#include "runtime/Device/Device.h"

namespace zc::cpu {

/// The library's matmul of 1024 x 1024 x 1024 in float32, and y += x of more
/// than the caches hold, on `threads` threads: the best of several runs.
Result<DeviceLimits> measureLimits(int threads);

} // namespace zc::cpu

#endif // ZC_RUNTIME_DEVICE_CPU_LIMITS_H
