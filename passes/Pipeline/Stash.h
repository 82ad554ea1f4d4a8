//===- Stash.h - what the backward will read of the forward -----*- C++ -*-===//
#ifndef ZC_PASSES_PIPELINE_STASH_H
#define ZC_PASSES_PIPELINE_STASH_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace zc {

/// For each of the ops of @step, the bytes of its results that the backward
/// reads, once it is there. Values that fusion computes again count, too. The
/// backward is built of a copy of the module; where it cannot be, nothing is
/// reported, and all results count.
llvm::SmallVector<double> estimateStash(mlir::func::FuncOp step,
                                        llvm::ArrayRef<mlir::Operation *> ops);

} // namespace zc

#endif // ZC_PASSES_PIPELINE_STASH_H
