// How much memory this process can still have.
#ifndef ZC_RUNTIME_BASE_MEMORY_H
#define ZC_RUNTIME_BASE_MEMORY_H

#include <cstdint>
#include <string>

namespace zc {

constexpr uint64_t kNoMemoryLimit = UINT64_MAX;

/// The least that any control group above this process allows all that is in
/// it, swap included. Beyond that the kernel kills.
struct MemoryLimit {
  uint64_t bytes = kNoMemoryLimit;
  std::string group; // the folder of the group whose limit it is
};

/// Reads the limits of control groups of version 1, version 2, or both; `root`
/// is where /proc and /sys are looked for. Unreadable files limit nothing.
MemoryLimit readMemoryLimit(const std::string &root = "");

/// Bytes that the machine has left and that its control groups allow, as
/// readMemoryLimit() finds them.
uint64_t freeMemory(const std::string &root = "");

/// How many processes of this machine the kernel has killed for lack of memory
/// since it started; 0 where that cannot be read.
uint64_t countMemoryKills(const std::string &root = "");

} // namespace zc

#endif // ZC_RUNTIME_BASE_MEMORY_H
