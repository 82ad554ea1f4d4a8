//===- BatchStatistics.h - batch normalisation in training ------*- C++ -*-===//
#ifndef ZC_PASSES_AUTODIFF_BATCHSTATISTICS_H
#define ZC_PASSES_AUTODIFF_BATCHSTATISTICS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace zc {

/// Batch normalisation that has a momentum uses the batch's statistics from
/// here on; the running ones' new values become results of `step`.
///
/// With `shares` above 1, each of that many consecutive equal shares of the
/// samples has statistics of its own, and those of the first count for the
/// running ones, like ranks that do not exchange statistics. Emits a diagnostic
/// if the samples are in no dim of the normalised values.
mlir::LogicalResult trainBatchNorms(mlir::func::FuncOp step, int64_t shares);

} // namespace zc

#endif // ZC_PASSES_AUTODIFF_BATCHSTATISTICS_H
