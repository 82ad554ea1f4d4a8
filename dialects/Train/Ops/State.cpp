//===- State.cpp - train.state ------------------------------------------===//
#include "dialects/Train/Ops/OpSupport.h"

using namespace mlir;

namespace zc::train {

LogicalResult StateOp::verify() {
  auto type = dyn_cast<RankedTensorType>(getType());
  if (!type || !type.hasStaticShape())
    return emitOpError("expected a ranked tensor of static shape, got ")
           << getType();
  if (!llvm::is_contained({kParameter, kConstant, kStatistic, kOptimizer,
                           kScalar, kAccumulator},
                          getKind()))
    return emitOpError("unknown kind \"") << getKind() << "\"";
  if (getValue() && getSource())
    return emitOpError("has both a value and a source");
  if (getValue() && getValue()->getType() != type)
    return emitOpError("value has type ") << getValue()->getType();
  return success();
}

} // namespace zc::train
