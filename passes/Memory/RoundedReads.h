//===- RoundedReads.h - what may be read with few digits --------*- C++ -*-===//
#ifndef ZC_PASSES_MEMORY_ROUNDEDREADS_H
#define ZC_PASSES_MEMORY_ROUNDEDREADS_H

#include "dialects/Train/TrainDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseSet.h"

namespace zc {

/// Tells which reads of the backward bear that a value is off by a part of
/// itself. Products of it do, as they are off by that part and no more, and
/// sums of it, which are off by that part of the sum of their terms'
/// magnitudes: ops that are linear in it, as their sharding rules say. So does
/// the question whether the value itself is 0, above or below, if it keeps its
/// sign; a sum of rounded terms need not have the sum's. No bound holds for
/// others: a divisor or a logarithm of what is small, a power of e, a
/// comparison with what is near.
///
/// Results that are made of the value are off as well, and their readers are
/// asked in turn, up to gradients. These are not followed: whatever they become
/// is linear in them. Gradients are what is computed from that of the loss, of
/// a softmax cross entropy, its scale or what another role sends. Where none of
/// these is there, all of the backward is followed.
class RoundedReads {
public:
  /// Ops may be changed afterwards, and others added, but none of the
  /// backward's removed, nor a gradient in its regions.
  explicit RoundedReads(mlir::func::FuncOp program);

  /// Whether all of a value's reads, operands of fused ops of the backward,
  /// bear that.
  bool areBorne(llvm::ArrayRef<mlir::OpOperand *> reads) const;

private:
  void findGradients(mlir::Operation &op);

  llvm::DenseSet<mlir::Operation *> backward;
  /// Values of the program and of the regions of its ops.
  llvm::DenseSet<mlir::Value> gradients;
};

} // namespace zc

#endif // ZC_PASSES_MEMORY_ROUNDEDREADS_H
