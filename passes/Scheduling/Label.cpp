//===- Label.cpp - what people call an instruction ------------------------===//
#include "passes/Scheduling/Label.h"

#include "dialects/Onnx/Location.h"
#include "passes/Analysis/LoopNests.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace zc {

// Longer regions are cut: a label is one column of a table.
static constexpr size_t kMaxNames = 4;

static std::string opNames(train::FusedOp op) {
  llvm::SmallSetVector<StringRef, 8> names;
  if (op.getLibrary())
    names.insert(findCalled(op.getBody().front()).getName().stripDialect());
  for (Operation &inner : op.getBody().front().without_terminator())
    if (!inner.hasTrait<OpTrait::ConstantLike>())
      names.insert(inner.getName().stripDialect());
  if (names.empty())
    return "train.copy";
  ArrayRef<StringRef> all = names.getArrayRef();
  StringRef dialect = op.getBody().front().front().getDialect()->getNamespace();
  std::string text =
      (dialect + ".").str() + llvm::join(all.take_front(kMaxNames), "+");
  return all.size() > kMaxNames ? text + "+..." : text;
}

static std::string describePlace(Location location) {
  auto origin = onnx::getOrigin(location);
  if (!origin)
    return "";
  if (origin->module.empty())
    return origin->node.str();
  return (origin->module + "/" + origin->operatorName).str();
}

// The last op that has an origin: the region was formed for it.
static std::string findPlace(train::FusedOp op) {
  for (Operation &inner : llvm::reverse(op.getBody().front())) {
    std::string place = describePlace(inner.getLoc());
    if (!place.empty())
      return place;
  }
  return describePlace(op.getLoc());
}

std::string makeLabel(train::FusedOp op, StringRef fallback) {
  std::string place = findPlace(op);
  if (place.empty())
    place = fallback.str();
  return place.empty() ? opNames(op) : opNames(op) + " " + place;
}

} // namespace zc
