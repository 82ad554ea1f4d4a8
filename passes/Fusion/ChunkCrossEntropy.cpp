//===- ChunkCrossEntropy.cpp - logits never exist whole -------------------===//
//
// The logits of a language model are its largest value by far. Samples do not
// meet in a loss, so that forward and backward of the last layer can be done
// for some of them at a time; only the weights' gradients are sums over all.
// Which ops these are is found by their sharding rules.
//
//===----------------------------------------------------------------------===//
#include "dialects/Dist/DistDialect.h"
#include "dialects/Train/Ops/OpSupport.h"
#include "dialects/Train/StateLookup.h"
#include "dialects/Train/TrainDialect.h"
#include "mlir/Analysis/TopologicalSortUtils.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/Analysis/Tensors.h"
#include "passes/Fusion/Passes.h"
#include "passes/Fusion/RowParts.h"
#include "passes/Sharding/DimClasses.h"
#include "passes/Target/Target.h"

using namespace mlir;
using namespace zc::train;

namespace zc {
#define GEN_PASS_DEF_CHUNKCROSSENTROPYPASS
#include "passes/Fusion/Passes.h.inc"

namespace {

constexpr int64_t kFewestSamples = 128;

/// How many equal chunks of up to `most` `samples` make, at least 2, or 0.
int64_t chooseCount(int64_t samples, int64_t most) {
  for (int64_t size = std::min(samples / 2, most); size >= kFewestSamples;
       --size)
    if (samples % size == 0)
      return samples / size;
  return 0;
}

struct ChunkCrossEntropy
    : public impl::ChunkCrossEntropyPassBase<ChunkCrossEntropy> {
  using ChunkCrossEntropyPassBase::ChunkCrossEntropyPassBase;

  void runOnOperation() override {
    SmallVector<SoftmaxCrossEntropyOp> losses;
    getOperation().walk(
        [&](SoftmaxCrossEntropyOp op) { losses.push_back(op); });
    DenseSet<Operation *> gone; // with another loss of the same logits
    llvm::SetVector<Block *> blocks;
    for (SoftmaxCrossEntropyOp loss : losses)
      if (!gone.contains(loss) && isLarge(loss))
        if (auto region = findRowRegion(loss.getLogits());
            region && chunk(*region, loss)) {
          gone.insert(region->ops.begin(), region->ops.end());
          blocks.insert(region->block);
        }
    for (Block *block : blocks)
      eraseUnused(block);
  }

private:
  /// Whether a rank has so many bytes of logits.
  bool isLarge(SoftmaxCrossEntropyOp loss) {
    const int64_t bytes = bytesOf(loss.getLogits());
    if (axis.empty() || bytes < minBytes)
      return bytes >= minBytes;
    const int64_t ways = countClassParts(loss.getLogits());
    return ways > 1 && bytes / (ways * sampleParts) >= minBytes;
  }

  /// Whether it was done.
  bool chunk(const RowRegion &region, SoftmaxCrossEntropyOp loss) {
    // An evaluation reads logits once.
    if (!llvm::any_of(region.ops, llvm::IsaPred<SoftmaxCrossEntropyGradOp>) ||
        region.rows % sampleParts != 0)
      return false;
    const int64_t count = chooseCount(region.rows / sampleParts,
                                      getTarget(loss).mostChunkSamples());
    if (count == 0)
      return false;
    computeInParts(region, {count, sampleParts, !axis.empty()});
    [[maybe_unused]] const bool isSorted = sortTopologically(region.block);
    assert(isSorted && "an op between two of a region");
    ++numChunked;
    return true;
  }

  /// The number of parts in which the axis divides the classes, found by the
  /// dims that the ops' rules tie to them.
  int64_t countClassParts(Value logits) {
    dist::MeshAttr mesh = dist::getMesh(getOperation());
    int number = mesh ? mesh.findAxis(axis) : -1;
    if (number < 0)
      return 1;
    auto program = cast<func::FuncOp>(logits.getParentBlock()->getParentOp());
    const DimOf classes{logits, int64_t(shapeOf(logits).size()) - 1};
    for (const DimClass &each : findDimClasses(program))
      if (llvm::is_contained(each.dims, classes))
        for (const DimOf &dim : each.dims)
          if (dist::ShardingAttr sharding = shardingOf(dim.value))
            if (llvm::is_contained(sharding.getDims()[dim.dim],
                                   Attribute(mesh.getNames()[number])))
              return mesh.getSizes()[number];
    return 1;
  }

  /// Its sharding before propagation; null if it has none yet.
  static dist::ShardingAttr shardingOf(Value value) {
    if (Operation *op = value.getDefiningOp())
      return op->getAttrOfType<dist::ShardingAttr>(dist::kShardingAttr);
    StateOp state = findState(value);
    return state ? state->getAttrOfType<dist::ShardingAttr>(dist::kShardingAttr)
                 : dist::ShardingAttr();
  }

  /// Ops that only the whole forms have read, last first.
  static void eraseUnused(Block *block) {
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(*block)))
      if (isOpTriviallyDead(&op))
        op.erase();
  }
};

} // namespace
} // namespace zc
