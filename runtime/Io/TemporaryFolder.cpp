#include "runtime/Io/TemporaryFolder.h"
#include "runtime/Base/File.h"

#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>

namespace zc::checkpoint {

namespace fs = std::filesystem;

Result<TemporaryFolder> TemporaryFolder::create(const std::string &finalPath) {
  fs::path place(finalPath);
  std::string path = (place.parent_path() / ("." + place.filename().string() +
                                             kTemporaryMark + "XXXXXX"))
                         .string();
  if (!::mkdtemp(path.data()))
    return errnoError("cannot write checkpoint '" + finalPath + "'");
  mode_t mask = ::umask(0);
  ::umask(mask);
  // By the descriptor: in a sandbox nobody changes rights by a path.
  const int folder = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder >= 0) {
    ::fchmod(folder, 0777 & ~mask);
    ::close(folder);
  }
  return TemporaryFolder(std::move(path));
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
