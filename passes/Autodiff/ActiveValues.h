//===- ActiveValues.h - what gradients reach --------------------*- C++ -*-===//
#ifndef ZC_PASSES_AUTODIFF_ACTIVEVALUES_H
#define ZC_PASSES_AUTODIFF_ACTIVEVALUES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace zc {

/// Whether a value is an argument of a program that stands for a trained
/// parameter, or for the copy that the program reads in its place.
bool isTrained(mlir::Value value);

/// The trained arguments of a program, in their order.
llvm::SmallVector<mlir::Value> findTrained(mlir::func::FuncOp program);

/// The sources and the floats that follow from them, behind no op that stops
/// gradients: for each of these values a gradient may come back.
llvm::DenseSet<mlir::Value>
findActiveValues(mlir::func::FuncOp program,
                 llvm::ArrayRef<mlir::Value> sources);

} // namespace zc

#endif // ZC_PASSES_AUTODIFF_ACTIVEVALUES_H
