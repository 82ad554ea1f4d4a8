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

  /// Large pieces go to the disk as they lie in memory where the system can,
  /// and `data` begins as far behind a page's begin as `offset` does: to copy
  /// them into the system's cache takes many times the processor time.
  Status writeAt(uint64_t offset, const void *data, size_t bytes);
  /// Makes what was written durable.
  Status sync();

  /// A piece's places in memory and in the file are counted by pages.
  static constexpr uint64_t kPage = 4096;

private:
  PartFile(std::string path, int descriptor)
      : path(std::move(path)), descriptor(descriptor) {}
  Status copyAt(uint64_t offset, const char *from, size_t bytes);
  size_t writeDirectly(uint64_t offset, const char *from, size_t bytes);

  std::string path;
  int descriptor;
  int direct = -1; // the same file, past the system's cache; -1: cannot be
};

} // namespace zc

#endif // ZC_RUNTIME_IO_PARTFILE_H
