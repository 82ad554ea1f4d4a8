#include "tools/zc-run/AllocHook.h"

#include <atomic>
#include <cerrno>
#include <cstdlib>

namespace zc {

static constexpr size_t kLimit = 1u << 20;
static std::atomic<bool> watching{false};
static std::atomic<size_t> largest{0};

bool allocWatchWanted() {
  const char *value = std::getenv("ZC_TEST_ALLOC_LIMIT");
  return value && value[0] != '\0' && value[0] != '0';
}

void startAllocWatch() { watching = true; }

size_t stopAllocWatch() {
  watching = false;
  return largest;
}

[[maybe_unused]] static void watch(size_t bytes) {
  if (bytes <= kLimit || !watching.load(std::memory_order_relaxed))
    return;
  size_t seen = largest;
  while (bytes > seen && !largest.compare_exchange_weak(seen, bytes)) {
  }
}

} // namespace zc

// Defined by the program, these serve its plugins too. They hand on to glibc's
// own; under a sanitizer, which has its own, they are left out.
#ifdef ZC_ALLOC_HOOK
extern "C" {
void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void *__libc_memalign(size_t, size_t);

void *malloc(size_t bytes) {
  zc::watch(bytes);
  return __libc_malloc(bytes);
}

void *calloc(size_t count, size_t bytes) {
  size_t total;
  zc::watch(__builtin_mul_overflow(count, bytes, &total) ? 0 : total);
  return __libc_calloc(count, bytes);
}

void *realloc(void *pointer, size_t bytes) {
  zc::watch(bytes);
  return __libc_realloc(pointer, bytes);
}

void *memalign(size_t alignment, size_t bytes) {
  zc::watch(bytes);
  return __libc_memalign(alignment, bytes);
}

void *aligned_alloc(size_t alignment, size_t bytes) {
  return memalign(alignment, bytes);
}

int posix_memalign(void **pointer, size_t alignment, size_t bytes) {
  bool power = alignment && (alignment & (alignment - 1)) == 0;
  if (!power || alignment % sizeof(void *) != 0)
    return EINVAL;
  void *result = memalign(alignment, bytes);
  if (!result)
    return ENOMEM;
  *pointer = result;
  return 0;
}
}
#endif
