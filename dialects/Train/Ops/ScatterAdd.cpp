//===- ScatterAdd.cpp - train.scatter_add ---------------------------------===//
#include "dialects/Train/OpMarks.h"
#include "dialects/Train/Ops/GatherSupport.h"
#include "dialects/Train/Ops/PartSupport.h"

using namespace mlir;

namespace zc::train {

LogicalResult ScatterAddOp::verify() {
  RankedTensorType init = getInit().getType();
  RankedTensorType indices = getIndices().getType();
  if (failed(verifyGatherDims(*this, "init", init, indices, getDim(),
                              getBatchDims())))
    return failure();
  return verifyType(*this, "updates", getUpdates().getType(),
                    gatheredType(init, indices, getDim(), getBatchDims()));
}

LogicalResult ScatterAddOp::vjp(OpBuilder &builder, ValueRange resultGrads,
                                ArrayRef<bool> wanted,
                                MutableArrayRef<Value> operandGrads) {
  operandGrads[0] = resultGrads[0];
  if (wanted[2])
    operandGrads[2] = GatherOp::create(builder, getLoc(),
                                       getUpdates().getType(), resultGrads[0],
                                       getIndices(), getDim(), getBatchDims());
  return success();
}

ShardingRule ScatterAddOp::getShardingRule() {
  // Parts of the updates are terms; `init` is to be divided in terms too.
  ShardingRule rule = ShardingRule::whole(getOperation());
  GatherDims dims = gatherDimsOf(*this, getInit().getType());
  addTableLoops(rule, getInit().getType(), dims);
  for (auto [indexDim, updateDim] : llvm::enumerate(dims.gatheredIndices)) {
    if (static_cast<int64_t>(indexDim) < dims.batchDims)
      continue;
    int factor = rule.addFactor(getIndices().getType().getDimSize(indexDim),
                                FactorKind::Sum);
    rule.operandDims[1][indexDim] = rule.operandDims[2][updateDim] = factor;
  }
  rule.linearity[0] = rule.linearity[2] = Linearity::Joint;
  return rule;
}

ShardingRule ScatterAddOp::getFinerRule() {
  ShardingRule rule = getShardingRule();
  int rows = rule.addFactor(getInit().getType().getDimSize(getDim()));
  rule.operandDims[0][getDim()] = rule.resultDims[0][getDim()] = rows;
  return rule;
}

// To each part of the table go its own rows' updates, and zeros to some row.
SmallVector<Value> ScatterAddOp::decompose(OpBuilder &builder,
                                           ArrayRef<int64_t> parts) {
  Location loc = getLoc();
  RankedTensorType type = getInit().getType();
  int64_t dim = getDim(), count = parts.back(), rows = type.getDimSize(dim);
  if (count == 1 || count == rows)
    return {};
  IndexParts at = placeIndices(builder, loc, getIndices(), rows, count);
  SmallVector<int64_t> shape(getUpdates().getType().getShape());
  shape.insert(shape.begin() + dim, count);
  int64_t rank = shape.size(), batchDims = getBatchDims();
  GatherDims dims(type.getRank() + 1, getIndices().getType().getRank(), dim + 1,
                  batchDims);
  Value updates =
      broadcast(builder, loc, getUpdates(), shape, otherDims(rank, {dim}));
  Value mine =
      isInPart(builder, loc, at.part, shape, dim, dims.gatheredIndices);
  Attribute init;
  bool isZero =
      matchPattern(getInit(), m_Constant(&init)) && isSplatOf(init, 0);
  Value table = splitDim(builder, loc, getInit(), dim, count);
  if (isZero) // a constant's parts are constants
    table = splat(builder, loc, table.getType(), 0);
  Value sum = ScatterAddOp::create(
      builder, loc, table.getType(), table, at.local,
      maskValue(builder, loc, mine, updates), dim + 1, batchDims);
  return {reshape(builder, loc, sum, type.getShape())};
}

double ScatterAddOp::getFlops() {
  return static_cast<double>(numElements(getUpdates().getType()));
}

bool ScatterAddOp::mayShareBuffer(unsigned operand, unsigned result) {
  return operand == 0;
}

void ScatterAddOp::buildLinalg(OpBuilder &builder, Location loc,
                               ValueRange inputs, ValueRange outputs) {
  buildScatter(builder, loc, inputs, outputs[0],
               gatherDimsOf(*this, getInit().getType()),
               [](OpBuilder &nested, Location at, Value sum, Value update) {
                 return ScalarBuilder(nested, at).add(sum, update);
               });
}

// sum + scatter_add(0, ...) adds into the sum: no table of zeros is made and
// added. So the gradient of a tied embedding costs its rows alone.
static LogicalResult foldIntoSum(AddOp op, PatternRewriter &rewriter) {
  for (auto [operand, other] : {std::pair(op.getLhs(), op.getRhs()),
                                std::pair(op.getRhs(), op.getLhs())}) {
    auto scatter = operand.getDefiningOp<ScatterAddOp>();
    Attribute init;
    if (!scatter || !scatter.getResult().hasOneUse() ||
        !matchPattern(scatter.getInit(), m_Constant(&init)) ||
        !isSplatOf(init, 0))
      continue;
    auto sum = ScatterAddOp::create(
        rewriter, scatter.getLoc(), op.getType(), other, scatter.getIndices(),
        scatter.getUpdates(), scatter.getDimAttr(), scatter.getBatchDimsAttr());
    copyMarks(op, sum);
    rewriter.replaceOp(op, sum);
    return success();
  }
  return failure();
}

void ScatterAddOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                               MLIRContext *) {
  patterns.add(foldIntoSum);
}

// Sums in the result itself, which may be large.
Precision ScatterAddOp::getPrecision() { return Precision::Wide; }

bool ScatterAddOp::accumulates(unsigned) { return true; }

} // namespace zc::train
