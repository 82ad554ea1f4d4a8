//===- FewElements.h - an op of few elements --------------------*- C++ -*-===//
#ifndef ZC_COMPILER_INTERPRETER_FEWELEMENTS_H
#define ZC_COMPILER_INTERPRETER_FEWELEMENTS_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace zc::interpreter {

/// A module whose first op is the same elementwise op, broadcast, reduction or
/// constant of one number, on tensors whose dims have at most four elements: it
/// does the same with every element, so that few stand for all. Null for other
/// ops.
mlir::OwningOpRef<mlir::ModuleOp> makeFewElements(mlir::Operation *op);

} // namespace zc::interpreter

#endif // ZC_COMPILER_INTERPRETER_FEWELEMENTS_H
