//===- PlaceExperts.cpp - train.place_experts -----------------------------===//
#include "dialects/Train/ExpertOps.h"
#include "dialects/Train/Ops/OpSupport.h"

using namespace mlir;

namespace zc::train {

Value PlaceExpertsOp::buildScalar(OpBuilder &builder, Location loc,
                                  ValueRange operands) {
  return operands[0];
}

// Where the values come from, their gradients go.
LogicalResult PlaceExpertsOp::vjp(OpBuilder &builder, ValueRange resultGrads,
                                  ArrayRef<bool> wanted,
                                  MutableArrayRef<Value> operandGrads) {
  operandGrads[0] =
      PlaceExpertsOp::create(builder, getLoc(), resultGrads[0].getType(),
                             resultGrads[0], !getToExperts());
  return success();
}

} // namespace zc::train
