//===- RolePrograms.h - further programs of a role --------------*- C++ -*-===//
//
// Programs that a pipeline's role may have beside those of TrainDialect.h.
//
//===----------------------------------------------------------------------===//
#ifndef ZC_DIALECTS_TRAIN_ROLEPROGRAMS_H
#define ZC_DIALECTS_TRAIN_ROLEPROGRAMS_H

#include "llvm/ADT/StringRef.h"

namespace zc::train {

/// The parameters' gradients, in a role that sends gradients on.
inline constexpr llvm::StringLiteral kWeightsProgram = "weight_gradients";

/// Gathers the units that micro-batches read; of one stage where a role has
/// several, "gather.0".
inline constexpr llvm::StringLiteral kGatherProgram = "gather";

} // namespace zc::train

#endif // ZC_DIALECTS_TRAIN_ROLEPROGRAMS_H
