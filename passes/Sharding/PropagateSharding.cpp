//===- PropagateSharding.cpp - --zc-propagate-sharding --------------------===//
//
// Forwards, every op's rule says how its results are divided; backwards, a
// value that every rank would have whole but needs in part is computed in part.
// A dist.reshard is divided as its users decide: propagation is repeated until
// all are settled.
//
// How an op is divided may ask for another op in its place, or for a reduction
// behind it. Propagation decides so (find..., backward), Replacements.h changes
// the program, and then the next op is looked at. Values that are cheap, and
// dims that are exchanged, have files of their own.
//
//===----------------------------------------------------------------------===//
#include "passes/Sharding/CheapValues.h"
#include "passes/Sharding/ExchangedDims.h"
#include "passes/Sharding/GradientTerms.h"
#include "passes/Sharding/Layout.h"
#include "passes/Sharding/OpLayouts.h"
#include "passes/Sharding/Passes.h"
#include "passes/Sharding/Propagation.h"
#include "passes/Sharding/Replacements.h"
#include "passes/Sharding/SharedHeads.h"

using namespace mlir;
using namespace zc::train;

namespace zc {
#define GEN_PASS_DEF_PROPAGATESHARDINGPASS
#include "passes/Sharding/Passes.h.inc"

LogicalResult Propagation::run() {
  repeatHeadsAgain(program);
  separateCheapValues(block);
  readArguments();
  reduceSumsOnce();
  reduceGradientsOnce();
  bothWays();
  // Users may want a reduced value in parts; then their own results change.
  // It ends: each time some reshard is divided along more axes than before
  // (refines()), and there are only those of the mesh.
  while (settleReshards())
    bothWays();
  write();
  return success(!isStale);
}

void Propagation::reduceGradient(Value value) {
  reduceOnce(value, dist::kGradients)
      ->setAttr(kGradientsAttr,
                DenseI64ArrayAttr::get(program.getContext(), {0}));
}

/// Whether an argument is a sum over micro-batches that ranks still have terms
/// of.
bool Propagation::isOpenSum(BlockArgument argument) {
  return numElements(argument.getType()) > 1 &&
         !layouts.at(argument).unreduced.empty() && !argument.use_empty();
}

/// Reduces gradients that micro-batches have accumulated before the first
/// reader: both the update and the norm read them.
void Propagation::reduceSumsOnce() {
  DenseSet<Value> asTerms = findWantedTerms(block);
  for (BlockArgument argument : block.getArguments()) {
    if (!isOpenSum(argument) || asTerms.contains(argument))
      continue;
    for (Operation *user : argument.getUsers())
      user->removeAttr(kGradientsAttr); // of the sum, scaled: reduced already
    reduceGradient(argument);
  }
}

void Propagation::reduceGradientsOnce() {
  for (Operation &op : llvm::make_early_inc_range(block)) {
    auto marked = op.getAttrOfType<DenseI64ArrayAttr>(kGradientsAttr);
    if (!marked || isa<dist::ReshardOp>(op))
      continue;
    for (int64_t result : marked.asArrayRef()) {
      reduceGradient(op.getResult(result));
      // A term that is only staged for its reduction is no gradient.
      if (op.hasAttr(kStagingAttr))
        op.removeAttr(kGradientsAttr);
    }
  }
}

StateOp Propagation::findState(Attribute symbol) {
  return symbols.lookup<StateOp>(cast<FlatSymbolRefAttr>(symbol).getValue());
}

Layout Propagation::stateLayout(Attribute symbol, Type type) {
  StateOp state = findState(symbol);
  auto sharding =
      state ? state->getAttrOfType<dist::ShardingAttr>(dist::kShardingAttr)
            : dist::ShardingAttr();
  return sharding ? Layout::from(sharding, mesh) : Layout::replicated(type);
}

/// Takes from an argument which axes divide samples.
void Propagation::readBatch(unsigned index, const Layout &layout) {
  auto dim = program.getArgAttrOfType<IntegerAttr>(index, kBatchDimAttr);
  if (!dim)
    return;
  const Axes &axes = layout.dims[dim.getInt()];
  llvm::append_range(batchAxes, axes);
  if (outputBatchAxes.empty())
    outputBatchAxes = axes;
}

void Propagation::readTokenAxes() {
  int axis = mesh.findAxis(kTokenAxis);
  if (axis < 0 || mesh.getSizes()[axis] <= 1 || !dividesTokens(program))
    return;
  tokenAxes = {axis};
  batchAxes = tokenAxes;
}

void Propagation::readState(BlockArgument argument, Attribute symbol) {
  layouts[argument] = stateLayout(symbol, argument.getType());
  StateOp state = findState(symbol);
  if (state && state.getKind() == kAccumulator &&
      !state->hasAttr(dist::kShardingAttr))
    openAccumulators.insert(argument);
}

void Propagation::readArguments() {
  readTokenAxes();
  for (BlockArgument argument : block.getArguments()) {
    unsigned index = argument.getArgNumber();
    layouts[argument] = layoutOf(argument, mesh);
    readBatch(index, layouts[argument]);
    if (Attribute symbol = program.getArgAttr(index, kStateAttr))
      readState(argument, symbol);
  }
}

//===----------------------------------------------------------------------===//
// Forwards
//===----------------------------------------------------------------------===//

SmallVector<Layout> Propagation::operandLayouts(Operation *op) {
  return llvm::map_to_vector(op->getOperands(),
                             [&](Value value) { return layouts.at(value); });
}

bool Propagation::makesTerm(Operation *op) {
  return llvm::any_of(op->getResults(), [&](Value result) {
    return gradientTerms.contains(result);
  });
}

OpLayouts Propagation::plan(Operation *op, ArrayRef<Layout> hints) {
  auto isFreeOperand = [&](unsigned index) {
    return isFree(op->getOperand(index));
  };
  // All terms of gradients are sent in one type, whatever theirs.
  return OpPlanner(op, operandLayouts(op), hints, isFreeOperand, mesh,
                   /*countsElements=*/makesTerm(op))
      .plan();
}

/// The finer form for operands that are divided along a dim that the op wants
/// whole.
std::optional<FinerForm> Propagation::findFinerForm(Operation *op) {
  const SmallVector<Layout> actual = operandLayouts(op);
  auto isNoneFree = [](unsigned) { return false; };
  if (!OpPlanner(op, actual, {}, isNoneFree, mesh).needsFinerOps())
    return std::nullopt;
  return finerFormFor(op, actual, {});
}

/// The samples' axes along which some operand is still to be reduced.
Axes Propagation::findOpenAxes(Operation *op) {
  auto isOpen = [&](int axis) {
    return llvm::any_of(op->getOperands(), [&](Value operand) {
      return layouts.at(operand).isUnreduced(axis);
    });
  };
  Axes axes;
  for (int axis = 0; axis < static_cast<int>(mesh.getNumAxes()); ++axis)
    if (llvm::is_contained(batchAxes, axis) && isOpen(axis))
      axes.push_back(axis);
  return axes;
}

static bool isWholeAlong(const Axes &axes, const Layout &layout) {
  return llvm::none_of(axes, [&](int axis) {
    return layout.isUnreduced(axis) || layout.divides(axis);
  });
}

/// A unit's gradients are sums over the samples' axes but for some that every
/// rank computed whole. These become terms too, so that the unit is reduced as
/// one.
WholeOperands Propagation::findWholeOperands(Operation *op) {
  if (!op->hasAttr(kStagingAttr))
    return {};
  WholeOperands whole = {findOpenAxes(op), {}};
  if (whole.axes.empty())
    return whole;
  for (OpOperand &use : op->getOpOperands()) {
    const Layout &layout = layouts.at(use.get());
    if (isWholeAlong(whole.axes, layout) && !isFree(use.get()))
      whole.operands.push_back({use.getOperandNumber(), layout});
  }
  return whole;
}

/// Whether an axis that divides samples divides a dim that a rule wants whole:
/// sums over it are statistics of the batch.
bool Propagation::dividesWholeBatch(ArrayRef<Layout> operands,
                                    ArrayRef<SmallVector<int>> operandDims) {
  for (auto [layout, dims] : llvm::zip(operands, operandDims))
    for (auto [axes, factor] : llvm::zip(layout.dims, dims))
      if (factor == ShardingRule::kWhole && llvm::any_of(axes, [&](int axis) {
            return llvm::is_contained(batchAxes, axis);
          }))
        return true;
  return false;
}

/// In how many parts each factor of a rule is divided by these layouts.
SmallVector<int64_t> Propagation::countFactorParts(const ShardingRule &rule,
                                                   ArrayRef<Layout> operands,
                                                   ArrayRef<Layout> results) {
  SmallVector<int64_t> parts(rule.factors.size(), 1);
  auto count = [&](const Layout &layout, ArrayRef<int> dims) {
    for (auto [axes, factor] : llvm::zip(layout.dims, dims))
      if (factor != ShardingRule::kWhole &&
          rule.factors[factor].size % groupSize(axes, mesh) == 0)
        parts[factor] = std::max(parts[factor], groupSize(axes, mesh));
  };
  for (auto [layout, dims] : llvm::zip(operands, rule.operandDims))
    count(layout, dims);
  for (auto [layout, dims] : llvm::zip(results, rule.resultDims))
    count(layout, dims);
  return parts;
}

/// The finer form of an op whose operands, and results where given, are
/// divided so.
FinerForm Propagation::finerFormFor(Operation *op, ArrayRef<Layout> operands,
                                    ArrayRef<Layout> results) {
  auto shardable = cast<ShardableOpInterface>(op);
  return {countFactorParts(shardable.getFinerRule(), operands, results),
          dividesWholeBatch(operands, shardable.getShardingRule().operandDims)};
}

/// The layouts of a collective that precedes propagation: it knows them.
OpLayouts Propagation::planCollective(Operation *op) {
  auto collective = cast<dist::CollectiveOpInterface>(op);
  auto asked =
      collective.getOperandSharding(layouts.at(op->getOperand(0)).toAttr(mesh));
  std::string error; // of what it asks for itself there is none
  return {{Layout::from(asked, mesh)},
          {Layout::from(collective.applyTo(asked, error), mesh)}};
}

/// How a reshard divides its result: as told, as its users want it, or else as
/// its operand is divided.
Layout Propagation::chooseLayout(dist::ReshardOp reshard) {
  if (auto fixed =
          reshard->getAttrOfType<dist::ShardingAttr>(dist::kShardingAttr))
    return Layout::from(fixed, mesh);
  if (auto found = settled.find(reshard); found != settled.end())
    return found->second;
  Layout layout = layouts.at(reshard.getInput());
  layout.unreduced.clear();
  if (reshard->hasAttr(kGradientsAttr)) // of a table of tokens' places
    gatherTokens(layout);
  return layout;
}

void Propagation::gatherTokens(Layout &layout) {
  auto isOfTokens = [&](int axis) {
    return llvm::is_contained(tokenAxes, axis);
  };
  for (Axes &axes : layout.dims)
    llvm::erase_if(axes, isOfTokens);
}

void Propagation::forward(Operation *op) {
  OpLayouts &mine = plans[op];
  if (auto reshard = dyn_cast<dist::ReshardOp>(op)) {
    const Layout layout = chooseLayout(reshard);
    mine.results = {layout};
    mine.operands = {beforeReducing(layouts.at(reshard.getInput()), layout)};
  } else {
    mine = isa<dist::CollectiveOpInterface>(op) ? planCollective(op)
                                                : plan(op, {});
  }
  for (auto [result, layout] : llvm::zip(op->getResults(), mine.results))
    layouts[result] = layout;
}

static bool isStatistic(Operation *op) {
  return dist::getTraffic(op) == dist::kStatistics && !isa<dist::ReshardOp>(op);
}

static bool isResharded(Value value) {
  auto isReshard = [](Operation *op) { return isa<dist::ReshardOp>(op); };
  return llvm::any_of(value.getUsers(), isReshard);
}

void Propagation::checkTerms(Value value) {
  if (!checksTerms || isUpToDate(program, value, gradientTerms))
    return;
  emitError(value.getLoc(),
            "what is kept of gradients' terms is not up to date");
  isStale = true;
}

/// A value of several readers is reduced once, not before each. Gradients are
/// excluded: each is sent with those that it is kept with.
bool Propagation::isReducedByReaders(Value value) {
  return value.use_empty() || value.hasOneUse() ||
         isOnlyGradient(program, value, gradientTerms) ||
         cast<ShapedType>(value.getType()).getNumElements() == 1;
}

/// The traffic of a reduction of `result` right after its op; none if the user
/// that needs it whole reduces it.
std::optional<Traffic> Propagation::reducedHere(Operation *op, Value result) {
  if (layouts.at(result).unreduced.empty() || isa<dist::ReshardOp>(op) ||
      isResharded(result))
    return std::nullopt;
  // A sum that a finer form takes is used where it is whole.
  if (isStatistic(op))
    return dist::kStatistics;
  checkTerms(result);
  if (isReducedByReaders(result))
    return std::nullopt;
  return gradientTerms.contains(result) ? dist::kGradients : dist::kActivations;
}

/// Puts terms in front of an op, or finer ops in its place; returns the first
/// new op, or null.
Operation *Propagation::replace(Operation *op) {
  const SmallVector<Value> operands(op->getOperands()),
      results(op->getResults());
  Operation *end = op->getNextNode();
  Operation *first = nullptr;
  if (WholeOperands whole = findWholeOperands(op); !whole.operands.empty())
    first = makeTerms(op, whole, mesh);
  else if (isa<ShardableOpInterface>(op))
    if (std::optional<FinerForm> form = findFinerForm(op))
      first = makeFiner(op, *form);
  if (!first)
    return nullptr;
  for (Value result : results) // perhaps of an op that is no more
    gradientTerms.erase(result);
  updateGradientTerms(program, gradientTerms, first, end, operands);
  return first;
}

/// Returns the op that comes next.
Operation *Propagation::reduceResults(Operation *op, Operation *next) {
  for (Value result : op->getResults())
    if (std::optional<Traffic> traffic = reducedHere(op, result))
      next = reduceOnce(result, *traffic);
  return next;
}

void Propagation::forwards() {
  plans.clear();
  gradientTerms = findGradientTerms(program);
  for (Operation *op = &block.front(); op != block.getTerminator();) {
    if (Operation *first = replace(op)) {
      op = first;
      continue;
    }
    forward(op);
    op = reduceResults(op, moveBack(op, layouts, mesh));
  }
}

namespace {

struct PropagateSharding
    : public impl::PropagateShardingPassBase<PropagateSharding> {
  using PropagateShardingPassBase::PropagateShardingPassBase;

  void runOnOperation() override {
    dist::MeshAttr mesh = dist::getMesh(getOperation());
    if (!mesh) {
      getOperation().emitError("has no dist.mesh; run --zc-annotate-mesh");
      return signalPassFailure();
    }
#ifndef NDEBUG
    checksTerms = true;
#endif
    SymbolTable symbols(getOperation());
    // Terms added to accumulators have their layouts by now.
    for (auto program : getOperation().getOps<func::FuncOp>())
      if (failed(checkOps(program)) ||
          failed(Propagation(program, symbols, mesh, checksTerms).run()))
        return signalPassFailure();
  }

private:
  /// A collective that may stand among ops whose shardings are still to be
  /// chosen.
  static bool asksForSharding(Operation *op) {
    auto collective = dyn_cast<dist::CollectiveOpInterface>(op);
    return collective &&
           collective.getOperandSharding(dist::getReplicated(
               op->getContext(),
               cast<RankedTensorType>(op->getOperand(0).getType()).getRank()));
  }

  static LogicalResult checkOps(func::FuncOp program) {
    if (!program.getBody().hasOneBlock())
      return program.emitError("is not one block of ops");
    for (Operation &op : program.getBody().front().without_terminator())
      if (!isa<ShardableOpInterface, dist::ReshardOp>(op) &&
          !asksForSharding(&op))
        return op.emitError("has no sharding rule");
    return success();
  }
};

} // namespace
} // namespace zc
