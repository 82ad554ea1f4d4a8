// The folder for files that readers want by their path. One that is left by a
// killed process goes when the next one starts.
#include "runtime/Base/LeftOvers.h"
#include "test/fuzz/Fuzz.h"

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <unistd.h>

namespace zc::fuzz {
namespace {

/// In memory where there is such a place.
class Folder {
public:
  Folder() {
    path = ::access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
    clearLeftOver(path, "zc-fuzz");
    path += "/" + ownPrefix("zc-fuzz") + "XXXXXX";
    if (!::mkdtemp(path.data())) {
      std::fprintf(stderr, "zc-fuzz: no folder '%s' can be made\n",
                   path.c_str());
      std::exit(1);
    }
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }

  std::string path;
};

} // namespace

const std::string &scratch() {
  static const Folder folder;
  return folder.path;
}

} // namespace zc::fuzz
