// The second memory beside a CPU: a mapped file without a name.
#ifndef ZC_RUNTIME_DEVICE_CPU_OFFLOADFILE_H
#define ZC_RUNTIME_DEVICE_CPU_OFFLOADFILE_H

#include "runtime/Base/Status.h"

#include <cstdint>
#include <memory>
#include <string>

namespace zc::cpu {

/// Maps addresses to places in a file: reads and writes go by the file, which
/// costs no page of the process and reports a full disk. All the space that the
/// file needs is reserved on the disk at the beginning.
class OffloadFile {
public:
  /// Fails where `folder` has no room for `bytes`.
  static Result<std::unique_ptr<OffloadFile>> create(const std::string &folder,
                                                     uint64_t bytes);
  ~OffloadFile();
  OffloadFile(const OffloadFile &) = delete;

  char *base() const { return address; }
  bool contains(const void *place) const {
    return place >= address && place < address + size;
  }

  /// `source` and `destination`, respectively, lie in the file.
  Status read(void *destination, const void *source, uint64_t bytes) const;
  Status write(void *destination, const void *source, uint64_t bytes) const;

private:
  OffloadFile(int descriptor, char *address, uint64_t size, std::string folder)
      : descriptor(descriptor), address(address), size(size),
        folder(std::move(folder)) {}

  int descriptor;
  char *address;
  uint64_t size;
  std::string folder; // for messages
};

} // namespace zc::cpu

#endif // ZC_RUNTIME_DEVICE_CPU_OFFLOADFILE_H
