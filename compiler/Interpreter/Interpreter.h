//===- Interpreter.h - runs programs of the train dialect -------*- C++ -*-===//
//
// The oracle of the tests: every op does what its linalg form says, in double
// precision if wanted. Slow, plain, and independent of code generation.
//
//===----------------------------------------------------------------------===//
#ifndef ZC_COMPILER_INTERPRETER_INTERPRETER_H
#define ZC_COMPILER_INTERPRETER_INTERPRETER_H

#include "compiler/Interpreter/Machine.h"
#include "compiler/Interpreter/Tensor.h"
#include "dialects/Dist/DistDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace zc::interpreter {

/// Compiles each op once, when it is first run: an interpreter must not outlive
/// the ops it has run, nor these change.
class Interpreter {
public:
  explicit Interpreter(Precision precision = Precision::Double);
  ~Interpreter();

  /// Runs a function of train ops, reshapes and fused regions. Fails, with a
  /// diagnostic, if the inputs do not fit or an op is unknown.
  llvm::FailureOr<std::vector<Tensor>> run(mlir::func::FuncOp func,
                                           llvm::ArrayRef<Tensor> inputs);

  /// Runs a program on all ranks of a mesh, or the program of each role on that
  /// role's ranks. In: for each rank, its parts in the order of the arguments
  /// (those that are messages are ignored); out: its parts of the results.
  llvm::FailureOr<std::vector<std::vector<Tensor>>>
  runOnRanks(llvm::ArrayRef<mlir::func::FuncOp> programs, dist::MeshAttr mesh,
             llvm::ArrayRef<std::vector<Tensor>> inputs);

  /// Runs the linalg form of one op on buffers whose shapes may be smaller than
  /// the op's types say (LinalgFormOpInterface). With `shared` = {operand,
  /// result} that result is written over that operand.
  llvm::FailureOr<std::vector<Tensor>>
  runOnBlock(mlir::Operation *op, llvm::ArrayRef<Tensor> inputs,
             llvm::ArrayRef<llvm::SmallVector<int64_t>> resultShapes,
             std::optional<std::pair<unsigned, unsigned>> shared = {});

private:
  class Implementation;
  std::unique_ptr<Implementation> implementation;
};

} // namespace zc::interpreter

#endif // ZC_COMPILER_INTERPRETER_INTERPRETER_H
