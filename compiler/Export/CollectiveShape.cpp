//===- CollectiveShape.cpp - collectives in the schema's words ------------===//
#include "compiler/Export/CollectiveShape.h"

#include "llvm/ADT/StringSwitch.h"

using namespace mlir;

namespace zc {

std::optional<plan::CollectiveKind> getCollectiveKind(StringRef name) {
  return llvm::StringSwitch<std::optional<plan::CollectiveKind>>(name)
      .Case("all_reduce", plan::ALL_REDUCE)
      .Case("all_gather", plan::ALL_GATHER)
      .Case("reduce_scatter", plan::REDUCE_SCATTER)
      .Case("all_to_all", plan::ALL_TO_ALL)
      .Default(std::nullopt);
}

std::optional<CollectiveShape> getCollectiveShape(StringRef name, int64_t ranks,
                                                  ShapedType source,
                                                  ShapedType destination) {
  auto kind = getCollectiveKind(name);
  if (!kind)
    return std::nullopt;
  CollectiveShape shape;
  shape.kind = *kind;
  shape.ranks = ranks;
  shape.elements =
      std::max(source.getNumElements(), destination.getNumElements());
  shape.elementBytes = (source.getElementTypeBitWidth() + 7) / 8;
  return shape;
}

} // namespace zc
