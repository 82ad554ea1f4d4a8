#include "runtime/Base/Memory.h"

#include <algorithm>
#include <fstream>
#include <limits>

namespace zc {

static constexpr uint64_t kNoLimit = std::numeric_limits<uint64_t>::max();

/// A number in a file by itself; "max" and what cannot be read: no limit.
static uint64_t readNumber(const std::string &path) {
  std::ifstream file(path);
  uint64_t value = 0;
  return file >> value ? value : kNoLimit;
}

static uint64_t leftOnMachine(const std::string &root) {
  std::ifstream file(root + "/proc/meminfo");
  std::string key;
  uint64_t kib = 0;
  for (std::string line; file >> key >> kib; std::getline(file, line))
    if (key == "MemAvailable:")
      return kib * 1024;
  return kNoLimit;
}

/// Bytes that a control group, as containers see it, has left.
static uint64_t leftInGroup(const std::string &limitFile,
                            const std::string &usedFile) {
  const uint64_t limit = readNumber(limitFile), used = readNumber(usedFile);
  if (limit == kNoLimit || used == kNoLimit)
    return kNoLimit;
  return limit - std::min(limit, used);
}

uint64_t freeMemory(const std::string &root) {
  const std::string second = root + "/sys/fs/cgroup/memory.";
  const std::string first = root + "/sys/fs/cgroup/memory/memory.";
  return std::min(
      {leftOnMachine(root), leftInGroup(second + "max", second + "current"),
       leftInGroup(first + "limit_in_bytes", first + "usage_in_bytes")});
}

} // namespace zc
