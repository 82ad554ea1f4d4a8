// How much memory this process can still have.
#ifndef ZC_RUNTIME_BASE_MEMORY_H
#define ZC_RUNTIME_BASE_MEMORY_H

#include <cstdint>
#include <string>

namespace zc {

/// Bytes that the machine has left and that its control groups, of version 1 or
/// 2, allow; `root` is where /proc and /sys are looked for. Unreadable files
/// limit nothing.
uint64_t freeMemory(const std::string &root = "");

} // namespace zc

#endif // ZC_RUNTIME_BASE_MEMORY_H
