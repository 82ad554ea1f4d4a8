//===- RowParts.cpp - the ops of a region, some rows at a time ------------===//
#include "passes/Fusion/RowParts.h"

#include "dialects/Train/OpMarks.h"
#include "dialects/Train/Ops/OpSupport.h"

using namespace mlir;
using namespace zc::train;

namespace zc {

namespace {

class RowPartBuilder {
public:
  RowPartBuilder(const RowRegion &region, const RowParts &parts)
      : region(region), parts(parts), builder(region.lastLarge),
        size(region.rows / parts.count),
        ops(region.ops.begin(), region.ops.end()) {}

  void run() {
    noteOutputs();
    builder.setInsertionPointAfter(moveOperands());
    for (part = 0; part < parts.count; ++part) {
      made.clear();
      slices.clear();
      for (Operation *op : region.ops)
        build(op);
    }
    for (auto &[whole, rows] : outputs)
      replace(whole, region.sums.contains(whole.getDefiningOp())
                         ? sums.at(whole)
                         : join(rows, region.results.at(whole).first));
  }

private:
  bool isLast() const { return part + 1 == parts.count; }

  void build(Operation *op) {
    if (auto view = dyn_cast<ReshapeOp>(op))
      return note(view.getResult(), partOf(view.getInputMutable()));
    Operation *copy = copyOfRegion(op);
    if (region.sums.contains(op))
      return addTerm(op, copy);
    for (auto [result, own] : llvm::zip(op->getResults(), copy->getResults()))
      note(result, own);
  }

  void note(Value whole, Value own) {
    made[whole] = own;
    if (auto output = outputs.find(whole); output != outputs.end())
      output->second.push_back(own);
  }

  void noteOutputs();
  Operation *moveOperands();
  Operation *copyOfRegion(Operation *op);
  Operation *copyOp(Operation *op, ArrayRef<Type> types);
  void flattenDims(BroadcastOp op, BroadcastOp copy, RowDims rows);
  void addTerm(Operation *op, Operation *copy);
  Value partOf(OpOperand &operand);
  Value slice(Value value, RowDims rows);
  Value repeat(Value value, RowDims rows, ArrayRef<int64_t> shape);
  void replace(Value whole, Value result);
  Value join(ArrayRef<Value> values, int64_t dim);

  /// The shape of a value with `count` rows, which one dim counts.
  static SmallVector<int64_t> flatShape(Value value, RowDims rows,
                                        int64_t count) {
    SmallVector<int64_t> shape(shapeOf(value));
    shape[rows.first] = count;
    shape.erase(shape.begin() + rows.first + 1,
                shape.begin() + rows.first + rows.count);
    return shape;
  }

  /// A shape whose dim of rows has one in front of it that counts blocks, where
  /// there are several; and the rows' dim then.
  SmallVector<int64_t> inBlocks(SmallVector<int64_t> shape, int64_t dim) const {
    if (parts.blocks > 1) {
      shape[dim] /= parts.blocks;
      shape.insert(shape.begin() + dim, parts.blocks);
    }
    return shape;
  }
  int64_t dimInBlocks(int64_t dim) const { return dim + (parts.blocks > 1); }

  const RowRegion &region;
  const RowParts &parts;
  OpBuilder builder;
  const int64_t size; // rows of a part
  int64_t part = 0;
  DenseMap<Value, Value> made;                       // of this part
  DenseMap<std::pair<Value, int64_t>, Value> slices; // by the first dim of rows
  /// What others than the region's ops read, with its parts' rows so far.
  llvm::MapVector<Value, SmallVector<Value>> outputs;
  DenseMap<Value, Value> sums; // of the parts so far
  const DenseSet<Operation *> ops;
};

void RowPartBuilder::noteOutputs() {
  for (Operation *op : region.ops)
    for (Value result : op->getResults())
      if (llvm::any_of(result.getUsers(),
                       [&](Operation *user) { return !ops.contains(user); }))
        outputs.insert({result, {}});
}

/// Moves what the region reads in front of its parts; else these would all wait
/// for it, with their tensors of all columns. Returns the op before the first.
Operation *RowPartBuilder::moveOperands() {
  Operation *last = region.lastLarge;
  for (Operation *op = last->getNextNode(); op;) {
    Operation *next = op->getNextNode();
    if (region.needed.contains(op) && !ops.contains(op)) {
      op->moveAfter(last);
      last = op;
    }
    op = next;
  }
  return last;
}

/// The dims of a value after those that count rows have become one.
SmallVector<int64_t> flatDims(ArrayRef<int64_t> dims, int64_t rowDims) {
  SmallVector<int64_t> flat;
  for (int64_t dim : dims)
    if (const int64_t place = std::max<int64_t>(dim - rowDims + 1, 0);
        flat.empty() || flat.back() != place)
      flat.push_back(place);
  return flat;
}

/// Gives a broadcast's copy the dims of flat rows. Without rows, its operand
/// may have dims of size 1 that rows repeat; they are left out.
void RowPartBuilder::flattenDims(BroadcastOp op, BroadcastOp copy,
                                 RowDims rows) {
  SmallVector<int64_t> dims(op.getDims());
  if (!region.operands.contains(&op.getInputMutable())) {
    SmallVector<int64_t> shape;
    dims.clear();
    for (auto [dim, extent] : llvm::zip(op.getDims(), shapeOf(op.getInput())))
      if (dim < rows.first || dim >= rows.first + rows.count) {
        dims.push_back(dim);
        shape.push_back(extent);
      }
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPoint(copy);
    copy.getInputMutable().assign(
        reshape(builder, op.getLoc(), op.getInput(), shape));
  }
  copy.setDims(flatDims(dims, rows.count));
}

/// An op that reads its operands' parts, with results of these types.
Operation *RowPartBuilder::copyOp(Operation *op, ArrayRef<Type> types) {
  const auto operands = llvm::map_to_vector(
      op->getOpOperands(), [&](OpOperand &operand) { return partOf(operand); });
  Operation *copy = op->clone();
  copy->setDiscardableAttrs(DictionaryAttr::get(op->getContext()));
  copy->setOperands(operands);
  builder.insert(copy);
  cast<ShardableOpInterface>(copy).setPartTypes(types);
  return copy;
}

Operation *RowPartBuilder::copyOfRegion(Operation *op) {
  Operation *copy = copyOp(
      op, llvm::map_to_vector(op->getResults(), [&](Value result) -> Type {
        auto rows = region.results.find(result);
        if (rows == region.results.end())
          return result.getType();
        return withShape(result.getType(),
                         flatShape(result, rows->second, size));
      }));
  if (auto spread = dyn_cast<BroadcastOp>(op))
    flattenDims(spread, cast<BroadcastOp>(copy),
                region.results.at(spread.getResult()));
  if (auto reduce = dyn_cast<ReduceOp>(op))
    cast<ReduceOp>(copy).setDims(flatDims(
        reduce.getDims(), region.operands.at(&reduce.getInputMutable()).count));
  return copy;
}

/// Adds the part's term of a sum over the rows.
void RowPartBuilder::addTerm(Operation *op, Operation *copy) {
  const Location loc = op->getLoc();
  const Value whole = op->getResult(0);
  Value term = copy->getResult(0);
  const bool isProduct = isa<MatmulOp>(copy);
  if (isProduct || isa<ReduceOp>(copy)) // which add up in float32 in any case
    term.setType(withComputeType(term.getType()));
  Value &sum = sums[whole];
  if (isa<MatmulAddOp>(copy)) {
    if (sum) // the first adds to what the whole op adds to
      copy->setOperand(0, sum);
    sum = term;
  } else if (!sum) {
    sum = term;
  } else if (!isProduct || parts.isDivided) {
    auto added = AddOp::create(builder, loc, sum, term);
    added.setInPlace(isProduct);
    sum = added;
  } else {
    sum = addInPlace(builder, loc, sum, term);
    if (term.use_empty())
      copy->erase();
  }
  if (!isLast())
    return;
  sum = narrow(builder, loc, sum, whole.getType());
  if (auto rounded = sum.getDefiningOp<ConvertOp>())
    rounded.setRoundsResult(false); // ranks add up what parts add up
  // The memory report counts gradients by marks on their producers.
  copyMarks(op, sum.getDefiningOp());
}

/// The same for fewer rows, which `shape` has.
Value RowPartBuilder::repeat(Value value, RowDims rows,
                             ArrayRef<int64_t> shape) {
  Operation *op = value.getDefiningOp();
  Operation *copy = copyOp(op, Type(withShape(value.getType(), shape)));
  if (auto spread = dyn_cast<BroadcastOp>(op))
    flattenDims(spread, cast<BroadcastOp>(copy), rows);
  return copy->getResult(0);
}

/// The part of a value that an operand reads.
Value RowPartBuilder::partOf(OpOperand &operand) {
  const Value value = operand.get();
  if (Value known = made.lookup(value))
    return known;
  auto rows = region.operands.find(&operand);
  if (rows == region.operands.end())
    return value;
  Value &part = slices[{value, rows->second.first}];
  return part ? part : part = slice(value, rows->second);
}

Value RowPartBuilder::slice(Value value, RowDims rows) {
  const Location loc = region.lastLarge->getLoc();
  const SmallVector<int64_t> shape = flatShape(value, rows, size);
  if (isRepeated(value, rows))
    return repeat(value, rows, shape);
  const auto all = inBlocks(flatShape(value, rows, region.rows), rows.first);
  const auto own = inBlocks(shape, rows.first);
  const int64_t dim = dimInBlocks(rows.first);
  SmallVector<int64_t> offsets(all.size(), 0), strides(all.size(), 1);
  offsets[dim] = part * own[dim];
  const Value blocks = reshape(builder, loc, value, all);
  const Value cut = SliceOp::create(
      builder, loc, withShape(value.getType(), own), blocks, offsets, strides);
  return reshape(builder, loc, cut, shape);
}

Value RowPartBuilder::join(ArrayRef<Value> values, int64_t dim) {
  const Location loc = region.lastLarge->getLoc();
  auto shape = inBlocks(SmallVector<int64_t>(shapeOf(values.front())), dim);
  const auto blocks = llvm::map_to_vector(
      values, [&](Value each) { return reshape(builder, loc, each, shape); });
  shape[dimInBlocks(dim)] *= parts.count;
  return ConcatOp::create(builder, loc,
                          withShape(values.front().getType(), shape), blocks,
                          dimInBlocks(dim));
}

/// Gives the readers outside of a region its result.
void RowPartBuilder::replace(Value whole, Value result) {
  const Value shaped =
      reshape(builder, result.getLoc(), result, shapeOf(whole));
  whole.replaceUsesWithIf(
      shaped, [&](OpOperand &use) { return !ops.contains(use.getOwner()); });
}

} // namespace

void computeInParts(const RowRegion &region, const RowParts &parts) {
  RowPartBuilder(region, parts).run();
  for (Operation *op : llvm::reverse(region.ops))
    op->erase();
}

} // namespace zc
