// Files of rules for tensor parallelism, as --tp-rules takes them.
#ifndef ZC_COMPILER_DRIVER_RULEFILE_H
#define ZC_COMPILER_DRIVER_RULEFILE_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <string>

namespace zc {

/// The rules of the file's text, "fc.weight tp,-" a line, as passes take them:
/// "fc.weight=tp,-".
llvm::Expected<std::string> parseRuleFile(llvm::StringRef text,
                                          llvm::StringRef path);

} // namespace zc

#endif
