#include "runtime/Io/PartFile.h"

#include <cerrno>
#include <fcntl.h>
#include <unistd.h>
#include <utility>

namespace zc {

static Status cannotWrite(const std::string &path) {
  return errnoError("cannot write '" + path + "'");
}

Status PartFile::create(const std::string &path, std::string_view header,
                        uint64_t size) {
  int descriptor =
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (descriptor < 0)
    return cannotWrite(path);
  PartFile file(path, descriptor);
  ZC_RETURN_IF_ERROR(file.writeAt(0, header.data(), header.size()));
  if (::ftruncate(descriptor, off_t(size)) != 0)
    return cannotWrite(path);
  return file.sync();
}

Result<PartFile> PartFile::open(const std::string &path) {
  int descriptor = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (descriptor < 0)
    return cannotWrite(path);
  PartFile file(path, descriptor);
  file.direct = ::open(path.c_str(), O_WRONLY | O_DIRECT | O_CLOEXEC);
  return file;
}

PartFile::PartFile(PartFile &&other) noexcept
    : path(std::move(other.path)),
      descriptor(std::exchange(other.descriptor, -1)),
      direct(std::exchange(other.direct, -1)) {}

PartFile::~PartFile() {
  for (int each : {descriptor, direct})
    if (each >= 0)
      ::close(each);
}

Status PartFile::writeAt(uint64_t offset, const void *data, size_t bytes) {
  // Less is not worth a call of its own, which waits for the disk.
  constexpr size_t kWorthIt = size_t(1) << 18;
  const char *from = static_cast<const char *>(data);
  const uint64_t behind = reinterpret_cast<uintptr_t>(from) % kPage;
  if (direct < 0 || bytes < kWorthIt || behind != offset % kPage)
    return copyAt(offset, from, bytes);
  const size_t first = (kPage - behind) % kPage;
  ZC_RETURN_IF_ERROR(copyAt(offset, from, first));
  const size_t done = first + writeDirectly(offset + first, from + first,
                                            (bytes - first) / kPage * kPage);
  return copyAt(offset + done, from + done, bytes - done);
}

/// Returns how many bytes; what the file's system does not take is left to be
/// copied.
size_t PartFile::writeDirectly(uint64_t offset, const char *from,
                               size_t bytes) {
  size_t done = 0;
  while (done < bytes && direct >= 0) {
    const ssize_t count =
        ::pwrite(direct, from + done, bytes - done, off_t(offset + done));
    if (count < 0 && errno == EINTR)
      continue;
    if (count > 0)
      done += size_t(count);
    if (count <= 0 || done % kPage != 0)
      ::close(std::exchange(direct, -1));
  }
  return done;
}

Status PartFile::copyAt(uint64_t offset, const char *from, size_t bytes) {
  for (size_t done = 0; done < bytes;) {
    ssize_t count =
        ::pwrite(descriptor, from + done, bytes - done, off_t(offset + done));
    if (count < 0 && errno == EINTR)
      continue;
    if (count <= 0)
      return cannotWrite(path);
    done += size_t(count);
  }
  return Status();
}

Status PartFile::sync() {
  return ::fsync(descriptor) == 0 ? Status() : cannotWrite(path);
}

} // namespace zc
