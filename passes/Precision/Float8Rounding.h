//===- Float8Rounding.h - how one tensor is rounded to 8 bits ---*- C++ -*-===//
#ifndef ZC_PASSES_PRECISION_FLOAT8ROUNDING_H
#define ZC_PASSES_PRECISION_FLOAT8ROUNDING_H

#include "dialects/Train/TrainDialect.h"

namespace zc {

/// A tensor of 8-bit floats, times `inverse`, is about the one that it is of;
/// `inverse` is one float32, or one for each block.
struct Rounded {
  mlir::Value value, inverse;
};

/// Emits how one tensor, of 16 or 32 bits, is rounded to a type of 8 bits.
class Float8Rounder {
public:
  Float8Rounder(mlir::OpBuilder &builder, mlir::Value value,
                mlir::FloatType type);

  /// The largest magnitude of the tensor, one float32.
  mlir::Value measure();

  /// The factor that makes `size`, a largest magnitude, the type's largest
  /// number. Sizes below 1e-12 count as that: a scale and its reciprocal are
  /// finite.
  mlir::Value scaleOf(mlir::Value size);

  /// 1 over a scale, element by element.
  mlir::Value invert(mlir::Value scale);

  /// The tensor times one scale, rounded to nearest, within what the type
  /// holds.
  mlir::Value round(mlir::Value scale);

  /// Each block, of `blocks[d]` elements along dim d, has the scale of its own
  /// largest magnitude, a power of two: what is rounded so, scaled back, is a
  /// number of bfloat16.
  Rounded roundBlocks(llvm::ArrayRef<int64_t> blocks);

private:
  mlir::Value splatLike(mlir::Value like, double number);
  mlir::Value convertWithin(mlir::Value scaled);

  mlir::OpBuilder &builder;
  mlir::Location loc;
  mlir::Value value;
  mlir::FloatType type;
  double largest;
};

} // namespace zc

#endif // ZC_PASSES_PRECISION_FLOAT8ROUNDING_H
