#include "runtime/Base/Plugin.h"

#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>

namespace zc {

namespace fs = std::filesystem;

/// Where libraries lie: beside libzc.so, where this code is in that, or else
/// beside the program's folder.
static fs::path libraryFolder() {
  Dl_info info;
  std::error_code error;
  if (::dladdr(reinterpret_cast<const void *>(&openPlugin), &info) != 0 &&
      fs::path(info.dli_fname).filename().string().rfind("libzc.so", 0) == 0)
    return fs::canonical(info.dli_fname, error).parent_path();
  fs::path program = fs::read_symlink("/proc/self/exe", error);
  return program.parent_path().parent_path() / "lib";
}

/// The plugins' folder; under a system's libraries, zc has one of its own.
static std::string pluginFolder(const std::string &name) {
  if (const char *folder = std::getenv("ZC_PLUGIN_PATH"))
    return folder;
  const fs::path folder = libraryFolder();
  std::error_code error;
  return (fs::exists(folder / "zc" / name, error) ? folder / "zc" : folder)
      .string();
}

void *PluginLibrary::symbol(const char *name) const {
  return ::dlsym(handle, name);
}

Result<PluginLibrary> openPlugin(const std::string &kind,
                                 const std::string &what) {
  const std::string name = "libzc_" + kind + ".so";
  const std::string path = pluginFolder(name) + "/" + name;
  // Local: a plugin's libraries must not answer for anyone else's symbols.
  void *library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library)
    return makeError(StatusCode::NotFound, "cannot open the plugin of ", what,
                     ": ", ::dlerror(),
                     "; set ZC_PLUGIN_PATH to the folder that holds it");
  return PluginLibrary{path, library};
}

} // namespace zc
