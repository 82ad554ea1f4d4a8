// The CPU as a device: host memory, one team of threads, instructions that
// finish before the next begins.
#ifndef ZC_RUNTIME_DEVICE_CPU_CPUDEVICE_H
#define ZC_RUNTIME_DEVICE_CPU_CPUDEVICE_H

#include "runtime/Device/Plugin.h"

namespace zc::cpu {

/// Null, with a failure in `status`, where the system gives no threads.
std::unique_ptr<Device> createCpuDevice(const DeviceOptions &options,
                                        Status *status = nullptr);

} // namespace zc::cpu

#endif // ZC_RUNTIME_DEVICE_CPU_CPUDEVICE_H
