//===- LeastWindow.h - the least image under a window -----------*- C++ -*-===//
#ifndef ZC_COMPILER_INTERPRETER_LEASTWINDOW_H
#define ZC_COMPILER_INTERPRETER_LEASTWINDOW_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace zc::interpreter {

/// A module whose first op is the same convolution, pooling or gradient of one,
/// on the least image on which its window has two places along each dim. No
/// rule divides an image under a window of several elements, and a window does
/// the same everywhere, so that this image stands for all. Null for other ops,
/// and where the image is as small.
mlir::OwningOpRef<mlir::ModuleOp> makeLeastWindow(mlir::Operation *op);

} // namespace zc::interpreter

#endif // ZC_COMPILER_INTERPRETER_LEASTWINDOW_H
