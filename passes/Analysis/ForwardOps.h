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

/// The ops that the program's loss depends on, or, in a role of a pipeline, the
/// activations that it sends, or a result that is kept for the backward (see
/// kOfOtherRanksAttr); none where there are none of them.
llvm::DenseSet<mlir::Operation *> findForwardOps(mlir::func::FuncOp program);

/// Whether a result is the sum of micro-batches' gradients of a parameter. The
/// loss, and how many losses there are, are summed up too.
bool isGradientSum(mlir::func::FuncOp program, unsigned result);

/// Whether a result is the sum of how many losses there are, in a role that
/// learns it with the gradients.
bool isReceivedCount(mlir::func::FuncOp program, unsigned result);

/// Whether a result of a role's micro-batch belongs to its backward: a sum
/// of gradients or of received counts of losses, or a gradient that is
/// sent.
bool endsBackward(mlir::func::FuncOp micro, unsigned result);

/// The ops of a role's micro-batch that its forward needs: for activations,
/// losses, statistics, counters.
llvm::DenseSet<mlir::Operation *> findForwardPass(mlir::func::FuncOp micro);

/// The ops that make the gradients of a program of fused ops: those that are
/// marked as such (kGradientsAttr), and those whose results are sums of
/// micro-batches' gradients.
llvm::SmallVector<mlir::Operation *>
findGradientOps(mlir::func::FuncOp program);

} // namespace zc

#endif // ZC_PASSES_ANALYSIS_FORWARDOPS_H
