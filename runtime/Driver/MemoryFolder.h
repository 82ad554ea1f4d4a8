// A folder in this machine's memory, which outlives the processes that write to
// it.
#ifndef ZC_RUNTIME_DRIVER_MEMORYFOLDER_H
#define ZC_RUNTIME_DRIVER_MEMORYFOLDER_H

#include "runtime/Base/Status.h"

#include <string>

namespace zc {

/// In /dev/shm; where there is none, in $TMPDIR or /tmp. This user alone may
/// read it. Removed with this object; the next program clears leftovers of a
/// killed one.
class MemoryFolder {
public:
  /// `purpose` is a part of the name.
  static Result<MemoryFolder> create(const std::string &purpose);
  MemoryFolder(MemoryFolder &&other) noexcept
      : thePath(std::exchange(other.thePath, "")) {}
  MemoryFolder &operator=(MemoryFolder &&) = delete;
  ~MemoryFolder();

  const std::string &path() const { return thePath; }

private:
  explicit MemoryFolder(std::string path) : thePath(std::move(path)) {}
  std::string thePath;
};

} // namespace zc

#endif // ZC_RUNTIME_DRIVER_MEMORYFOLDER_H
