//===- AssignLayouts.cpp - channels last ----------------------------------===//
//
// Each image op is converted alone, between transposes; that adjacent ops
// cancel their transposes and that elementwise ops let them through is left to
// two small patterns, so that no pass needs to know which networks there are.
//
//===----------------------------------------------------------------------===//
#include "dialects/Train/Ops/OpSupport.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "passes/Fusion/Passes.h"

using namespace mlir;
using namespace zc::train;

namespace zc {
#define GEN_PASS_DEF_ASSIGNLAYOUTSPASS
#include "passes/Fusion/Passes.h.inc"

namespace {

int64_t rankOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getRank();
}

SmallVector<int64_t> toLast(int64_t rank) {
  SmallVector<int64_t> permutation = {0};
  for (int64_t dim = 2; dim < rank; ++dim)
    permutation.push_back(dim);
  permutation.push_back(1);
  return permutation;
}

SmallVector<int64_t> toFirst(int64_t rank) {
  SmallVector<int64_t> permutation = {0, rank - 1};
  for (int64_t dim = 1; dim < rank - 1; ++dim)
    permutation.push_back(dim);
  return permutation;
}

/// Replaces an op on images with channels first by its channels-last form.
void convertImageOp(ImageOpInterface op) {
  OpBuilder builder(op);
  Location loc = op.getLoc();
  auto copy = cast<ImageOpInterface>(builder.clone(*op));
  builder.setInsertionPoint(copy);
  for (unsigned index : op.getImageOperands()) {
    Value image = op->getOperand(index);
    copy->setOperand(index,
                     transpose(builder, loc, image, toLast(rankOf(image))));
  }
  copy.moveChannelsLast();
  builder.setInsertionPointAfter(copy);
  SmallVector<Value> replacements(copy->getResults());
  for (unsigned index : op.getImageResults()) {
    Value result = copy->getResult(index);
    auto type = cast<RankedTensorType>(result.getType());
    SmallVector<int64_t> shape;
    for (int64_t dim : toLast(type.getRank()))
      shape.push_back(type.getDimSize(dim));
    result.setType(withShape(type, shape));
    replacements[index] =
        transpose(builder, loc, result, toFirst(type.getRank()));
  }
  op->replaceAllUsesWith(replacements);
  op->erase();
}

/// elementwise(transpose(x), ...) = transpose(elementwise(x, ...)): operands
/// that are no transpose must be constants or broadcasts, which move for
/// nothing.
struct SinkTransposes : public RewritePattern {
  SinkTransposes(MLIRContext *context)
      : RewritePattern(MatchAnyOpTypeTag(), 1, context) {}

  LogicalResult matchAndRewrite(Operation *op,
                                PatternRewriter &rewriter) const override {
    if (!isa<ElementwiseOpInterface>(op))
      return failure();
    TransposeOp first;
    for (Value operand : op->getOperands())
      if (auto producer = operand.getDefiningOp<TransposeOp>())
        first = first ? first : producer;
    if (!first || isRowChange(first))
      return failure();
    SmallVector<Value> operands;
    for (Value operand : op->getOperands()) {
      Value moved = untransposed(operand, first.getPermutation(), rewriter);
      if (!moved)
        return failure();
      operands.push_back(moved);
    }
    Operation *copy = rewriter.clone(*op);
    copy->setOperands(operands);
    auto shape = cast<RankedTensorType>(first.getInput().getType()).getShape();
    for (Value result : copy->getResults())
      result.setType(withShape(result.getType(), shape));
    rewriter.replaceOpWithNewOp<TransposeOp>(op, op->getResult(0).getType(),
                                             copy->getResult(0),
                                             first.getPermutation());
    return success();
  }

private:
  /// Only the permutations of images sink: others are the model's own.
  static bool isRowChange(TransposeOp op) {
    int64_t rank = op.getPermutation().size();
    return rank < 3 || (op.getPermutation() != ArrayRef(toFirst(rank)) &&
                        op.getPermutation() != ArrayRef(toLast(rank)));
  }

  /// `operand` as it was before `permutation`, or null.
  static Value untransposed(Value operand, ArrayRef<int64_t> permutation,
                            PatternRewriter &rewriter) {
    Operation *producer = operand.getDefiningOp();
    auto transpose = dyn_cast_or_null<TransposeOp>(producer);
    if (transpose && transpose.getPermutation() == permutation)
      return transpose.getInput();
    SmallVector<int64_t> inverse(permutation.size());
    for (auto [dim, source] : llvm::enumerate(permutation))
      inverse[source] = dim;
    if (auto constant = dyn_cast_or_null<ConstantOp>(producer)) {
      auto dense = dyn_cast<DenseElementsAttr>(constant.getValue());
      if (!dense || !dense.isSplat())
        return nullptr;
      return train::transpose(rewriter, operand.getLoc(), operand, inverse);
    }
    if (auto spread = dyn_cast_or_null<BroadcastOp>(producer))
      return moveBroadcast(spread, inverse, rewriter);
    return nullptr;
  }

  /// A broadcast into the untransposed shape, where its dims still increase.
  static Value moveBroadcast(BroadcastOp op, ArrayRef<int64_t> inverse,
                             PatternRewriter &rewriter) {
    auto type = cast<RankedTensorType>(op.getType());
    SmallVector<int64_t> shape, dims;
    for (int64_t dim : inverse)
      shape.push_back(type.getDimSize(dim));
    for (int64_t dim : op.getDims())
      dims.push_back(llvm::find(inverse, dim) - inverse.begin());
    if (!llvm::is_sorted(dims))
      return nullptr;
    return BroadcastOp::create(rewriter, op.getLoc(), withShape(type, shape),
                               op.getInput(), dims);
  }
};

struct AssignLayouts : public impl::AssignLayoutsPassBase<AssignLayouts> {
  void runOnOperation() override {
    SmallVector<ImageOpInterface> ops;
    getOperation().walk([&](ImageOpInterface op) {
      int64_t rank = rankOf(op->getOperand(op.getImageOperands().front()));
      if (rank >= 3 && !op.hasChannelsLast())
        ops.push_back(op);
    });
    for (ImageOpInterface op : ops)
      convertImageOp(op);
    numConverted += ops.size();
    if (ops.empty())
      return;
    RewritePatternSet patterns(&getContext());
    patterns.add<SinkTransposes>(&getContext());
    // Where the rounds end early, transposes are left: slower, not wrong.
    (void)applyPatternsGreedily(getOperation(), std::move(patterns));
  }
};

} // namespace
} // namespace zc
