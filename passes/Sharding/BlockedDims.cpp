//===- BlockedDims.cpp - dims that are several dims in a row --------------===//
#include "passes/Sharding/BlockedDims.h"

#include "dialects/Train/Ops/OpSupport.h"
#include "dialects/Train/ProgramBuilder.h"

#include <numeric>

using namespace mlir;
using namespace zc::train;

namespace zc {

namespace {

/// The result dim that counts the blocks in which a reshape cuts a dim of its
/// operand; -1 where the dim is not just cut.
int64_t blockDimOf(ReshapeOp op, int64_t dim) {
  auto from = cast<ShapedType>(op.getInput().getType()).getShape();
  auto to = cast<ShapedType>(op.getType()).getShape();
  int64_t before = 1, size = from[dim], place = 0, product = 1;
  int64_t rank = to.size();
  for (int64_t outer : from.take_front(dim))
    before *= outer;
  while (place < rank && (product < before || to[place] == 1))
    product *= to[place++];
  if (product != before || place == rank || size % to[place] != 0 ||
      to[place] == size)
    return -1;
  product = 1;
  for (int64_t inner = place; inner < rank && product < size; ++inner)
    product *= to[inner];
  return product == size ? place : -1;
}

/// Whether some reader wants all of a dim at once.
bool isCut(Value value, int64_t dim) {
  return llvm::any_of(value.getUses(), [&](OpOperand &use) {
    auto op = dyn_cast<ShardableOpInterface>(use.getOwner());
    return op &&
           op.getShardingRule().operandDims[use.getOperandNumber()][dim] ==
               ShardingRule::kWhole;
  });
}

/// Whether a slice takes elements in a row of one dim, and all of the others.
bool isRow(SliceOp slice, int64_t dim) {
  auto from = cast<ShapedType>(slice.getInput().getType()).getShape();
  auto to = cast<ShapedType>(slice.getType()).getShape();
  for (int64_t other = 0, rank = from.size(); other < rank; ++other)
    if (other != dim && from[other] != to[other])
      return false;
  return from[dim] != to[dim] && slice.getStrides()[dim] == 1;
}

/// The slices of a value that cut a dim in rows, as a split does; none where
/// they overlap or leave elements out.
SmallVector<Operation *> findRows(Value value, int64_t dim) {
  SmallVector<SliceOp> rows;
  for (Operation *user : value.getUsers())
    if (auto slice = dyn_cast<SliceOp>(user); slice && isRow(slice, dim))
      rows.push_back(slice);
  llvm::sort(rows, [&](SliceOp a, SliceOp b) {
    return a.getOffsets()[dim] < b.getOffsets()[dim];
  });
  int64_t next = 0;
  for (SliceOp row : rows) {
    if (row.getOffsets()[dim] != next)
      return {};
    next += cast<ShapedType>(row.getType()).getDimSize(dim);
  }
  if (next != cast<ShapedType>(value.getType()).getDimSize(dim))
    return {};
  return SmallVector<Operation *>(rows.begin(), rows.end());
}

/// The sizes of the results of `ops` along a dim.
SmallVector<int64_t> sizesOf(ArrayRef<Operation *> ops, int64_t dim) {
  SmallVector<int64_t> sizes;
  for (Operation *op : ops)
    for (Type type : op->getResultTypes())
      sizes.push_back(cast<ShapedType>(type).getDimSize(dim));
  return sizes;
}

/// Ops that cut a dim of their operand, and the sizes of the blocks.
struct Blocks {
  SmallVector<Operation *> ops;
  SmallVector<int64_t> sizes;
};

/// The blocks that an op makes, perhaps together with others; nothing where it
/// makes none.
std::optional<Blocks> blocksOf(Operation *op, int64_t dim) {
  if (auto split = dyn_cast<SplitOp>(op);
      split && static_cast<int64_t>(split.getDim()) == dim)
    return Blocks{{op}, sizesOf(op, dim)};
  if (auto slice = dyn_cast<SliceOp>(op)) {
    SmallVector<Operation *> rows = findRows(slice.getInput(), dim);
    if (!llvm::is_contained(rows, op))
      return std::nullopt;
    return Blocks{rows, sizesOf(rows, dim)};
  }
  auto view = dyn_cast<ReshapeOp>(op);
  int64_t place = view ? blockDimOf(view, dim) : -1;
  if (place < 0 || !isCut(view, place))
    return std::nullopt;
  int64_t count = cast<ShapedType>(view.getType()).getDimSize(place);
  int64_t size = cast<ShapedType>(view.getInput().getType()).getDimSize(dim);
  return Blocks{{op}, SmallVector<int64_t>(count, size / count)};
}

/// The dims that would change their order with one that an op cuts.
class BlockedDimFinder {
public:
  std::optional<BlockedDim> find(DimOf cut, ArrayRef<int64_t> sizes) {
    found.sizes.assign(sizes.begin(), sizes.end());
    push(cut);
    while (!left.empty())
      if (!visit(left.pop_back_val()))
        return std::nullopt;
    if (found.states.empty())
      return std::nullopt;
    return found;
  }

private:
  int64_t size() const {
    return std::accumulate(found.sizes.begin(), found.sizes.end(), int64_t(0));
  }

  void push(DimOf dim) {
    // Any order is that of elements that are all the same.
    if (!isRepeatedAlong(dim) && seen.insert(dim).second)
      left.push_back(dim);
  }

  bool visit(DimOf dim) {
    if (isa<BlockArgument>(dim.value)) {
      if (!stateOf(dim.value))
        return false;
      found.states.push_back(dim);
    } else if (!visitLoop(
                   dim.value.getDefiningOp(),
                   [&](const ShardingRule &rule) {
                     auto result = cast<OpResult>(dim.value);
                     return rule.resultDims[result.getResultNumber()];
                   },
                   dim.dim)) {
      return false;
    }
    return llvm::all_of(dim.value.getUses(),
                        [&](OpOperand &use) { return visitUse(use, dim.dim); });
  }

  bool visitUse(OpOperand &use, int64_t dim) {
    Operation *op = use.getOwner();
    if (auto blocks = blocksOf(op, dim)) {
      if (op == blocks->ops.front())
        found.cuts.push_back({{blocks->ops, {}}, dim});
      return blocks->sizes == found.sizes;
    }
    return visitLoop(
        op,
        [&](const ShardingRule &rule) {
          return rule.operandDims[use.getOperandNumber()];
        },
        dim);
  }

  /// The op's loop over a dim must be one that takes elements in any order: one
  /// that runs over single elements and may be divided.
  bool
  visitLoop(Operation *op,
            llvm::function_ref<SmallVector<int>(const ShardingRule &)> dimsOf,
            int64_t dim) {
    auto shardable = dyn_cast<ShardableOpInterface>(op);
    if (!shardable)
      return false;
    ShardingRule rule = shardable.getShardingRule();
    int factor = dimsOf(rule)[dim];
    if (factor == ShardingRule::kWhole || rule.factors[factor].size != size())
      return false;
    return pushAll(op->getOperands(), rule.operandDims, factor) &&
           pushAll(op->getResults(), rule.resultDims, factor);
  }

  bool pushAll(ValueRange values, ArrayRef<SmallVector<int>> dims, int factor) {
    for (auto [value, mine] : llvm::zip(values, dims))
      for (auto [dim, other] : llvm::enumerate(mine)) {
        if (other != factor)
          continue;
        if (cast<ShapedType>(value.getType()).getDimSize(dim) != size())
          return false;
        push({value, static_cast<int64_t>(dim)});
      }
    return true;
  }

  BlockedDim found;
  SmallVector<DimOf> left;
  DenseSet<DimOf> seen;
};

} // namespace

static SmallVector<BlockedDim> findOwn(func::FuncOp program) {
  SmallVector<BlockedDim> found;
  DenseSet<Operation *> known;
  for (Operation &op : program.getBody().front()) {
    if (op.getNumOperands() != 1 || known.contains(&op))
      continue;
    Value operand = op.getOperand(0);
    int64_t rank = cast<ShapedType>(operand.getType()).getRank();
    for (int64_t dim = 0; dim < rank; ++dim) {
      auto blocks = blocksOf(&op, dim);
      if (!blocks)
        continue;
      auto blocked = BlockedDimFinder().find({operand, dim}, blocks->sizes);
      if (!blocked)
        continue;
      for (auto &[cut, place] : blocked->cuts)
        known.insert(cut.ops.begin(), cut.ops.end());
      found.push_back(std::move(*blocked));
      break;
    }
  }
  return found;
}

/// The states' names with the dim's number, in a fixed order.
static SmallVector<std::pair<StringRef, int64_t>>
namesOf(const BlockedDim &blocked) {
  SmallVector<std::pair<StringRef, int64_t>> names;
  for (const DimOf &each : blocked.states)
    names.push_back({stateOf(each.value).getValue(), each.dim});
  llvm::sort(names);
  return names;
}

SmallVector<SmallVector<BlockedDim>> findBlockedDims(func::FuncOp program) {
  SmallVector<SmallVector<BlockedDim>> all;
  for (BlockedDim &own : findOwn(program))
    all.push_back({std::move(own)});
  auto module = program->getParentOfType<ModuleOp>();
  for (auto other : module.getOps<func::FuncOp>()) {
    if (other == program)
      continue;
    SmallVector<BlockedDim> theirs = findOwn(other);
    llvm::erase_if(all, [&](SmallVector<BlockedDim> &forms) {
      auto names = namesOf(forms.front());
      if (llvm::none_of(names, [&](const auto &name) {
            Value argument = findStateArgument(other, name.first);
            return argument && !argument.use_empty();
          }))
        return false;
      auto same = llvm::find_if(theirs, [&](const BlockedDim &each) {
        return each.sizes == forms.front().sizes && namesOf(each) == names;
      });
      if (same == theirs.end())
        return true;
      forms.push_back(*same);
      return false;
    });
  }
  return all;
}

namespace {

/// The blocks in order, or what is seen of them.
SmallVector<Value> resultsOf(const BlockCut &cut) {
  SmallVector<Value> results;
  for (Operation *op : cut.ops)
    llvm::append_range(results, op->getResults());
  return results;
}

/// Builds the ops that replace those of a BlockCut.
class CutBuilder {
public:
  CutBuilder(BlockCut &cut, int64_t dim, int64_t parts)
      : cut(cut), dim(dim), parts(parts), builder(findFirst(cut.ops)) {}

  void run() {
    Value whole = cut.ops.front()->getOperand(0);
    Value view = build<ReshapeOp>(inParts(whole.getType()), whole);
    if (isa<ReshapeOp>(cut.ops.front()))
      transpose(view);
    else
      split(view);
    for (Operation *op : cut.ops)
      op->remove();
  }

private:
  static Operation *findFirst(ArrayRef<Operation *> ops) {
    return *llvm::min_element(
        ops, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  }

  template <typename Op, typename... Args>
  Op build(TypeRange types, Args &&...args) {
    auto op = Op::create(builder, cut.ops.front()->getLoc(), types,
                         std::forward<Args>(args)...);
    cut.instead.push_back(op);
    return op;
  }

  RankedTensorType inParts(Type whole) {
    SmallVector<int64_t> shape(cast<ShapedType>(whole).getShape());
    shape[dim] /= parts;
    shape.insert(shape.begin() + dim, parts);
    return withShape(whole, shape);
  }

  /// [.., parts, size / parts, ..] along the second.
  void split(Value view) {
    SmallVector<Value> blocks = resultsOf(cut);
    SmallVector<Type> types;
    for (Value block : blocks)
      types.push_back(inParts(block.getType()));
    auto inner = build<SplitOp>(TypeRange(types), view, dim + 1);
    for (auto [whole, part] : llvm::zip(blocks, inner.getResults()))
      whole.replaceAllUsesWith(
          build<ReshapeOp>(whole.getType(), part).getResult());
  }

  /// [.., parts, blocks, block / parts, ..] with the blocks in front.
  void transpose(Value view) {
    auto old = cast<ReshapeOp>(cut.ops.front());
    auto type = cast<RankedTensorType>(view.getType());
    int64_t count =
        cast<ShapedType>(old.getType()).getDimSize(blockDimOf(old, dim));
    SmallVector<int64_t> shape(type.getShape());
    shape[dim + 1] /= count;
    shape.insert(shape.begin() + dim + 1, count);
    // The reshape before is this one.
    view.setType(withShape(type, shape));
    SmallVector<int64_t> order = llvm::to_vector(
        llvm::seq<int64_t>(0, static_cast<int64_t>(shape.size())));
    std::swap(order[dim], order[dim + 1]);
    std::swap(shape[dim], shape[dim + 1]);
    Value blocks = build<TransposeOp>(withShape(type, shape), view, order);
    old.getResult().replaceAllUsesWith(
        build<ReshapeOp>(old.getType(), blocks).getResult());
  }

  BlockCut &cut;
  int64_t dim, parts;
  OpBuilder builder;
};

} // namespace

void reorderBlocks(BlockedDim &blocked, int64_t parts) {
  for (auto &[cut, dim] : blocked.cuts)
    CutBuilder(cut, dim, parts).run();
}

void keepBlocks(BlockedDim &blocked) {
  for (auto &[cut, dim] : blocked.cuts)
    for (Operation *op : cut.ops)
      op->destroy();
}

void restoreBlocks(BlockedDim &blocked) {
  for (auto &[cut, dim] : blocked.cuts) {
    OpBuilder builder(cut.instead.front());
    for (Operation *op : cut.ops)
      builder.insert(op);
    SmallVector<Value> blocks = resultsOf(cut);
    ArrayRef<Operation *> results =
        ArrayRef(cut.instead).take_back(blocks.size());
    for (auto [whole, part] : llvm::zip(blocks, results))
      part->getResult(0).replaceAllUsesWith(whole);
    for (Operation *op : llvm::reverse(cut.instead))
      op->erase();
  }
}

} // namespace zc
