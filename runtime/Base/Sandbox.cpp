#include "runtime/Base/Sandbox.h"
#include "runtime/Base/Seccomp.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <linux/landlock.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

// Defined by kernel headers newer than the oldest supported.
#ifndef LANDLOCK_ACCESS_FS_REFER
#define LANDLOCK_ACCESS_FS_REFER (1ULL << 13)
#endif
#ifndef LANDLOCK_ACCESS_FS_TRUNCATE
#define LANDLOCK_ACCESS_FS_TRUNCATE (1ULL << 14)
#endif

namespace zc {

namespace fs = std::filesystem;

namespace {

// The first that knows how to forbid cutting files short: Linux 6.2.
constexpr long kLeastVersion = 3;

constexpr uint64_t kReadFile =
    LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_EXECUTE;
constexpr uint64_t kRead = kReadFile | LANDLOCK_ACCESS_FS_READ_DIR;
constexpr uint64_t kWriteFile = LANDLOCK_ACCESS_FS_READ_FILE |
                                LANDLOCK_ACCESS_FS_WRITE_FILE |
                                LANDLOCK_ACCESS_FS_TRUNCATE;
constexpr uint64_t kWrite =
    kWriteFile | LANDLOCK_ACCESS_FS_READ_DIR | LANDLOCK_ACCESS_FS_REMOVE_DIR |
    LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_DIR |
    LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_MAKE_SYM |
    LANDLOCK_ACCESS_FS_REFER;
// All rights that Landlock refuses unless a path allows them.
constexpr uint64_t kHandled = kRead | kWrite | LANDLOCK_ACCESS_FS_MAKE_CHAR |
                              LANDLOCK_ACCESS_FS_MAKE_SOCK |
                              LANDLOCK_ACCESS_FS_MAKE_FIFO |
                              LANDLOCK_ACCESS_FS_MAKE_BLOCK;

/// landlock_ruleset_attr of newer kernels, of which older ones take the
/// beginning.
struct Handled {
  uint64_t files = kHandled;
  uint64_t connections = 3; // LANDLOCK_ACCESS_NET_BIND_TCP, _CONNECT_TCP
  uint64_t scopes = 3; // LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET, _SIGNAL: within

  static size_t sizeIn(long version) {
    return version >= 6   ? sizeof(Handled)
           : version >= 4 ? offsetof(Handled, scopes)
                          : offsetof(Handled, connections);
  }
};

class Descriptor {
public:
  explicit Descriptor(int number) : number(number) {}
  Descriptor(const Descriptor &) = delete;
  ~Descriptor() {
    if (number >= 0)
      ::close(number);
  }
  int get() const { return number; }

private:
  int number;
};

Status allow(int rules, const std::string &path, uint64_t inFolder,
             uint64_t ofFile) {
  const Descriptor place(::open(path.c_str(), O_PATH | O_CLOEXEC));
  if (place.get() < 0)
    return errno == ENOENT || errno == ENOTDIR
               ? Status()
               : errnoError("--sandbox: '" + path + "'");
  struct stat info;
  if (::fstat(place.get(), &info) != 0)
    return errnoError("--sandbox: '" + path + "'");
  landlock_path_beneath_attr rule = {};
  rule.allowed_access = S_ISDIR(info.st_mode) ? inFolder : ofFile;
  rule.parent_fd = place.get();
  if (::syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &rule,
                0) == 0)
    return Status();
  // A pipe is in no file system that Landlock knows: it is not shut either.
  return errno == EBADFD && S_ISFIFO(info.st_mode)
             ? Status()
             : errnoError("--sandbox: '" + path + "'");
}

Result<int> makeRules(const SandboxPaths &paths) {
  const long version = ::syscall(SYS_landlock_create_ruleset, nullptr, 0,
                                 LANDLOCK_CREATE_RULESET_VERSION);
  if (version < kLeastVersion)
    return makeError(
        StatusCode::Unsupported,
        "--sandbox: this kernel has no Landlock that can (it needs Linux 6.2 "
        "with Landlock among the security modules of its command line, and a "
        "container that allows it); run without --sandbox what you trust, by "
        "--trust");
  // No rule allows any connection or signal.
  const Handled handled;
  const long rules = ::syscall(SYS_landlock_create_ruleset, &handled,
                               Handled::sizeIn(version), 0);
  if (rules < 0)
    return errnoError("--sandbox: Landlock");
  const Descriptor owner{int(rules)};
  for (const std::string &path : paths.read)
    ZC_RETURN_IF_ERROR(allow(owner.get(), path, kRead, kReadFile));
  for (const std::string &path : paths.list)
    ZC_RETURN_IF_ERROR(allow(owner.get(), path, LANDLOCK_ACCESS_FS_READ_DIR,
                             LANDLOCK_ACCESS_FS_READ_FILE));
  for (const std::string &path : paths.write)
    ZC_RETURN_IF_ERROR(allow(owner.get(), path, kWrite, kWriteFile));
  return ::dup(owner.get());
}

} // namespace

std::vector<std::string> systemPaths() {
  std::vector<std::string> paths = {"/lib",
                                    "/lib64",
                                    "/usr/lib",
                                    "/usr/lib64",
                                    "/usr/local/lib",
                                    "/etc/ld.so.cache",
                                    "/dev/null",
                                    "/dev/zero",
                                    "/dev/urandom",
                                    "/proc/meminfo",
                                    "/proc/cpuinfo",
                                    "/sys/fs/cgroup",
                                    "/sys/devices/system"};
  for (const char *name : {"cgroup", "mountinfo"}) // of this process alone
    paths.push_back(strCat("/proc/", ::getpid(), "/", name));
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  paths.push_back(program.parent_path().parent_path() / "lib");
  if (const char *folder = std::getenv("ZC_PLUGIN_PATH"))
    paths.push_back(folder);
  return paths;
}

int descriptorOf(const std::string &path) {
  const fs::path place = fs::path(path).lexically_normal();
  const std::string folder = place.parent_path(), name = place.filename();
  const std::string own = strCat("/proc/", ::getpid(), "/fd");
  int number = -1;
  const char *end = name.data() + name.size();
  const bool isNumber =
      std::from_chars(name.data(), end, number).ptr == end && !name.empty();
  const bool isHere =
      folder == "/dev/fd" || folder == "/proc/self/fd" || folder == own;
  return isNumber && isHere ? number : -1;
}

/// Leaves nothing of a descriptor, or reading alone.
static void narrowInherited(int number, bool isRead, bool isWritten) {
  if (isWritten ||
      (isRead && (::fcntl(number, F_GETFL) & O_ACCMODE) == O_RDONLY))
    return;
  const Descriptor again(
      isRead ? ::open(strCat("/proc/self/fd/", number).c_str(), O_RDONLY) : -1);
  if (again.get() < 0 || ::dup2(again.get(), number) < 0)
    ::close(number);
}

void closeInherited(const SandboxPaths &paths) {
  const fs::path folder = "/proc/self/fd";
  std::vector<int> inherited;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end;
       at.increment(error)) {
    const int number = std::atoi(at->path().filename().c_str());
    // Files that this program opens itself are closed on exec.
    const int flags = ::fcntl(number, F_GETFD);
    if (number > STDERR_FILENO && flags >= 0 && (flags & FD_CLOEXEC) == 0)
      inherited.push_back(number);
  }
  for (int number : inherited) {
    auto isNamedIn = [&](const std::vector<std::string> &names) {
      return std::any_of(names.begin(), names.end(), [&](const auto &name) {
        return descriptorOf(name) == number;
      });
    };
    narrowInherited(number, isNamedIn(paths.read), isNamedIn(paths.write));
  }
}

Status enterSandbox(const SandboxPaths &paths) {
  ZC_ASSIGN_OR_RETURN(const int rules, makeRules(paths));
  const Descriptor owner(rules);
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
    return errnoError("--sandbox: no new privileges");
  if (::syscall(SYS_landlock_restrict_self, rules, 0) != 0)
    return errnoError("--sandbox: Landlock");
  return forbidCalls();
}

} // namespace zc
