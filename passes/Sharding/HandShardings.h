//===- HandShardings.h - how a user wants tensors divided -------*- C++ -*-===//
#ifndef ZC_PASSES_SHARDING_HANDSHARDINGS_H
#define ZC_PASSES_SHARDING_HANDSHARDINGS_H

#include "dialects/Interfaces/NamePattern.h"
#include "passes/Sharding/Layout.h"

#include <optional>
#include <string>

namespace zc {

/// One annotation: of a tensor by its name, or of all whose names a pattern
/// matches.
struct HandSharding {
  std::string name; // or the text of `pattern`
  std::optional<NamePattern> pattern;
  llvm::SmallVector<Axes> dims;
  std::string why; // for reports: the flag, or the rule

  bool matches(llvm::StringRef tensor) const;
};

/// Reads annotations "NAME=dp,-,tp", one a line (or between semicolons): for
/// every dim its axes, joined by `+`, or `-`. `source` is what reports call
/// them. Fails with a diagnostic at `at` that quotes the line.
mlir::LogicalResult
parseHandShardings(llvm::StringRef text, bool arePatterns,
                   llvm::StringRef source, dist::MeshAttr mesh,
                   mlir::Operation *at,
                   llvm::SmallVectorImpl<HandSharding> &shardings);

} // namespace zc

#endif // ZC_PASSES_SHARDING_HANDSHARDINGS_H
