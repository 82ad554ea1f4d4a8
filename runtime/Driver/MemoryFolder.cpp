#include "runtime/Driver/MemoryFolder.h"
#include "runtime/Base/File.h"

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>

namespace zc {

namespace fs = std::filesystem;

static constexpr const char *kShared = "/dev/shm";
static constexpr const char *kPrefix = "zc-launch-"; // then the process

/// Folders of this user's whose process has ended.
static void clearLeftOver() {
  std::error_code error;
  for (const auto &entry : fs::directory_iterator(kShared, error)) {
    const std::string name = entry.path().filename().string();
    struct stat info;
    if (name.rfind(kPrefix, 0) != 0 ||
        ::lstat(entry.path().c_str(), &info) != 0 || !S_ISDIR(info.st_mode) ||
        info.st_uid != ::geteuid())
      continue;
    const long process = std::atol(name.c_str() + std::string(kPrefix).size());
    if (process > 0 && ::kill(pid_t(process), 0) != 0 && errno == ESRCH)
      removeAll(entry.path().string());
  }
}

Result<MemoryFolder> MemoryFolder::create(const std::string &purpose) {
  clearLeftOver();
  std::string path =
      strCat(kShared, "/", kPrefix, ::getpid(), "-", purpose, "-XXXXXX");
  if (::mkdtemp(path.data()))
    return MemoryFolder(path);
  ZC_ASSIGN_OR_RETURN(path, makeTemporaryFolder(strCat(kPrefix, purpose)));
  return MemoryFolder(path);
}

MemoryFolder::~MemoryFolder() {
  if (!thePath.empty())
    removeAll(thePath);
}

} // namespace zc
