//===- CollectiveShape.cpp - collectives in the schema's words ------------===//
#include "compiler/Export/CollectiveShape.h"
#include "compiler/Export/AlgorithmNames.h"
#include "dialects/Dist/DistDialect.h"

#include "llvm/ADT/StringSwitch.h"

using namespace mlir;

namespace zc {

std::optional<plan::CollectiveKind> getCollectiveKind(StringRef name) {
  return llvm::StringSwitch<std::optional<plan::CollectiveKind>>(name)
      .Case("all_reduce", plan::ALL_REDUCE)
      .Case("role_sum", plan::ALL_REDUCE) // as which it ends
      .Case("all_gather", plan::ALL_GATHER)
      .Case("reduce_scatter", plan::REDUCE_SCATTER)
      .Case("all_to_all", plan::ALL_TO_ALL)
      .Case("broadcast", plan::BROADCAST)
      .Case("reduce", plan::REDUCE)
      .Case("scatter", plan::SCATTER)
      .Case("gather", plan::GATHER)
      .Case("send_receive", plan::SEND_RECEIVE)
      .Default(std::nullopt);
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

std::optional<CollectiveShape> getCollectiveShape(Operation *op, StringRef name,
                                                  ArrayAttr axes,
                                                  ShapedType source,
                                                  ShapedType destination) {
  auto kind = getCollectiveKind(name);
  if (!kind)
    return std::nullopt;
  CollectiveShape shape;
  shape.kind = *kind;
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
