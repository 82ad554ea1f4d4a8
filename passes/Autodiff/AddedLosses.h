//===- AddedLosses.h - further outputs in the loss --------------*- C++ -*-===//
#ifndef ZC_PASSES_AUTODIFF_ADDEDLOSSES_H
#define ZC_PASSES_AUTODIFF_ADDEDLOSSES_H

#include "passes/Autodiff/SplitBatch.h"

namespace zc {

/// Another output that the loss has a share of.
struct AddedLoss {
  unsigned index; // of the program's result
  double weight;
};

/// The outputs of `forward` that `OUTPUT=WEIGHT` name; a diagnostic where there
/// is none of that name or it is not of floating-point numbers.
mlir::FailureOr<llvm::SmallVector<AddedLoss>>
findAddedLosses(mlir::func::FuncOp forward,
                llvm::ArrayRef<std::string> outputs);

/// `loss` of a step and the mean of each added output times its weight. Where
/// the step is one of `parts`, `loss` and the result are sums of `count` losses
/// (null: terms of the step's loss), of which an added output gets the same
/// share: as much as the samples count that it was computed with.
mlir::Value addLosses(mlir::OpBuilder &builder, mlir::Location loc,
                      mlir::Value loss, mlir::Value count,
                      llvm::ArrayRef<AddedLoss> added, mlir::ValueRange results,
                      llvm::ArrayRef<PartKind> kinds, int64_t parts);

} // namespace zc

#endif // ZC_PASSES_AUTODIFF_ADDEDLOSSES_H
