//===- JoinSums.h - sums over tokens, with a product ------------*- C++ -*-===//
#ifndef ZC_PASSES_FUSION_CUDA_JOINSUMS_H
#define ZC_PASSES_FUSION_CUDA_JOINSUMS_H

#include "dialects/Train/TrainDialect.h"

namespace zc::cuda {

/// Whether `region`, which sums the columns of a value over its rows, has
/// become part of a product's epilogue: of the gradient that is summed, or of
/// another product that has what is summed for a factor.
bool joinSums(train::FusedOp region);

} // namespace zc::cuda

#endif // ZC_PASSES_FUSION_CUDA_JOINSUMS_H
