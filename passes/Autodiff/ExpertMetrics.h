//===- ExpertMetrics.h - how a router spreads its tokens --------*- C++ -*-===//
#ifndef ZC_PASSES_AUTODIFF_EXPERTMETRICS_H
#define ZC_PASSES_AUTODIFF_EXPERTMETRICS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace zc {

/// Adds to a step with layers of experts the metric `moe_tokens` [layers,
/// experts], float32: how many rows each chose; and, where rooms are limited,
/// `moe_overflow` [1]: how many rows found none, in all layers. Of layers with
/// different numbers of experts, those that have the first one's. Both are sums
/// over samples.
void addExpertMetrics(mlir::func::FuncOp step);

} // namespace zc

#endif // ZC_PASSES_AUTODIFF_EXPERTMETRICS_H
