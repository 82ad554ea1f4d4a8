//===- States.h - initializers become states or constants -------*- C++ -*-===//
#ifndef ZC_PASSES_IMPORT_STATES_H
#define ZC_PASSES_IMPORT_STATES_H

#include "dialects/Onnx/OnnxDialect.h"
#include "dialects/Train/TrainDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

namespace zc {

/// The initializers of a graph on their way into the forward program. Which of
/// them live in memory is decided by use: an initializer that only says axes or
/// a shape is never asked for, and leaves nothing behind.
class States {
public:
  /// Puts an argument before those of `body` for every initializer that would
  /// be a state.
  States(onnx::GraphOp graph, mlir::Block &body);

  /// The initializer as a value of the forward program.
  mlir::Value get(onnx::InitializerOp initializer);

  /// Drops the arguments that the finished body does not use. Defines the
  /// others before `forward` and binds the arguments to them.
  mlir::LogicalResult finish(mlir::func::FuncOp forward);

  unsigned getNumStates() const { return states.size(); }

private:
  /// An initializer that is an argument of the program.
  struct Binding {
    onnx::InitializerOp initializer;
    mlir::BlockArgument argument;
    /// The elements of a folded constant, without the dims along which they do
    /// not vary; null for what the file itself stores.
    mlir::DenseElementsAttr compact;
  };

  train::StateKind getKind(onnx::InitializerOp initializer) const;
  bool isInline(onnx::InitializerOp initializer) const;
  mlir::Value makeConstant(onnx::InitializerOp initializer);
  mlir::Value expand(onnx::InitializerOp initializer);
  mlir::LogicalResult define(mlir::func::FuncOp forward, Binding &binding);

  mlir::Block &body;
  llvm::DenseSet<mlir::Operation *> statistics;
  llvm::SmallVector<Binding> states;
  llvm::DenseMap<mlir::Operation *, mlir::BlockArgument> arguments;
  llvm::DenseMap<mlir::Operation *, mlir::Value> values;
};

/// `value` with dims of size 1 where its elements do not vary along them.
mlir::DenseElementsAttr compactElements(mlir::DenseElementsAttr value);

} // namespace zc

#endif // ZC_PASSES_IMPORT_STATES_H
