#include "runtime/Base/File.h"
#include "runtime/Base/LeftOvers.h"

#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <random>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace zc {

namespace fs = std::filesystem;

namespace {

/// Closes a descriptor at the end of a scope.
struct Descriptor {
  int value;
  ~Descriptor() {
    if (value >= 0)
      ::close(value);
  }
};

std::string quote(const std::string &path) { return "'" + path + "'"; }

constexpr std::string_view kUnique = "XXXXXX"; // for mkstemp

} // namespace

// MappedFile ------------------------------------------------------------------

/// Memory of this process alone with all of an open file.
static Result<void *> copyFile(int file, size_t size, const std::string &path) {
  void *data = ::mmap(nullptr, size, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED)
    return errnoError("no memory for a copy of " + quote(path));
  for (size_t done = 0; done < size;) {
    const ssize_t count = ::pread(file, static_cast<char *>(data) + done,
                                  size - done, off_t(done));
    if (count < 0 && errno == EINTR)
      continue;
    if (count <= 0) {
      Status status = count < 0 ? errnoError("cannot read " + quote(path))
                                : makeError(StatusCode::IoError, quote(path),
                                            " was cut short while it was read");
      ::munmap(data, size);
      return status;
    }
    done += size_t(count);
  }
  ::mprotect(data, size, PROT_READ);
  return data;
}

MappedFile::MappedFile(std::string path, const char *data,
                       const struct stat &info, Reading reading)
    : thePath(std::move(path)), data(data), size(size_t(info.st_size)) {
  if (reading == Reading::InPlace)
    mapping.emplace(thePath, data, info);
}

Result<std::shared_ptr<MappedFile>> MappedFile::open(const std::string &path,
                                                     Reading reading) {
  // A pipe that nobody writes to would keep us waiting.
  Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  if (file.value < 0)
    return errnoError("cannot open " + quote(path));
  struct stat info;
  if (::fstat(file.value, &info) != 0)
    return errnoError("cannot read " + quote(path));
  if (!S_ISREG(info.st_mode))
    return makeError(StatusCode::InvalidArgument, quote(path),
                     " is not a regular file");
  size_t size = static_cast<size_t>(info.st_size);
  void *data = nullptr;
  if (size > 0 && reading == Reading::Copied) {
    ZC_ASSIGN_OR_RETURN(data, copyFile(file.value, size, path));
  } else if (size > 0) {
    data = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.value, 0);
    if (data == MAP_FAILED)
      return errnoError("cannot map " + quote(path));
  }
  return std::shared_ptr<MappedFile>(
      new MappedFile(path, static_cast<const char *>(data), info, reading));
}

MappedFile::~MappedFile() {
  if (size > 0)
    ::munmap(const_cast<char *>(data), size);
}

void MappedFile::release(std::string_view part) const {
  if (!mapping)
    return;
  const uintptr_t page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  uintptr_t begin = reinterpret_cast<uintptr_t>(part.data());
  uintptr_t end = begin + part.size();
  begin = (begin + page - 1) / page * page;
  end = end / page * page;
  if (begin < end)
    ::madvise(reinterpret_cast<void *>(begin), end - begin, MADV_DONTNEED);
}

std::string drawLetters() {
  static const char letters[] =
      "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  std::random_device random;
  std::string text(kUnique.size(), ' ');
  for (char &letter : text)
    letter = letters[random() % (sizeof(letters) - 1)];
  return text;
}

// AtomicFile ------------------------------------------------------------------

namespace {

/// Opens what is no regular file, such as a device or a pipe. A pipe that
/// nobody reads would keep us waiting: it is refused.
Result<int> openInPlace(const std::string &path) {
  int descriptor = ::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0 && errno == ENXIO)
    return makeError(StatusCode::IoError, "cannot write ", quote(path),
                     ": it is a pipe that nobody reads");
  if (descriptor < 0)
    return errnoError("cannot write " + quote(path));
  ::fcntl(descriptor, F_SETFL, ::fcntl(descriptor, F_GETFL) & ~O_NONBLOCK);
  return descriptor;
}

constexpr std::string_view kMark = ".tmp-";

bool isTemporaryOf(const std::string &name, const std::string &file) {
  return name.size() == file.size() + kMark.size() + kUnique.size() &&
         name.compare(0, file.size(), file) == 0 &&
         name.compare(file.size(), kMark.size(), kMark) == 0;
}

/// Removes what killed programs left of `path`. Whoever still writes one holds
/// a lock on it.
void removeStale(const std::string &path) {
  std::error_code error;
  const std::string file = fs::path(path).filename().string();
  for (const auto &entry : fs::directory_iterator(parentPath(path), error)) {
    if (!isTemporaryOf(entry.path().filename().string(), file))
      continue;
    Descriptor stale{::open(entry.path().c_str(), O_RDONLY | O_CLOEXEC)};
    if (stale.value >= 0 && ::flock(stale.value, LOCK_EX | LOCK_NB) == 0)
      ::unlink(entry.path().c_str());
  }
}

/// Creates a temporary file beside `path`, locked; its name is in `name`. It
/// has its rights from the start: in a sandbox they cannot be changed.
int openTemporary(const std::string &path, mode_t mode, std::string &name) {
  constexpr int kAttempts = 64;
  for (int i = 0; i < kAttempts; ++i) {
    name = strCat(path, kMark, drawLetters());
    int descriptor =
        ::open(name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    if (descriptor < 0 && errno == EEXIST)
      continue;
    struct stat info;
    // Another writer may have taken it for a stale one before the lock. A file
    // system without locks goes without.
    if (descriptor < 0 || ::flock(descriptor, LOCK_EX | LOCK_NB) != 0 ||
        ::fstat(descriptor, &info) != 0 || info.st_nlink > 0)
      return descriptor;
    ::close(descriptor);
  }
  errno = EAGAIN;
  return -1;
}

} // namespace

Result<AtomicFile> AtomicFile::create(const std::string &asked, mode_t mode) {
  struct stat info;
  const bool exists = ::stat(asked.c_str(), &info) == 0;
  if (exists && !S_ISREG(info.st_mode)) {
    ZC_ASSIGN_OR_RETURN(int descriptor, openInPlace(asked));
    return AtomicFile(asked, TemporaryName(), descriptor);
  }
  // A link stays; the file it leads to is replaced.
  std::error_code none;
  const std::string path = exists ? fs::canonical(asked, none).string() : asked;
  removeStale(path);
  std::string temporary;
  constexpr mode_t kRights = 0777;
  int descriptor =
      openTemporary(path, exists ? info.st_mode & kRights : mode, temporary);
  if (descriptor < 0)
    return errnoError("cannot write " + quote(path));
  // Rights that the mask takes from new files, an old one may have.
  struct stat made;
  if (exists && ::fstat(descriptor, &made) == 0 && made.st_mode != info.st_mode)
    ::fchmod(descriptor, info.st_mode & kRights);
  return AtomicFile(path, TemporaryName(std::move(temporary)), descriptor);
}

AtomicFile::AtomicFile(AtomicFile &&other) noexcept
    : path(std::move(other.path)), temporary(std::move(other.temporary)),
      descriptor(std::exchange(other.descriptor, -1)), written(other.written) {}

AtomicFile::~AtomicFile() {
  if (descriptor < 0)
    return;
  ::close(descriptor);
  if (!temporary.path().empty())
    ::unlink(temporary.path().c_str());
}

Status writeAll(int descriptor, const void *data, size_t bytes,
                const std::string &path) {
  const char *rest = static_cast<const char *>(data);
  while (bytes > 0) {
    ssize_t count = ::write(descriptor, rest, bytes);
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0 && errno == EFAULT) // pages of a mapped file that are gone
      return makeError(StatusCode::IoError, "cannot write ", quote(path),
                       ": a file that it is copied from was cut short");
    if (count < 0)
      return errnoError("cannot write " + quote(path));
    if (count == 0)
      return makeError(StatusCode::ResourceExhausted, "cannot write ",
                       quote(path), ": nothing more fits");
    rest += count;
    bytes -= static_cast<size_t>(count);
  }
  return Status();
}

Status AtomicFile::write(const void *data, size_t bytes) {
  ZC_RETURN_IF_ERROR(writeAll(descriptor, data, bytes, path));
  written += bytes;
  return Status();
}

Status AtomicFile::writeAt(uint64_t offset, const void *data, size_t bytes) {
  assert(offset + bytes <= written && "only written bytes can be replaced");
  const char *rest = static_cast<const char *>(data);
  while (bytes > 0) {
    ssize_t count =
        ::pwrite(descriptor, rest, bytes, static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR)
      continue;
    if (count <= 0)
      return errnoError("cannot write " + quote(path),
                        count < 0 ? errno : ENOSPC);
    rest += count;
    offset += static_cast<uint64_t>(count);
    bytes -= static_cast<size_t>(count);
  }
  return Status();
}

Status AtomicFile::commit() {
  if (temporary.path().empty()) {
    if (::close(std::exchange(descriptor, -1)) != 0)
      return errnoError("cannot write " + quote(path));
    return Status();
  }
  if (::fsync(descriptor) != 0)
    return errnoError("cannot write " + quote(path));
  int closing = std::exchange(descriptor, -1);
  if (::close(closing) != 0 ||
      ::rename(temporary.path().c_str(), path.c_str()) != 0) {
    Status status = errnoError("cannot write " + quote(path));
    ::unlink(temporary.path().c_str());
    return status;
  }
  return syncDirectory(parentPath(path));
}

// Small files and folders -----------------------------------------------------

Status writeFile(const std::string &path, std::string_view bytes) {
  ZC_ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::create(path));
  ZC_RETURN_IF_ERROR(file.write(bytes.data(), bytes.size()));
  return file.commit();
}

Result<std::string> readFile(const std::string &path, size_t limit) {
  ZC_ASSIGN_OR_RETURN(auto file, MappedFile::open(path));
  if (file->bytes().size() > limit)
    return makeError(StatusCode::Corrupt, quote(path), " has ",
                     file->bytes().size(), " bytes, more than the ", limit,
                     " that such a file may have");
  return std::string(file->bytes());
}

Status makeDirectories(const std::string &path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error)
    return errnoError("cannot create folder " + quote(path), error.value());
  return Status();
}

/// Where temporary files go, and a name there.
static std::pair<std::string, std::string>
placeTemporary(const std::string &prefix) {
  const char *given = std::getenv("TMPDIR");
  std::string folder = given && *given ? given : "/tmp";
  clearLeftOver(folder, prefix);
  std::string path = strCat(folder, "/", ownPrefix(prefix), kUnique);
  return {std::move(folder), std::move(path)};
}

Result<std::string> makeTemporaryFile(const std::string &prefix,
                                      const std::string &suffix) {
  auto [folder, path] = placeTemporary(prefix);
  path += suffix;
  int descriptor = ::mkostemps(path.data(), int(suffix.size()), O_CLOEXEC);
  if (descriptor < 0)
    return errnoError("cannot create a temporary file in " + quote(folder) +
                      " (TMPDIR)");
  ::close(descriptor);
  return path;
}

Result<std::string> makeTemporaryFolder(const std::string &prefix) {
  auto [folder, path] = placeTemporary(prefix);
  if (!::mkdtemp(path.data()))
    return errnoError("cannot create a temporary folder in " + quote(folder) +
                      " (TMPDIR)");
  return path;
}

Status syncDirectory(const std::string &path) {
  Descriptor folder{::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  if (folder.value < 0)
    return errnoError("cannot open folder " + quote(path));
  // Some file systems cannot sync folders; their renames are what they are.
  if (::fsync(folder.value) != 0 && errno != EINVAL)
    return errnoError("cannot sync folder " + quote(path));
  return Status();
}

void removeAll(const std::string &path) {
  std::error_code ignored;
  fs::remove_all(path, ignored);
}

std::string parentPath(const std::string &path) {
  std::string parent = fs::path(path).parent_path().string();
  return parent.empty() ? "." : parent;
}

Status checkParentExists(const std::string &path) {
  std::string parent = parentPath(path);
  std::error_code error;
  if (!fs::is_directory(parent, error))
    return makeError(StatusCode::NotFound, "cannot write ", quote(path),
                     ": there is no folder ", quote(parent));
  return Status();
}

Status checkIsJson(const std::string &path, const char *what,
                   const char *mark) {
  std::error_code error;
  if (!fs::is_regular_file(path, error))
    return Status();
  std::string begin(4096, '\0');
  std::ifstream file(path, std::ios::binary);
  file.read(begin.data(), std::streamsize(begin.size()));
  begin.resize(size_t(file.gcount()));
  if (begin.empty() ||
      (begin[0] == '{' && begin.find(mark) != std::string::npos))
    return Status();
  return makeError(StatusCode::InvalidArgument, "cannot write ", what, " ",
                   quote(path), ": there is a file of that name that is no ",
                   what, "; give another name");
}

} // namespace zc
