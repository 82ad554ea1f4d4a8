//===- Tensors.h - sizes of values ------------------------------*- C++ -*-===//
#ifndef ZC_PASSES_ANALYSIS_TENSORS_H
#define ZC_PASSES_ANALYSIS_TENSORS_H

#include "dialects/Train/Ops/ShapeOf.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Value.h"

namespace zc {

/// The bytes of a tensor of static shape in memory; elements of less than a
/// byte take one.
inline int64_t bytesOf(mlir::Value value) {
  auto type = mlir::cast<mlir::ShapedType>(value.getType());
  return type.getNumElements() * ((type.getElementTypeBitWidth() + 7) / 8);
}

} // namespace zc

#endif // ZC_PASSES_ANALYSIS_TENSORS_H
