//===- OpKernel.h - the linalg form of one op, compiled ---------*- C++ -*-===//
#ifndef ZC_COMPILER_INTERPRETER_OPKERNEL_H
#define ZC_COMPILER_INTERPRETER_OPKERNEL_H

#include "compiler/Interpreter/ConvKernel.h"
#include "compiler/Interpreter/Machine.h"
#include "compiler/Interpreter/PoolKernel.h"
#include "mlir/IR/Operation.h"

#include <optional>

namespace zc::interpreter {

/// Ops of one kind compute the same; of one with a region there is no other.
std::vector<const void *> kindOf(mlir::Operation *op);

/// Computes an op, on buffers whose shapes may be smaller than those in the
/// op's types (LinalgFormOpInterface).
class OpKernel {
public:
  using Shapes = llvm::ArrayRef<llvm::SmallVector<int64_t>>;
  using SharedPair = std::optional<std::pair<unsigned, unsigned>>;

  /// With `shared` = {operand, result} that result is written over that
  /// operand. Fails, with a diagnostic, where the machine does not know the
  /// form.
  static llvm::FailureOr<OpKernel> compile(mlir::Operation *op, Shapes operands,
                                           Shapes results, Precision precision,
                                           SharedPair shared = std::nullopt);

  /// `buffers`: of the operands, then of the results, in row-major order; a
  /// shared result has the operand's. False: the op left a buffer.
  bool run(llvm::ArrayRef<std::vector<Slot> *> buffers);

  /// Whether it looks which of two floats is larger, or whether they are equal.
  bool comparesFloats() const {
    return pool || (program && program->comparesFloats);
  }

private:
  OpKernel() = default;
  std::unique_ptr<Program> program; // null: it is one of those below
  std::optional<ConvKernel> conv;
  std::optional<PoolKernel> pool;
  std::vector<llvm::SmallVector<int64_t>> shapes; // of the buffers
};

} // namespace zc::interpreter

#endif // ZC_COMPILER_INTERPRETER_OPKERNEL_H
