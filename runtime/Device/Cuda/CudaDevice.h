// An NVIDIA GPU as a device: one context, a stream for each of a
// program's, each program one graph.
#ifndef ZC_RUNTIME_DEVICE_CUDA_CUDADEVICE_H
#define ZC_RUNTIME_DEVICE_CUDA_CUDADEVICE_H

#include "runtime/Device/Plugin.h"

namespace zc::cuda {

/// The GPU of this rank: of those that CUDA_VISIBLE_DEVICES leaves, the one at
/// the rank's place on its host, over again where there are fewer GPUs.
Result<std::unique_ptr<Device>> createCudaDevice(const DeviceOptions &options);

} // namespace zc::cuda

#endif // ZC_RUNTIME_DEVICE_CUDA_CUDADEVICE_H
