// The CPU as a device: host memory, one team of threads, instructions that
// finish before the next begins.
#ifndef ZC_RUNTIME_DEVICE_CPU_CPUDEVICE_H
#define ZC_RUNTIME_DEVICE_CPU_CPUDEVICE_H

#include "runtime/Device/Plugin.h"

namespace zc::cpu {

std::unique_ptr<Device> createCpuDevice(const DeviceOptions &options);

} // namespace zc::cpu

#endif // ZC_RUNTIME_DEVICE_CPU_CPUDEVICE_H
