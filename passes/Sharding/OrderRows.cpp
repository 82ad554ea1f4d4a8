//===- OrderRows.cpp - --zc-order-rows ------------------------------------===//
//
// Models that keep tokens before samples (torch.nn.MultiheadAttention, LSTMs)
// make rows of both for their linear layers. A rank's samples are no range of
// such rows, so that ranks would gather them and all compute the same. The
// order of rows matters to nobody but to the reshapes that make them and take
// them apart: these get a transpose, which meets another in most models.
//
//===----------------------------------------------------------------------===//
#include "dialects/Train/Ops/DimGroups.h"
#include "dialects/Train/Ops/OpSupport.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "passes/Sharding/DimClasses.h"
#include "passes/Sharding/Passes.h"

using namespace mlir;
using namespace zc::train;

namespace zc {
#define GEN_PASS_DEF_ORDERROWSPASS
#include "passes/Sharding/Passes.h.inc"

namespace {

/// The sizes of a shape's dims, without those of one element.
SmallVector<int64_t> sizesOfDims(ArrayRef<int64_t> shape,
                                 ArrayRef<int64_t> dims) {
  SmallVector<int64_t> sizes;
  for (int64_t dim : dims)
    if (shape[dim] != 1)
      sizes.push_back(shape[dim]);
  return sizes;
}

/// The dims that a reshape merges to a dim of its result, or makes of one of
/// its operand. None where the dim shares its group with others.
std::optional<DimGroup> groupOf(ReshapeOp op, int64_t dim, bool ofResult) {
  ArrayRef<int64_t> from = shapeOf(op.getInput());
  ArrayRef<int64_t> to = shapeOf(op.getResult());
  for (DimGroup &group : groupDims(from, to)) {
    ArrayRef<int64_t> mine = ofResult ? group.to : group.from;
    if (!llvm::is_contained(mine, dim))
      continue;
    if (sizesOfDims(ofResult ? to : from, mine).size() != 1)
      return std::nullopt;
    return group;
  }
  return std::nullopt;
}

/// Rows of samples and other dims, and all ops that make them or take them
/// apart.
struct Rows {
  SmallVector<int64_t> sizes; // of the merged dims
  size_t samples;             // which of them counts samples
  SmallVector<std::pair<ReshapeOp, DimGroup>> merging, splitting;
};

/// Follows the dim of rows through a program.
class RowFinder {
public:
  explicit RowFinder(Rows &rows) : rows(rows) {
    for (int64_t size : rows.sizes)
      count *= size;
  }

  /// Whether nobody but reshapes to and from rows sees their order.
  bool find(DimOf dim) {
    push(dim);
    while (!left.empty())
      if (!visit(left.pop_back_val()))
        return false;
    return true;
  }

private:
  void push(DimOf dim) {
    if (!isRepeatedAlong(dim) && seen.insert(dim).second)
      left.push_back(dim);
  }

  bool visit(DimOf dim) {
    Operation *producer = dim.value.getDefiningOp();
    if (!producer)
      return false;
    if (auto view = dyn_cast<ReshapeOp>(producer)) {
      if (!visitReshape(view, dim.dim, /*ofResult=*/true))
        return false;
    } else if (!visitLoop(producer, [&](const ShardingRule &rule) {
                 return rule.resultDims[cast<OpResult>(dim.value)
                                            .getResultNumber()][dim.dim];
               })) {
      return false;
    }
    return llvm::all_of(dim.value.getUses(), [&](OpOperand &use) {
      if (auto view = dyn_cast<ReshapeOp>(use.getOwner()))
        return visitReshape(view, dim.dim, /*ofResult=*/false);
      return visitLoop(use.getOwner(), [&](const ShardingRule &rule) {
        return rule.operandDims[use.getOperandNumber()][dim.dim];
      });
    });
  }

  /// A reshape merges dims to rows, takes rows apart, or leaves them alone.
  bool visitReshape(ReshapeOp op, int64_t dim, bool ofResult) {
    auto group = groupOf(op, dim, ofResult);
    if (!group)
      return false;
    Value other = ofResult ? op.getInput() : op.getResult();
    ArrayRef<int64_t> dims = ofResult ? group->from : group->to;
    SmallVector<int64_t> sizes = sizesOfDims(shapeOf(other), dims);
    if (sizes == rows.sizes) {
      if (known.insert(op).second)
        (ofResult ? rows.merging : rows.splitting).push_back({op, *group});
      return true;
    }
    if (sizes.size() != 1)
      return false;
    for (int64_t each : dims)
      if (shapeOf(other)[each] != 1)
        push({other, each});
    return true;
  }

  /// A loop over single rows takes them in any order.
  bool visitLoop(Operation *op,
                 llvm::function_ref<int(const ShardingRule &)> factorOf) {
    auto shardable = dyn_cast<ShardableOpInterface>(op);
    if (!shardable)
      return false;
    ShardingRule rule = shardable.getShardingRule();
    int factor = factorOf(rule);
    return factor != ShardingRule::kWhole &&
           rule.factors[factor].size == count &&
           pushAll(op->getOperands(), rule.operandDims, factor) &&
           pushAll(op->getResults(), rule.resultDims, factor);
  }

  bool pushAll(ValueRange values, ArrayRef<SmallVector<int>> dims, int factor) {
    for (auto [value, mine] : llvm::zip(values, dims))
      for (auto [dim, other] : llvm::enumerate(mine)) {
        if (other != factor)
          continue;
        if (shapeOf(value)[dim] != count)
          return false;
        push({value, static_cast<int64_t>(dim)});
      }
    return true;
  }

  Rows &rows;
  int64_t count = 1;
  SmallVector<DimOf> left;
  DenseSet<DimOf> seen;
  DenseSet<Operation *> known;
};

/// The order of a shape's dims with one of `group` in front of its others.
SmallVector<int64_t> orderWithFirst(int64_t rank, ArrayRef<int64_t> group,
                                    int64_t first) {
  SmallVector<int64_t> order;
  for (int64_t dim = 0; dim < rank; ++dim) {
    if (dim == group.front())
      order.push_back(first);
    if (dim != first)
      order.push_back(dim);
  }
  return order;
}

/// The dim that counts samples: the `samples`th of those dims that have more
/// than one element.
int64_t sampleDim(const Rows &rows, ArrayRef<int64_t> shape,
                  ArrayRef<int64_t> dims) {
  size_t next = 0;
  for (int64_t dim : dims)
    if (shape[dim] != 1 && next++ == rows.samples)
      return dim;
  llvm_unreachable("a group of rows has a dim of samples");
}

/// Reshapes in `ordered` that are replaced leave their places there to others.
void reorder(Rows &rows, DenseSet<Operation *> &ordered) {
  for (auto &[op, group] : rows.merging) {
    OpBuilder builder(op);
    ArrayRef<int64_t> shape = shapeOf(op.getInput());
    auto order = orderWithFirst(shape.size(), group.from,
                                sampleDim(rows, shape, group.from));
    op.getInputMutable().assign(
        transpose(builder, op.getLoc(), op.getInput(), order));
  }
  for (auto &[op, group] : rows.splitting) {
    OpBuilder builder(op);
    ArrayRef<int64_t> shape = shapeOf(op.getResult());
    auto order = orderWithFirst(shape.size(), group.to,
                                sampleDim(rows, shape, group.to));
    SmallVector<int64_t> sizes, back(order.size());
    for (auto [place, dim] : llvm::enumerate(order)) {
      sizes.push_back(shape[dim]);
      back[dim] = place;
    }
    Value view = reshape(builder, op.getLoc(), op.getInput(), sizes);
    op.getResult().replaceAllUsesWith(
        transpose(builder, op.getLoc(), view, back));
    if (ordered.erase(op))
      ordered.insert(view.getDefiningOp());
    op->erase();
  }
}

/// Sinks what moves dim 0 below an elementwise op, towards the transpose that
/// moves it back.
class SinkBelowElementwise
    : public OpInterfaceRewritePattern<ElementwiseOpInterface> {
public:
  using OpInterfaceRewritePattern::OpInterfaceRewritePattern;

  LogicalResult matchAndRewrite(ElementwiseOpInterface elementwise,
                                PatternRewriter &rewriter) const override {
    Operation *op = elementwise;
    TransposeOp moved;
    for (Value operand : op->getOperands())
      if (!moved)
        moved = operand.getDefiningOp<TransposeOp>();
    if (!moved || moved.getPermutation()[0] == 0 || op->getNumResults() != 1 ||
        shapeOf(op->getResult(0)) != shapeOf(moved))
      return failure();
    SmallVector<std::function<Value()>> makers;
    for (Value operand : op->getOperands()) {
      auto maker = findSource(rewriter, operand, moved);
      if (!maker)
        return failure();
      makers.push_back(maker);
    }
    SmallVector<Value> operands;
    for (auto &maker : makers)
      operands.push_back(maker());
    Operation *below = rewriter.clone(*op);
    below->setOperands(operands);
    below->getResult(0).setType(
        withShape(op->getResult(0).getType(), shapeOf(moved.getInput())));
    rewriter.replaceOpWithNewOp<TransposeOp>(op, op->getResult(0).getType(),
                                             below->getResult(0),
                                             moved.getPermutation());
    return success();
  }

private:
  /// Makes the value of which `operand` is the transpose; null where that takes
  /// another transpose.
  static std::function<Value()> findSource(PatternRewriter &rewriter,
                                           Value operand, TransposeOp moved) {
    Operation *producer = operand.getDefiningOp();
    ArrayRef<int64_t> order = moved.getPermutation();
    auto source = cast<RankedTensorType>(moved.getInput().getType());
    if (auto same = dyn_cast_or_null<TransposeOp>(producer)) {
      if (!same->hasOneUse() || same.getPermutation() != order)
        return nullptr;
      return [same]() mutable { return same.getInput(); };
    }
    if (auto constant = dyn_cast_or_null<ConstantOp>(producer)) {
      auto dense = dyn_cast<DenseElementsAttr>(constant.getValue());
      if (!dense || !dense.isSplat())
        return nullptr;
      return [=, &rewriter]() mutable -> Value {
        auto type = withShape(operand.getType(), source.getShape());
        return ConstantOp::create(rewriter, constant.getLoc(), type,
                                  dense.resizeSplat(type));
      };
    }
    auto repeated = dyn_cast_or_null<BroadcastOp>(producer);
    if (!repeated)
      return nullptr;
    SmallVector<int64_t> dims;
    for (int64_t dim : repeated.getDims())
      dims.push_back(order[dim]);
    if (!llvm::is_sorted(dims))
      return nullptr;
    return [=, &rewriter]() mutable -> Value {
      return BroadcastOp::create(
          rewriter, repeated.getLoc(),
          withShape(operand.getType(), source.getShape()), repeated.getInput(),
          dims);
    };
  }
};

struct OrderRows : public impl::OrderRowsPassBase<OrderRows> {
  void runOnOperation() override {
    for (auto program : getOperation().getOps<func::FuncOp>()) {
      bool changed = false;
      ordered.clear();
      while (reorderNext(program))
        changed = true;
      if (changed)
        sinkTransposes(program);
    }
  }

private:
  static bool countsSamples(func::FuncOp program, const DimClass &dims) {
    return llvm::any_of(dims.getArguments(), [&](const DimOf &each) {
      auto batch = program.getArgAttrOfType<IntegerAttr>(
          cast<BlockArgument>(each.value).getArgNumber(), kBatchDimAttr);
      return batch && batch.getInt() == each.dim;
    });
  }

  /// Whether some rows had their samples behind other dims.
  bool reorderNext(func::FuncOp program) {
    for (const DimClass &dims : findDimClasses(program)) {
      if (!countsSamples(program, dims))
        continue;
      for (OpOperand *operand : dims.gathers) {
        auto view = dyn_cast<ReshapeOp>(operand->getOwner());
        if (!view)
          continue;
        SmallVector<int64_t> samples;
        for (const DimOf &each : dims.dims)
          if (each.value == operand->get())
            samples.push_back(each.dim);
        if (llvm::any_of(samples, [&](int64_t dim) {
              return reorderRowsOf(view, dim, samples);
            }))
          return true;
      }
    }
    return false;
  }

  /// Puts dim `samples` in front of the dims that `view` merges it with. Other
  /// dims may count samples, too (`all`): then one of them may be in front.
  bool reorderRowsOf(ReshapeOp view, int64_t samples, ArrayRef<int64_t> all) {
    ArrayRef<int64_t> from = shapeOf(view.getInput());
    ArrayRef<int64_t> to = shapeOf(view.getResult());
    for (const DimGroup &group : groupDims(from, to)) {
      if (!llvm::is_contained(group.from, samples) || from[samples] == 1)
        continue;
      Rows rows;
      rows.sizes = sizesOfDims(from, group.from);
      rows.samples = 0;
      for (int64_t dim : group.from)
        rows.samples += dim < samples && from[dim] != 1;
      const int64_t front = *llvm::find_if(
          group.from, [&](int64_t dim) { return from[dim] != 1; });
      if (llvm::is_contained(all, front) ||
          sizesOfDims(to, group.to).size() != 1)
        return false;
      for (int64_t dim : group.to)
        if (to[dim] != 1 && !RowFinder(rows).find({view.getResult(), dim}))
          return false;
      // Rows that meet may have their samples at different places: whichever
      // comes first is ordered, once.
      if (llvm::any_of(rows.merging, [&](auto &merging) {
            return ordered.contains(merging.first);
          }))
        return false;
      for (auto &[op, merged] : rows.merging)
        ordered.insert(op);
      numOrdered += rows.merging.size();
      reorder(rows, ordered);
      return true;
    }
    return false;
  }

  /// Reshapes that merge dims in an order that this pass has chosen.
  DenseSet<Operation *> ordered;

  void sinkTransposes(func::FuncOp program) {
    RewritePatternSet patterns(&getContext());
    patterns.add<SinkBelowElementwise>(&getContext());
    TransposeOp::getCanonicalizationPatterns(patterns, &getContext());
    ReshapeOp::getCanonicalizationPatterns(patterns, &getContext());
    SliceOp::getCanonicalizationPatterns(patterns, &getContext());
    // Wherever it ends, the program is right.
    (void)applyPatternsGreedily(program, std::move(patterns));
  }
};

} // namespace
} // namespace zc
