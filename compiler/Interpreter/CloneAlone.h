//===- CloneAlone.h - an op in a module of its own --------------*- C++ -*-===//
#ifndef ZC_COMPILER_INTERPRETER_CLONEALONE_H
#define ZC_COMPILER_INTERPRETER_CLONEALONE_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace zc::interpreter {

/// A module whose first op is `op` with operands and results of these types.
mlir::OwningOpRef<mlir::ModuleOp> cloneAlone(mlir::Operation *op,
                                             mlir::TypeRange operands,
                                             mlir::TypeRange results);

} // namespace zc::interpreter

#endif // ZC_COMPILER_INTERPRETER_CLONEALONE_H
