//===- Views.h - values that are the memory of another ----------*- C++ -*-===//
//
// Outside of regions a program of fused ops holds views: they cost nothing.
//
//===----------------------------------------------------------------------===//
#ifndef ZC_PASSES_ANALYSIS_VIEWS_H
#define ZC_PASSES_ANALYSIS_VIEWS_H

#include "mlir/IR/Operation.h"
#include "mlir/IR/Value.h"

namespace zc {

/// Parts begin where vectors and libraries like it: kernels rely on it.
inline constexpr int64_t kPartAlignment = 64; // bytes

/// Whether `op` is a part of a value that is in memory whole in any case, a
/// state or weights that were gathered, without gaps: then nothing copies it.
bool isPartInPlace(mlir::Operation *op);

/// The tensor of which `op` shows a part or another shape; null if `op`, which
/// is in no region, is no view.
mlir::Value getViewed(mlir::Operation *op);

/// The element of what a view shows that it begins at.
int64_t getViewOffset(mlir::Operation *view);

} // namespace zc

#endif // ZC_PASSES_ANALYSIS_VIEWS_H
