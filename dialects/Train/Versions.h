//===- Versions.h - states of which there are several versions --*- C++ -*-===//
//
// Without flush, a role keeps older versions of its parameters. In IR each
// version that a program touches is a state of its own; their places are slots
// of one ring, which the runtime chooses by the step.
//
//===----------------------------------------------------------------------===//
#ifndef ZC_DIALECTS_TRAIN_VERSIONS_H
#define ZC_DIALECTS_TRAIN_VERSIONS_H

#include "dialects/Train/TrainDialect.h"
#include "mlir/IR/BuiltinOps.h"

namespace zc::train {

/// On a module, and on each role: steps follow one another without a flush, so
/// that nothing is added up over roles behind a step's micro-batches.
inline constexpr llvm::StringLiteral kNoFlushAttr = "train.no_flush";

/// On a module: how many versions it keeps of states with a delay, and the
/// bytes of all of them together, of one version (i64).
inline constexpr llvm::StringLiteral kVersionsAttr = "train.versions";
inline constexpr llvm::StringLiteral kVersionBytesAttr = "sched.version_bytes";

inline int64_t getCount(mlir::Operation *op, llvm::StringRef attribute) {
  auto count = op->getAttrOfType<mlir::IntegerAttr>(attribute);
  return count ? count.getInt() : 0;
}

/// How many steps older than the newest the version is that forwards read of a
/// parameter, or of its copy; 0: they read the newest.
inline int64_t getDelay(StateOp state) { return int64_t(state.getDelay()); }

/// Whether the state has no place of its own.
inline bool isVersionOfOther(StateOp state) {
  return state.getVersionOf().has_value();
}

} // namespace zc::train

#endif // ZC_DIALECTS_TRAIN_VERSIONS_H
