//===- Bilinear.h - images between their pixels -----------------*- C++ -*-===//
#ifndef ZC_PASSES_IMPORT_LOWERING_BILINEAR_H
#define ZC_PASSES_IMPORT_LOWERING_BILINEAR_H

#include "passes/Import/Lowering/NodeContext.h"

namespace zc {

/// One of the four pixels around every place, [P..., channels], and its weight,
/// [P...].
struct WeighedPixels {
  mlir::Value pixels, weight;
};

/// `rows` [images * height * width, channels]; `image` (i64, which of them),
/// `y` and `x` (floats, in pixels) are [P...]. Pixels outside the image count
/// 0. The gradient of y and x comes through the weights, that of the image is a
/// scatter.
llvm::SmallVector<WeighedPixels>
findCorners(TensorBuilder &build, mlir::Value rows, mlir::Value image,
            mlir::Value y, mlir::Value x, int64_t height, int64_t width);

/// A pixel's channels times its weight.
mlir::Value weigh(TensorBuilder &build, const WeighedPixels &corner);

/// 0, 1, ... along `dim` of `shape`, as `element` (any type).
mlir::Value countAlong(TensorBuilder &build, llvm::ArrayRef<int64_t> shape,
                       int64_t dim, mlir::Type element);

} // namespace zc

#endif // ZC_PASSES_IMPORT_LOWERING_BILINEAR_H
