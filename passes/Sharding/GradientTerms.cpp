//===- GradientTerms.cpp - the terms that gradients are sums of -----------===//
#include "passes/Sharding/GradientTerms.h"

#include "dialects/Train/OpMarks.h"
#include "dialects/Train/Ops/OpSupport.h"
#include "dialects/Train/ProgramBuilder.h"
#include "dialects/Train/StateLookup.h"

using namespace mlir;
using namespace zc::train;

namespace zc {

static bool carriesGradients(Operation *op) {
  return dist::getTraffic(op) == dist::kGradients;
}

static bool isAccumulated(func::FuncOp program, unsigned result) {
  auto symbol =
      program.getResultAttrOfType<FlatSymbolRefAttr>(result, kStateAttr);
  // To look a state up takes time.
  if (!symbol || !symbol.getValue().starts_with(kAccumulatedPrefix))
    return false;
  StateOp state = findState(program, symbol);
  return state && state.getKind() == kAccumulator &&
         numElements(state.getType()) > 1;
}

/// Whether the user's result is the sum of what it makes of each term.
static bool addsUp(OpOperand &use) {
  auto shardable = dyn_cast<ShardableOpInterface>(use.getOwner());
  return shardable &&
         shardable.getShardingRule().linearity[use.getOperandNumber()] ==
             Linearity::Joint;
}

/// Whether a use is the end of a gradient's way, or a step of it whose result
/// is among `terms`.
static bool leadsToGradient(func::FuncOp program, OpOperand &use,
                            const DenseSet<Value> &terms) {
  Operation *user = use.getOwner();
  if (isa<func::ReturnOp>(user))
    return isAccumulated(program, use.getOperandNumber());
  if (isa<dist::ReshardOp>(user))
    return carriesGradients(user);
  if (user->hasAttr(kStagingAttr))
    return true;
  return user->getNumResults() == 1 && terms.contains(user->getResult(0)) &&
         addsUp(use);
}

bool isOnlyGradient(func::FuncOp program, Value value,
                    const DenseSet<Value> &terms) {
  return !value.use_empty() &&
         llvm::all_of(value.getUses(), [&](OpOperand &use) {
           return leadsToGradient(program, use, terms);
         });
}

/// Whether somebody makes a gradient of all elements of `value`: one that is
/// reduced right behind.
static bool becomesGradient(Value value) {
  return llvm::any_of(value.getUses(), [&](OpOperand &use) {
    Operation *user = use.getOwner();
    // To make a rule takes time.
    return user->getNumResults() == 1 &&
           numElements(user->getResult(0).getType()) ==
               numElements(value.getType()) &&
           llvm::any_of(user->getUsers(),
                        [](Operation *end) {
                          return isa<dist::ReshardOp>(end) &&
                                 carriesGradients(end);
                        }) &&
           addsUp(use);
  });
}

DenseSet<Value> findGradientTerms(func::FuncOp program) {
  DenseSet<Value> terms;
  Block &block = program.getBody().front();
  for (Operation &op : llvm::reverse(block.without_terminator()))
    for (Value result : op.getResults())
      if (isOnlyGradient(program, result, terms) || becomesGradient(result))
        terms.insert(result);
  return terms;
}

bool isUpToDate(func::FuncOp program, Value value,
                const DenseSet<Value> &terms) {
  const DenseSet<Value> now = findGradientTerms(program);
  return now.contains(value) == terms.contains(value) &&
         isOnlyGradient(program, value, now) ==
             isOnlyGradient(program, value, terms);
}

void updateGradientTerms(func::FuncOp program, DenseSet<Value> &terms,
                         Operation *first, Operation *end,
                         ArrayRef<Value> operands) {
  // A value depends on those that are made of it alone, which stand behind it:
  // whatever the order, all are right once none changes.
  SmallVector<Operation *> left;
  auto lookAgain = [&](auto values) {
    for (Value value : values)
      if (Operation *op = value.getDefiningOp())
        left.push_back(op);
  };
  lookAgain(operands);
  for (Operation *op = first; op != end; op = op->getNextNode()) {
    lookAgain(op->getOperands());
    left.push_back(op);
  }
  while (!left.empty()) {
    Operation *op = left.pop_back_val();
    bool changed = false;
    for (Value result : op->getResults()) {
      const bool isTerm =
          isOnlyGradient(program, result, terms) || becomesGradient(result);
      changed |= isTerm ? terms.insert(result).second : terms.erase(result);
    }
    if (changed)
      lookAgain(op->getOperands());
  }
}

/// 1, 0, 0, ...: a number for each of `count` ranks.
static Value buildFirst(OpBuilder &builder, Location loc, int64_t count,
                        FloatType element) {
  SmallVector<APFloat> numbers(count,
                               APFloat::getZero(element.getFloatSemantics()));
  numbers[0] = APFloat::getOne(element.getFloatSemantics());
  auto type = RankedTensorType::get(count, element);
  return ConstantOp::create(builder, loc,
                            DenseElementsAttr::get(type, ArrayRef(numbers)));
}

Value makeTerm(OpBuilder &builder, Value whole, const Layout &layout,
               const Axes &axes, dist::MeshAttr mesh, Operation *like) {
  Location loc = whole.getLoc();
  auto type = cast<RankedTensorType>(whole.getType());
  int64_t ranks = groupSize(axes, mesh);
  SmallVector<int64_t> shape = {ranks};
  llvm::append_range(shape, type.getShape());
  Value first = broadcast(
      builder, loc,
      buildFirst(builder, loc, ranks, cast<FloatType>(type.getElementType())),
      shape, {0});
  auto dims = llvm::to_vector(llvm::seq<int64_t>(1, type.getRank() + 1));
  Value each = broadcast(builder, loc, whole, shape, dims);
  // Larger than `whole`, it would be added up over other axes.
  if (!layout.unreduced.empty())
    each.getDefiningOp<BroadcastOp>().setStaysTerm(true);
  Value product = MulOp::create(builder, loc, each, first);
  // Every rank has the line of its own, of which the sum is the value.
  auto lines = dist::ReshardOp::create(builder, loc, product);
  Layout divided = layout;
  divided.dims.insert(divided.dims.begin(), axes);
  lines->setAttr(dist::kShardingAttr, divided.toAttr(mesh));
  Value term = reduceSum(builder, loc, lines, {0});
  for (Value made : {product, term})
    copyUnitMarks(like, made.getDefiningOp());
  return term;
}

/// Squares of terms do not add up to the square of their sum: the norm, which
/// roles exchange, is of whole gradients.
static bool addsUpSquares(Operation &op) {
  auto sum = dyn_cast<ReduceOp>(op);
  return sum && sum.getKind() == ReduceKind::SumSquare;
}

DenseSet<Value> findWantedTerms(Block &block) {
  DenseSet<Value> wanted;
  for (Operation &op : llvm::reverse(block)) {
    bool passesOn =
        !addsUpSquares(op) && llvm::any_of(op.getResults(), [&](Value result) {
          return wanted.contains(result);
        });
    if (passesOn || isa<dist::CollectiveOpInterface>(op))
      wanted.insert(op.operand_begin(), op.operand_end());
  }
  return wanted;
}

bool isOnlyReduced(Value value) {
  // Sums of sums meet again: each value is looked at once.
  SmallVector<Value> left = {value};
  DenseSet<Value> seen = {value};
  while (!left.empty())
    for (Operation *user : left.pop_back_val().getUsers()) {
      if (isa<dist::ReshardOp>(user) || user->hasAttr(kStagingAttr))
        continue;
      if (user->getNumResults() != 1 || user->use_empty())
        return false;
      if (seen.insert(user->getResult(0)).second)
        left.push_back(user->getResult(0));
    }
  return true;
}

} // namespace zc
