//===- SplitBatch.h - a program for a part of the batch ---------*- C++ -*-===//
#ifndef ZC_PASSES_AUTODIFF_SPLITBATCH_H
#define ZC_PASSES_AUTODIFF_SPLITBATCH_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace zc {

/// Changes the types of a forward program from all samples to one of `parts`
/// equal parts of them. Sums over samples become sums over the part, terms of
/// what they were; where a program needs more than terms, or a dim that does
/// not divide, a diagnostic names the op.
mlir::LogicalResult splitBatch(mlir::func::FuncOp forward, int64_t parts);

} // namespace zc

#endif // ZC_PASSES_AUTODIFF_SPLITBATCH_H
