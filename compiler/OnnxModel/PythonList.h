// Metadata of PyTorch's exporter are Python literals.
#ifndef ZC_COMPILER_ONNXMODEL_PYTHONLIST_H
#define ZC_COMPILER_ONNXMODEL_PYTHONLIST_H

#include "llvm/ADT/StringRef.h"
#include <string>
#include <vector>

namespace zc {

/// The strings of a Python list literal: "['', 'a', 'a.b']" -> {"", "a",
/// "a.b"}. Malformed text gives the strings before the fault.
std::vector<std::string> parsePythonList(llvm::StringRef text);

} // namespace zc

#endif
