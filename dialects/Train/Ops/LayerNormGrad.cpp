//===- LayerNormGrad.cpp - train.layer_norm_grad --------------------------===//
#include "dialects/Train/Ops/LayerNormSupport.h"

using namespace mlir;

namespace zc::train {

LogicalResult LayerNormGradOp::verify() {
  RankedTensorType type = getInput().getType();
  if (failed(verifyLayerNorm(*this, type, getAxis(), getScale().getType(),
                             getMean().getType(), getRstd().getType())) ||
      failed(verifyType(*this, "grad", getGrad().getType(), type)))
    return failure();
  return verifyType(*this, "result", getResult().getType(), type);
}

ShardingRule LayerNormGradOp::getShardingRule() {
  ShardingRule rule = layerNormShardingRule(*this, getInput().getType(),
                                            getAxis(), {0, 2, 3, 4}, {0});
  rule.linearity[1] = Linearity::Separate;
  rule.linearity[4] = Linearity::Separate;
  return rule;
}

double LayerNormGradOp::getFlops() {
  // normalise 2, scale 1, two sums 3, result 4
  return 10.0 * numElements(getInput().getType());
}

bool LayerNormGradOp::mayShareBuffer(unsigned operand, unsigned result) {
  // Each row is summed before its elements are overwritten one by one.
  return operand == 4;
}

void LayerNormGradOp::buildLinalg(OpBuilder &builder, Location loc,
                                  ValueRange inputs, ValueRange outputs) {
  // With g = grad scale and u = (x - mean) rstd:
  // result = rstd (g - sum(g)/n - u sum(g u)/n).
  ArrayRef<int64_t> shape = shapeOf(inputs[0]);
  Type element = elementOf(inputs[0]);
  SmallVector<int64_t> outer = dimRange(0, getAxis());
  Value scratch[] = {buildTemporary(builder, loc, {}, element),
                     buildTemporary(builder, loc, {}, element)};
  buildLoops(builder, loc, pick(shape, outer), [&](Indices row) {
    Value x = buildSlice(builder, loc, inputs[0], outer, row);
    Value grad = buildSlice(builder, loc, inputs[4], outer, row);
    Value result = buildSlice(builder, loc, outputs[0], outer, row);
    Value mean = buildLoad(builder, loc, inputs[2], row);
    Value rstd = buildLoad(builder, loc, inputs[3], row);
    Value read[] = {x, inputs[1], grad};
    auto unitAndScaled = [&](ScalarBuilder s, ValueRange e) {
      Value unit = s.mul(s.sub(e[0], mean), rstd);
      return std::make_pair(unit, s.mul(e[1], e[2]));
    };
    SmallVector<Value> sums = buildReduction(
        builder, loc, read, scratch, 0,
        [&](OpBuilder &nested, Location at, ValueRange e) {
          ScalarBuilder s(nested, at);
          auto [unit, scaled] = unitAndScaled(s, e);
          return SmallVector<Value>{s.add(e[3], scaled),
                                    s.add(e[4], s.mul(scaled, unit))};
        });
    ScalarBuilder s(builder, loc);
    Value share =
        s.constant(element, 1.0 / ShapedType::getNumElements(shapeOf(x)));
    Value gradMean = s.mul(sums[0], share);
    Value productMean = s.mul(sums[1], share);
    buildPointwise(builder, loc, read, result,
                   [&](OpBuilder &nested, Location at, ValueRange e) {
                     ScalarBuilder s(nested, at);
                     auto [unit, scaled] = unitAndScaled(s, e);
                     Value rest = s.sub(s.sub(scaled, gradMean),
                                        s.mul(unit, productMean));
                     return SmallVector<Value>{s.mul(rstd, rest)};
                   });
  });
}

} // namespace zc::train
