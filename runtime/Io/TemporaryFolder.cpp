#include "runtime/Io/TemporaryFolder.h"
#include "runtime/Base/File.h"

#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>

namespace zc::checkpoint {

namespace fs = std::filesystem;

Result<TemporaryFolder> TemporaryFolder::create(const std::string &finalPath) {
  fs::path place(finalPath);
  const std::string prefix =
      (place.parent_path() / ("." + place.filename().string() + kTemporaryMark))
          .string();
  // With its rights from the start: in a sandbox they cannot be changed.
  constexpr int kAttempts = 64;
  for (int i = 0; i < kAttempts; ++i) {
    std::string path = prefix + drawLetters();
    if (::mkdir(path.c_str(), 0777) == 0)
      return TemporaryFolder(std::move(path));
    if (errno != EEXIST)
      break;
  }
  return errnoError("cannot write checkpoint '" + finalPath + "'");
}

TemporaryFolder::~TemporaryFolder() {
  if (!thePath.empty())
    removeAll(thePath);
}

Status TemporaryFolder::moveTo(const std::string &target) {
  ZC_RETURN_IF_ERROR(syncDirectory(thePath));
  std::error_code error;
  if (!fs::exists(target, error)) {
    if (::rename(thePath.c_str(), target.c_str()) != 0)
      return errnoError("cannot write checkpoint '" + target + "'");
    thePath.clear();
    return syncDirectory(parentPath(target));
  }
  // The two folders change places at once: there is never none.
  if (::renameat2(AT_FDCWD, thePath.c_str(), AT_FDCWD, target.c_str(),
                  RENAME_EXCHANGE) != 0)
    return errnoError("cannot replace checkpoint '" + target + "'");
  return syncDirectory(parentPath(target));
}

} // namespace zc::checkpoint
