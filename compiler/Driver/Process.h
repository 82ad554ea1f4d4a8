// Handing over to zc-run, which stands beside this program.
#ifndef ZC_COMPILER_DRIVER_PROCESS_H
#define ZC_COMPILER_DRIVER_PROCESS_H

#include <string>
#include <vector>

namespace zc {

/// Replaces this process by `zc-run ARGUMENTS`. Returns only on failure, with
/// the exit code.
int execRunner(const std::vector<std::string> &arguments);

/// Runs `zc-run ARGUMENTS` to its end; returns its exit code, 128 + N when
/// signal N ended it.
int callRunner(const std::vector<std::string> &arguments);

} // namespace zc

#endif
