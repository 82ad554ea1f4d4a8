// Preloaded into zc-run: every fsync takes ZC_SYNC_SECONDS longer, as on a slow
// disk.
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int fsync(int descriptor) {
  const char *text = getenv("ZC_SYNC_SECONDS");
  const double seconds = text ? atof(text) : 0;
  struct timespec left = {(time_t)seconds,
                          (long)((seconds - (time_t)seconds) * 1e9)};
  while (nanosleep(&left, &left) != 0)
    ;
  return (int)syscall(SYS_fsync, descriptor);
}
