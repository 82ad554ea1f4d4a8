// A folder that one run at a time writes to.
#ifndef ZC_RUNTIME_IO_FOLDERLOCK_H
#define ZC_RUNTIME_IO_FOLDERLOCK_H

#include "runtime/Base/Status.h"
#include "runtime/Base/Temporaries.h"

#include <memory>
#include <string>

namespace zc {

/// A lock of the system's on a small file in the folder, which says who holds
/// it. However its holder ends, the lock ends with it; the file, which kill -9
/// leaves behind, means nothing by itself. A file system without locks goes
/// without.
class FolderLock {
public:
  /// Fails when another process holds it, and names that one.
  static Result<FolderLock> take(const std::string &folder);
  FolderLock(FolderLock &&other) noexcept;
  FolderLock &operator=(FolderLock &&other) noexcept;
  ~FolderLock();

private:
  FolderLock(std::string path, int descriptor)
      : path(std::move(path)), descriptor(descriptor) {}

  std::string path;
  int descriptor;
  std::unique_ptr<TemporaryName> name; // of a file that is ours
};

} // namespace zc

#endif // ZC_RUNTIME_IO_FOLDERLOCK_H
