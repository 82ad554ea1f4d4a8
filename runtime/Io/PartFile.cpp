#include "runtime/Io/PartFile.h"

#include <cerrno>
#include <fcntl.h>
#include <unistd.h>

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
  return PartFile(path, descriptor);
}

PartFile::PartFile(PartFile &&other) noexcept
    : path(std::move(other.path)),
      descriptor(std::exchange(other.descriptor, -1)) {}

PartFile::~PartFile() {
  if (descriptor >= 0)
    ::close(descriptor);
}

Status PartFile::writeAt(uint64_t offset, const void *data, size_t bytes) {
  const char *from = static_cast<const char *>(data);
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
