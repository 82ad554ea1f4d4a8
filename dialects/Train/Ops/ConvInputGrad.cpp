//===- ConvInputGrad.cpp - train.conv_input_grad -------------------------===//
#include "dialects/Train/Ops/ConvSupport.h"

using namespace mlir;

namespace zc::train {

static Window window(ConvInputGradOp op) {
  return windowOf(op, op.getFilter().getType().getShape().drop_front(2));
}

static ConvTypes convTypes(ConvInputGradOp op) {
  return {op.getResult().getType(), op.getFilter().getType(),
          op.getGrad().getType()};
}

LogicalResult ConvInputGradOp::verify() {
  return verifyConvolution(*this, window(*this), getGroups(), convTypes(*this),
                           "grad");
}

ShardingRule ConvInputGradOp::getShardingRule() {
  return convShardingRule(window(*this), getGroups(), convTypes(*this),
                          ConvTensor::Output, ConvTensor::Filter,
                          ConvTensor::Image);
}

void ConvInputGradOp::setPartTypes(TypeRange types) {
  getResult().setType(cast<RankedTensorType>(types[0]));
  setGroups(groupsOfPart(window(*this), convTypes(*this)));
}

double ConvInputGradOp::getFlops() { return convFlops(convTypes(*this)); }

void ConvInputGradOp::buildLinalg(OpBuilder &builder, Location loc,
                                  ValueRange inputs, ValueRange outputs) {
  buildFill(builder, loc, outputs[0], 0);
  buildConvLoops(builder, loc, window(*this), outputs[0], inputs[1], inputs[0],
                 [&](Value image, Value filter, Value output) {
                   buildConvProduct(builder, loc, output, ConvTensor::Output,
                                    filter, ConvTensor::Filter, image,
                                    ConvTensor::Image);
                 });
}

Precision ConvInputGradOp::getPrecision() { return Precision::Narrow; }

bool ConvInputGradOp::accumulates(unsigned) { return true; }

} // namespace zc::train
