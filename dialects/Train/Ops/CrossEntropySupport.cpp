//===- CrossEntropySupport.cpp - the loss and its gradient ----------------===//
#include "dialects/Train/Ops/CrossEntropySupport.h"

using namespace mlir;

namespace zc::train {

LogicalResult verifyCrossEntropy(Operation *op, RankedTensorType logits,
                                 RankedTensorType labels) {
  if (logits.getRank() == 0)
    return op->emitOpError("logits have no dim of classes");
  if (logits.getShape().back() == 0)
    return op->emitOpError("logits have no classes");
  if (logits.getShape().drop_back() == labels.getShape())
    return success();
  return op->emitOpError() << "labels are " << labels
                           << ", expected the shape of the logits " << logits
                           << " without the last dim";
}

ShardingRule crossEntropyShardingRule(Operation *op, RankedTensorType logits) {
  ShardingRule rule = ShardingRule::whole(op);
  for (auto [dim, size] : llvm::enumerate(logits.getShape().drop_back())) {
    int factor = rule.addFactor(size);
    for (auto &dims : rule.operandDims)
      dims[dim] = factor;
    for (auto &dims : rule.resultDims)
      dims[dim] = factor;
  }
  return rule;
}

Value buildIsIgnored(OpBuilder &builder, Location loc, Value label,
                     int64_t ignoreIndex) {
  // Compared as 64 bits: the index need not fit the labels' type.
  Type i64 = builder.getI64Type();
  if (label.getType() != i64)
    label = arith::ExtSIOp::create(builder, loc, i64, label);
  Value ignore =
      arith::ConstantIntOp::create(builder, loc, ignoreIndex, /*width=*/64);
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, label,
                               ignore);
}

} // namespace zc::train
