#include "runtime/Device/Cpu/Pages.h"
#include "runtime/Base/Memory.h"

#include <atomic>
#include <sys/mman.h>
#include <unistd.h>

namespace zc::cpu {

constexpr uint64_t kHugePage = 2u << 20;

/// 4 KiB; on boards with ARM processors also 16 or 64.
static uint64_t pageBytes() {
  static const uint64_t bytes = uint64_t(::sysconf(_SC_PAGESIZE));
  return bytes;
}

static uint64_t roundUp(uint64_t value, uint64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

bool hasRoom(uint64_t bytes) {
  void *mapped = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED)
    return false;
  ::munmap(mapped, bytes);
  return true;
}

// By this process, whose ranks may be several.
static std::atomic<uint64_t> taken{0};

/// The kernel lets a process have more than its control group may use, and
/// kills it, without a word, when it writes there.
static Status take(uint64_t bytes) {
  static const MemoryLimit limit = readMemoryLimit();
  const uint64_t before = taken.fetch_add(bytes);
  if (limit.bytes >= before && limit.bytes - before >= bytes)
    return Status();
  taken -= bytes;
  return makeError(StatusCode::ResourceExhausted, "cannot allocate ", bytes,
                   " bytes", before ? strCat(" beside ", before) : "",
                   ": control group '", limit.group, "' allows ", limit.bytes,
                   "; raise its limit, or compile with less "
                   "(--memory-budget)");
}

Result<void *> allocatePages(uint64_t bytes) {
  ZC_RETURN_IF_ERROR(take(bytes));
  uint64_t size = roundUp(bytes, pageBytes());
  uint64_t slack = size >= kHugePage ? kHugePage : 0;
  void *mapped = ::mmap(nullptr, size + slack, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) {
    taken -= bytes;
    return errnoError(strCat("cannot allocate ", bytes, " bytes"));
  }
  if (!slack)
    return mapped;
  char *begin = static_cast<char *>(mapped);
  char *aligned = reinterpret_cast<char *>(
      roundUp(reinterpret_cast<uintptr_t>(begin), kHugePage));
  if (aligned > begin)
    ::munmap(begin, aligned - begin);
  if (uint64_t tail = begin + slack - aligned)
    ::munmap(aligned + size, tail);
  ::madvise(aligned, size, MADV_HUGEPAGE);
  return static_cast<void *>(aligned);
}

void releasePages(void *address, uint64_t bytes) {
  taken -= bytes;
  ::munmap(address, roundUp(bytes, pageBytes()));
}

} // namespace zc::cpu
