// Limits what an artifact's code can do to the machine it runs on: by Linux's
// Landlock it opens the named files alone, by seccomp it opens no connection
// and starts no program.
#ifndef ZC_RUNTIME_BASE_SANDBOX_H
#define ZC_RUNTIME_BASE_SANDBOX_H

#include "runtime/Base/Status.h"

#include <string>
#include <vector>

namespace zc {

/// The paths that stay open to this process; a folder stands for all beneath
/// it. Paths that do not exist are left out.
struct SandboxPaths {
  std::vector<std::string> read;
  std::vector<std::string> list;  // folders, of which names alone are read
  std::vector<std::string> write; // files: read too; folders: all that is there
};

/// The libraries of the system and of zc, and what tells of cores and memory.
std::vector<std::string> systemPaths();

/// The descriptor that a path names by its number, as "/dev/fd/7",
/// "/proc/self/fd/7" and "/proc/PID/fd/7" of this process do; -1: none.
int descriptorOf(const std::string &path);

/// Closes the descriptors above standard error that this process was started
/// with, whatever they lead to, but for those that `paths` names by their
/// numbers. Those that are only read can be used for nothing else afterwards.
/// Called before connections are opened.
void closeInherited(const SandboxPaths &paths);

/// Shuts this thread, and all that it starts, into a sandbox for good. Called
/// while there is no other thread. Fails, and shuts nothing, where the kernel
/// cannot.
Status enterSandbox(const SandboxPaths &paths);

} // namespace zc

#endif // ZC_RUNTIME_BASE_SANDBOX_H
