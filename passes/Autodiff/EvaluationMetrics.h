//===- EvaluationMetrics.h - sums over samples ------------------*- C++ -*-===//
#ifndef ZC_PASSES_AUTODIFF_EVALUATIONMETRICS_H
#define ZC_PASSES_AUTODIFF_EVALUATIONMETRICS_H

#include "passes/Autodiff/Losses.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace zc {

/// Appends to `@eval` the metrics `loss_sum`, `weight_sum` and, where the loss
/// has one, `correct_sum`: sums over the samples whose `sample_weight`, a new
/// input, is 1. Their quotients over any number of batches are exact, a last
/// partial batch included. `count_sum` divides `correct_sum` where losses have
/// weights other than 1. Without a batch dim (`batchDim` -1) all count.
void addEvaluationMetrics(mlir::func::FuncOp eval, mlir::OpBuilder &builder,
                          mlir::Location loc, const SampleLosses &losses);

} // namespace zc

#endif // ZC_PASSES_AUTODIFF_EVALUATIONMETRICS_H
