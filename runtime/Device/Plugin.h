// Opens a device's plugin, the shared library `libzc_<kind>.so`, on demand.
#ifndef ZC_RUNTIME_DEVICE_PLUGIN_H
#define ZC_RUNTIME_DEVICE_PLUGIN_H

#include "runtime/Device/Device.h"

namespace zc {

struct DeviceOptions {
  int threads = 1; // CPU: the team's size
  /// CPU: a processor for each of the threads to stay on, the caller's first;
  /// empty: they go where the system wants them.
  std::vector<int> processors = {};
  int place = 0; // GPU: this rank's place among those of its host
  /// Ranks keep copies by computing the same: no algorithm is chosen by its
  /// time, which differs.
  bool alike = false;
  /// GPU: products of float32 may be rounded to TF32 for tensor cores.
  bool tf32 = false;
  /// CPU: of products of float32.
  kernels::MatmulPrecision matmulPrecision = kernels::MatmulPrecision::Highest;
};

// Program and plugin must come from one build; the number tells when not.
constexpr int kDevicePluginVersion = 10;

/// Symbols that a plugin exports, with C linkage.
using DevicePluginVersionFunction = int (*)();
using CreateDeviceFunction = Device *(*)(const DeviceOptions &options,
                                         Status &status);
constexpr const char *kDevicePluginVersionSymbol = "zcDevicePluginVersion";
constexpr const char *kCreateDeviceSymbol = "zcCreateDevice";

/// Creates the device of that kind ("cpu") from its plugin, which is looked for
/// where openPlugin() says.
Result<std::unique_ptr<Device>> openDevice(const std::string &kind,
                                           const DeviceOptions &options);

} // namespace zc

#endif // ZC_RUNTIME_DEVICE_PLUGIN_H
