//===- StopGradient.cpp - train.stop_gradient ----------------------------===//
#include "dialects/Train/GradientOps.h"
#include "dialects/Train/Ops/OpSupport.h"

using namespace mlir;

namespace zc::train {

Value StopGradientOp::buildScalar(OpBuilder &builder, Location loc,
                                  ValueRange operands) {
  return operands[0];
}

} // namespace zc::train
