//===- RoundedReads.h - what may be read with few digits --------*- C++ -*-===//
#ifndef ZC_PASSES_MEMORY_ROUNDEDREADS_H
#define ZC_PASSES_MEMORY_ROUNDEDREADS_H

#include "dialects/Train/TrainDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseSet.h"

namespace zc {

/// Says where the backward may read a value with few digits, that is, one whose
/// error is at most a fixed part of the value itself (a sixteenth, say).
///
/// It may where this bounds the error of the result. A product is off by the
/// same part. A sum is off by at most that part of the sum of its terms'
/// magnitudes; such ops are linear in the value, which their sharding rules
/// say. The sign of the value itself is exact, because rounding keeps it; the
/// sign of a sum of rounded terms need not be. Nothing bounds the error of a
/// quotient by the value, of its logarithm or exponential, or of its comparison
/// with another number.
///
/// A result that is made of the value has an error, too, so its readers are
/// asked in turn. This ends at gradients: whatever the backward makes of a
/// gradient is linear in it. A gradient is what is computed from the gradient
/// of the loss, of a softmax cross entropy, from the loss's scale, or from what
/// another role sends. In a program without any of these the whole backward is
/// asked.
class RoundedReads {
public:
  /// Afterwards ops may be changed and added. Ops of the backward must not be
  /// removed, and neither must gradients in their regions.
  explicit RoundedReads(mlir::func::FuncOp program);

  /// Whether the backward may read a value so by all of `reads`, which are
  /// operands of fused ops of the backward.
  bool areBorne(llvm::ArrayRef<mlir::OpOperand *> reads) const;

private:
  void findGradients(mlir::Operation &op);

  llvm::DenseSet<mlir::Operation *> backward;
  /// Values of the program and of the regions of its ops.
  llvm::DenseSet<mlir::Value> gradients;
};

} // namespace zc

#endif // ZC_PASSES_MEMORY_ROUNDEDREADS_H
