//===- CrossEntropySupport.cpp - the loss and its gradient ----------------===//
#include "dialects/Train/Ops/CrossEntropySupport.h"
#include "dialects/Train/Ops/PartSupport.h"

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

ShardingRule crossEntropyFinerRule(Operation *op, RankedTensorType logits,
                                   FactorKind classes) {
  ShardingRule rule = cast<ShardableOpInterface>(op).getShardingRule();
  int factor = rule.addFactor(logits.getShape().back(), classes);
  auto place = [&](auto &lists, TypeRange types) {
    for (auto [dims, type] : llvm::zip(lists, types))
      if (cast<RankedTensorType>(type).getShape() == logits.getShape())
        dims.back() = factor;
  };
  place(rule.operandDims, op->getOperandTypes());
  place(rule.resultDims, op->getResultTypes());
  return rule;
}

static Value buildPartLabels(OpBuilder &builder, Location loc, Value labels,
                             int64_t classes, int64_t parts) {
  auto type = cast<RankedTensorType>(labels.getType());
  SmallVector<int64_t> shape(type.getShape()), samples;
  for (int64_t dim = 0; dim < type.getRank(); ++dim)
    samples.push_back(dim);
  shape.push_back(parts);
  Value all = broadcast(builder, loc, labels, shape, samples);
  auto begin = [&](int64_t first) {
    Value number = numberParts(builder, loc, shape, type.getRank(),
                               type.getElementType(), classes / parts);
    return first == 0 ? number
                      : Value(AddOp::create(
                            builder, loc, number,
                            splat(builder, loc, number.getType(), first)));
  };
  Value local = SubOp::create(builder, loc, all, begin(0));
  Value inside = AndOp::create(
      builder, loc, compare(builder, loc, Predicate::Ge, all, begin(0)),
      compare(builder, loc, Predicate::Lt, all, begin(classes / parts)));
  return SelectOp::create(builder, loc, local.getType(), inside, local,
                          splat(builder, loc, local.getType(), -1));
}

std::optional<ClassParts> splitClasses(OpBuilder &builder, Location loc,
                                       Value logits, Value labels,
                                       int64_t count) {
  auto type = cast<RankedTensorType>(logits.getType());
  int64_t dim = type.getRank() - 1, classes = type.getDimSize(dim);
  if (count == 1 || count == classes)
    return std::nullopt;
  return ClassParts{splitDim(builder, loc, logits, dim, count),
                    buildPartLabels(builder, loc, labels, classes, count)};
}

Value compareIgnored(OpBuilder &builder, Location loc, Value labels,
                     int64_t ignoreIndex) {
  return compare(
      builder, loc, Predicate::Eq, labels,
      splat(builder, loc, labels.getType(), static_cast<double>(ignoreIndex)));
}

Value buildIsClass(OpBuilder &builder, Location loc, Value label,
                   int64_t classes) {
  // Unsigned, a negative label is beyond every class.
  Type i64 = builder.getI64Type();
  if (label.getType() != i64)
    label = arith::ExtSIOp::create(builder, loc, i64, label);
  Value end = arith::ConstantIntOp::create(builder, loc, classes, /*width=*/64);
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, label,
                               end);
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
