// A checkpoint's folder while it is written. Private to this folder.
#ifndef ZC_RUNTIME_IO_TEMPORARYFOLDER_H
#define ZC_RUNTIME_IO_TEMPORARYFOLDER_H

#include "runtime/Base/Status.h"

#include <string>
#include <utility>

namespace zc::checkpoint {

/// In the name of every such folder, so that the next run can remove those of a
/// killed one.
constexpr const char *kTemporaryMark = ".tmp-";

/// A folder that vanishes unless it is renamed into place.
class TemporaryFolder {
public:
  /// Beside `finalPath`.
  static Result<TemporaryFolder> create(const std::string &finalPath);
  TemporaryFolder(TemporaryFolder &&other) noexcept
      : thePath(std::exchange(other.thePath, "")) {}
  TemporaryFolder &operator=(TemporaryFolder &&) = delete;
  ~TemporaryFolder();

  const std::string &path() const { return thePath; }

  /// Takes the place of `target`; a folder that is there goes away after.
  Status moveTo(const std::string &target);

private:
  explicit TemporaryFolder(std::string path) : thePath(std::move(path)) {}
  std::string thePath;
};

} // namespace zc::checkpoint

#endif // ZC_RUNTIME_IO_TEMPORARYFOLDER_H
