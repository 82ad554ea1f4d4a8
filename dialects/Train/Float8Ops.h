//===- Float8Ops.h - products of 8-bit floats -------------------*- C++ -*-===//
#ifndef ZC_DIALECTS_TRAIN_FLOAT8OPS_H
#define ZC_DIALECTS_TRAIN_FLOAT8OPS_H

#include "dialects/Train/TrainDialect.h"

#define GET_OP_CLASSES
#include "dialects/Train/Float8Ops.h.inc"

namespace zc::train {

/// M, K and N of products whose scales are of blocks are multiples of it, and
/// a block has so many elements along K (cuBLAS on sm_90; DeepSeek-V3).
inline constexpr int64_t kFloat8Block = 128;

/// Begins the slots of optimizer states that hold the largest magnitudes of
/// steps before (--fp8-scaling delayed): float32, element 0 of the step that
/// runs, element i of i steps before.
inline constexpr llvm::StringLiteral kAmaxSlotPrefix = "fp8_amax_";

/// Whether a state is such a history.
bool isAmaxHistory(StateOp state);

/// Whether elements are floats of 8 bits, which are a storage type only.
bool isFloat8(mlir::Type element);

} // namespace zc::train

#endif // ZC_DIALECTS_TRAIN_FLOAT8OPS_H
