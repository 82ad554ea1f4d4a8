//===- ConvFilterGrad.cpp - train.conv_filter_grad -----------------------===//
#include "dialects/Train/Ops/ConvSupport.h"

using namespace mlir;

namespace zc::train {

static Window window(ConvFilterGradOp op) {
  return windowOf(op, op.getResult().getType().getShape().drop_front(2));
}

static ConvTypes convTypes(ConvFilterGradOp op) {
  return {op.getInput().getType(), op.getResult().getType(),
          op.getGrad().getType()};
}

LogicalResult ConvFilterGradOp::verify() {
  return verifyConvolution(*this, window(*this), getGroups(), convTypes(*this),
                           "grad");
}

ShardingRule ConvFilterGradOp::getShardingRule() {
  return convShardingRule(window(*this), getGroups(), convTypes(*this),
                          ConvTensor::Image, ConvTensor::Output,
                          ConvTensor::Filter);
}

void ConvFilterGradOp::setPartTypes(TypeRange types) {
  getResult().setType(cast<RankedTensorType>(types[0]));
  setGroups(groupsOfPart(window(*this), convTypes(*this)));
}

double ConvFilterGradOp::getFlops() { return convFlops(convTypes(*this)); }

void ConvFilterGradOp::buildLinalg(OpBuilder &builder, Location loc,
                                   ValueRange inputs, ValueRange outputs) {
  buildFill(builder, loc, outputs[0], 0);
  buildConvLoops(builder, loc, window(*this), inputs[0], outputs[0], inputs[1],
                 [&](Value image, Value filter, Value output) {
                   buildConvProduct(builder, loc, image, ConvTensor::Image,
                                    output, ConvTensor::Output, filter,
                                    ConvTensor::Filter);
                 });
}

Precision ConvFilterGradOp::getPrecision() { return Precision::Narrow; }

bool ConvFilterGradOp::accumulates(unsigned) { return true; }

} // namespace zc::train
