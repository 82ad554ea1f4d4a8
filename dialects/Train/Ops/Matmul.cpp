//===- Matmul.cpp - train.matmul ----------------------------------------===//
#include "dialects/Train/Ops/OpSupport.h"

using namespace mlir;

namespace zc::train {

// [.., M, K, N] after undoing the transposes.
static std::array<int64_t, 3> extents(MatmulOp op) {
  auto lhs = cast<RankedTensorType>(op.getLhs().getType()).getShape();
  auto rhs = cast<RankedTensorType>(op.getRhs().getType()).getShape();
  size_t last = lhs.size() - 1;
  int64_t m = op.getTransposeLhs() ? lhs[last] : lhs[last - 1];
  int64_t k = op.getTransposeLhs() ? lhs[last - 1] : lhs[last];
  int64_t n = op.getTransposeRhs() ? rhs[last - 1] : rhs[last];
  return {m, k, n};
}

LogicalResult MatmulOp::verify() {
  auto lhs = cast<RankedTensorType>(getLhs().getType());
  auto rhs = cast<RankedTensorType>(getRhs().getType());
  auto to = cast<RankedTensorType>(getType());
  int64_t rank = lhs.getRank();
  if (rank < 2 || rhs.getRank() != rank || to.getRank() != rank)
    return emitOpError("operands and result must have the same number of dims, "
                       "at least 2");
  if (lhs.getElementType() != rhs.getElementType())
    return emitOpError("operands have different element types");
  for (int64_t dim = 0; dim < rank - 2; ++dim)
    if (lhs.getDimSize(dim) != rhs.getDimSize(dim) ||
        lhs.getDimSize(dim) != to.getDimSize(dim))
      return emitOpError("batch dim ") << dim << " differs";
  auto [m, k, n] = extents(*this);
  int64_t other = rhs.getDimSize(getTransposeRhs() ? rank - 1 : rank - 2);
  if (k != other)
    return emitOpError("contracts ") << k << " with " << other << " elements";
  if (to.getDimSize(rank - 2) != m || to.getDimSize(rank - 1) != n)
    return emitOpError("expected a result of ") << m << " x " << n;
  return success();
}

ShardingRule MatmulOp::getShardingRule() {
  ShardingRule rule = ShardingRule::whole(getOperation());
  auto [m, k, n] = extents(*this);
  int64_t rank = cast<RankedTensorType>(getType()).getRank();
  for (int64_t dim = 0; dim < rank - 2; ++dim) {
    int batch =
        rule.addFactor(cast<RankedTensorType>(getType()).getDimSize(dim));
    rule.operandDims[0][dim] = rule.operandDims[1][dim] =
        rule.resultDims[0][dim] = batch;
  }
  int row = rule.addFactor(m);
  int inner = rule.addFactor(k, FactorKind::Sum);
  int column = rule.addFactor(n);
  int64_t first = rank - 2, second = rank - 1;
  rule.operandDims[0][getTransposeLhs() ? second : first] = row;
  rule.operandDims[0][getTransposeLhs() ? first : second] = inner;
  rule.operandDims[1][getTransposeRhs() ? second : first] = inner;
  rule.operandDims[1][getTransposeRhs() ? first : second] = column;
  rule.resultDims[0][first] = row;
  rule.resultDims[0][second] = column;
  rule.linearity.assign(2, Linearity::Separate);
  return rule;
}

double MatmulOp::getFlops() {
  return 2.0 * numElements(getType()) * extents(*this)[1];
}

// Loops: batch..., m, k, n, so that the innermost one runs along the result.
void MatmulOp::buildLinalg(OpBuilder &builder, Location loc, ValueRange inputs,
                           ValueRange outputs) {
  buildFill(builder, loc, outputs[0], 0);
  unsigned rank = shapeOf(outputs[0]).size(), loops = rank + 1;
  SmallVector<AffineExpr> batch;
  for (unsigned dim = 0; dim < rank - 2; ++dim)
    batch.push_back(builder.getAffineDimExpr(dim));
  AffineExpr m = builder.getAffineDimExpr(rank - 2);
  AffineExpr k = builder.getAffineDimExpr(rank - 1);
  AffineExpr n = builder.getAffineDimExpr(rank);
  auto map = [&](AffineExpr first, AffineExpr second, bool swapped) {
    SmallVector<AffineExpr> results(batch);
    results.push_back(swapped ? second : first);
    results.push_back(swapped ? first : second);
    return AffineMap::get(loops, 0, results, builder.getContext());
  };
  buildGeneric(builder, loc, loops,
               {map(m, k, getTransposeLhs()), map(k, n, getTransposeRhs()),
                map(m, n, false)},
               inputs, outputs,
               [](OpBuilder &nested, Location bodyLoc, ValueRange elements) {
                 ScalarBuilder s(nested, bodyLoc);
                 return SmallVector<Value>{
                     s.add(elements[2], s.mul(elements[0], elements[1]))};
               });
}

static Value multiply(OpBuilder &builder, Location loc, Type type, Value lhs,
                      bool transposeLhs, Value rhs, bool transposeRhs) {
  return MatmulOp::create(builder, loc, type, lhs, rhs, transposeLhs,
                          transposeRhs);
}

LogicalResult MatmulOp::vjp(OpBuilder &builder, ValueRange resultGrads,
                            ArrayRef<bool> wanted,
                            MutableArrayRef<Value> operandGrads) {
  // C = A B: dA = dC B^T and dB = A^T dC, each stored as its operand is.
  Location loc = getLoc();
  Value grad = resultGrads[0], a = getLhs(), b = getRhs();
  bool ta = getTransposeLhs(), tb = getTransposeRhs();
  if (wanted[0])
    operandGrads[0] =
        ta ? multiply(builder, loc, a.getType(), b, tb, grad, true)
           : multiply(builder, loc, a.getType(), grad, false, b, !tb);
  if (wanted[1])
    operandGrads[1] =
        tb ? multiply(builder, loc, b.getType(), grad, true, a, ta)
           : multiply(builder, loc, b.getType(), a, !ta, grad, false);
  return success();
}

// A transpose of the last two dims is a flag of the matmul that reads it.
static Value untranspose(Value operand) {
  auto transpose = operand.getDefiningOp<TransposeOp>();
  if (!transpose)
    return nullptr;
  ArrayRef<int64_t> permutation = transpose.getPermutation();
  int64_t rank = permutation.size();
  for (int64_t dim = 0; dim < rank - 2; ++dim)
    if (permutation[dim] != dim)
      return nullptr;
  return permutation[rank - 1] == rank - 2 ? transpose.getInput() : nullptr;
}

static LogicalResult foldTransposes(MatmulOp op, PatternRewriter &rewriter) {
  Value lhs = untranspose(op.getLhs()), rhs = untranspose(op.getRhs());
  if (!lhs && !rhs)
    return failure();
  rewriter.replaceOpWithNewOp<MatmulOp>(
      op, op.getType(), lhs ? lhs : op.getLhs(), rhs ? rhs : op.getRhs(),
      op.getTransposeLhs() != static_cast<bool>(lhs),
      op.getTransposeRhs() != static_cast<bool>(rhs));
  return success();
}

void MatmulOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                           MLIRContext *context) {
  patterns.add(foldTransposes);
}

} // namespace zc::train
