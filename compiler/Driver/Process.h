// This process: its end by signals, and handing over to zc-run, which stands
// beside this program.
#ifndef ZC_COMPILER_DRIVER_PROCESS_H
#define ZC_COMPILER_DRIVER_PROCESS_H

#include <string>
#include <vector>

namespace zc {

/// The files of this program, and of zc-run.
std::string findCompiler();
std::string findRunner();

/// Replaces this process by `zc-run ARGUMENTS`. Returns only on failure, with
/// the exit code.
int execRunner(const std::vector<std::string> &arguments);

/// Ctrl-C, SIGTERM and SIGHUP end this program at once, without a file half
/// written.
/// zc-run, once it takes over, has handlers of its own.
void endCleanlyOnSignals();

} // namespace zc

#endif
