#include "runtime/Device/Plugin.h"
#include "runtime/Base/Plugin.h"

#include <algorithm>

namespace zc {

Result<std::unique_ptr<Device>> openDevice(const std::string &kind,
                                           const DeviceOptions &options) {
  // The kind comes from an artifact: it must not lead to another folder.
  bool plain =
      !kind.empty() && std::all_of(kind.begin(), kind.end(), [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
      });
  if (!plain)
    return makeError(StatusCode::Unsupported, "there is no device '", kind,
                     "'");
  ZC_ASSIGN_OR_RETURN(PluginLibrary library,
                      openPlugin(kind, "device '" + kind + "'"));
  auto version = reinterpret_cast<DevicePluginVersionFunction>(
      library.symbol(kDevicePluginVersionSymbol));
  auto create = reinterpret_cast<CreateDeviceFunction>(
      library.symbol(kCreateDeviceSymbol));
  if (!version || !create || version() != kDevicePluginVersion)
    return makeError(StatusCode::Unsupported, "'", library.path,
                     "' comes from another build of zc");
  Status status;
  std::unique_ptr<Device> device(create(options, status));
  if (!device)
    return status.withContext("device '" + kind + "'");
  return device;
}

} // namespace zc
