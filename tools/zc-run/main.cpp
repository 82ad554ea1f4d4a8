// zc-run: trains and evaluates artifacts. Needs nothing but glibc and libstdc++
// until it opens a device's plugin.
#include "tools/zc-run/Program.h"

int main(int argc, char **argv) { return zc::runProgram(argc, argv); }
