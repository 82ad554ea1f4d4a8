// Lists the mapped files. If another program truncates a file, mapped pages go
// away: the system then ends a process that reads them by SIGBUS, without a
// word. With this list the program says which file it was.
#ifndef ZC_RUNTIME_BASE_MAPPINGS_H
#define ZC_RUNTIME_BASE_MAPPINGS_H

#include "runtime/Base/Status.h"

#include <chrono>
#include <cstddef>
#include <string>
#include <sys/stat.h>

namespace zc {

/// Remembers one mapped file, as long as this lives, where a signal handler can
/// read it.
class Mapping {
public:
  Mapping(const std::string &path, const void *data, const struct stat &info);
  ~Mapping();
  Mapping(const Mapping &) = delete;
  Mapping &operator=(const Mapping &) = delete;

  struct Entry;

private:
  Entry *entry;
};

/// Whether all files that are mapped are as they were when they were opened.
/// Fails for one that has been cut short: where the cut lies within a page, the
/// rest of that page reads as zeros and no signal tells. A file that another
/// one has replaced under its name is whole.
Status checkMappings();

/// Does so once a second at most, for files may lie far away.
class MappingCheck {
public:
  Status check();

private:
  std::chrono::steady_clock::time_point last;
};

/// On SIGBUS in a mapped file: ends `program` with exit code 1 and a message
/// that names the file.
void installMappingGuard(const char *program);

/// A sentence that such a message ends with, about what a user still has.
void setLastWords(const std::string &text);

} // namespace zc

#endif // ZC_RUNTIME_BASE_MAPPINGS_H
