// The whole of zc-run, wherever its main() is.
#ifndef ZC_TOOLS_ZCRUN_PROGRAM_H
#define ZC_TOOLS_ZCRUN_PROGRAM_H

namespace zc {

/// Does what the command line says; the exit code.
int runProgram(int argc, char **argv);

} // namespace zc

#endif // ZC_TOOLS_ZCRUN_PROGRAM_H
