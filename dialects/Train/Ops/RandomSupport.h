//===- RandomSupport.h - what counter-based random ops share ----*- C++ -*-===//
#ifndef ZC_DIALECTS_TRAIN_OPS_RANDOMSUPPORT_H
#define ZC_DIALECTS_TRAIN_OPS_RANDOMSUPPORT_H

#include "dialects/Train/Ops/OpSupport.h"

namespace zc::train {

/// Emits integer scalars of one type that wrap around.
struct BitBuilder {
  BitBuilder(mlir::OpBuilder &builder, mlir::Location loc, mlir::Type type)
      : builder(builder), loc(loc), type(type) {}

  mlir::Value constant(uint64_t value);
  mlir::Value add(mlir::Value a, mlir::Value b);
  mlir::Value xorBits(mlir::Value a, mlir::Value b);
  mlir::Value mul(mlir::Value a, uint64_t factor);
  /// a ^ (a >> bits)
  mlir::Value mixRight(mlir::Value a, unsigned bits);

  mlir::OpBuilder &builder;
  mlir::Location loc;
  mlir::Type type;
};

/// 32 random bits that are a function of an i64 key and the sum of i64
/// positions alone.
mlir::Value buildRandomBits(mlir::OpBuilder &builder, mlir::Location loc,
                            mlir::Value key, mlir::ValueRange positions);

/// A number in [0, 1) of floating-point type `type` out of 32 random bits, of
/// which it takes 24: every one is exact in float32.
mlir::Value buildUniform(mlir::OpBuilder &builder, mlir::Location loc,
                         mlir::Value bits, mlir::Type type);

/// An error unless the elements of the key and of all positions are i64.
mlir::LogicalResult verifyRandomOperands(mlir::Operation *op, mlir::Value key,
                                         mlir::ValueRange positions);

/// An error unless the value's elements are i64.
mlir::LogicalResult verifyKeyType(mlir::Operation *op, mlir::Value key);

} // namespace zc::train

#endif // ZC_DIALECTS_TRAIN_OPS_RANDOMSUPPORT_H
