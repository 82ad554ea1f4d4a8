//===- PadStates.h - dims that do not divide evenly -------------*- C++ -*-===//
#ifndef ZC_PASSES_SHARDING_PADSTATES_H
#define ZC_PASSES_SHARDING_PADSTATES_H

#include "dialects/Train/TrainDialect.h"

namespace zc {

/// Makes dim `dim` of `state` `size` elements long in all programs, zeros
/// behind its own; `dist.whole` keeps what files know. Every op that reads the
/// state gets zeros behind the same dim of its other operands, and what it
/// makes of them is cut off. That needs ops that are linear in the state: zeros
/// stay zeros, add nothing to sums, and their gradients are zeros.
///
/// Returns the first op that is not so, and then changes nothing; null where
/// all are.
mlir::Operation *padState(train::StateOp state, int64_t dim, int64_t size);

} // namespace zc

#endif // ZC_PASSES_SHARDING_PADSTATES_H
