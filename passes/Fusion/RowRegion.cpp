//===- RowRegion.cpp - ops that work row by row around a tensor -----------===//
#include "passes/Fusion/RowRegion.h"

#include "dialects/Train/ExpertOps.h"
#include "dialects/Train/Ops/MatmulSupport.h"
#include "passes/Sharding/DimClasses.h"

using namespace mlir;
using namespace zc::train;

namespace zc {

namespace {

using Loops = SmallVector<int, 4>;

/// Whether an op computes the same of rows that one dim counts instead of
/// several.
bool takesFlatRows(Operation *op) {
  return isa<ElementwiseOpInterface, BroadcastOp, ReduceOp, MatmulOp,
             MatmulAddOp, SoftmaxCrossEntropyOp, SoftmaxCrossEntropyGradOp>(op);
}

/// The rule of an op whose parts come one after another: unlike ranks, the
/// parts of a product that adds to a sum may divide the dim that it sums over.
ShardingRule ruleAlongTime(ShardableOpInterface op) {
  if (auto sum = dyn_cast<MatmulAddOp>(op.getOperation()))
    return getMatmulAddRule(sum, /*splitSum=*/true);
  return op.getShardingRule();
}

/// The loops of an op that run over the rows, and the one over the columns.
struct OpLoops {
  ShardingRule rule, finer;
  Loops rows;
  int column = ShardingRule::kWhole; // of the finer rule

  FactorKind kind() const { return rule.factors[rows[0]].kind; }

  /// Whether the rows can be taken a part at a time.
  bool canDivide(Operation *op) const {
    if (llvm::is_contained(rows, ShardingRule::kWhole) ||
        (rows.size() > 1 && !takesFlatRows(op)))
      return false;
    return kind() != FactorKind::OtherReduction &&
           llvm::all_of(rows, [&](int loop) {
             return rule.factors[loop].kind == kind();
           });
  }

  /// The dim that has the columns, of a value with these dims in the finer
  /// rule.
  std::optional<int64_t> columnIn(ArrayRef<int> dims) const {
    const auto *found = llvm::find(dims, column);
    if (column == ShardingRule::kWhole || found == dims.end())
      return std::nullopt;
    return found - dims.begin();
  }
};

class RegionFinder {
public:
  std::optional<RowRegion> find(Value large) {
    const int64_t last = int64_t(shapeOf(large).size()) - 1;
    if (last < 1)
      return std::nullopt;
    region.block = large.getParentBlock();
    mostElements = numElements(large.getType());
    region.rows = mostElements / shapeOf(large)[last];
    if (!addLarge(large, {0, last}, last) || !addLargeOps() || ops.empty() ||
        !addPaths() || !isTied() || hasWideOutput())
      return std::nullopt;
    sort();
    return std::move(region);
  }

private:
  bool addLargeOps();
  bool addOp(Operation *op, Value from);
  bool addReshape(ReshapeOp op, Value from);
  RowDims rowsOf(Value value) const;
  bool addOperands(Operation *op, const OpLoops &loops);
  bool addResults(Operation *op, const OpLoops &loops);
  FailureOr<std::optional<RowDims>> findRows(Value value, ArrayRef<int> dims,
                                             const Loops &rows) const;
  FailureOr<std::optional<RowDims>> addValue(Value value, ArrayRef<int> dims,
                                             ArrayRef<int> finer,
                                             const OpLoops &loops);
  bool addLarge(Value value, RowDims dims, int64_t column);
  bool addPaths();
  bool addPath(Operation *op);
  bool isTied();
  bool hasWideOutput() const;
  void sort();

  /// A large tensor whose rows and columns are known.
  struct Large {
    RowDims rows;
    int64_t column;
  };

  RowRegion region;
  int64_t mostElements = 0; // of a term of a sum, and of rows that others read
  llvm::SetVector<Operation *> ops;
  DenseMap<Value, Large> larges;
  SmallVector<Value> pending; // large tensors whose ops are to be added
};

/// The dims of an operand or result of `op` by a rule of it; of the first of
/// several places.
ArrayRef<int> dimsOf(Operation *op, Value value, const ShardingRule &rule) {
  for (auto [each, dims] : llvm::zip(op->getOperands(), rule.operandDims))
    if (each == value)
      return dims;
  return rule.resultDims[cast<OpResult>(value).getResultNumber()];
}

bool RegionFinder::addLargeOps() {
  while (!pending.empty()) {
    const Value large = pending.pop_back_val();
    Operation *maker = large.getDefiningOp();
    if (!maker || !addOp(maker, large))
      return false;
    for (Operation *user : large.getUsers())
      if (!addOp(user, large))
        return false;
  }
  return true;
}

/// Adds a tensor of all rows and columns; one that is repeated is no reason to
/// add the ops that make and read it.
bool RegionFinder::addLarge(Value value, RowDims dims, int64_t column) {
  if (isRepeated(value, dims))
    return true;
  auto [known, isNew] = larges.insert({value, {dims, column}});
  if (isNew)
    pending.push_back(value);
  return known->second.rows == dims && known->second.column == column;
}

/// The rows of a value of an op whose loops `rows` run over them; none if it
/// has none, a failure if they cannot be divided.
FailureOr<std::optional<RowDims>>
RegionFinder::findRows(Value value, ArrayRef<int> dims,
                       const Loops &rows) const {
  auto isOfRows = [&](int loop) { return llvm::is_contained(rows, loop); };
  const auto *first = llvm::find_if(dims, isOfRows);
  if (first == dims.end())
    return std::optional<RowDims>();
  const int64_t place = first - dims.begin(), count = rows.size();
  const bool isTogether = dims.slice(place).take_front(count) == ArrayRef(rows);
  if (!isTogether || llvm::count_if(dims, isOfRows) != count ||
      (count > 1 && place != 0))
    return failure();
  if (ShapedType::getNumElements(shapeOf(value).slice(place, count)) !=
      region.rows)
    return failure();
  return std::optional<RowDims>({place, count});
}

/// The same rows, counted by other dims.
bool RegionFinder::addReshape(ReshapeOp op, Value from) {
  const bool isForwards = from == op.getInput();
  const Value to = isForwards ? Value(op.getResult()) : op.getInput();
  const RowDims rows = rowsOf(from);
  const auto tail = shapeOf(from).drop_front(rows.count);
  const auto shape = shapeOf(to);
  if (rows.first != 0 || shape.size() <= tail.size() ||
      shape.take_back(tail.size()) != tail)
    return false;
  const RowDims there = {0, int64_t(shape.size() - tail.size())};
  std::optional<int64_t> column;
  if (auto large = larges.find(from); large != larges.end())
    column = large->second.column + there.count - rows.count;
  region.operands.insert({&op.getInputMutable(), isForwards ? rows : there});
  region.results.insert({op.getResult(), isForwards ? there : rows});
  return !column || addLarge(to, there, *column);
}

/// Whether the terms of a sum over rows can be added up, and cost less than
/// `most` elements if they do not add up in a product.
bool takesTerms(Operation *op, const ShardingRule &rule, const Loops &rows,
                int64_t most) {
  if (op->getNumResults() != 1)
    return false;
  if (isa<MatmulOp>(op))
    return true;
  const Type type = op->getResult(0).getType();
  if (isNarrow(getElementTypeOrSelf(type)) && !isa<ReduceOp>(op))
    return false;
  if (isa<MatmulAddOp>(op))
    return true; // each part's product adds to the sum of those before
  if (numElements(type) > most)
    return false;
  // A term of its own would count once per part.
  for (auto [linearity, dims] : llvm::zip(rule.linearity, rule.operandDims))
    if (linearity == Linearity::Joint && !llvm::is_contained(dims, rows[0]))
      return false;
  return true;
}

/// Adds an op by a value of it whose rows are known.
bool RegionFinder::addOp(Operation *op, Value from) {
  if (!ops.insert(op))
    return true;
  if (auto view = dyn_cast<ReshapeOp>(op))
    return addReshape(view, from);
  auto shardable = dyn_cast<ShardableOpInterface>(op);
  if (!shardable || isa<GroupedMatmulOp>(op)) // whose order numbers all rows
    return false;
  OpLoops loops{ruleAlongTime(shardable), shardable.getFinerRule(), {}};
  const RowDims place = rowsOf(from);
  loops.rows.assign(
      dimsOf(op, from, loops.rule).slice(place.first, place.count));
  if (auto large = larges.find(from); large != larges.end())
    loops.column = dimsOf(op, from, loops.finer)[large->second.column];
  return loops.canDivide(op) && addOperands(op, loops) && addResults(op, loops);
}

/// The rows of a large tensor, or of a result of the region.
RowDims RegionFinder::rowsOf(Value value) const {
  auto large = larges.find(value);
  return large != larges.end() ? large->second.rows : region.results.at(value);
}

/// Does as findRows for a value with these dims in the rule and in the finer
/// one, and adds it if it is large.
FailureOr<std::optional<RowDims>> RegionFinder::addValue(Value value,
                                                         ArrayRef<int> dims,
                                                         ArrayRef<int> finer,
                                                         const OpLoops &loops) {
  auto rows = findRows(value, dims, loops.rows);
  if (failed(rows) || !*rows)
    return rows;
  if (auto column = loops.columnIn(finer);
      column && !addLarge(value, **rows, *column))
    return failure();
  return rows;
}

bool RegionFinder::addOperands(Operation *op, const OpLoops &loops) {
  for (auto [operand, dims, finer] :
       llvm::zip(op->getOpOperands(), loops.rule.operandDims,
                 loops.finer.operandDims)) {
    auto rows = addValue(operand.get(), dims, finer, loops);
    if (failed(rows))
      return false;
    if (*rows)
      region.operands.insert({&operand, **rows});
  }
  return true;
}

bool RegionFinder::addResults(Operation *op, const OpLoops &loops) {
  if (loops.kind() == FactorKind::Sum) {
    region.sums.insert(op);
    return takesTerms(op, loops.rule, loops.rows, mostElements);
  }
  for (auto [result, dims, finer] : llvm::zip(
           op->getResults(), loops.rule.resultDims, loops.finer.resultDims)) {
    auto rows = addValue(result, dims, finer, loops);
    if (failed(rows) || !*rows)
      return false;
    region.results.insert({result, **rows});
  }
  return true;
}

/// Adds the ops between the region's: those that need its results, and whose
/// results it needs.
bool RegionFinder::addPaths() {
  DenseSet<Operation *> after;
  for (Operation &op : *region.block)
    if (llvm::any_of(op.getOperands(), [&](Value value) {
          Operation *maker = value.getDefiningOp();
          return maker && (ops.contains(maker) || after.contains(maker));
        }))
      after.insert(&op);
  for (Operation &op : llvm::reverse(*region.block))
    if (llvm::any_of(op.getUsers(), [&](Operation *user) {
          return ops.contains(user) || region.needed.contains(user);
        }))
      region.needed.insert(&op);
  for (Operation &op : *region.block)
    if (after.contains(&op) && region.needed.contains(&op) &&
        !ops.contains(&op) && !addPath(&op))
      return false;
  return true;
}

/// Adds an op that makes one number a row.
bool RegionFinder::addPath(Operation *op) {
  auto hasRows = [&](Value value) { return region.results.contains(value); };
  auto known = llvm::find_if(op->getOperands(), hasRows);
  return known != op->operand_end() && addOp(op, *known) &&
         llvm::all_of(op->getResults(), [&](Value result) {
           return numElements(result.getType()) == region.rows;
         });
}

/// Whether the region's ops read each other's rows as they are made. Sums have
/// none.
bool RegionFinder::isTied() {
  return llvm::all_of(ops, [&](Operation *op) {
    return llvm::all_of(op->getOpOperands(), [&](OpOperand &operand) {
      if (!ops.contains(operand.get().getDefiningOp()))
        return true;
      auto made = region.results.find(operand.get());
      auto read = region.operands.find(&operand);
      return made != region.results.end() && read != region.operands.end() &&
             made->second == read->second;
    });
  });
}

/// Whether other ops read rows that would be joined for more than is saved.
bool RegionFinder::hasWideOutput() const {
  return llvm::any_of(region.results, [&](const auto &entry) {
    const Value result = entry.first;
    return numElements(result.getType()) > mostElements &&
           llvm::any_of(result.getUsers(),
                        [&](Operation *user) { return !ops.contains(user); });
  });
}

void RegionFinder::sort() {
  region.ops = ops.takeVector();
  llvm::sort(region.ops,
             [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  for (Operation *op : region.ops)
    if (llvm::any_of(op->getResults(),
                     [&](Value result) { return larges.contains(result); }))
      region.lastLarge = op;
}

} // namespace

bool isRepeated(Value value, RowDims rows) {
  if (!isa_and_nonnull<BroadcastOp, ConstantOp>(value.getDefiningOp()))
    return false;
  for (int64_t dim = rows.first; dim < rows.first + rows.count; ++dim)
    if (!isRepeatedAlong({value, dim}))
      return false;
  return true;
}

std::optional<RowRegion> findRowRegion(Value large) {
  return RegionFinder().find(large);
}

} // namespace zc
