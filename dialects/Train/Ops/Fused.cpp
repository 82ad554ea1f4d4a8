//===- Fused.cpp - train.fused ------------------------------------------===//
#include "dialects/Train/Ops/OpSupport.h"

using namespace mlir;

namespace zc::train {

static LogicalResult verifyShared(FusedOp op) {
  ArrayRef<int64_t> pairs = op.getSharedBuffers();
  if (pairs.size() % 2 != 0)
    return op.emitOpError("shared_buffers are pairs (operand, result)");
  for (size_t i = 0; i < pairs.size(); i += 2) {
    int64_t operand = pairs[i], result = pairs[i + 1];
    if (operand < 0 || operand >= op.getNumOperands() || result < 0 ||
        result >= op.getNumResults())
      return op.emitOpError("shared_buffers names no operand or result");
    if (op.getOperand(operand).getType() != op.getResult(result).getType())
      return op.emitOpError("operand ")
             << operand << " and result " << result
             << " have different types and cannot share a buffer";
  }
  return success();
}

LogicalResult FusedOp::verify() {
  Block &block = getBody().front();
  if (block.getArgumentTypes() != getOperandTypes())
    return emitOpError("block arguments do not have the operands' types");
  auto yield = dyn_cast<YieldOp>(block.getTerminator());
  if (!yield || yield.getOperandTypes() != getResultTypes())
    return emitOpError("does not yield values of the results' types");
  return verifyShared(*this);
}

} // namespace zc::train
