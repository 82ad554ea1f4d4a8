//===- RoundedReads.h - what may be read with few digits --------*- C++ -*-===//
#ifndef ZC_PASSES_MEMORY_ROUNDEDREADS_H
#define ZC_PASSES_MEMORY_ROUNDEDREADS_H

#include "dialects/Train/TrainDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseSet.h"

namespace zc {

/// Tells which reads of the backward bear that a value is off by a part of
/// itself. Sums and products of it do, as their terms and factors are then off
/// by that part and no more: ops that are linear in it, as their sharding rules
/// say. So does the question whether it is 0, above or below, if it keeps its
/// sign. No bound holds for others: a divisor or a logarithm of what is small,
/// a power of e, a comparison with what is near.
///
/// Results that are made of the value are off as well, and their readers are
/// asked in turn, as far as ops run again or read no gradient. Gradients are
/// not followed: whatever they become is linear in them.
class RoundedReads {
public:
  /// Ops may be changed afterwards, and others added, but none of the
  /// backward's removed.
  explicit RoundedReads(mlir::func::FuncOp program);

  /// Whether all of a value's reads, operands of fused ops of the backward,
  /// bear that.
  bool areBorne(llvm::ArrayRef<mlir::OpOperand *> reads) const;

private:
  /// The ops of the backward that read what the forward has made and what runs
  /// again, and so may make values like those.
  llvm::DenseSet<mlir::Operation *> ofForward;
};

} // namespace zc

#endif // ZC_PASSES_MEMORY_ROUNDEDREADS_H
