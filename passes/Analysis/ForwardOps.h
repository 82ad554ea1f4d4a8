//===- ForwardOps.h - which ops of a program are its forward ----*- C++ -*-===//
#ifndef ZC_PASSES_ANALYSIS_FORWARDOPS_H
#define ZC_PASSES_ANALYSIS_FORWARDOPS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseSet.h"

namespace zc {

/// All ops that one of `roots` depends on, these included.
llvm::DenseSet<mlir::Operation *>
findAncestors(llvm::SmallVector<mlir::Operation *> roots);

/// Whether `op` computes anything that `other`, of the same block, needs.
bool leadsTo(mlir::Operation *op, mlir::Operation *other);

/// The ops that the program's loss depends on; none where it has no loss.
llvm::DenseSet<mlir::Operation *> findForwardOps(mlir::func::FuncOp program);

/// The ops that make the gradients of a program of fused ops: those that are
/// marked as such (kGradientsAttr), and those whose results are sums of
/// micro-batches' gradients.
llvm::SmallVector<mlir::Operation *>
findGradientOps(mlir::func::FuncOp program);

} // namespace zc

#endif // ZC_PASSES_ANALYSIS_FORWARDOPS_H
