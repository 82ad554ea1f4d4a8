//===- Gathered.h - units that stay gathered --------------------*- C++ -*-===//
//
// A unit of ZeRO-3 that several micro-batches read is gathered by a program of
// its own, into a state.
//
//===----------------------------------------------------------------------===//
#ifndef ZC_DIALECTS_TRAIN_GATHERED_H
#define ZC_DIALECTS_TRAIN_GATHERED_H

#include "dialects/Train/RolePrograms.h"

namespace zc::train {

/// The kind of the whole unit's state, which kGatherProgram writes.
inline constexpr StateKind kGathered = StateKind::Gathered;

/// Marks a module whose role's stages gather units into the same memory, so
/// that they are gathered again whenever stages take turns (unit).
inline constexpr llvm::StringLiteral kSharesUnitsAttr = "train.shares_units";

} // namespace zc::train

#endif // ZC_DIALECTS_TRAIN_GATHERED_H
