// zc: compiles ONNX models for training, and hands runs over to zc-run.
#include "compiler/Driver/CommandLine.h"

int main(int argc, char **argv) { return zc::runCommandLine(argc, argv); }
