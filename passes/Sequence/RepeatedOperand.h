//===- RepeatedOperand.h - keys that several queries share ------*- C++ -*-===//
#ifndef ZC_PASSES_SEQUENCE_REPEATEDOPERAND_H
#define ZC_PASSES_SEQUENCE_REPEATEDOPERAND_H

#include "mlir/IR/Builders.h"
#include "llvm/ADT/SmallVector.h"

namespace zc {

/// The ops that make an operand of one with fewer elements: grouped queries'
/// keys are repeated for each head. Ranks send the few and repeat them.
class RepeatedOperand {
public:
  explicit RepeatedOperand(mlir::Value all);

  /// The value that is repeated; the operand where nothing is.
  mlir::Value getSource() const { return source; }
  bool isRepeated() const { return !chain.empty(); }

  /// Repeats another rank's part as this operand was repeated.
  mlir::Value repeat(mlir::OpBuilder &builder, mlir::Value part) const;

  /// The sum of a gradient over the repetitions.
  mlir::Value sum(mlir::OpBuilder &builder, mlir::Value grad) const;

  /// A gradient whose sum over the repetitions is `sum`: in the first of them.
  mlir::Value place(mlir::OpBuilder &builder, mlir::Value sum) const;

private:
  mlir::Value source;
  llvm::SmallVector<mlir::Operation *> chain; // from the source on
};

} // namespace zc

#endif // ZC_PASSES_SEQUENCE_REPEATEDOPERAND_H
