//===- Amax.cpp - train.amax ----------------------------------------------===//
#include "dialects/Train/Float8Ops.h"
#include "dialects/Train/Ops/ReduceSupport.h"

using namespace mlir;

namespace zc::train {

LogicalResult AmaxOp::verify() {
  auto from = cast<RankedTensorType>(getInput().getType());
  FailureOr<RankedTensorType> reduced = inferReduced(*this, from, getDims());
  if (failed(reduced))
    return failure();
  RankedTensorType expected = withComputeType(*reduced);
  if (getType() == expected)
    return success();
  return emitOpError("expected result type ") << expected;
}

/// Dims that stay have a factor each; the others too where `all`.
static ShardingRule ruleOf(AmaxOp op, bool all) {
  ShardingRule rule = ShardingRule::whole(op);
  auto from = cast<RankedTensorType>(op.getInput().getType());
  unsigned next = 0;
  for (int64_t dim = 0; dim < from.getRank(); ++dim) {
    const bool goes = llvm::is_contained(op.getDims(), dim);
    if (goes && !all)
      continue;
    int factor =
        rule.addFactor(from.getDimSize(dim), goes ? FactorKind::OtherReduction
                                                  : FactorKind::Parallel);
    rule.operandDims[0][dim] = factor;
    if (!goes)
      rule.resultDims[0][next++] = factor;
  }
  return rule;
}

ShardingRule AmaxOp::getShardingRule() { return ruleOf(*this, false); }
ShardingRule AmaxOp::getFinerRule() { return ruleOf(*this, true); }

// A divided dim of n elements is [parts, n / parts]: the largest of each part,
// then the largest of these.
SmallVector<Value> AmaxOp::decompose(OpBuilder &builder,
                                     ArrayRef<int64_t> parts) {
  auto from = cast<RankedTensorType>(getInput().getType());
  SmallVector<int64_t> split, inner, outer;
  int64_t kept = 0;       // dims of the first result so far
  bool isSmaller = false; // whether anything is left to be done by parts
  for (int64_t dim = 0; dim < from.getRank(); ++dim) {
    int64_t size = from.getDimSize(dim), count = parts[dim];
    if (!llvm::is_contained(getDims(), dim)) {
      split.push_back(size);
      ++kept;
      continue;
    }
    if (count > 1) {
      outer.push_back(kept++);
      split.push_back(count);
    }
    inner.push_back(split.size());
    split.push_back(size / count);
    isSmaller |= size > count;
  }
  if (outer.empty() || !isSmaller)
    return {};
  Value each = reshape(builder, getLoc(), getInput(), split);
  auto typeWithout = [&](Value of, ArrayRef<int64_t> dims) {
    auto type = cast<RankedTensorType>(of.getType());
    SmallVector<int64_t> shape;
    for (int64_t dim : otherDims(type.getRank(), dims))
      shape.push_back(type.getDimSize(dim));
    return withComputeType(withShape(type, shape));
  };
  Value largest =
      AmaxOp::create(builder, getLoc(), typeWithout(each, inner), each, inner);
  return {AmaxOp::create(builder, getLoc(), typeWithout(largest, outer),
                         largest, outer)};
}

double AmaxOp::getFlops() {
  return static_cast<double>(numElements(getInput().getType()));
}

void AmaxOp::buildLinalg(OpBuilder &builder, Location loc, ValueRange inputs,
                         ValueRange outputs) {
  buildFill(builder, loc, outputs[0], 0);
  unsigned rank = shapeOf(inputs[0]).size();
  buildGeneric(
      builder, loc, rank,
      {identityMap(builder, rank), identityMap(builder, rank, getDims())},
      inputs, outputs, [](OpBuilder &nested, Location at, ValueRange e) {
        Value size = math::AbsFOp::create(nested, at, e[0]);
        return SmallVector<Value>{ScalarBuilder(nested, at).max(e[1], size)};
      });
}

bool AmaxOp::accumulates(unsigned) { return true; }

} // namespace zc::train
