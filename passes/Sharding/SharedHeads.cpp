//===- SharedHeads.cpp - fewer heads than ranks ---------------------------===//
#include "passes/Sharding/SharedHeads.h"

#include "dialects/Dist/DistDialect.h"
#include "dialects/Train/Ops/DimGroups.h"
#include "dialects/Train/Ops/OpSupport.h"
#include "dialects/Train/StateLookup.h"
#include "passes/Analysis/ForwardOps.h"
#include "passes/Analysis/Tensors.h"

#include "llvm/ADT/STLExtras.h"

#include <numeric>

using namespace mlir;
using namespace zc::train;

namespace zc {

namespace {

/// Repeats the blocks of a dim, one for each head, from where they begin on:
/// what only the repeated blocks' readers read is computed for these.
class BlockRepeater {
public:
  BlockRepeater(int64_t heads, int64_t count, Operation *reader)
      : heads(heads), count(count), reader(reader), builder(reader) {}

  /// `value`, whose dim `dim` has `heads` blocks, with `count`.
  Value repeat(Value value, int64_t dim) {
    dims[value] = dim;
    findOps();
    for (Operation *op : llvm::reverse(ops))
      computeRepeated(op);
    return repeated(value);
  }

  /// A block on the way that is cut out of others, or none.
  std::optional<DimOf> findCut(Value value, int64_t dim) {
    dims[value] = dim;
    findOps();
    for (Operation *op = reader->getPrevNode(); op; op = op->getPrevNode())
      for (Value each : op->getResults())
        if (auto place = dims.find(each);
            place != dims.end() && isCutBlock({each, place->second}))
          return DimOf{each, place->second};
    return std::nullopt;
  }

  ArrayRef<Value> getSources() const { return sources; }

private:
  /// The ops that are repeated, the last one first.
  void findOps() {
    size_t found = 0;
    for (Operation *op = reader->getPrevNode(); op && found < dims.size();
         op = op->getPrevNode()) {
      if (op->getNumResults() != 1 || !dims.contains(op->getResult(0)))
        continue;
      ++found;
      const DimOf result{op->getResult(0), dims.at(op->getResult(0))};
      if (takesBlocks(result) && (isRepeatedAlong(result) || isReadHere(op)) &&
          wantOperands(op, factorOf(result)))
        ops.push_back(op);
    }
  }

  /// Wants what an op reads along `factor`; false where one is wanted along
  /// another dim already.
  bool wantOperands(Operation *op, int factor) {
    SmallVector<std::pair<Value, int64_t>> wanted;
    for (auto [operand, mine] :
         llvm::zip(op->getOperands(), ruleOf(op).operandDims))
      if (const auto *at = llvm::find(mine, factor); at != mine.end())
        wanted.push_back({operand, at - mine.begin()});
    if (llvm::any_of(wanted, [&](const auto &each) {
          auto found = dims.find(each.first);
          return found != dims.end() && found->second != each.second;
        }))
      return false;
    dims.insert(wanted.begin(), wanted.end());
    return true;
  }

  static ShardingRule ruleOf(Operation *op) {
    return cast<ShardableOpInterface>(op).getShardingRule();
  }

  static int factorOf(DimOf result) {
    return ruleOf(result.value.getDefiningOp()).resultDims[0][result.dim];
  }

  /// Whether an op takes the blocks one by one: what ranks may compute in parts
  /// depends on no place in the dim.
  bool takesBlocks(DimOf result) const {
    Operation *op = result.value.getDefiningOp();
    if (!isa<ShardableOpInterface>(op))
      return false;
    const int factor = factorOf(result);
    if (factor == ShardingRule::kWhole)
      return false;
    const Factor loop = ruleOf(op).factors[factor];
    return loop.kind == FactorKind::Parallel && loop.size % heads == 0;
  }

  bool isReadHere(Operation *op) const {
    return llvm::all_of(op->getUsers(), [&](Operation *user) {
      return user == reader || llvm::is_contained(ops, user);
    });
  }

  void computeRepeated(Operation *op) {
    const Value result = op->getResult(0);
    const ShardingRule rule = ruleOf(op);
    const int factor = factorOf({result, dims.at(result)});
    Operation *made = op->clone();
    for (auto [operand, mine] :
         llvm::zip(made->getOpOperands(), rule.operandDims))
      if (llvm::is_contained(mine, factor))
        operand.set(repeated(operand.get()));
    builder.insert(made);
    SmallVector<int64_t> shape(shapeOf(result));
    for (auto [size, mine] : llvm::zip(shape, rule.resultDims[0]))
      if (mine == factor)
        size = repeatedSize(size);
    cast<ShardableOpInterface>(made).setPartTypes(
        TypeRange{withShape(result.getType(), shape)});
    known[result] = made->getResult(0);
  }

  Value repeated(Value value) {
    Value &found = known[value];
    if (!found) {
      found = copyBlocks(value, dims.at(value));
      sources.push_back(value);
    }
    return found;
  }

  int64_t repeatedSize(int64_t size) const { return size / heads * count; }

  Value copyBlocks(Value value, int64_t dim) {
    Location loc = value.getLoc();
    SmallVector<int64_t> whole(shapeOf(value)), shape(whole);
    shape[dim] = heads;
    shape.insert(shape.begin() + dim + 1, whole[dim] / heads);
    Value blocks = reshape(builder, loc, value, shape);
    shape[dim] = count;
    Value copies =
        GatherOp::create(builder, loc, withShape(value.getType(), shape),
                         blocks, makeIndices(loc), dim);
    whole[dim] = repeatedSize(whole[dim]);
    return reshape(builder, loc, copies, whole);
  }

  /// The head that each of `count` is a copy of.
  Value makeIndices(Location loc) {
    SmallVector<int64_t> indices;
    for (int64_t i = 0; i < count; ++i)
      indices.push_back(i / (count / heads));
    auto type = RankedTensorType::get({count}, builder.getI64Type());
    return ConstantOp::create(builder, loc,
                              DenseElementsAttr::get(type, ArrayRef(indices)));
  }

  int64_t heads, count;
  Operation *reader;
  OpBuilder builder;             // in front of the reader
  DenseMap<Value, int64_t> dims; // of what has blocks
  SmallVector<Operation *> ops;  // that are repeated, the last one first
  DenseMap<Value, Value> known;  // repeated
  SmallVector<Value> sources;    // whose blocks are copied
};

/// Where a reshape merges heads with their copies.
struct Merge {
  int64_t heads, copies; // dims of the operand
  int64_t queries;       // the result's
};

} // namespace

static int64_t onlyDimOf(ArrayRef<int64_t> dims, ArrayRef<int64_t> shape) {
  int64_t only = -1;
  for (int64_t dim : dims)
    if (shape[dim] != 1) {
      if (only >= 0)
        return -1;
      only = dim;
    }
  return only;
}

/// The merge of a reshape of which `parts` divide queries' heads alone.
static std::optional<Merge> findMerge(ReshapeOp op, int64_t parts) {
  ArrayRef<int64_t> from = shapeOf(op.getInput());
  ArrayRef<int64_t> to = shapeOf(op.getResult());
  for (const DimGroup &group : groupDims(from, to)) {
    SmallVector<int64_t> dims;
    for (int64_t dim : group.from)
      if (from[dim] != 1)
        dims.push_back(dim);
    const int64_t queries = onlyDimOf(group.to, to);
    if (queries >= 0 && dims.size() == 2 && to[queries] % parts == 0 &&
        from[dims[0]] % parts != 0 && isRepeatedAlong({op.getInput(), dims[1]}))
      return Merge{dims[0], dims[1], queries};
  }
  return std::nullopt;
}

/// Computes by themselves the heads that one product makes with others.
static SeparateBlocks separateHeads(BroadcastOp copies, int64_t heads,
                                    int64_t dim) {
  auto cut =
      BlockRepeater(heads, heads, copies).findCut(copies.getInput(), dim);
  return cut ? separateBlocks(*cut) : SeparateBlocks();
}

/// Repeats heads to divide by `parts`; nothing where no broadcast makes their
/// copies.
static std::optional<SharedHeads> repeatMerged(ReshapeOp op, const Merge &merge,
                                               int64_t parts) {
  auto copies = op.getInput().getDefiningOp<BroadcastOp>();
  if (!copies)
    return std::nullopt;
  ArrayRef<int64_t> places = copies.getDims();
  const auto *place = llvm::find(places, merge.heads);
  if (place == places.end())
    return std::nullopt;
  const int64_t dim = place - places.begin();
  SmallVector<int64_t> shape(shapeOf(op.getInput()));
  const int64_t heads = shape[merge.heads], count = std::lcm(heads, parts);
  if (shapeOf(copies.getInput())[dim] != heads)
    return std::nullopt; // one head
  SeparateBlocks blocks = separateHeads(copies, heads, dim);
  BlockRepeater repeater(heads, count, copies);
  Value repeated = repeater.repeat(copies.getInput(), dim);
  OpBuilder builder(op);
  shape[merge.copies] /= count / heads;
  shape[merge.heads] = count;
  Value fewer = broadcast(builder, copies.getLoc(), repeated, shape, places);
  auto made = ReshapeOp::create(builder, op.getLoc(), op.getType(), fewer);
  return SharedHeads{op,
                     made,
                     merge.queries,
                     heads,
                     SmallVector<Value>(repeater.getSources()),
                     std::move(blocks)};
}

SmallVector<SharedHeads> repeatHeads(func::FuncOp program, int64_t parts) {
  SmallVector<SharedHeads> all;
  for (auto op : llvm::to_vector(program.getOps<ReshapeOp>()))
    if (std::optional<Merge> merge = findMerge(op, parts))
      if (std::optional<SharedHeads> made = repeatMerged(op, *merge, parts)) {
        op.replaceAllUsesWith(made->repeated.getResult());
        all.push_back(std::move(*made));
      }
  return all;
}

/// Whether an op has each element of its operand once, at another place or in
/// another type.
static bool movesElements(Operation *op) {
  return isa_and_nonnull<ReshapeOp, TransposeOp, ConvertOp>(op);
}

bool repeatsHeads(GatherOp op) {
  DenseIntElementsAttr indices;
  if (!matchPattern(op.getIndices(), m_Constant(&indices)))
    return false;
  const int64_t heads = op.getTable().getType().getDimSize(op.getDim());
  const int64_t count = indices.getNumElements();
  if (count <= heads || count % heads != 0)
    return false;
  for (auto [i, index] : llvm::enumerate(indices.getValues<APInt>()))
    if (index.getSExtValue() != int64_t(i) / (count / heads))
      return false;
  return true;
}

StateOp findSourceState(Value source) {
  while (movesElements(source.getDefiningOp()) ||
         source.getDefiningOp<SliceOp>())
    source = source.getDefiningOp()->getOperand(0);
  return isa<BlockArgument>(source) ? findState(source) : StateOp();
}

static bool repeatsParameter(GatherOp op) {
  if (!repeatsHeads(op))
    return false;
  StateOp state = findSourceState(op.getTable());
  return state && (state.getKind() == kParameter || state.getKind() == kCopy);
}

/// Gives readers in the backward a copy of `op`, and of what moves its elements
/// in the forward.
static void repeatForBackward(Operation *op,
                              const DenseSet<Operation *> &forward) {
  for (Operation *user : llvm::to_vector(op->getUsers()))
    if (forward.contains(user) && movesElements(user))
      repeatForBackward(user, forward);
  Operation *first = nullptr;
  for (Operation *user : op->getUsers())
    if (!forward.contains(user) && (!first || user->isBeforeInBlock(first)))
      first = user;
  if (!first)
    return;
  OpBuilder builder(first);
  Operation *again = builder.clone(*op);
  dist::setPass(again, dist::StepPass::Backward);
  op->getResult(0).replaceUsesWithIf(again->getResult(0), [&](OpOperand &use) {
    return use.getOwner() != again && !forward.contains(use.getOwner());
  });
}

void repeatHeadsAgain(func::FuncOp program) {
  const DenseSet<Operation *> forward = findForwardOps(program);
  for (auto op : llvm::to_vector(program.getOps<GatherOp>()))
    if (forward.contains(op) && repeatsParameter(op))
      repeatForBackward(op, forward);
}

void restoreHeads(const SharedHeads &heads) {
  ReshapeOp repeated = heads.repeated, asGiven = heads.asGiven;
  repeated.replaceAllUsesWith(asGiven.getResult());
  restoreBlocks(heads.blocks);
}

} // namespace zc
