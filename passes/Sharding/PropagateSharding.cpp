//===- PropagateSharding.cpp - --zc-propagate-sharding --------------------===//
//
// Forwards, every op's rule says how its results are divided; backwards, a
// value that every rank would have whole but needs in part is computed in part.
// A dist.reshard is divided as its users decide: propagation is repeated until
// all are settled.
//
//===----------------------------------------------------------------------===//
#include "passes/Sharding/CheapValues.h"
#include "passes/Sharding/ExchangedDims.h"
#include "passes/Sharding/GradientTerms.h"
#include "passes/Sharding/Layout.h"
#include "passes/Sharding/OpLayouts.h"
#include "passes/Sharding/Passes.h"
#include "passes/Sharding/SharedHeads.h"

using namespace mlir;
using namespace zc::train;

namespace zc {
#define GEN_PASS_DEF_PROPAGATESHARDINGPASS
#include "passes/Sharding/Passes.h.inc"

namespace {

/// One program.
class Propagation {
public:
  Propagation(func::FuncOp program, SymbolTable &symbols, dist::MeshAttr mesh,
              bool checksTerms)
      : program(program), block(program.getBody().front()), symbols(symbols),
        mesh(mesh), checksTerms(checksTerms) {}

  /// Fails, with a diagnostic, where a check does.
  LogicalResult run() {
    repeatHeadsAgain(program);
    separateCheapValues(block);
    readArguments();
    reduceSumsOnce();
    reduceGradientsOnce();
    bothWays();
    // Users may want a reduced value in parts; then their own results change.
    for (unsigned round = 0; settleReshards() && round < kMaxRounds; ++round)
      bothWays();
    write();
    return success(!isStale);
  }

private:
  static constexpr unsigned kMaxRounds = 8;

  void reduceSumsOnce();
  void reduceGradientsOnce();
  dist::ReshardOp reduceOnce(Value value, StringRef traffic);
  void readArguments();
  void forwards();
  void forward(Operation *op);
  std::optional<StringRef> reducedHere(Operation *op, Value result);
  Operation *replaceByFinerOps(Operation *op);
  Operation *makeTerms(Operation *op);
  bool dividesWholeBatch(ArrayRef<Layout> operands,
                         ArrayRef<SmallVector<int>> operandDims);
  Operation *decompose(Operation *op, ArrayRef<Layout> operands,
                       ArrayRef<Layout> results);
  void bothWays();
  bool backward(Operation *op);
  bool settleReshards();
  std::optional<Layout> findDemand(Value value, bool mayDiffer);
  Layout returnedLayout(unsigned index);
  Layout stateLayout(Attribute symbol, Type type);
  OpLayouts plan(Operation *op, ArrayRef<Layout> hints);
  OpLayouts planCollective(Operation *op);
  void write();

  bool isFree(Value value) const {
    return isZero(value) || openAccumulators.contains(value);
  }

  func::FuncOp program;
  Block &block;
  SymbolTable &symbols;
  dist::MeshAttr mesh;
  DenseMap<Value, Layout> layouts;
  Axes batchAxes;       // those that divide samples, of every input
  Axes tokenAxes;       // those that divide tokens
  Axes outputBatchAxes; // the first input's: an output's samples are divided so
  DenseMap<Operation *, OpLayouts> plans;
  DenseMap<Operation *, Layout> settled; // of reshards
  /// Accumulators whose division follows from what is added to them.
  DenseSet<Value> openAccumulators;
  DenseSet<Value> gradientTerms; // as the program was when last seen forwards
  const bool checksTerms;        // against terms that are found anew
  bool isStale = false;          // they were others
};

} // namespace

dist::ReshardOp Propagation::reduceOnce(Value value, StringRef traffic) {
  OpBuilder builder(program.getContext());
  builder.setInsertionPointAfterValue(value);
  auto reshard = dist::ReshardOp::create(builder, value.getLoc(), value);
  reshard->setAttr(dist::kTrafficAttr, builder.getStringAttr(traffic));
  value.replaceAllUsesExcept(reshard, reshard);
  return reshard;
}

/// Reduces gradients that micro-batches have accumulated before the first
/// reader: both the update and the norm read them.
void Propagation::reduceSumsOnce() {
  DenseSet<Value> asTerms = findWantedTerms(block);
  for (BlockArgument argument : block.getArguments()) {
    bool isGradient = numElements(argument.getType()) > 1 &&
                      !layouts.at(argument).unreduced.empty() &&
                      !argument.use_empty() && !asTerms.contains(argument);
    if (!isGradient)
      continue;
    for (Operation *user : argument.getUsers())
      user->removeAttr(kGradientsAttr); // of the sum, scaled: reduced already
    reduceOnce(argument, dist::kGradients)
        ->setAttr(kGradientsAttr,
                  DenseI64ArrayAttr::get(program.getContext(), {0}));
  }
}

void Propagation::reduceGradientsOnce() {
  for (Operation &op : llvm::make_early_inc_range(block)) {
    auto marked = op.getAttrOfType<DenseI64ArrayAttr>(kGradientsAttr);
    if (!marked || isa<dist::ReshardOp>(op))
      continue;
    for (int64_t result : marked.asArrayRef()) {
      auto reshard = reduceOnce(op.getResult(result), dist::kGradients);
      reshard->setAttr(kGradientsAttr,
                       DenseI64ArrayAttr::get(op.getContext(), {0}));
      // A term that is only staged for its reduction is no gradient.
      if (op.hasAttr(kStagingAttr))
        op.removeAttr(kGradientsAttr);
    }
  }
}

Layout Propagation::stateLayout(Attribute symbol, Type type) {
  auto state =
      symbols.lookup<StateOp>(cast<FlatSymbolRefAttr>(symbol).getValue());
  auto sharding =
      state ? state->getAttrOfType<dist::ShardingAttr>(dist::kShardingAttr)
            : dist::ShardingAttr();
  return sharding ? Layout::from(sharding, mesh) : Layout::replicated(type);
}

void Propagation::readArguments() {
  int axis = mesh.findAxis(kTokenAxis);
  if (axis >= 0 && mesh.getSizes()[axis] > 1 && dividesTokens(program)) {
    tokenAxes = {axis};
    batchAxes = tokenAxes;
  }
  for (BlockArgument argument : block.getArguments()) {
    unsigned index = argument.getArgNumber();
    Layout &layout = layouts[argument];
    layout = layoutOf(argument, mesh);
    if (auto dim =
            program.getArgAttrOfType<IntegerAttr>(index, kBatchDimAttr)) {
      const Axes &axes = layout.dims[dim.getInt()];
      llvm::append_range(batchAxes, axes);
      if (outputBatchAxes.empty())
        outputBatchAxes = axes;
    }
    Attribute symbol = program.getArgAttr(index, kStateAttr);
    if (!symbol)
      continue;
    layout = stateLayout(symbol, argument.getType());
    auto state =
        symbols.lookup<StateOp>(cast<FlatSymbolRefAttr>(symbol).getValue());
    if (state && state.getKind() == kAccumulator &&
        !state->hasAttr(dist::kShardingAttr))
      openAccumulators.insert(argument);
  }
}

//===----------------------------------------------------------------------===//
// Forwards
//===----------------------------------------------------------------------===//

OpLayouts Propagation::plan(Operation *op, ArrayRef<Layout> hints) {
  auto actual = llvm::map_to_vector(
      op->getOperands(), [&](Value value) { return layouts.at(value); });
  auto isFreeOperand = [&](unsigned index) {
    return isFree(op->getOperand(index));
  };
  // All terms of gradients are sent in one type, whatever theirs.
  bool countsElements = llvm::any_of(op->getResults(), [&](Value result) {
    return gradientTerms.contains(result);
  });
  return OpPlanner(op, actual, hints, isFreeOperand, mesh, countsElements)
      .plan();
}

Operation *Propagation::replaceByFinerOps(Operation *op) {
  auto actual = llvm::map_to_vector(
      op->getOperands(), [&](Value value) { return layouts.at(value); });
  if (!OpPlanner(
           op, actual, {}, [](unsigned) { return false; }, mesh)
           .needsFinerOps())
    return nullptr;
  return decompose(op, actual, {});
}

/// A unit's gradients are sums over the samples' axes but for some that every
/// rank computed whole. These become terms too, so that the unit is reduced as
/// one. Returns the first new op, or null.
Operation *Propagation::makeTerms(Operation *op) {
  if (!op->hasAttr(kStagingAttr))
    return nullptr;
  auto isOpen = [&](int axis) {
    return llvm::any_of(op->getOperands(), [&](Value operand) {
      return layouts.at(operand).isUnreduced(axis);
    });
  };
  Axes axes;
  for (int axis = 0; axis < static_cast<int>(mesh.getNumAxes()); ++axis)
    if (llvm::is_contained(batchAxes, axis) && isOpen(axis))
      axes.push_back(axis);
  SmallVector<NamedAttribute> marks;
  for (StringRef name : {StringRef(kStagingAttr), StringRef(kLateAttr)})
    if (Attribute mark = op->getAttr(name))
      marks.emplace_back(StringAttr::get(op->getContext(), name), mark);
  OpBuilder builder(op);
  Operation *before = op->getPrevNode();
  bool any = false;
  for (OpOperand &use : op->getOpOperands()) {
    Layout layout = layouts.at(use.get());
    bool isWhole = llvm::none_of(axes, [&](int axis) {
      return layout.isUnreduced(axis) || layout.divides(axis);
    });
    if (axes.empty() || !isWhole || isFree(use.get()))
      continue;
    use.set(makeTerm(builder, use.get(), layout, axes, mesh, marks));
    any = true;
  }
  if (!any)
    return nullptr;
  return before ? before->getNextNode() : &block.front();
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

/// Replaces an op by finer ones whose operands, and results where given, are
/// divided; returns the first, or null where there are none.
Operation *Propagation::decompose(Operation *op, ArrayRef<Layout> operands,
                                  ArrayRef<Layout> results) {
  auto shardable = cast<ShardableOpInterface>(op);
  ShardingRule rule = shardable.getFinerRule();
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
  OpBuilder builder(op);
  Operation *before = op->getPrevNode();
  auto whole = shardable.getShardingRule().operandDims;
  SmallVector<Value> finer = shardable.decompose(builder, parts);
  if (finer.empty())
    return nullptr;
  Operation *first = before ? before->getNextNode() : &block.front();
  Operation *end = op->getNextNode();
  passMarks(op, finer);
  op->replaceAllUsesWith(finer);
  op->erase();
  if (!dividesWholeBatch(operands, whole))
    return first;
  // A parameter's gradient is reduced with its like.
  for (Operation *made = first; made != end; made = made->getNextNode())
    if (!llvm::all_of(made->getResults(), isOnlyReduced))
      made->setAttr(dist::kTrafficAttr,
                    builder.getStringAttr(dist::kStatistics));
  return first;
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

void Propagation::forward(Operation *op) {
  if (auto reshard = dyn_cast<dist::ReshardOp>(op)) {
    OpLayouts &mine = plans[op];
    Layout input = layouts.at(reshard.getInput()), layout = input;
    layout.unreduced.clear();
    if (op->hasAttr(kGradientsAttr)) // of a table of tokens' places
      for (Axes &axes : layout.dims)
        llvm::erase_if(axes, [&](int axis) {
          return llvm::is_contained(tokenAxes, axis);
        });
    if (auto found = settled.find(op); found != settled.end())
      layout = found->second;
    if (auto fixed = op->getAttrOfType<dist::ShardingAttr>(dist::kShardingAttr))
      layout = Layout::from(fixed, mesh);
    mine.results = {layout};
    mine.operands = {beforeReducing(input, layout)};
    layouts[reshard] = layout;
    return;
  }
  OpLayouts &mine = plans[op] =
      isa<dist::CollectiveOpInterface>(op) ? planCollective(op) : plan(op, {});
  for (auto [result, layout] : llvm::zip(op->getResults(), mine.results))
    layouts[result] = layout;
}

static bool isStatistic(Operation *op) {
  auto traffic = op->getAttrOfType<StringAttr>(dist::kTrafficAttr);
  return traffic && traffic.getValue() == dist::kStatistics &&
         !isa<dist::ReshardOp>(op);
}

/// The traffic of a reduction of `result` right after its op; none if the user
/// that needs it whole reduces it.
std::optional<StringRef> Propagation::reducedHere(Operation *op, Value result) {
  if (layouts.at(result).unreduced.empty() || isa<dist::ReshardOp>(op) ||
      llvm::any_of(result.getUsers(),
                   [](Operation *user) { return isa<dist::ReshardOp>(user); }))
    return std::nullopt;
  // A sum that a finer form takes is used where it is whole.
  if (isStatistic(op))
    return StringRef(dist::kStatistics);
  if (checksTerms && !isUpToDate(program, result, gradientTerms)) {
    op->emitError("what is kept of gradients' terms is not up to date");
    isStale = true;
  }
  // A value of several readers is reduced once, not before each. Gradients are
  // excluded: each is sent with those that it is kept with.
  if (result.use_empty() || result.hasOneUse() ||
      isOnlyGradient(program, result, gradientTerms) ||
      cast<ShapedType>(result.getType()).getNumElements() == 1)
    return std::nullopt;
  return gradientTerms.contains(result) ? StringRef(dist::kGradients)
                                        : StringRef(dist::kActivations);
}

void Propagation::forwards() {
  plans.clear();
  gradientTerms = findGradientTerms(program);
  for (Operation *op = &block.front(); op != block.getTerminator();) {
    const SmallVector<Value> operands(op->getOperands()),
        results(op->getResults());
    Operation *end = op->getNextNode();
    Operation *first = makeTerms(op);
    if (!first && isa<ShardableOpInterface>(op))
      first = replaceByFinerOps(op);
    if (first) {
      for (Value result : results) // perhaps of an op that is no more
        gradientTerms.erase(result);
      updateGradientTerms(program, gradientTerms, first, end, operands);
      op = first;
      continue;
    }
    forward(op);
    Operation *next = moveBack(op, layouts, mesh);
    for (Value result : op->getResults())
      if (std::optional<StringRef> traffic = reducedHere(op, result))
        next = reduceOnce(result, *traffic);
    op = next;
  }
}

//===----------------------------------------------------------------------===//
// Backwards
//===----------------------------------------------------------------------===//

/// How result `index` of the program is to be divided.
Layout Propagation::returnedLayout(unsigned index) {
  Value value = block.getTerminator()->getOperand(index);
  if (Attribute symbol = program.getResultAttr(index, kStateAttr))
    return stateLayout(symbol, value.getType());
  Layout whole = Layout::replicated(value.getType());
  if (auto sharding = program.getResultAttrOfType<dist::ShardingAttr>(
          index, dist::kShardingAttr))
    whole = Layout::from(sharding, mesh);
  auto dim = program.getResultAttrOfType<IntegerAttr>(index, kBatchDimAttr);
  if (dim)
    whole.dims[dim.getInt()] = outputBatchAxes;
  if (auto tokens =
          program.getResultAttrOfType<IntegerAttr>(index, kTokenDimAttr))
    whole.dims[tokens.getInt()] = tokenAxes; // of a message
  return whole;
}

/// The layout in which all users want a value; none if nobody uses it or they
/// differ. With `mayDiffer`, the finest of those that they want.
std::optional<Layout> Propagation::findDemand(Value value, bool mayDiffer) {
  std::optional<Layout> demand;
  auto numParts = [&](const Layout &layout) {
    int64_t parts = 1;
    for (const Axes &axes : layout.dims)
      parts *= groupSize(axes, mesh);
    return parts;
  };
  for (OpOperand &use : value.getUses()) {
    unsigned index = use.getOperandNumber();
    Layout wanted = use.getOwner() == block.getTerminator()
                        ? returnedLayout(index)
                        : plans.at(use.getOwner()).operands[index];
    if (!demand || (mayDiffer && numParts(wanted) > numParts(*demand)))
      demand = wanted;
    else if (!mayDiffer && *demand != wanted)
      return std::nullopt;
  }
  return demand;
}

/// Whether `to` divides further what `from` divides.
static bool refines(const Layout &to, const Layout &from) {
  for (auto [fine, coarse] : llvm::zip(to.dims, from.dims))
    if (fine.size() < coarse.size() ||
        ArrayRef(fine).take_front(coarse.size()) != ArrayRef(coarse))
      return false;
  return to.unreduced == from.unreduced && to != from;
}

/// Divides an op as its users want it; whether finer ops took its place.
bool Propagation::backward(Operation *op) {
  if (!isa<ShardableOpInterface>(op))
    return false;
  SmallVector<Layout> hints;
  bool any = false;
  for (Value result : op->getResults()) {
    std::optional<Layout> demand = findDemand(result, /*mayDiffer=*/false);
    Layout &mine = layouts.at(result);
    if (demand && isZero(result) && !demand->unreduced.empty()) {
      plans.at(op).results[0] = mine = *demand;
      return false;
    }
    bool useful = demand && refines(*demand, mine);
    hints.push_back(useful ? *demand : mine);
    any |= useful;
  }
  if (!any)
    return false;
  OpLayouts finer = plan(op, hints);
  if (ArrayRef(finer.results) != ArrayRef(hints))
    return decompose(op, finer.operands, hints) != nullptr;
  for (auto [result, layout] : llvm::zip(op->getResults(), finer.results))
    layouts[result] = layout;
  plans[op] = std::move(finer);
  return false;
}

/// Both ways, again while ops are replaced by finer ones.
void Propagation::bothWays() {
  bool replaced = true;
  while (replaced) {
    forwards();
    replaced = false;
    for (Operation &op : llvm::reverse(block.without_terminator()))
      if ((replaced = backward(&op)))
        break;
  }
}

/// Takes from the users how reduced values are to be divided; whether that
/// changed anything.
bool Propagation::settleReshards() {
  bool changed = false;
  for (auto reshard : block.getOps<dist::ReshardOp>()) {
    std::optional<Layout> demand = findDemand(reshard, /*mayDiffer=*/true);
    if (!demand || !demand->unreduced.empty() ||
        reshard->hasAttr(dist::kShardingAttr) ||
        !refines(*demand, layouts.at(reshard.getResult())))
      continue;
    settled[reshard] = *demand;
    changed = true;
  }
  return changed;
}

//===----------------------------------------------------------------------===//
// The result
//===----------------------------------------------------------------------===//

static DictionaryAttr withSharding(DictionaryAttr attributes,
                                   dist::ShardingAttr sharding) {
  NamedAttrList list(attributes);
  list.set(dist::kShardingAttr, sharding);
  return list.getDictionary(sharding.getContext());
}

void Propagation::write() {
  // Accumulators hold what is added to them.
  for (unsigned index = 0; index < program.getNumResults(); ++index) {
    Attribute symbol = program.getResultAttr(index, kStateAttr);
    auto state = symbol ? symbols.lookup<StateOp>(
                              cast<FlatSymbolRefAttr>(symbol).getValue())
                        : StateOp();
    if (!state || state.getKind() != kAccumulator ||
        state->hasAttr(dist::kShardingAttr))
      continue;
    Value value = block.getTerminator()->getOperand(index);
    state->setAttr(dist::kShardingAttr, layouts.at(value).toAttr(mesh));
  }
  // All at once: each write of one makes a new list of all.
  SmallVector<DictionaryAttr> ofArguments, ofResults;
  for (BlockArgument argument : block.getArguments()) {
    if (openAccumulators.contains(argument))
      layouts[argument] =
          stateLayout(program.getArgAttr(argument.getArgNumber(), kStateAttr),
                      argument.getType());
    ofArguments.push_back(
        withSharding(program.getArgAttrDict(argument.getArgNumber()),
                     layouts.at(argument).toAttr(mesh)));
  }
  program.setAllArgAttrs(ofArguments);
  for (Operation &op : block.without_terminator()) {
    OpLayouts &mine = plans.at(&op);
    op.setAttr(dist::kOperandsAttr, toArrayAttr(mine.operands, mesh));
    op.setAttr(dist::kResultsAttr, toArrayAttr(mine.results, mesh));
    // Where one is reduced before its end, it is sent as a gradient too.
    if (llvm::any_of(op.getResults(),
                     [&](Value result) {
                       return gradientTerms.contains(result) &&
                              !layouts.at(result).unreduced.empty();
                     }) &&
        !op.hasAttr(dist::kTrafficAttr))
      op.setAttr(dist::kTrafficAttr,
                 StringAttr::get(op.getContext(), dist::kGradients));
  }
  for (unsigned index = 0; index < program.getNumResults(); ++index)
    ofResults.push_back(withSharding(program.getResultAttrDict(index),
                                     returnedLayout(index).toAttr(mesh)));
  program.setAllResultAttrs(ofResults);
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
    SymbolTable symbols(getOperation());
    for (auto program : getOperation().getOps<func::FuncOp>()) {
      if (failed(checkOps(program)))
        return signalPassFailure();
#ifndef NDEBUG
      checksTerms = true;
#endif
      // Terms added to accumulators have their layouts by now.
      if (failed(Propagation(program, symbols, mesh, checksTerms).run()))
        return signalPassFailure();
    }
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
