#ifndef ZC_COMPILER_DRIVER_VERSIONS_H
#define ZC_COMPILER_DRIVER_VERSIONS_H

#include <string>

namespace zc {

/// The text of `zc --version`: zc, LLVM, ONNX and the back ends, a line each.
std::string getVersions();

} // namespace zc

#endif
