//===- Reduce.cpp - train.reduce ----------------------------------------===//
#include "dialects/Train/Ops/ReduceSupport.h"

using namespace mlir;

namespace zc::train {

FailureOr<RankedTensorType> inferReduced(Operation *op, RankedTensorType from,
                                         ArrayRef<int64_t> dims) {
  int64_t previous = -1;
  for (int64_t dim : dims) {
    if (dim <= previous || dim >= from.getRank())
      return op->emitOpError("dims must increase and be less than ")
             << from.getRank();
    previous = dim;
  }
  SmallVector<int64_t> shape;
  for (int64_t dim : otherDims(from.getRank(), dims))
    shape.push_back(from.getDimSize(dim));
  return withShape(from, shape);
}

LogicalResult ReduceOp::verify() {
  auto from = cast<RankedTensorType>(getInput().getType());
  auto to = cast<RankedTensorType>(getType());
  FailureOr<RankedTensorType> reduced = inferReduced(*this, from, getDims());
  if (failed(reduced))
    return failure();
  if (to == *reduced || to == withComputeType(*reduced))
    return success();
  return emitOpError("expected result type ") << *reduced;
}

ShardingRule ReduceOp::getShardingRule() {
  ShardingRule rule = ShardingRule::whole(getOperation());
  auto from = cast<RankedTensorType>(getInput().getType());
  bool isSum = isAddition(getKind());
  unsigned next = 0;
  for (int64_t dim = 0; dim < from.getRank(); ++dim) {
    bool reduced = llvm::is_contained(getDims(), dim);
    FactorKind kind = !reduced ? FactorKind::Parallel
                      : isSum  ? FactorKind::Sum
                               : FactorKind::OtherReduction;
    int factor = rule.addFactor(from.getDimSize(dim), kind);
    rule.operandDims[0][dim] = factor;
    if (!reduced)
      rule.resultDims[0][next++] = factor;
  }
  rule.linearity[0] =
      getKind() == ReduceKind::Sum ? Linearity::Joint : Linearity::None;
  return rule;
}

double ReduceOp::getFlops() {
  double perElement = getKind() == ReduceKind::SumSquare ? 2 : 1;
  return perElement * static_cast<double>(numElements(getInput().getType()));
}

// i1 is 0 or 1; wider integers are signed.
static TypedAttr integerIdentityOf(ReduceKind kind, IntegerType element) {
  unsigned width = element.getWidth();
  bool isMax = kind == ReduceKind::Max;
  APInt value(width, kind == ReduceKind::Prod ? 1 : 0);
  if (width == 1 && kind == ReduceKind::Min)
    value = APInt::getAllOnes(1);
  else if (width > 1 && (isMax || kind == ReduceKind::Min))
    value = isMax ? APInt::getSignedMinValue(width)
                  : APInt::getSignedMaxValue(width);
  return IntegerAttr::get(element, value);
}

TypedAttr reductionIdentity(ReduceKind kind, Type element) {
  if (auto integer = dyn_cast<IntegerType>(element))
    return integerIdentityOf(kind, integer);
  double infinity = std::numeric_limits<double>::infinity();
  double value = isAddition(kind)           ? 0
                 : kind == ReduceKind::Prod ? 1
                 : kind == ReduceKind::Max  ? -infinity
                                            : infinity;
  return FloatAttr::get(element, value);
}

static Value square(OpBuilder &builder, Location loc, Value a) {
  if (isa<FloatType>(a.getType()))
    return ScalarBuilder(builder, loc).mul(a, a);
  return arith::MulIOp::create(builder, loc, a, a);
}

void ReduceOp::buildLinalg(OpBuilder &builder, Location loc, ValueRange inputs,
                           ValueRange outputs) {
  Value identity = arith::ConstantOp::create(
      builder, loc, reductionIdentity(getKind(), elementOf(outputs[0])));
  linalg::FillOp::create(builder, loc, identity, outputs[0]);
  unsigned rank = shapeOf(inputs[0]).size();
  buildGeneric(
      builder, loc, rank,
      {identityMap(builder, rank), identityMap(builder, rank, getDims())},
      inputs, outputs,
      [&](OpBuilder &nested, Location bodyLoc, ValueRange elements) {
        Value element = elements[0];
        if (getKind() == ReduceKind::SumSquare)
          element = square(nested, bodyLoc, element);
        return SmallVector<Value>{
            buildCombination(nested, bodyLoc, getKind(), elements[1], element)};
      });
}

LogicalResult ReduceOp::vjp(OpBuilder &builder, ValueRange resultGrads,
                            ArrayRef<bool> wanted,
                            MutableArrayRef<Value> operandGrads) {
  Location loc = getLoc();
  auto from = cast<RankedTensorType>(getInput().getType());
  from = withComputeType(from);
  Value input = widen(builder, loc, getInput());
  Value result = widen(builder, loc, getResult());
  SmallVector<int64_t> kept = otherDims(from.getRank(), getDims());
  auto spread = [&](Value value) {
    return broadcast(builder, loc, value, from.getShape(), kept);
  };
  if (getKind() == ReduceKind::Sum) {
    // Narrowed before it is spread: that is no kernel of its own then.
    operandGrads[0] =
        spread(narrow(builder, loc, resultGrads[0], getInput().getType()));
    return success();
  }
  if (getKind() == ReduceKind::SumSquare) {
    Value twice = AddOp::create(builder, loc, input, input);
    operandGrads[0] = MulOp::create(
        builder, loc, twice, spread(widen(builder, loc, resultGrads[0])));
    return success();
  }
  if (getKind() == ReduceKind::Prod)
    return emitOpError("has no gradient: products are reduced only in "
                       "values that no parameter reaches");
  // Elements equal to the extremum share its gradient evenly.
  Value extremum = spread(result);
  Value wins = compare(builder, loc, Predicate::Eq, input, extremum);
  Value ones = ConvertOp::create(builder, loc, from, wins);
  Value count = reduceSum(builder, loc, ones, getDims());
  Value share =
      DivOp::create(builder, loc, widen(builder, loc, resultGrads[0]), count);
  operandGrads[0] = MulOp::create(builder, loc, ones, spread(share));
  return success();
}

bool ReduceOp::isStatistic(unsigned) { return true; }

bool ReduceOp::accumulates(unsigned) { return true; }

} // namespace zc::train
