#include "runtime/Base/Plugin.h"

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

void *PluginLibrary::symbol(const char *name) const {
  return ::dlsym(handle, name);
}

Result<PluginLibrary> openPlugin(const std::string &kind,
                                 const std::string &what) {
  std::string path = pluginFolder() + "/libzc_" + kind + ".so";
  // Local: a plugin's libraries must not answer for anyone else's symbols.
  void *library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library)
    return makeError(StatusCode::NotFound, "cannot open the plugin of ", what,
                     ": ", ::dlerror(),
                     "; set ZC_PLUGIN_PATH to the folder that holds it");
  return PluginLibrary{path, library};
}

} // namespace zc
