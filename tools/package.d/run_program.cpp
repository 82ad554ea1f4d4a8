// zc-run, inside of a library. The name is between the two files alone, and no
// part of zc.h.
#include "tools/zc-run/Program.h"

extern "C" __attribute__((visibility("default"))) int
zc_run_program(int argc, char **argv) {
  return zc::runProgram(argc, argv);
}
