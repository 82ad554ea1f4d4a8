#include "runtime/Io/FolderLock.h"
#include "runtime/Base/File.h"

#include <cerrno>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace zc {

static constexpr const char *kName = "/.lock";

/// "process 17 on host 'node03'".
static std::string printSelf() {
  char host[256] = "";
  ::gethostname(host, sizeof(host) - 1);
  return strCat("process ", ::getpid(), " on host '", host, "'");
}

static std::string readHolder(int descriptor) {
  char text[512];
  ssize_t count = ::pread(descriptor, text, sizeof(text), 0);
  return count > 0 ? std::string(text, size_t(count)) : "another process";
}

/// Whether the file is still the one of that name: its last holder may have
/// removed it between our opening and our locking.
static bool isThere(int descriptor, const std::string &path) {
  struct stat held, named;
  return ::fstat(descriptor, &held) == 0 && ::stat(path.c_str(), &named) == 0 &&
         held.st_ino == named.st_ino && held.st_dev == named.st_dev;
}

Result<FolderLock> FolderLock::take(const std::string &folder) {
  const std::string path = folder + kName;
  while (true) {
    int descriptor =
        ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (descriptor < 0)
      return errnoError("cannot lock '" + folder + "'");
    FolderLock lock(path, descriptor);
    const bool mine = ::flock(descriptor, LOCK_EX | LOCK_NB) == 0;
    if (!mine && errno == EWOULDBLOCK) {
      std::string holder = readHolder(descriptor);
      ::close(std::exchange(lock.descriptor, -1));
      return makeError(StatusCode::InvalidArgument, "'", folder,
                       "' is in use by another run, ", holder,
                       "; wait for its end, or choose another folder");
    }
    if (!isThere(descriptor, path)) {
      ::close(std::exchange(lock.descriptor, -1));
      continue;
    }
    lock.name = std::make_unique<TemporaryName>(path);
    // On a full disk it is a lock without a name.
    const std::string self = printSelf();
    if (::ftruncate(descriptor, 0) == 0)
      (void)writeAll(descriptor, self.data(), self.size(), path);
    return lock;
  }
}

FolderLock::FolderLock(FolderLock &&other) noexcept
    : path(std::move(other.path)),
      descriptor(std::exchange(other.descriptor, -1)),
      name(std::move(other.name)) {}

FolderLock &FolderLock::operator=(FolderLock &&other) noexcept {
  std::swap(path, other.path);
  std::swap(descriptor, other.descriptor);
  std::swap(name, other.name);
  return *this;
}

FolderLock::~FolderLock() {
  if (descriptor < 0)
    return;
  ::unlink(path.c_str()); // while it is still ours
  ::close(descriptor);
}

} // namespace zc
