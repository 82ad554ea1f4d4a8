// Preloaded into zc-run: appends the size of every request for 1 MiB or more
// to the file ZC_ALLOCATION_LOG, a line each. What glibc maps to serve a
// request is part of it and not seen again.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { kLarge = 1 << 20 };

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);

static void note(const char *name, size_t bytes) {
  if (bytes < kLarge)
    return;
  const char *path = getenv("ZC_ALLOCATION_LOG");
  int log = path ? open(path, O_WRONLY | O_CREAT | O_APPEND, 0666) : -1;
  if (log < 0)
    return;
  char line[64];
  int length = snprintf(line, sizeof(line), "%s %zu\n", name, bytes);
  if (write(log, line, length) != length)
    abort();
  close(log);
}

void *malloc(size_t bytes) {
  note("malloc", bytes);
  return __libc_malloc(bytes);
}

void *calloc(size_t count, size_t bytes) {
  note("calloc", count * bytes);
  return __libc_calloc(count, bytes);
}

void *realloc(void *old, size_t bytes) {
  note("realloc", bytes);
  return __libc_realloc(old, bytes);
}

void *memalign(size_t alignment, size_t bytes) {
  note("memalign", bytes);
  return __libc_memalign(alignment, bytes);
}

void *aligned_alloc(size_t alignment, size_t bytes) {
  note("aligned_alloc", bytes);
  return __libc_memalign(alignment, bytes);
}

int posix_memalign(void **result, size_t alignment, size_t bytes) {
  note("posix_memalign", bytes);
  *result = __libc_memalign(alignment, bytes);
  return *result ? 0 : ENOMEM;
}

void *mmap(void *address, size_t bytes, int protection, int flags, int file,
           off_t offset) {
  static void *(*next)(void *, size_t, int, int, int, off_t);
  if (!next)
    next = (void *(*)(void *, size_t, int, int, int, off_t))dlsym(RTLD_NEXT,
                                                                  "mmap");
  note("mmap", bytes);
  return next(address, bytes, protection, flags, file, offset);
}

void *mmap64(void *address, size_t bytes, int protection, int flags, int file,
             off_t offset) {
  return mmap(address, bytes, protection, flags, file, offset);
}
