#include "runtime/Base/Surroundings.h"
#include "runtime/Base/Ending.h"
#include "runtime/Base/Mappings.h"
#include "runtime/Base/Temporaries.h"

#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <new>
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

void endOutOfMemory() {
  // Without memory from the heap, which there is none of.
  const char *parts[] = {programName,
                         ": error: out of memory; end other programs, or use a "
                         "machine with more\n"};
  for (const char *part : parts)
    if (::write(STDERR_FILENO, part, std::strlen(part)) < 0)
      break;
  removeTemporaries();
  noteNoMemory();
  ::_exit(failureCode());
}

void prepareForSurroundings(const char *program) {
  programName = program;
  openStandardFiles();
  std::signal(SIGXFSZ, SIG_IGN);
  std::set_new_handler(endOutOfMemory);
  installMappingGuard(program);
}

} // namespace zc
