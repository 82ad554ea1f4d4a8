//===- GradientNorm.cpp - the norm of all gradients, and clipping ---------===//
#include "passes/Autodiff/GradientNorm.h"

#include "passes/Autodiff/Optimizers/UpdateBuilder.h"

using namespace mlir;
using namespace zc::train;

namespace zc {

// What one thread adds up; more is added up row by row first, and rows are
// shared out among threads.
static constexpr int64_t kRow = 16 * 1024;

/// `s` when `value` is x * broadcast(s); `value` becomes x.
static Value takeFactor(Value &value) {
  auto product = value.getDefiningOp<MulOp>();
  auto spread =
      product ? product.getRhs().getDefiningOp<BroadcastOp>() : BroadcastOp();
  if (!spread || cast<RankedTensorType>(spread.getInput().getType()).getRank())
    return nullptr;
  value = product.getLhs();
  return spread.getInput();
}

/// `parts`: how many a vector may later be divided in; so must the rows be.
static Value sumSquares(OpBuilder &builder, Location loc, Value value,
                        int64_t parts) {
  auto reduce = [&](StringRef kind, Value from, ArrayRef<int64_t> dims) {
    auto type = cast<RankedTensorType>(from.getType());
    SmallVector<int64_t> shape;
    for (int64_t dim : otherDims(type.getRank(), dims))
      shape.push_back(type.getDimSize(dim));
    return ReduceOp::create(builder, loc, withShape(type, shape), kind, from,
                            dims)
        .getResult();
  };
  auto type = cast<RankedTensorType>(value.getType());
  int64_t rows = type.getRank() == 1 ? parts : 1;
  int64_t row = type.getNumElements() / rows;
  for (int64_t dim = 0; row > kRow && dim + 1 < type.getRank(); ++dim) {
    rows *= type.getDimSize(dim);
    row /= type.getDimSize(dim);
  }
  while (row > kRow && row % 2 == 0) {
    rows *= 2;
    row /= 2;
  }
  Value matrix = reshape(builder, loc, value, {rows, row});
  return reduce("sum", reduce("sum_square", matrix, {1}), {0});
}

Value buildGlobalNorm(OpBuilder &builder, Location loc, ValueRange gradients,
                      ArrayRef<int64_t> parts) {
  UpdateBuilder u{builder, loc};
  Value sum;
  for (auto [gradient, number] : llvm::zip_equal(gradients, parts)) {
    // The norm of a scaled tensor needs no scaled tensor.
    Value value = gradient;
    Value factor = takeFactor(value);
    Value own = sumSquares(builder, loc, value, number);
    if (factor)
      own = u.mul(own, u.mul(factor, factor));
    own = u.convert(own, builder.getF32Type());
    sum = sum ? u.add(sum, own) : own;
  }
  if (!sum)
    sum =
        splat(builder, loc, RankedTensorType::get({}, builder.getF32Type()), 0);
  return u.sqrt(sum);
}

Value buildClipFactor(OpBuilder &builder, Location loc, Value norm,
                      double limit) {
  UpdateBuilder u{builder, loc};
  Value factor =
      u.div(u.number(norm, limit), u.add(norm, u.number(norm, 1e-6)));
  return MinOp::create(builder, loc, factor, u.number(norm, 1));
}

} // namespace zc
