//===- SplitBatch.h - a program for a part of the batch ---------*- C++ -*-===//
#ifndef ZC_PASSES_AUTODIFF_SPLITBATCH_H
#define ZC_PASSES_AUTODIFF_SPLITBATCH_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace zc {

/// How a value of a part of the batch makes that of the whole.
enum class PartKind {
  /// It says nothing of other samples: it is what it is.
  Own,
  /// The parts' values add up to it.
  Term,
  /// The parts' values have it as their mean.
  Mean
};

/// Changes the types of a forward program from all samples to one of `parts`
/// equal parts of them; gives the kind of each result. Sums over samples become
/// sums over the part, and quotients of two such sums means. Where a program
/// needs more than that, or a dim that does not divide, a diagnostic names the
/// op.
mlir::FailureOr<llvm::SmallVector<PartKind>>
splitBatch(mlir::func::FuncOp forward, int64_t parts);

} // namespace zc

#endif // ZC_PASSES_AUTODIFF_SPLITBATCH_H
