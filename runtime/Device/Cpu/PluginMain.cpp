// Exports of `libzc_cpu.so`.
#include "runtime/Device/Cpu/CpuDevice.h"

#define ZC_EXPORT extern "C" __attribute__((visibility("default")))

ZC_EXPORT int zcDevicePluginVersion() { return zc::kDevicePluginVersion; }

ZC_EXPORT zc::Device *zcCreateDevice(const zc::DeviceOptions &options,
                                     zc::Status &status) {
  return zc::cpu::createCpuDevice(options, &status).release();
}
