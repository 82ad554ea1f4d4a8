//===- UpdateBuilder.h - update rules read like their papers ----*- C++ -*-===//
#ifndef ZC_PASSES_AUTODIFF_OPTIMIZERS_UPDATEBUILDER_H
#define ZC_PASSES_AUTODIFF_OPTIMIZERS_UPDATEBUILDER_H

#include "dialects/Train/Ops/OpSupport.h"
#include "passes/Autodiff/Optimizers/Optimizer.h"

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
  mlir::Value mul(mlir::Value a, const RuleNumber &b) {
    return b.state ? mul(a, spread(b.state, a)) : mul(a, b.value);
  }
  /// 1 - `a`, in float64.
  RuleNumber rest(const RuleNumber &a) {
    if (!a.state)
      return {1 - a.value};
    return {1 - a.value, sub(number(a.state, 1), a.state)};
  }
  mlir::Value div(mlir::Value a, mlir::Value b) {
    return train::DivOp::create(builder, loc, a, b);
  }
  mlir::Value sqrt(mlir::Value a) {
    return train::SqrtOp::create(builder, loc, a);
  }
  mlir::Value rsqrt(mlir::Value a) {
    return train::RsqrtOp::create(builder, loc, a);
  }
  mlir::Value min(mlir::Value a, mlir::Value b) {
    return train::MinOp::create(builder, loc, a, b);
  }
  mlir::Value max(mlir::Value a, mlir::Value b) {
    return train::MaxOp::create(builder, loc, a, b);
  }
  mlir::Value greater(mlir::Value a, mlir::Value b) {
    return train::compare(builder, loc, train::Predicate::Gt, a, b);
  }
  mlir::Value select(mlir::Value condition, mlir::Value a, mlir::Value b) {
    return train::SelectOp::create(builder, loc, condition, a, b);
  }
  /// A tensor of the rank of `like`, with dims of size 1 repeated to its shape.
  mlir::Value stretch(mlir::Value a, mlir::Value like) {
    auto from = llvm::cast<mlir::RankedTensorType>(a.getType());
    auto to = llvm::cast<mlir::RankedTensorType>(like.getType());
    if (from == to)
      return a;
    llvm::SmallVector<int64_t> kept, dims;
    for (int64_t dim = 0; dim < from.getRank(); ++dim)
      if (from.getDimSize(dim) == to.getDimSize(dim)) {
        kept.push_back(from.getDimSize(dim));
        dims.push_back(dim);
      }
    return train::broadcast(builder, loc, train::reshape(builder, loc, a, kept),
                            to.getShape(), dims);
  }
  /// Over `dims`, which keep size 1.
  mlir::Value reduce(train::ReduceKind kind, mlir::Value a,
                     llvm::ArrayRef<int64_t> dims) {
    auto type = llvm::cast<mlir::RankedTensorType>(a.getType());
    llvm::SmallVector<int64_t> left, shape(type.getShape());
    for (int64_t dim : train::otherDims(type.getRank(), dims))
      left.push_back(type.getDimSize(dim));
    for (int64_t dim : dims)
      shape[dim] = 1;
    mlir::Value reduced = train::ReduceOp::create(
        builder, loc, train::withShape(type, left), kind, a, dims);
    return train::reshape(builder, loc, reduced, shape);
  }
  mlir::Value mean(mlir::Value a, int64_t dim) {
    auto type = llvm::cast<mlir::RankedTensorType>(a.getType());
    return mul(reduce(train::ReduceKind::Sum, a, {dim}),
               1.0 / static_cast<double>(type.getDimSize(dim)));
  }
  /// The largest of each slice along `dim`; the other dims keep size 1.
  mlir::Value largestOfOthers(mlir::Value a, int64_t dim) {
    auto type = llvm::cast<mlir::RankedTensorType>(a.getType());
    return reduce(train::ReduceKind::Max, a,
                  train::otherDims(type.getRank(), {dim}));
  }
  /// A tensor of no dims.
  mlir::Value rootMeanSquare(mlir::Value a) {
    auto type = llvm::cast<mlir::RankedTensorType>(a.getType());
    mlir::Value sum = a;
    if (type.getRank() > 0)
      sum = train::ReduceOp::create(
          builder, loc, train::withShape(type, {}),
          train::ReduceKind::SumSquare, a,
          llvm::to_vector(llvm::seq<int64_t>(0, type.getRank())));
    else
      sum = mul(a, a);
    return sqrt(mul(sum, 1.0 / static_cast<double>(type.getNumElements())));
  }
  mlir::Value pow(mlir::Value base, double exponent) {
    return train::PowOp::create(builder, loc, base, number(base, exponent));
  }
  /// The exponent is float64.
  mlir::Value pow(const RuleNumber &base, mlir::Value exponent) {
    mlir::Value known = base.state ? base.state : number(exponent, base.value);
    return train::PowOp::create(builder, loc, known, exponent);
  }
};

} // namespace zc

#endif // ZC_PASSES_AUTODIFF_OPTIMIZERS_UPDATEBUILDER_H
