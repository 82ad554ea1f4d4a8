//===- GradientNorm.cpp - the norm of all gradients, and clipping ---------===//
#include "passes/Autodiff/GradientNorm.h"

#include "dialects/Dist/DistDialect.h"
#include "passes/Autodiff/Optimizers/UpdateBuilder.h"
#include "passes/Autodiff/RoleSum.h"
#include "llvm/ADT/MapVector.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace zc::train;

namespace zc {

// Elements that one thread adds up; longer tensors are added up row by row
// first, with the rows shared among threads.
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

static Value reduceDims(OpBuilder &builder, Location loc, StringRef kind,
                        Value from, ArrayRef<int64_t> dims) {
  auto type = cast<RankedTensorType>(from.getType());
  SmallVector<int64_t> shape;
  for (int64_t dim : otherDims(type.getRank(), dims))
    shape.push_back(type.getDimSize(dim));
  return ReduceOp::create(builder, loc, withComputeType(withShape(type, shape)),
                          kind, from, dims);
}

/// Sums the squares of each row, then the rows' sums.
static Value sumSquaredRows(OpBuilder &builder, Location loc, Value rows) {
  int64_t last = cast<RankedTensorType>(rows.getType()).getRank() - 1;
  Value sums = reduceDims(builder, loc, "sum_square", rows, {last});
  return reduceDims(builder, loc, "sum", sums,
                    llvm::to_vector(llvm::seq<int64_t>(0, last)));
}

/// Sharded dims are kept apart, so that ranks add up their own parts.
static Value asRows(OpBuilder &builder, Location loc, Value value,
                    ArrayRef<int64_t> parts) {
  auto type = cast<RankedTensorType>(value.getType());
  if (type.getRank() > 1 &&
      llvm::any_of(parts, [](int64_t number) { return number > 1; })) {
    SmallVector<int64_t> shape;
    for (auto [size, number] : llvm::zip_equal(type.getShape(), parts))
      shape.append({number, size / number});
    return reshape(builder, loc, value, shape);
  }
  int64_t rows = parts.size() == 1 ? parts.front() : 1;
  int64_t row = type.getNumElements() / rows;
  for (int64_t dim = 0; row > kRow && dim + 1 < type.getRank(); ++dim) {
    rows *= type.getDimSize(dim);
    row /= type.getDimSize(dim);
  }
  while (row > kRow && row % 2 == 0) {
    rows *= 2;
    row /= 2;
  }
  return reshape(builder, loc, value, {rows, row});
}

Value buildGlobalNorm(OpBuilder &builder, Location loc, ValueRange gradients,
                      ArrayRef<GradientDivision> divisions, bool hasRoles) {
  UpdateBuilder u{builder, loc};
  llvm::MapVector<Attribute, Value> sums; // by the axes
  for (auto [gradient, division] : llvm::zip_equal(gradients, divisions)) {
    // The norm of a scaled tensor needs no scaled tensor.
    Value value = gradient;
    SmallVector<Value> factors;
    while (Value factor = takeFactor(value))
      factors.push_back(factor);
    // Nor is one of 16 bits to be made float32 first.
    if (auto convert = value.getDefiningOp<ConvertOp>())
      if (isNarrow(getElementTypeOrSelf(convert.getInput().getType())))
        value = convert.getInput();
    Value own = sumSquaredRows(builder, loc,
                               asRows(builder, loc, value, division.parts));
    for (Value factor : factors)
      own = u.mul(own, u.mul(factor, factor));
    own = u.convert(own, builder.getF32Type());
    Value &sum = sums[division.axes];
    sum = sum ? u.add(sum, own) : own;
  }
  Value total;
  for (auto &[axes, sum] : sums)
    total = total ? u.add(total, sum) : sum;
  if (!total)
    total =
        splat(builder, loc, RankedTensorType::get({}, builder.getF32Type()), 0);
  if (hasRoles)
    total = buildRoleSum(builder, loc, total, dist::kScalars);
  return u.sqrt(total);
}

/// How many elements of `rows` are below each of `edges`: [edges].
static Value countBelow(OpBuilder &builder, Location loc, Value rows,
                        Value edges) {
  SmallVector<int64_t> shape(cast<RankedTensorType>(rows.getType()).getShape());
  const int64_t rank = int64_t(shape.size());
  shape.insert(shape.begin(),
               cast<RankedTensorType>(edges.getType()).getDimSize(0));
  Value sizes = AbsOp::create(builder, loc, rows);
  Value isBelow =
      compare(builder, loc, "lt",
              broadcast(builder, loc, sizes, shape,
                        llvm::to_vector(llvm::seq<int64_t>(1, rank + 1))),
              broadcast(builder, loc, edges, shape, {0}));
  Value ones = convert(builder, loc, isBelow, builder.getF32Type());
  Value sums = reduceDims(builder, loc, "sum", ones, {rank});
  return reduceDims(builder, loc, "sum", sums,
                    llvm::to_vector(llvm::seq<int64_t>(1, rank)));
}

Value buildGradientCounts(OpBuilder &builder, Location loc,
                          ValueRange gradients,
                          ArrayRef<GradientDivision> divisions, bool hasRoles) {
  SmallVector<float> numbers;
  for (int exponent : kGradientEdges)
    numbers.push_back(std::ldexp(1.0f, exponent));
  numbers.push_back(std::numeric_limits<float>::infinity());
  auto type =
      RankedTensorType::get({int64_t(numbers.size())}, builder.getF32Type());
  Value edges = ConstantOp::create(
      builder, loc, DenseElementsAttr::get(type, ArrayRef<float>(numbers)));
  UpdateBuilder u{builder, loc};
  llvm::MapVector<Attribute, Value> sums; // by the axes
  for (auto [gradient, division] : llvm::zip_equal(gradients, divisions)) {
    Value rows = asRows(builder, loc, u.convert(gradient, builder.getF32Type()),
                        division.parts);
    Value own = countBelow(builder, loc, rows, edges);
    Value &sum = sums[division.axes];
    sum = sum ? u.add(sum, own) : own;
  }
  Value total;
  for (auto &[axes, sum] : sums) {
    sum.getDefiningOp()->setAttr(dist::kTrafficAttr,
                                 builder.getStringAttr(dist::kScalars));
    total = total ? u.add(total, sum) : sum;
  }
  if (!total)
    total = splat(builder, loc, type, 0);
  return hasRoles ? buildRoleSum(builder, loc, total, dist::kScalars) : total;
}

Value buildClipFactor(OpBuilder &builder, Location loc, Value norm,
                      Value limit) {
  UpdateBuilder u{builder, loc};
  Value factor = u.div(limit, u.add(norm, u.number(norm, 1e-6)));
  return MinOp::create(builder, loc, factor, u.number(norm, 1));
}

} // namespace zc
