// The command line of `zc`.
#ifndef ZC_COMPILER_DRIVER_COMMANDLINE_H
#define ZC_COMPILER_DRIVER_COMMANDLINE_H

namespace zc {

/// Does what the arguments of `zc` say; returns the exit code: 0 done, 1 the
/// work failed, 2 wrong usage.
int runCommandLine(int argc, char **argv);

} // namespace zc

#endif
