#include "compiler/Driver/ClusterNames.h"

#include "runtime/Base/File.h"

#include "llvm/ADT/StringExtras.h"

#include <cstdlib>

using namespace zc;

Result<std::string> zc::hereFile() {
  const char *cache = std::getenv("XDG_CACHE_HOME");
  if (cache && *cache)
    return std::string(cache) + "/zc/here.json";
  const char *home = std::getenv("HOME");
  if (home && *home)
    return std::string(home) + "/.cache/zc/here.json";
  return makeError(StatusCode::InvalidArgument,
                   "neither XDG_CACHE_HOME nor HOME says where the cluster "
                   "'here' is; name a file with -o, and with --cluster");
}

Result<Cluster> zc::loadCluster(const std::string &name) {
  if (const char *text = findPreset(name))
    return Cluster::parse(text, "cluster '" + name + "'");
  constexpr size_t kMostBytes = 64 << 20;
  const bool isHere = name == "here";
  std::string path = name;
  if (isHere) {
    ZC_ASSIGN_OR_RETURN(path, hereFile());
  }
  Result<std::string> text = readFile(path, kMostBytes);
  if (isHere && !text.ok() && text.status().code() == StatusCode::NotFound)
    return makeError(StatusCode::NotFound,
                     "this machine has not been measured "
                     "yet: `zc plan --calibrate` writes '",
                     path, "'");
  if (!text.ok() && text.status().code() == StatusCode::NotFound)
    return makeError(StatusCode::NotFound, "there is no cluster file '", name,
                     "'; presets are ", llvm::join(listPresets(), ", "),
                     ", and here, this machine");
  if (!text.ok())
    return text.status();
  return Cluster::parse(*text, path);
}
