#include "runtime/Base/LeftOvers.h"
#include "runtime/Base/File.h"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sys/stat.h>
#include <unistd.h>

namespace zc {

namespace fs = std::filesystem;

namespace {

/// A process: its number, when it began in ticks since the start of the
/// machine, and the space of numbers, which is one of this start of this
/// machine alone. 0 where that cannot be read.
struct Mark {
  unsigned long process = 0, start = 0, space = 0;
};

unsigned long readStart(unsigned long process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  std::string text;
  std::getline(file, text);
  // The name, in parentheses, may hold anything.
  const size_t name = text.rfind(')');
  if (name == std::string::npos)
    return 0;
  constexpr int kBefore = 19; // fields between the name and the start
  size_t at = name + 1;
  for (int i = 0; i <= kBefore && at != std::string::npos; ++i)
    at = text.find(' ', at + (i > 0));
  return at == std::string::npos ? 0
                                 : std::strtoul(text.c_str() + at, nullptr, 10);
}

/// The outermost space has the same number on all machines, which may share a
/// folder.
unsigned long readSpace() {
  struct stat info;
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string boot;
  if (::stat("/proc/self/ns/pid", &info) != 0 || !std::getline(file, boot))
    return 0;
  return info.st_ino ^ std::hash<std::string>()(boot);
}

Mark ownMark() {
  const auto self = static_cast<unsigned long>(::getpid());
  return {self, readStart(self), readSpace()};
}

/// Whether the process has ended for sure.
bool hasEnded(const Mark &mark, unsigned long space) {
  if (mark.process == 0 || space == 0 || mark.space != space)
    return false;
  if (::kill(pid_t(mark.process), 0) != 0 && errno == ESRCH)
    return true;
  // Another one may have its number by now.
  const unsigned long start = readStart(mark.process);
  return mark.start != 0 && start != 0 && start != mark.start;
}

} // namespace

std::string ownPrefix(const std::string &prefix) {
  const Mark mark = ownMark();
  return strCat(prefix, "-", mark.process, ".", mark.start, ".", mark.space,
                "-");
}

void clearLeftOver(const std::string &folder, const std::string &prefix) {
  const unsigned long space = readSpace();
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end;
       at.increment(error)) {
    const std::string name = at->path().filename().string();
    Mark mark;
    struct stat info;
    if (name.rfind(prefix + "-", 0) == 0 &&
        std::sscanf(name.c_str() + prefix.size(), "-%lu.%lu.%lu-",
                    &mark.process, &mark.start, &mark.space) == 3 &&
        hasEnded(mark, space) && ::lstat(at->path().c_str(), &info) == 0 &&
        info.st_uid == ::geteuid())
      removeAll(at->path().string());
  }
}

} // namespace zc
