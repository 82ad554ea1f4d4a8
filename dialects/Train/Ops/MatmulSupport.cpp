//===- MatmulSupport.cpp - matmul and matmul_add --------------------------===//
#include "dialects/Train/Ops/MatmulSupport.h"

#include "dialects/Train/Float8Ops.h"

using namespace mlir;

namespace zc::train {

std::array<int64_t, 3> MatmulShape::extents() const {
  auto left = cast<RankedTensorType>(lhs.getType()).getShape();
  auto right = cast<RankedTensorType>(rhs.getType()).getShape();
  // The right operand of rows of several dims has fewer.
  const size_t last = left.size() - 1;
  const int64_t m = transposeLhs ? left[last] : left[last - 1];
  const int64_t k = transposeLhs ? left[last - 1] : left[last];
  const int64_t n = transposeRhs ? right[right.size() - 2] : right.back();
  return {m, k, n};
}

static int64_t rankOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getRank();
}

bool MatmulShape::isOfRows() const {
  return rankOf(lhs) > 2 && rankOf(rhs) == 2 && !transposeLhs;
}

bool MatmulShape::sumsRows(int64_t resultRank) const {
  return rankOf(lhs) > 2 && rankOf(rhs) == rankOf(lhs) && resultRank == 2 &&
         transposeLhs && !transposeRhs;
}

static LogicalResult verifyRows(Operation *op, const MatmulShape &shape,
                                RankedTensorType to) {
  auto lhs = cast<RankedTensorType>(shape.lhs.getType()).getShape();
  auto rhs = cast<RankedTensorType>(shape.rhs.getType()).getShape();
  SmallVector<int64_t> expected;
  bool fits;
  if (shape.isOfRows()) {
    fits = lhs.back() == rhs[shape.transposeRhs ? 1 : 0];
    llvm::append_range(expected, lhs.drop_back());
    expected.push_back(rhs[shape.transposeRhs ? 0 : 1]);
  } else {
    fits = lhs.drop_back() == rhs.drop_back();
    expected = {lhs.back(), rhs.back()};
  }
  if (fits && to.getShape() == ArrayRef<int64_t>(expected))
    return success();
  return op->emitOpError("of rows of several dims: ")
         << shape.lhs.getType() << " and " << shape.rhs.getType()
         << " do not give " << to;
}

LogicalResult verifyMatmul(Operation *op, const MatmulShape &shape,
                           RankedTensorType to) {
  auto lhs = cast<RankedTensorType>(shape.lhs.getType());
  auto rhs = cast<RankedTensorType>(shape.rhs.getType());
  int64_t rank = lhs.getRank();
  if (shape.isOfRows() || shape.sumsRows(to.getRank()))
    return verifyRows(op, shape, to);
  if (rank < 2 || rhs.getRank() != rank || to.getRank() != rank)
    return op->emitOpError(
        "operands and result must have the same number of dims, at least 2");
  const bool isOf8 =
      isFloat8(lhs.getElementType()) && isFloat8(rhs.getElementType());
  if (lhs.getElementType() != rhs.getElementType() && !isOf8)
    return op->emitOpError("operands have different element types");
  if (!isOf8 && to.getElementType() != lhs.getElementType() &&
      to.getElementType() != getComputeType(lhs.getElementType()))
    return op->emitOpError("operands of ")
           << lhs.getElementType() << " give no " << to.getElementType();
  for (int64_t dim = 0; dim < rank - 2; ++dim)
    if (lhs.getDimSize(dim) != rhs.getDimSize(dim) ||
        lhs.getDimSize(dim) != to.getDimSize(dim))
      return op->emitOpError("batch dim ") << dim << " differs";
  auto [m, k, n] = shape.extents();
  int64_t other = rhs.getDimSize(shape.transposeRhs ? rank - 1 : rank - 2);
  if (k != other)
    return op->emitOpError("contracts ")
           << k << " with " << other << " elements";
  if (to.getDimSize(rank - 2) != m || to.getDimSize(rank - 1) != n)
    return op->emitOpError("expected a result of ") << m << " x " << n;
  return success();
}

/// Does as addMatmulFactors for rows of several dims.
static void addRowFactors(ShardingRule &rule, const MatmulShape &shape,
                          unsigned lhsIndex, bool splitSum) {
  ArrayRef<int64_t> lhs =
      cast<RankedTensorType>(shape.lhs.getType()).getShape();
  ArrayRef<int64_t> rhs =
      cast<RankedTensorType>(shape.rhs.getType()).getShape();
  auto &left = rule.operandDims[lhsIndex];
  auto &right = rule.operandDims[lhsIndex + 1];
  auto &result = rule.resultDims[0];
  bool sums = !shape.isOfRows();
  auto addSum = [&](int64_t size) {
    return splitSum ? rule.addFactor(size, FactorKind::Sum)
                    : ShardingRule::kWhole;
  };
  for (size_t dim = 0; dim + 1 < lhs.size(); ++dim) {
    left[dim] = sums ? addSum(lhs[dim]) : rule.addFactor(lhs[dim]);
    (sums ? right : result)[dim] = left[dim];
  }
  if (sums) {
    left.back() = result[0] = rule.addFactor(lhs.back());
    right.back() = result[1] = rule.addFactor(rhs.back());
    return;
  }
  left.back() = right[shape.transposeRhs ? 1 : 0] = addSum(lhs.back());
  right[shape.transposeRhs ? 0 : 1] = result.back() =
      rule.addFactor(rhs[shape.transposeRhs ? 0 : 1]);
}

void addMatmulFactors(ShardingRule &rule, const MatmulShape &shape,
                      unsigned lhsIndex, bool splitSum) {
  if (shape.isOfRows() || shape.sumsRows(rule.resultDims[0].size()))
    return addRowFactors(rule, shape, lhsIndex, splitSum);
  auto [m, k, n] = shape.extents();
  auto type = cast<RankedTensorType>(shape.lhs.getType());
  auto &lhs = rule.operandDims[lhsIndex], &rhs = rule.operandDims[lhsIndex + 1];
  auto &result = rule.resultDims[0];
  int64_t first = type.getRank() - 2, second = type.getRank() - 1;
  for (int64_t dim = 0; dim < first; ++dim)
    lhs[dim] = rhs[dim] = result[dim] = rule.addFactor(type.getDimSize(dim));
  int row = rule.addFactor(m);
  int inner =
      splitSum ? rule.addFactor(k, FactorKind::Sum) : ShardingRule::kWhole;
  int column = rule.addFactor(n);
  lhs[shape.transposeLhs ? second : first] = row;
  lhs[shape.transposeLhs ? first : second] = inner;
  rhs[shape.transposeRhs ? second : first] = inner;
  rhs[shape.transposeRhs ? first : second] = column;
  result[first] = row;
  result[second] = column;
}

static AffineMap loopMap(OpBuilder &builder, unsigned loops,
                         ArrayRef<unsigned> dims) {
  return AffineMap::getMultiDimMapWithTargets(loops, dims,
                                              builder.getContext());
}

/// Loops: rows..., k, n.
static MatmulMaps getRowMaps(OpBuilder &builder, unsigned rank,
                             bool transposeRhs) {
  SmallVector<unsigned> left, result, right = {rank - 1, rank};
  for (unsigned dim = 0; dim + 1 < rank; ++dim)
    left.push_back(dim);
  result = left;
  left.push_back(rank - 1);
  result.push_back(rank);
  if (transposeRhs)
    std::swap(right[0], right[1]);
  const unsigned loops = rank + 1;
  return {loops, loopMap(builder, loops, left), loopMap(builder, loops, right),
          loopMap(builder, loops, result)};
}

/// Loops: rows..., m, n.
static MatmulMaps getSumMaps(OpBuilder &builder, unsigned leftRank) {
  SmallVector<unsigned> left, right;
  for (unsigned dim = 0; dim < leftRank; ++dim)
    left.push_back(dim);
  right = left;
  right.back() = leftRank;
  const unsigned loops = leftRank + 1;
  return {loops, loopMap(builder, loops, left), loopMap(builder, loops, right),
          loopMap(builder, loops, {leftRank - 1, leftRank})};
}

// Loops: batch..., m, k, n, so that the innermost one runs along the result.
MatmulMaps getMatmulMaps(OpBuilder &builder, ValueRange factors, Value output,
                         bool transposeLhs, bool transposeRhs) {
  const unsigned rank = shapeOf(output).size();
  const unsigned leftRank = shapeOf(factors[0]).size();
  if (leftRank > 2 && shapeOf(factors[1]).size() == 2)
    return getRowMaps(builder, rank, transposeRhs);
  if (leftRank > 2 && rank == 2)
    return getSumMaps(builder, leftRank);
  SmallVector<unsigned> batch;
  for (unsigned dim = 0; dim < rank - 2; ++dim)
    batch.push_back(dim);
  auto map = [&](unsigned first, unsigned second, bool swapped) {
    SmallVector<unsigned> dims(batch);
    dims.push_back(swapped ? second : first);
    dims.push_back(swapped ? first : second);
    return loopMap(builder, rank + 1, dims);
  };
  const unsigned m = rank - 2, k = rank - 1, n = rank;
  return {rank + 1, map(m, k, transposeLhs), map(k, n, transposeRhs),
          map(m, n, false)};
}

void buildMatmulProduct(OpBuilder &builder, Location loc, ValueRange factors,
                        Value output, bool transposeLhs, bool transposeRhs) {
  MatmulMaps maps =
      getMatmulMaps(builder, factors, output, transposeLhs, transposeRhs);
  buildGeneric(builder, loc, maps.loops, {maps.lhs, maps.rhs, maps.result},
               factors, output,
               [](OpBuilder &nested, Location bodyLoc, ValueRange elements) {
                 ScalarBuilder s(nested, bodyLoc);
                 return SmallVector<Value>{
                     s.add(elements[2], s.mul(elements[0], elements[1]))};
               });
}

} // namespace zc::train
