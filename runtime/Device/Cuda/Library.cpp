#include "runtime/Device/Cuda/Library.h"

#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>
#include <glob.h>

namespace zc::cuda {
namespace {

void addMatches(const std::string &pattern, std::vector<std::string> &folders) {
  glob_t found = {};
  if (::glob(pattern.c_str(), 0, nullptr, &found) == 0)
    for (size_t i = 0; i < found.gl_pathc; ++i)
      folders.push_back(found.gl_pathv[i]);
  ::globfree(&found);
}

void addParts(const char *list, std::vector<std::string> &folders) {
  std::string text = list ? list : "";
  for (size_t begin = 0; begin < text.size();) {
    size_t end = std::min(text.find(':', begin), text.size());
    if (end > begin)
      folders.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
}

std::vector<std::string> ownFolders() {
  std::vector<std::string> folders;
  addParts(std::getenv("ZC_CUDA_LIBRARY_PATH"), folders);
  return folders;
}

void *openIn(const std::vector<std::string> &folders, const std::string &name) {
  for (const std::string &folder : folders) {
    std::string path = folder + "/" + name;
    // A library that is there but does not load is not passed over in silence:
    // the loader's message is the one that openLibrary reports.
    if (std::filesystem::exists(path))
      if (void *library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL))
        return library;
  }
  return nullptr;
}

} // namespace

std::vector<std::string> libraryFolders() {
  std::vector<std::string> folders;
  for (const char *variable : {"CUDA_HOME", "CUDA_PATH"})
    if (const char *folder = std::getenv(variable))
      folders.push_back(std::string(folder) + "/lib64");
  folders.push_back("/usr/local/cuda/lib64");
  std::vector<std::string> prefixes;
  if (const char *environment = std::getenv("VIRTUAL_ENV"))
    prefixes.push_back(environment);
  prefixes.insert(prefixes.end(), {"/usr/local", "/usr", "/opt/conda"});
  for (const std::string &prefix : prefixes)
    for (const char *packages : {"site-packages", "dist-packages"})
      addMatches(prefix + "/lib/python3*/" + packages + "/nvidia/*/lib",
                 folders);
  return folders;
}

Result<void *> openLibrary(const std::string &name) {
  ::dlerror(); // forgets an older one
  if (void *library = openIn(ownFolders(), name))
    return library;
  if (const char *why = ::dlerror())
    return makeError(StatusCode::NotFound, "cannot open ", name,
                     " in a folder of ZC_CUDA_LIBRARY_PATH: ", why);
  if (void *library = ::dlopen(name.c_str(), RTLD_NOW | RTLD_GLOBAL))
    return library;
  std::string why = ::dlerror();
  std::vector<std::string> folders = libraryFolders();
  if (void *library = openIn(folders, name))
    return library;
  if (const char *newer = ::dlerror())
    why = newer;
  std::string searched;
  for (const std::string &folder : folders)
    searched += (searched.empty() ? "" : ", ") + folder;
  return makeError(StatusCode::NotFound, "cannot open ", name, ": ", why,
                   "; looked in ", searched,
                   "; install the CUDA 13 libraries (PyPI has them) or name "
                   "their folder in ZC_CUDA_LIBRARY_PATH");
}

Status
findSymbols(void *library, const std::string &name,
            const std::vector<std::pair<const char *, void **>> &symbols) {
  for (auto [symbol, place] : symbols) {
    *place = ::dlsym(library, symbol);
    if (!*place)
      return makeError(StatusCode::Unsupported, name, " has no ", symbol,
                       "; another version is installed than zc was built for");
  }
  return Status();
}

} // namespace zc::cuda
