//===- CollectiveShape.cpp - collectives in the schema's words ------------===//
#include "compiler/Export/CollectiveShape.h"
#include "compiler/Export/AlgorithmNames.h"
#include "dialects/Dist/DistDialect.h"

#include "llvm/Support/ErrorHandling.h"

using namespace mlir;

namespace zc {

static plan::CollectiveKind toSchema(sched::CollectiveKind kind) {
  using sched::CollectiveKind;
  switch (kind) {
  case CollectiveKind::AllReduce:
    return plan::ALL_REDUCE;
  case CollectiveKind::AllGather:
    return plan::ALL_GATHER;
  case CollectiveKind::ReduceScatter:
    return plan::REDUCE_SCATTER;
  case CollectiveKind::AllToAll:
    return plan::ALL_TO_ALL;
  case CollectiveKind::Broadcast:
    return plan::BROADCAST;
  case CollectiveKind::Reduce:
    return plan::REDUCE;
  case CollectiveKind::Scatter:
    return plan::SCATTER;
  case CollectiveKind::Gather:
    return plan::GATHER;
  case CollectiveKind::SendReceive:
    return plan::SEND_RECEIVE;
  }
  llvm_unreachable("the schema has all kinds");
}

/// The module's; auto where it says nothing.
static plan::CollectiveAlgorithm getAlgorithm(Operation *op) {
  auto module = op->getParentOfType<ModuleOp>();
  auto name = module->getAttrOfType<StringAttr>(kAlgorithmAttr);
  for (auto [text, algorithm] : kAlgorithmNames)
    if (name && name.getValue() == text)
      return algorithm;
  return plan::AUTO;
}

CollectiveShape getCollectiveShape(Operation *op, sched::CollectiveKind kind,
                                   ArrayAttr axes, ShapedType source,
                                   ShapedType destination) {
  CollectiveShape shape;
  shape.kind = toSchema(kind);
  shape.algorithm = getAlgorithm(op);
  shape.ranks = dist::getGroupSize(dist::getMesh(op), axes);
  if (auto holders = op->getAttrOfType<DenseI64ArrayAttr>("holders"))
    shape.ranks = holders.size();
  shape.elements =
      std::max(source.getNumElements(), destination.getNumElements());
  if (auto root = op->getAttrOfType<IntegerAttr>("root"))
    shape.root = root.getInt();
  if (auto shift = op->getAttrOfType<IntegerAttr>("shift"))
    shape.shift = shift.getInt();
  shape.elementBytes = (source.getElementTypeBitWidth() + 7) / 8;
  return shape;
}

} // namespace zc
