//===- MemoryOptions.h - precision and what is kept -------------*- C++ -*-===//
#ifndef ZC_COMPILER_DRIVER_MEMORYOPTIONS_H
#define ZC_COMPILER_DRIVER_MEMORYOPTIONS_H

#include "compiler/Driver/CompileArguments.h"

#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <optional>

namespace zc {

/// "16GiB", "1.5GB", "4096": bytes; none for what is no size above 0.
std::optional<int64_t> parseSize(llvm::StringRef text);

/// Adds --precision and what belongs to it, and the options of recomputation,
/// offloading, encodings and of the budget that chooses among them.
void addMemoryOptions(CLI::App &command, CompileArguments &arguments);

} // namespace zc

#endif // ZC_COMPILER_DRIVER_MEMORYOPTIONS_H
