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

/// On a parameter, or the copy that forwards read: how many steps older than
/// the newest their version is (i64). None: they read the newest.
inline constexpr llvm::StringLiteral kDelayAttr = "train.delay";

/// On a state that stands for a version of another (symbol), and how many steps
/// older than the newest it is; -1: the one that the step writes (i64).
inline constexpr llvm::StringLiteral kVersionOfAttr = "train.version_of";
inline constexpr llvm::StringLiteral kVersionAgeAttr = "train.version_age";

/// On a module: how many versions it keeps of states with kDelayAttr, and the
/// bytes of all of them together, of one version (i64).
inline constexpr llvm::StringLiteral kVersionsAttr = "train.versions";
inline constexpr llvm::StringLiteral kVersionBytesAttr = "sched.version_bytes";

inline int64_t getCount(mlir::Operation *op, llvm::StringRef attribute) {
  auto count = op->getAttrOfType<mlir::IntegerAttr>(attribute);
  return count ? count.getInt() : 0;
}

/// 0 where forwards read the newest version.
inline int64_t getDelay(StateOp state) { return getCount(state, kDelayAttr); }

/// Whether the state has no place of its own.
inline bool isVersionOfOther(StateOp state) {
  return state->hasAttr(kVersionOfAttr);
}

} // namespace zc::train

#endif // ZC_DIALECTS_TRAIN_VERSIONS_H
