//===- FoldCollectives.cpp - --zc-fold-collectives ------------------------===//
//
// Collectives are inserted user by user. Where one meets another, or the sum of
// two, one of them is often enough.
//
//===----------------------------------------------------------------------===//
#include "passes/Collectives/Passes.h"

#include "dialects/Train/OpMarks.h"
#include "passes/Sharding/Layout.h"

#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;
using namespace zc::train;

namespace zc {
#define GEN_PASS_DEF_FOLDCOLLECTIVESPASS
#include "passes/Collectives/Passes.h.inc"

namespace {

/// The op that makes `value`, if that is all it is made for.
template <typename Op> Op onlyFor(Value value) {
  return value.hasOneUse() ? value.getDefiningOp<Op>() : Op();
}

ArrayAttr joinAxes(ArrayAttr first, ArrayAttr second) {
  SmallVector<Attribute> axes(first.begin(), first.end());
  axes.append(second.begin(), second.end());
  return ArrayAttr::get(first.getContext(), axes);
}

/// A rank's part of a sum: it needs no more of it.
LogicalResult scatterSum(dist::SliceOp op, PatternRewriter &rewriter) {
  auto sum = onlyFor<dist::AllReduceOp>(op.getInput());
  if (!sum || sum.getAxes() != op.getAxes() || sum.getStaysWhole())
    return failure();
  auto made = dist::ReduceScatterOp::create(
      rewriter, op.getLoc(), op.getType(), sum.getInput(), op.getAxesAttr(),
      op.getDimAttr(), sum.getTrafficAttr());
  addMarks(op, made);
  addMarks(sum, made);
  rewriter.replaceOp(op, made);
  return success();
}

/// The parts of a sum, put together.
LogicalResult gatherSum(dist::AllGatherOp op, PatternRewriter &rewriter) {
  auto sum = onlyFor<dist::ReduceScatterOp>(op.getInput());
  if (!sum || sum.getAxes() != op.getAxes() || sum.getDim() != op.getDim())
    return failure();
  auto made = dist::AllReduceOp::create(rewriter, op.getLoc(), sum.getInput(),
                                        op.getAxesAttr(), sum.getTrafficAttr(),
                                        /*holders=*/nullptr);
  addMarks(op, made);
  addMarks(sum, made);
  rewriter.replaceOp(op, made);
  return success();
}

/// There and back.
LogicalResult sliceGathered(dist::SliceOp op, PatternRewriter &rewriter) {
  auto gather = op.getInput().getDefiningOp<dist::AllGatherOp>();
  if (!gather || gather.getAxes() != op.getAxes() ||
      gather.getDim() != op.getDim())
    return failure();
  rewriter.replaceOp(op, gather.getInput());
  return success();
}

LogicalResult gatherSlice(dist::AllGatherOp op, PatternRewriter &rewriter) {
  auto slice = op.getInput().getDefiningOp<dist::SliceOp>();
  if (!slice || slice.getAxes() != op.getAxes() ||
      slice.getDim() != op.getDim())
    return failure();
  rewriter.replaceOp(op, slice.getInput());
  return success();
}

/// The sum that takes the place of both stays whole where one of them does.
UnitAttr staysWhole(dist::AllReduceOp a, dist::AllReduceOp b) {
  UnitAttr mark = a.getStaysWholeAttr();
  return mark ? mark : b.getStaysWholeAttr();
}

/// One group of ranks in place of two, one after another.
LogicalResult joinSums(dist::AllReduceOp op, PatternRewriter &rewriter) {
  auto first = onlyFor<dist::AllReduceOp>(op.getInput());
  if (!first || first.getTraffic() != op.getTraffic())
    return failure();
  auto made = dist::AllReduceOp::create(
      rewriter, op.getLoc(), first.getInput(),
      joinAxes(first.getAxes(), op.getAxes()), op.getTrafficAttr(),
      /*holders=*/nullptr, staysWhole(first, op));
  addMarks(op, made);
  rewriter.replaceOp(op, made);
  return success();
}

/// Terms are added up before they are sent.
LogicalResult sumOnce(AddOp op, PatternRewriter &rewriter) {
  auto lhs = onlyFor<dist::AllReduceOp>(op.getLhs());
  auto rhs = onlyFor<dist::AllReduceOp>(op.getRhs());
  if (!lhs || !rhs || lhs.getAxes() != rhs.getAxes() ||
      lhs.getTraffic() != rhs.getTraffic())
    return failure();
  dist::MeshAttr mesh = dist::getMesh(op);
  Layout term = layoutOf(lhs.getInput(), mesh);
  if (term != layoutOf(rhs.getInput(), mesh))
    return failure();
  auto terms = AddOp::create(rewriter, op.getLoc(), op.getType(),
                             lhs.getInput(), rhs.getInput());
  terms->setAttr(dist::kOperandsAttr, toArrayAttr({term, term}, mesh));
  terms->setAttr(dist::kResultsAttr, toArrayAttr({term}, mesh));
  auto made = dist::AllReduceOp::create(
      rewriter, op.getLoc(), terms, lhs.getAxesAttr(), lhs.getTrafficAttr(),
      /*holders=*/nullptr, staysWhole(lhs, rhs));
  addMarks(lhs, made);
  copyResultMarks(cast<OpResult>(op.getResult()),
                  cast<OpResult>(made->getResult(0)));
  rewriter.replaceOp(op, made);
  return success();
}

struct FoldCollectives : public impl::FoldCollectivesPassBase<FoldCollectives> {
  void runOnOperation() override {
    if (!dist::getMesh(getOperation()))
      return;
    unsigned before = count();
    RewritePatternSet patterns(&getContext());
    patterns.add(scatterSum);
    patterns.add(gatherSum);
    patterns.add(sliceGathered);
    patterns.add(gatherSlice);
    patterns.add(joinSums);
    patterns.add(sumOnce);
    // Only inserted ops are visited: others keep their attributes.
    GreedyRewriteConfig config;
    config.enableFolding(false).enableConstantCSE(false);
    config.setRegionSimplificationLevel(GreedySimplifyRegionLevel::Disabled);
    (void)applyPatternsGreedily(getOperation(), std::move(patterns), config);
    numFolded += before - count();
  }

private:
  unsigned count() {
    unsigned number = 0;
    getOperation().walk([&](dist::CollectiveOpInterface) { ++number; });
    return number;
  }
};

} // namespace
} // namespace zc
