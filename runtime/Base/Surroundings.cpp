#include "runtime/Base/Surroundings.h"
#include "runtime/Base/Cores.h"
#include "runtime/Base/Ending.h"
#include "runtime/Base/HandlerText.h"
#include "runtime/Base/Mappings.h"
#include "runtime/Base/Memory.h"
#include "runtime/Base/Temporaries.h"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <fcntl.h>
#include <fstream>
#include <new>
#include <optional>
#include <sys/resource.h>
#include <unistd.h>

namespace zc {

static const char *programName = "zc";

/// The lowest free number is the one that open() takes.
static void openStandardFiles() {
  int descriptor;
  do
    descriptor = ::open("/dev/null", O_RDWR);
  while (descriptor >= 0 && descriptor <= STDERR_FILENO);
  if (descriptor > STDERR_FILENO)
    ::close(descriptor);
}

/// The limit of memory in words, which are there when memory is not.
static char limitWords[512] = "end other programs, or use a machine with more";
static std::optional<rlim_t> limitBefore; // where another one is set

void endOutOfMemory() {
  // Without memory from the heap, which there is none of.
  HandlerText text;
  text << programName << ": error: out of memory; " << limitWords;
  text.print();
  removeTemporaries();
  noteNoMemory();
  ::_exit(failureCode());
}

/// The bytes that count for the limit: written privately, and stacks.
static uint64_t takenBytes() {
  std::ifstream file("/proc/self/statm");
  uint64_t pages[6] = {};
  for (uint64_t &each : pages)
    file >> each;
  return file ? pages[5] * uint64_t(::sysconf(_SC_PAGESIZE)) : 0;
}

static void setDataLimit(rlim_t most) {
  rlimit data;
  if (::getrlimit(RLIMIT_DATA, &data) != 0)
    return;
  data.rlim_cur = std::min(most, data.rlim_max);
  (void)::setrlimit(RLIMIT_DATA, &data);
}

void keepToControlGroup() {
  constexpr uint64_t kKernel = 16; // a part that the kernel's own tables take
  const MemoryLimit limit = readMemoryLimit();
  const uint64_t most = limit.bytes - limit.bytes / kKernel;
  rlimit data;
  if (limit.group.empty() || ::getrlimit(RLIMIT_DATA, &data) != 0 ||
      most >= data.rlim_cur || most < takenBytes())
    return;
  limitBefore = data.rlim_cur;
  setDataLimit(most);
  std::snprintf(limitWords, sizeof(limitWords),
                "control group '%s' allows %llu bytes; raise its limit",
                limit.group.c_str(), (unsigned long long)limit.bytes);
}

void makeRoomForStacks() {
  constexpr rlim_t kUsual = 8u << 20;
  rlimit data, stack;
  if (!limitBefore || ::getrlimit(RLIMIT_DATA, &data) != 0 ||
      ::getrlimit(RLIMIT_STACK, &stack) != 0)
    return;
  const rlim_t each = stack.rlim_cur == RLIM_INFINITY ? kUsual : stack.rlim_cur;
  setDataLimit(data.rlim_cur + each * rlim_t(findAllowedCores().count));
}

void leaveControlGroupAlone() {
  if (limitBefore)
    setDataLimit(*limitBefore);
  limitBefore.reset();
}

void prepareForSurroundings(const char *program) {
  programName = program;
  openStandardFiles();
  std::signal(SIGXFSZ, SIG_IGN);
  std::set_new_handler(endOutOfMemory);
  installMappingGuard(program);
}

} // namespace zc
