// A file that several processes fill, each its own part. Nobody sees it before
// its folder is renamed into place.
#ifndef ZC_RUNTIME_IO_PARTFILE_H
#define ZC_RUNTIME_IO_PARTFILE_H

#include "runtime/Base/Status.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace zc {

class PartFile {
public:
  /// Creates a file of `size` bytes that begins with `header`.
  static Status create(const std::string &path, std::string_view header,
                       uint64_t size);

  /// Opens a file that one process has created.
  static Result<PartFile> open(const std::string &path);
  PartFile(PartFile &&other) noexcept;
  PartFile &operator=(PartFile &&) = delete;
  ~PartFile();

  Status writeAt(uint64_t offset, const void *data, size_t bytes);
  /// Makes what was written durable.
  Status sync();

private:
  PartFile(std::string path, int descriptor)
      : path(std::move(path)), descriptor(descriptor) {}

  std::string path;
  int descriptor;
};

} // namespace zc

#endif // ZC_RUNTIME_IO_PARTFILE_H
