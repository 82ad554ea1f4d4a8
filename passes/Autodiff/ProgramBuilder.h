//===- ProgramBuilder.h - growing a program --------------------*- C++ -*-===//
//
// A program is a func.func whose arguments and results say what they are bound
// to (dialects/Train/TrainDialect.td). Passes add to both ends of it.
//
//===----------------------------------------------------------------------===//
#ifndef ZC_PASSES_AUTODIFF_PROGRAMBUILDER_H
#define ZC_PASSES_AUTODIFF_PROGRAMBUILDER_H

#include "dialects/Train/TrainDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace zc {

/// Adds an argument with one or more attributes; returns its value.
mlir::Value addArgument(mlir::func::FuncOp program, mlir::Type type,
                        llvm::ArrayRef<mlir::NamedAttribute> attributes,
                        mlir::Location loc);

/// Appends a result with attributes.
void addResult(mlir::func::FuncOp program, mlir::Value value,
               llvm::ArrayRef<mlir::NamedAttribute> attributes);

/// Drops result `index`.
void eraseResult(mlir::func::FuncOp program, unsigned index);

/// The argument bound to state `name`, or null.
mlir::Value findStateArgument(mlir::func::FuncOp program, llvm::StringRef name);

/// The argument bound to `state`, added if there is none.
mlir::Value getStateArgument(mlir::func::FuncOp program, train::StateOp state);

/// The state that an argument of a program is bound to, or null.
mlir::FlatSymbolRefAttr stateOf(mlir::Value value);

/// A new state at the end of the module's states.
train::StateOp addState(mlir::ModuleOp module, llvm::StringRef name,
                        mlir::Type type, llvm::StringRef kind,
                        mlir::Location loc);

} // namespace zc

#endif // ZC_PASSES_AUTODIFF_PROGRAMBUILDER_H
