// Types as those who train write them.
#ifndef ZC_COMPILER_DRIVER_TENSORNAMES_H
#define ZC_COMPILER_DRIVER_TENSORNAMES_H

#include "llvm/ADT/StringRef.h"

#include <string>

namespace zc {

/// "float32 [32, 10]" of "32x10xf32", which is how MLIR writes a tensor's type
/// between the brackets.
std::string nameTensor(llvm::StringRef type);

} // namespace zc

#endif
