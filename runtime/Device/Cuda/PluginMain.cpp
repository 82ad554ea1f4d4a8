// Exports of `libzc_cuda.so`.
#include "runtime/Device/Cuda/CudaDevice.h"

#define ZC_EXPORT extern "C" __attribute__((visibility("default")))

ZC_EXPORT int zcDevicePluginVersion() { return zc::kDevicePluginVersion; }

ZC_EXPORT zc::Device *zcCreateDevice(const zc::DeviceOptions &options,
                                     zc::Status &status) {
  auto device = zc::cuda::createCudaDevice(options);
  status = device.status();
  return device.ok() ? device->release() : nullptr;
}
