#ifndef ZC_COMPILER_DRIVER_VERSIONS_H
#define ZC_COMPILER_DRIVER_VERSIONS_H

#include <string>

namespace zc {

/// What `zc --version` prints: zc, LLVM, ONNX and the back ends, a line each.
std::string getVersions();

} // namespace zc

#endif
