//===- Gathered.h - units that stay gathered --------------------*- C++ -*-===//
//
// A unit of ZeRO-3 that several micro-batches read is gathered by a program of
// its own, into a state.
//
//===----------------------------------------------------------------------===//
#ifndef ZC_DIALECTS_TRAIN_GATHERED_H
#define ZC_DIALECTS_TRAIN_GATHERED_H

#include "llvm/ADT/StringRef.h"

namespace zc::train {

/// The kind of the whole unit's state, which kGatherProgram writes.
inline constexpr llvm::StringLiteral kGathered = "gathered";

/// Gathers the units that micro-batches read; of one stage where a role has
/// several, "gather.0".
inline constexpr llvm::StringLiteral kGatherProgram = "gather";

} // namespace zc::train

#endif // ZC_DIALECTS_TRAIN_GATHERED_H
