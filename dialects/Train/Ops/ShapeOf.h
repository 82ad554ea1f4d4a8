//===- ShapeOf.h - the dims of a value --------------------------*- C++ -*-===//
//
// Apart from OpSupport.h, which needs many headers.
//
//===----------------------------------------------------------------------===//
#ifndef ZC_DIALECTS_TRAIN_OPS_SHAPEOF_H
#define ZC_DIALECTS_TRAIN_OPS_SHAPEOF_H

#include "mlir/IR/Value.h"

namespace zc::train {

/// The dims of a tensor or buffer of static shape.
llvm::ArrayRef<int64_t> shapeOf(mlir::Value value);

} // namespace zc::train

namespace zc {
using train::shapeOf;
}

#endif // ZC_DIALECTS_TRAIN_OPS_SHAPEOF_H
