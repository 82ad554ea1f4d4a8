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

/// The tensor that `gradient` is stored as, and the scalars that this is
/// multiplied by: for a number that is made of all elements no scaled tensor is
/// needed, nor one of float32 where it has 16 bits.
static Value takeStored(Value gradient, SmallVectorImpl<Value> &factors) {
  Value value = gradient;
  while (Value factor = takeFactor(value))
    factors.push_back(factor);
  auto convert = value.getDefiningOp<ConvertOp>();
  return convert && isNarrow(getElementTypeOrSelf(convert.getInput().getType()))
             ? convert.getInput()
             : value;
}

static Value reduceDims(OpBuilder &builder, Location loc, ReduceKind kind,
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
  Value sums = reduceDims(builder, loc, ReduceKind::SumSquare, rows, {last});
  return reduceDims(builder, loc, ReduceKind::Sum, sums,
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
    SmallVector<Value> factors;
    Value value = takeStored(gradient, factors);
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

/// `rows` with shorter ones, so many that a rank, one of `ranks` that divide
/// them, has enough sums, `times` as many, for these to share a loop with what
/// is added up (RegionGrouping).
static Value cutRows(OpBuilder &builder, Location loc, Value rows,
                     int64_t times, int64_t ranks) {
  constexpr int64_t kEnough = 128, kShort = 64;
  auto type = cast<RankedTensorType>(rows.getType());
  SmallVector<int64_t> shape(type.getShape());
  int64_t row = shape.pop_back_val();
  int64_t sums = times * (type.getNumElements() / row) / ranks, number = 1;
  while (sums * number < kEnough && row > kShort && row % 2 == 0) {
    number *= 2;
    row /= 2;
  }
  shape.append({number, row});
  return reshape(builder, loc, rows, shape);
}

/// A number for each edge, and others for the last.
static Value makeEdgeNumbers(OpBuilder &builder, Location loc, Value edges,
                             double each, double last) {
  auto type = cast<RankedTensorType>(edges.getType());
  SmallVector<float> numbers(size_t(type.getNumElements()), float(each));
  numbers.back() = float(last);
  return ConstantOp::create(
      builder, loc, DenseElementsAttr::get(type, ArrayRef<float>(numbers)));
}

/// How many magnitudes of `rows`, multiplied by `factors`, are below each of
/// `edges`, and how many are not below the last: [edges]. Whatever is made of
/// `rows` has an element for each edge, so that it is part of the sum's loop
/// and no tensor.
static Value countBelow(OpBuilder &builder, Location loc, Value rows,
                        ArrayRef<Value> factors, Value edges) {
  SmallVector<int64_t> shape(cast<RankedTensorType>(rows.getType()).getShape());
  const int64_t rank = int64_t(shape.size());
  shape.insert(shape.begin(),
               cast<RankedTensorType>(edges.getType()).getDimSize(0));
  UpdateBuilder u{builder, loc};
  Value each =
      u.convert(broadcast(builder, loc, rows, shape,
                          llvm::to_vector(llvm::seq<int64_t>(1, rank + 1))),
                builder.getF32Type());
  for (Value factor : factors)
    each = u.mul(each, u.spread(factor, each));
  Value isBelow =
      compare(builder, loc, Predicate::Lt, AbsOp::create(builder, loc, each),
              broadcast(builder, loc, edges, shape, {0}));
  Value ones = convert(builder, loc, isBelow, builder.getF32Type());
  // Not what is left of all elements: float32 counts few of them exactly.
  Value flips = makeEdgeNumbers(builder, loc, edges, 0, 1);
  ones = AbsOp::create(builder, loc,
                       u.sub(ones, broadcast(builder, loc, flips, shape, {0})));
  Value sums = reduceDims(builder, loc, ReduceKind::Sum, ones, {rank});
  return reduceDims(builder, loc, ReduceKind::Sum, sums,
                    llvm::to_vector(llvm::seq<int64_t>(1, rank)));
}

Value buildGradientCounts(OpBuilder &builder, Location loc,
                          ValueRange gradients,
                          ArrayRef<GradientDivision> divisions,
                          ArrayRef<int64_t> exponents, int64_t padding,
                          bool hasRoles) {
  SmallVector<float> numbers;
  for (int64_t exponent : exponents)
    numbers.push_back(std::ldexp(1.0f, int(exponent)));
  // Elements below infinity, and those that are not.
  numbers.append(2, std::numeric_limits<float>::infinity());
  auto type =
      RankedTensorType::get({int64_t(numbers.size())}, builder.getF32Type());
  Value edges = ConstantOp::create(
      builder, loc, DenseElementsAttr::get(type, ArrayRef<float>(numbers)));
  UpdateBuilder u{builder, loc};
  llvm::MapVector<Attribute, Value> sums; // by the axes
  for (auto [gradient, division] : llvm::zip_equal(gradients, divisions)) {
    SmallVector<Value> factors;
    Value rows =
        asRows(builder, loc, takeStored(gradient, factors), division.parts);
    int64_t ranks = 1;
    for (int64_t parts : division.parts)
      ranks *= parts;
    rows = cutRows(builder, loc, rows, int64_t(numbers.size()), ranks);
    Value own = countBelow(builder, loc, rows, factors, edges);
    Value &sum = sums[division.axes];
    sum = sum ? u.add(sum, own) : own;
  }
  Value total;
  for (auto &[axes, sum] : sums) {
    dist::setTraffic(sum.getDefiningOp(), dist::kScalars);
    total = total ? u.add(total, sum) : sum;
  }
  if (!total)
    total = splat(builder, loc, type, 0);
  if (padding > 0)
    total =
        u.sub(total, makeEdgeNumbers(builder, loc, edges, double(padding), 0));
  return hasRoles ? buildRoleSum(builder, loc, total, dist::kScalars) : total;
}

Value buildClipFactor(OpBuilder &builder, Location loc, Value norm,
                      Value limit) {
  UpdateBuilder u{builder, loc};
  Value factor = u.div(limit, u.add(norm, u.number(norm, 1e-6)));
  return MinOp::create(builder, loc, factor, u.number(norm, 1));
}

} // namespace zc
