//===- Conv.cpp - train.conv ---------------------------------------------===//
#include "dialects/Train/Ops/ConvSupport.h"

using namespace mlir;

namespace zc::train {

static Window window(ConvOp op) {
  return windowOf(op, op.getFilter().getType().getShape().drop_front(2));
}

static ConvTypes convTypes(ConvOp op) {
  return {op.getInput().getType(), op.getFilter().getType(),
          op.getResult().getType()};
}

LogicalResult ConvOp::verify() {
  return verifyConvolution(*this, window(*this), getGroups(), convTypes(*this),
                           "result");
}

LogicalResult ConvOp::vjp(OpBuilder &builder, ValueRange resultGrads,
                          ArrayRef<bool> wanted,
                          MutableArrayRef<Value> operandGrads) {
  Value grad = resultGrads[0];
  if (wanted[0])
    operandGrads[0] = ConvInputGradOp::create(
        builder, getLoc(), getInput().getType(), grad, getFilter(),
        getStridesAttr(), getDilationsAttr(), getPadsLowAttr(),
        getPadsHighAttr(), getGroupsAttr(), getChannelsLastAttr());
  if (wanted[1])
    operandGrads[1] = ConvFilterGradOp::create(
        builder, getLoc(), getFilter().getType(), getInput(), grad,
        getStridesAttr(), getDilationsAttr(), getPadsLowAttr(),
        getPadsHighAttr(), getGroupsAttr(), getChannelsLastAttr());
  return success();
}

ShardingRule ConvOp::getShardingRule() {
  return convShardingRule(window(*this), getGroups(), convTypes(*this),
                          ConvTensor::Image, ConvTensor::Filter,
                          ConvTensor::Output);
}

void ConvOp::setPartTypes(TypeRange types) {
  getResult().setType(cast<RankedTensorType>(types[0]));
  setGroups(groupsOfPart(window(*this), convTypes(*this)));
}

double ConvOp::getFlops() { return convFlops(convTypes(*this)); }

void ConvOp::buildLinalg(OpBuilder &builder, Location loc, ValueRange inputs,
                         ValueRange outputs) {
  buildFill(builder, loc, outputs[0], 0);
  buildConvLoops(builder, loc, window(*this), inputs[0], inputs[1], outputs[0],
                 [&](Value image, Value filter, Value output) {
                   buildConvProduct(builder, loc, image, ConvTensor::Image,
                                    filter, ConvTensor::Filter, output,
                                    ConvTensor::Output);
                 });
}

Precision ConvOp::getPrecision() { return Precision::Narrow; }

bool ConvOp::accumulates(unsigned) { return true; }

} // namespace zc::train
