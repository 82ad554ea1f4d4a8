//===- WeightReads.h - where weights are read -------------------*- C++ -*-===//
#ifndef ZC_PASSES_SHARDING_WEIGHTREADS_H
#define ZC_PASSES_SHARDING_WEIGHTREADS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace zc {

/// Puts all that is made of parameters alone (the weight of a norm in its
/// input's shape, 1 more than a weight) in front of its first reader, so that
/// parameters are gathered for that one and no sooner. The ops behind `loss`,
/// which may be null, get copies of their own: parameters gathered for the
/// forward need not stay for the backward.
void placeWeightReads(mlir::func::FuncOp program, mlir::Operation *loss);

} // namespace zc

#endif // ZC_PASSES_SHARDING_WEIGHTREADS_H
