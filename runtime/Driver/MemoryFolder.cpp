#include "runtime/Driver/MemoryFolder.h"
#include "runtime/Base/File.h"
#include "runtime/Base/LeftOvers.h"

#include <cstdlib>

namespace zc {

static constexpr const char *kShared = "/dev/shm";
static constexpr const char *kPrefix = "zc-launch";

Result<MemoryFolder> MemoryFolder::create(const std::string &purpose) {
  const std::string prefix = strCat(kPrefix, "-", purpose);
  clearLeftOver(kShared, prefix);
  std::string path = strCat(kShared, "/", ownPrefix(prefix), "XXXXXX");
  if (::mkdtemp(path.data()))
    return MemoryFolder(path);
  ZC_ASSIGN_OR_RETURN(path, makeTemporaryFolder(prefix));
  return MemoryFolder(path);
}

MemoryFolder::~MemoryFolder() {
  if (!thePath.empty())
    removeAll(thePath);
}

} // namespace zc
