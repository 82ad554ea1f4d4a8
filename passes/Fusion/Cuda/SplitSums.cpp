//===- SplitSums.cpp - sums over many rows as sums of sums ----------------===//
//
// A team of threads adds up some columns, and all their rows: a gradient of a
// norm's scale has few columns, which leaves most of a GPU idle.
//
//===----------------------------------------------------------------------===//
#include "dialects/Train/Ops/OpSupport.h"
#include "dialects/Train/Ops/ReduceSupport.h"
#include "dialects/Train/TrainDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/Fusion/Passes.h"

using namespace mlir;
using namespace zc::train;

namespace zc {
#define GEN_PASS_DEF_SPLITSUMSPASS
#include "passes/Fusion/Passes.h.inc"

namespace {

/// The sum that a region ends with, over its first two or more dims, or null.
ReduceOp findSum(FusedOp region, int64_t minElements) {
  if (region.getLibrary() || region.getNumResults() != 1)
    return {};
  Operation *end = region.getBody().front().getTerminator();
  auto op = end->getOperand(0).getDefiningOp<ReduceOp>();
  if (!op || !op.getResult().hasOneUse() || !isAddition(op.getKind()))
    return {};
  auto type = cast<RankedTensorType>(op.getInput().getType());
  int64_t summed = op.getDims().size();
  bool isLeading = llvm::equal(op.getDims(), llvm::seq<int64_t>(0, summed));
  bool isWide = !isNarrow(getElementTypeOrSelf(op.getType()));
  return isLeading && isWide && summed >= 2 && summed < type.getRank() &&
                 type.getDimSize(0) > 1 && type.getNumElements() >= minElements
             ? op
             : ReduceOp();
}

/// Sums per index of dim 0, in place of the region's.
FusedOp buildParts(OpBuilder &builder, FusedOp region, ReduceOp op) {
  auto input = cast<RankedTensorType>(op.getInput().getType());
  SmallVector<int64_t> shape = {input.getDimSize(0)};
  llvm::append_range(shape, input.getShape().drop_front(op.getDims().size()));
  RankedTensorType type = withShape(op.getType(), shape);
  auto parts = FusedOp::create(builder, region.getLoc(), TypeRange{type},
                               region.getInputs());
  IRMapping mapping;
  region.getBody().cloneInto(&parts.getBody(), mapping);
  auto copy = cast<ReduceOp>(mapping.lookup(op.getOperation()));
  copy.setDims(op.getDims().drop_front());
  copy.getResult().setType(type);
  return parts;
}

FusedOp buildSum(OpBuilder &builder, FusedOp region, Value parts) {
  auto sum = FusedOp::create(builder, region.getLoc(), region.getResultTypes(),
                             ValueRange{parts});
  Block *block = new Block();
  sum.getBody().push_back(block);
  block->addArgument(parts.getType(), region.getLoc());
  OpBuilder inner = OpBuilder::atBlockEnd(block);
  Value added = ReduceOp::create(inner, region.getLoc(),
                                 region.getResult(0).getType(), ReduceKind::Sum,
                                 block->getArgument(0), ArrayRef<int64_t>{0});
  YieldOp::create(inner, region.getLoc(), added);
  sum.takeFactsOf(region);
  return sum;
}

struct SplitSums : public impl::SplitSumsPassBase<SplitSums> {
  using SplitSumsPassBase::SplitSumsPassBase;

  void runOnOperation() override {
    SmallVector<FusedOp> regions;
    getOperation().walk([&](FusedOp region) { regions.push_back(region); });
    for (FusedOp region : regions) {
      ReduceOp op = findSum(region, minElements);
      if (!op)
        continue;
      OpBuilder builder(region);
      FusedOp parts = buildParts(builder, region, op);
      region.replaceAllUsesWith(
          buildSum(builder, region, parts.getResult(0)).getResults());
      region.erase();
      ++numSplit;
    }
  }
};

} // namespace
} // namespace zc
