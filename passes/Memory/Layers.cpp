//===- Layers.cpp - where a network may be cut ----------------------------===//
#include "passes/Memory/Layers.h"

#include "dialects/Onnx/Location.h"

#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace zc::train;

namespace zc {

static StringRef modulePathOf(FusedOp op) {
  for (Operation &inner : llvm::reverse(op.getBody().front()))
    if (StringRef path = onnx::getModulePath(inner.getLoc()); !path.empty())
      return path;
  return onnx::getModulePath(op.getLoc());
}

// A path without a number is a layer of its own.
static StringRef nameLayer(FusedOp op) {
  StringRef path = modulePathOf(op);
  StringRef layer = onnx::getLayerPath(path);
  return layer.empty() ? path : layer;
}

/// All values that depend on the program's inputs, not on its states alone.
static DenseSet<Operation *> findDataOps(func::FuncOp program) {
  DenseSet<Operation *> found;
  auto isData = [&](Value value) {
    if (auto argument = dyn_cast<BlockArgument>(value))
      return !program.getArgAttr(argument.getArgNumber(), kStateAttr);
    return found.contains(value.getDefiningOp());
  };
  for (Operation &op : program.getOps())
    if (llvm::any_of(op.getOperands(), isData))
      found.insert(&op);
  return found;
}

// An op that comes late, or has no name, belongs to the layer that is current;
// so does one of weights alone, which may stand before all layers.
static SmallVector<unsigned> findByName(const StepAnalysis &analysis) {
  SmallVector<unsigned> layers;
  if (analysis.getForward().empty())
    return layers;
  DenseSet<Operation *> data = findDataOps(
      analysis.getForward().front()->getParentOfType<func::FuncOp>());
  llvm::StringSet<> seen;
  unsigned layer = 0;
  for (FusedOp op : analysis.getForward()) {
    StringRef name = data.contains(op) ? nameLayer(op) : StringRef();
    if (!name.empty() && seen.insert(name).second && seen.size() > 1)
      ++layer;
    layers.push_back(layer);
  }
  return layers;
}

static SmallVector<unsigned> findByCrossing(const StepAnalysis &analysis) {
  // For each place: by how many values the number changes that later ops read.
  SmallVector<int> change(analysis.getForward().size() + 1, 0);
  for (unsigned value = 0; value < analysis.numValues(); ++value) {
    unsigned made = analysis.getPlace(value);
    unsigned read = analysis.getLastReader(value);
    if (read <= made)
      continue;
    ++change[made];
    --change[read];
  }
  SmallVector<unsigned> layers;
  unsigned layer = 0;
  int crossing = 0;
  for (int more : ArrayRef(change).drop_back()) {
    layers.push_back(layer);
    crossing += more;
    if (crossing == 1)
      ++layer;
  }
  return layers;
}

SmallVector<unsigned> findLayers(const StepAnalysis &analysis) {
  SmallVector<unsigned> layers = findByName(analysis);
  bool isOne = layers.empty() || layers.back() == 0;
  return isOne ? findByCrossing(analysis) : layers;
}

} // namespace zc
