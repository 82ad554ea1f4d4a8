//===- Random.h - draws of random bits --------------------------*- C++ -*-===//
#ifndef ZC_PASSES_IMPORT_LOWERING_RANDOM_H
#define ZC_PASSES_IMPORT_LOWERING_RANDOM_H

#include "passes/Import/Lowering/NodeContext.h"

namespace zc {

/// For a comparison of uniform random numbers with one number that is known at
/// compile time: bits that are true with the probability of that. `isLess` says
/// that it asks for less (or equal) rather than greater. Null for any other
/// comparison.
mlir::Value compareDraw(NodeContext &context, bool isLess);

/// For the result of such a comparison the bits as numbers: 0 or 1 in training,
/// in evaluation the probability of 1. Null for any other value.
mlir::Value drawnBits(mlir::Value condition);

} // namespace zc

#endif // ZC_PASSES_IMPORT_LOWERING_RANDOM_H
