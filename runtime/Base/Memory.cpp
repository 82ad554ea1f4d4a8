#include "runtime/Base/Memory.h"
#include "runtime/Base/ControlGroups.h"

#include <algorithm>
#include <fstream>

namespace zc {

/// A number in a file by itself; "max" and what cannot be read: no limit.
static uint64_t readNumber(const std::string &path) {
  // Version 1 writes a larger number, rounded to pages, where it means no
  // limit.
  constexpr uint64_t kNone = INT64_MAX / 2;
  std::ifstream file(path);
  uint64_t value = 0;
  return file >> value && value < kNone ? value : kNoMemoryLimit;
}

/// The number behind `key` in a file of such lines, or `otherwise`.
static uint64_t readLine(const std::string &path, const std::string &key,
                         uint64_t otherwise) {
  std::ifstream file(path);
  std::string found;
  uint64_t value = 0;
  for (std::string line; file >> found >> value; std::getline(file, line))
    if (found == key)
      return value;
  return otherwise;
}

static uint64_t leftOnMachine(const std::string &root) {
  const uint64_t kib =
      readLine(root + "/proc/meminfo", "MemAvailable:", kNoMemoryLimit);
  return kib == kNoMemoryLimit ? kib : kib * 1024;
}

static uint64_t addUpTo(uint64_t most, uint64_t a, uint64_t b) {
  return a == kNoMemoryLimit ? a : std::min(most, a + b);
}

namespace {

/// A control group's limit and use.
struct GroupMemory {
  uint64_t limit, used;
};

} // namespace

static std::string prefixOf(const std::string &root,
                            const ControlGroup &group) {
  return root + group.folder + "/memory.";
}

static uint64_t readLimit(const std::string &prefix,
                          const ControlGroup &group) {
  return readNumber(prefix + (group.second ? "max" : "limit_in_bytes"));
}

/// The group's limit of memory and swap together; `swap`: the machine's.
static uint64_t readLimitOfBoth(const std::string &root,
                                const ControlGroup &group, uint64_t swap) {
  const std::string prefix = prefixOf(root, group);
  const uint64_t limit = readLimit(prefix, group);
  return group.second ? addUpTo(kNoMemoryLimit, limit,
                                std::min(swap, readNumber(prefix + "swap.max")))
                      : addUpTo(readNumber(prefix + "memsw.limit_in_bytes"),
                                limit, swap);
}

static GroupMemory readGroup(const std::string &root,
                             const ControlGroup &group) {
  const std::string prefix = prefixOf(root, group);
  GroupMemory found = {
      readLimit(prefix, group),
      readNumber(prefix + (group.second ? "current" : "usage_in_bytes"))};
  // Files that have been read are forgotten first.
  const uint64_t files =
      readLine(prefix + "stat",
               group.second ? "inactive_file" : "total_inactive_file", 0);
  if (found.used != kNoMemoryLimit)
    found.used -= std::min(found.used, files);
  return found;
}

/// Where nothing says what is mounted, as in some containers, their own.
static std::vector<ControlGroup> findGroups(const std::string &root) {
  std::vector<ControlGroup> groups = findControlGroups("memory", root);
  if (groups.empty())
    groups = {{true, "/sys/fs/cgroup"}, {false, "/sys/fs/cgroup/memory"}};
  return groups;
}

MemoryLimit readMemoryLimit(const std::string &root) {
  const uint64_t swap =
      readLine(root + "/proc/meminfo", "SwapTotal:", 0) * 1024;
  MemoryLimit least;
  for (const ControlGroup &group : findGroups(root)) {
    const uint64_t both = readLimitOfBoth(root, group, swap);
    if (both < least.bytes)
      least = {both, group.folder};
  }
  return least;
}

uint64_t freeMemory(const std::string &root) {
  uint64_t left = leftOnMachine(root);
  for (const ControlGroup &group : findGroups(root)) {
    const GroupMemory memory = readGroup(root, group);
    if (memory.limit != kNoMemoryLimit && memory.used != kNoMemoryLimit)
      left = std::min(left, memory.limit - std::min(memory.limit, memory.used));
  }
  return left;
}

uint64_t countMemoryKills(const std::string &root) {
  return readLine(root + "/proc/vmstat", "oom_kill", 0);
}

} // namespace zc
