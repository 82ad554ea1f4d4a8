//===- UpdateBuilder.h - update rules read like their papers ----*- C++ -*-===//
#ifndef ZC_PASSES_AUTODIFF_OPTIMIZERS_UPDATEBUILDER_H
#define ZC_PASSES_AUTODIFF_OPTIMIZERS_UPDATEBUILDER_H

#include "dialects/Train/Ops/OpSupport.h"

namespace zc {

/// Arithmetic of tensors of one shape with numbers, or with tensors of no dims,
/// which are spread.
struct UpdateBuilder {
  mlir::OpBuilder &builder;
  mlir::Location loc;

  mlir::Value number(mlir::Value like, double value) {
    return train::splat(builder, loc, like.getType(), value);
  }
  /// `scalar` in the element type of `like` and its shape.
  mlir::Value spread(mlir::Value scalar, mlir::Value like) {
    auto type = llvm::cast<mlir::RankedTensorType>(like.getType());
    scalar = convert(scalar, type.getElementType());
    return train::broadcast(builder, loc, scalar, type.getShape(), {});
  }
  mlir::Value convert(mlir::Value value, mlir::Type element) {
    auto type = train::withElementType(value.getType(), element);
    if (type == value.getType())
      return value;
    return train::ConvertOp::create(builder, loc, type, value);
  }
  mlir::Value add(mlir::Value a, mlir::Value b) {
    return train::AddOp::create(builder, loc, a, b);
  }
  mlir::Value sub(mlir::Value a, mlir::Value b) {
    return train::SubOp::create(builder, loc, a, b);
  }
  mlir::Value mul(mlir::Value a, mlir::Value b) {
    return train::MulOp::create(builder, loc, a, b);
  }
  mlir::Value mul(mlir::Value a, double b) { return mul(a, number(a, b)); }
  mlir::Value div(mlir::Value a, mlir::Value b) {
    return train::DivOp::create(builder, loc, a, b);
  }
  mlir::Value sqrt(mlir::Value a) {
    return train::SqrtOp::create(builder, loc, a);
  }
  mlir::Value pow(double base, mlir::Value exponent) {
    return train::PowOp::create(builder, loc, number(exponent, base), exponent);
  }
};

} // namespace zc

#endif // ZC_PASSES_AUTODIFF_OPTIMIZERS_UPDATEBUILDER_H
