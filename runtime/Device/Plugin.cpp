#include "runtime/Device/Plugin.h"

#include <algorithm>
#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>

namespace zc {

namespace fs = std::filesystem;

static std::string pluginFolder() {
  if (const char *folder = std::getenv("ZC_PLUGIN_PATH"))
    return folder;
  std::error_code error;
  fs::path program = fs::read_symlink("/proc/self/exe", error);
  return (program.parent_path().parent_path() / "lib").string();
}

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
  std::string path = pluginFolder() + "/libzc_" + kind + ".so";
  // Local: a plugin's libraries must not answer for anyone else's symbols. It
  // stays open: its code is needed until the program ends.
  void *library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library)
    return makeError(StatusCode::NotFound, "cannot open the plugin of device '",
                     kind, "': ", ::dlerror(),
                     "; set ZC_PLUGIN_PATH to the folder that holds it");
  auto version = reinterpret_cast<DevicePluginVersionFunction>(
      ::dlsym(library, kDevicePluginVersionSymbol));
  auto create = reinterpret_cast<CreateDeviceFunction>(
      ::dlsym(library, kCreateDeviceSymbol));
  if (!version || !create || version() != kDevicePluginVersion)
    return makeError(StatusCode::Unsupported, "'", path,
                     "' comes from another build of zc");
  return std::unique_ptr<Device>(create(options));
}

} // namespace zc
