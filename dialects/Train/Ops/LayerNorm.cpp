//===- LayerNorm.cpp - train.layer_norm -----------------------------------===//
#include "dialects/Train/Ops/LayerNormSupport.h"

using namespace mlir;

namespace zc::train {

LogicalResult LayerNormOp::verify() {
  RankedTensorType type = getInput().getType();
  if (failed(verifyLayerNorm(*this, type, getAxis(), getScale().getType(),
                             getMean().getType(), getRstd().getType())) ||
      failed(verifyTypeOrPrecision(*this, "bias", getBias().getType(),
                                   getScale().getType())))
    return failure();
  return verifyType(*this, "result", getResult().getType(), type);
}

namespace {
/// The pieces of layer_norm's gradient, as train ops.
struct LayerNormGradient {
  LayerNormOp op;
  OpBuilder &builder;
  Location loc = op.getLoc();
  RankedTensorType type = op.getInput().getType();
  SmallVector<int64_t> outer = dimRange(0, op.getAxis());
  SmallVector<int64_t> inner = dimRange(op.getAxis(), type.getRank());

  Value spread(Value perRow) {
    return broadcast(builder, loc, perRow, type.getShape(), outer);
  }
  Value mul(Value a, Value b) { return MulOp::create(builder, loc, a, b); }

  /// (x - mean) rstd
  Value normalized() {
    Value centred =
        SubOp::create(builder, loc, widen(builder, loc, op.getInput()),
                      spread(widen(builder, loc, op.getMean())));
    return mul(centred, spread(widen(builder, loc, op.getRstd())));
  }

  /// The input's gradient through the mean: grad / n.
  Value throughMean(Value meanGrad) {
    double count = numElements(op.getScale().getType());
    Value share = splat(builder, loc, meanGrad.getType(), 1 / count);
    return spread(mul(meanGrad, share));
  }

  /// The input's gradient through rstd: -grad rstd^3 (x - mean) / n.
  Value throughRstd(Value rstdGrad) {
    double count = numElements(op.getScale().getType());
    Value share = splat(builder, loc, rstdGrad.getType(), -1 / count);
    Value square = mul(op.getRstd(), op.getRstd());
    return mul(spread(mul(mul(rstdGrad, share), square)), normalized());
  }
};
} // namespace

LogicalResult LayerNormOp::vjp(OpBuilder &builder, ValueRange resultGrads,
                               ArrayRef<bool> wanted,
                               MutableArrayRef<Value> operandGrads) {
  LayerNormGradient gradient{*this, builder};
  Location loc = getLoc();
  Value grad = resultGrads[0];
  if (grad && wanted[0])
    operandGrads[0] = LayerNormGradOp::create(
        builder, loc, getInput().getType(), getInput(), getScale(), getMean(),
        getRstd(), grad, getAxisAttr());
  if (grad && wanted[1]) {
    Value product =
        gradient.mul(widen(builder, loc, grad), gradient.normalized());
    operandGrads[1] = reduceSum(builder, loc, product, gradient.outer);
  }
  if (grad && wanted[2])
    operandGrads[2] = reduceSum(builder, loc, grad, gradient.outer);
  auto addToInput = [&](Value term) {
    Value &sum = operandGrads[0];
    term = narrow(builder, loc, term, getInput().getType());
    sum = sum ? AddOp::create(builder, loc, sum, term) : term;
  };
  if (wanted[0] && resultGrads[1])
    addToInput(gradient.throughMean(resultGrads[1]));
  if (wanted[0] && resultGrads[2])
    addToInput(gradient.throughRstd(resultGrads[2]));
  return success();
}

ShardingRule LayerNormOp::getShardingRule() {
  return layerNormShardingRule(*this, getInput().getType(), getAxis(), {0},
                               {0, 1, 2});
}

double LayerNormOp::getFlops() {
  // mean 1, variance 3, result 4
  return 8.0 * numElements(getInput().getType());
}

bool LayerNormOp::mayShareBuffer(unsigned operand, unsigned result) {
  return operand == 0 && result == 0;
}

void LayerNormOp::buildLinalg(OpBuilder &builder, Location loc,
                              ValueRange inputs, ValueRange outputs) {
  ArrayRef<int64_t> shape = shapeOf(inputs[0]);
  Type element = elementOf(inputs[0]);
  SmallVector<int64_t> outer = dimRange(0, getAxis());
  Value scratch = buildTemporary(builder, loc, {}, element);
  double epsilon = getEpsilon().convertToDouble();
  buildLoops(builder, loc, pick(shape, outer), [&](Indices row) {
    Value x = buildSlice(builder, loc, inputs[0], outer, row);
    Value y = buildSlice(builder, loc, outputs[0], outer, row);
    ScalarBuilder s(builder, loc);
    Value count = s.constant(element, ShapedType::getNumElements(shapeOf(x)));
    Value sum = buildReduction(
        builder, loc, x, scratch, 0,
        [](OpBuilder &nested, Location at, ValueRange e) {
          return SmallVector<Value>{ScalarBuilder(nested, at).add(e[1], e[0])};
        })[0];
    Value mean = s.div(sum, count);
    Value squares = buildReduction(
        builder, loc, x, scratch, 0,
        [&](OpBuilder &nested, Location at, ValueRange e) {
          ScalarBuilder s(nested, at);
          Value centred = s.sub(e[0], mean);
          return SmallVector<Value>{s.add(e[1], s.mul(centred, centred))};
        })[0];
    Value rstd =
        s.rsqrt(s.add(s.div(squares, count), s.constant(element, epsilon)));
    buildPointwise(builder, loc, {x, inputs[1], inputs[2]}, y,
                   [&](OpBuilder &nested, Location at, ValueRange e) {
                     ScalarBuilder s(nested, at);
                     Value unit = s.mul(s.sub(e[0], mean), rstd);
                     return SmallVector<Value>{s.add(s.mul(unit, e[1]), e[2])};
                   });
    buildStore(builder, loc, mean, outputs[1], row);
    buildStore(builder, loc, rstd, outputs[2], row);
  });
}

bool LayerNormOp::takesAnyPrecision(unsigned operand) { return operand > 0; }

bool LayerNormOp::isStatistic(unsigned result) { return result > 0; }

} // namespace zc::train
