#include "runtime/Device/Cpu/OffloadFile.h"
#include "runtime/Base/FileLimit.h"

#include <cerrno>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace zc::cpu {

/// A new file in `folder` that no other process finds; -1 and errno.
static int openUnnamed(const std::string &folder) {
  int descriptor = ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (descriptor >= 0 || (errno != EOPNOTSUPP && errno != EISDIR))
    return descriptor;
  // A file system without such files: the name goes at once.
  std::string name = folder + "/zc-offload-XXXXXX";
  descriptor = ::mkostemp(name.data(), O_CLOEXEC);
  if (descriptor >= 0)
    ::unlink(name.c_str());
  return descriptor;
}

static Status cannotOffload(const std::string &folder, uint64_t bytes,
                            int error) {
  Status status = errnoError(
      strCat("cannot offload ", bytes, " bytes to '", folder, "'"), error);
  return Status(status.code(),
                strCat(status.message(),
                       "; make room there or choose another folder with "
                       "--offload-dir DIR"));
}

Result<std::unique_ptr<OffloadFile>>
OffloadFile::create(const std::string &folder, uint64_t bytes) {
  // A limit on files' sizes is an error to report, as a full disk is.
  FileLimitHeld held;
  int descriptor = openUnnamed(folder);
  if (descriptor < 0)
    return cannotOffload(folder, bytes, errno);
  std::unique_ptr<OffloadFile> file(
      new OffloadFile(descriptor, nullptr, bytes, folder));
  if (int error = ::posix_fallocate(descriptor, 0, off_t(bytes)))
    return cannotOffload(folder, bytes, error);
  void *mapped =
      ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  if (mapped == MAP_FAILED)
    return cannotOffload(folder, bytes, errno);
  file->address = static_cast<char *>(mapped);
  return file;
}

OffloadFile::~OffloadFile() {
  if (address)
    ::munmap(address, size);
  ::close(descriptor);
}

Status OffloadFile::read(void *destination, const void *source,
                         uint64_t bytes) const {
  off_t from = static_cast<const char *>(source) - address;
  for (uint64_t done = 0; done < bytes;) {
    ssize_t count = ::pread(descriptor, static_cast<char *>(destination) + done,
                            bytes - done, from + off_t(done));
    if (count < 0 && errno == EINTR)
      continue;
    if (count <= 0)
      return errnoError(
          strCat("cannot read what was offloaded to '", folder, "'"),
          count < 0 ? errno : EIO);
    done += uint64_t(count);
  }
  return Status();
}

Status OffloadFile::write(void *destination, const void *source,
                          uint64_t bytes) const {
  FileLimitHeld held;
  off_t to = static_cast<char *>(destination) - address;
  for (uint64_t done = 0; done < bytes;) {
    ssize_t count =
        ::pwrite(descriptor, static_cast<const char *>(source) + done,
                 bytes - done, to + off_t(done));
    if (count < 0 && errno == EINTR)
      continue;
    if (count <= 0)
      return cannotOffload(folder, bytes, count < 0 ? errno : ENOSPC);
    done += uint64_t(count);
  }
  return Status();
}

} // namespace zc::cpu
