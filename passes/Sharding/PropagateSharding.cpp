//===- PropagateSharding.cpp - --zc-propagate-sharding --------------------===//
//
// Forwards, every op's rule says how its results are divided; backwards, what
// every rank has whole and only needs in part is computed in part. Where a
// value must be reduced once for all its users stands a dist.reshard; how that
// is divided is decided by the users, so that propagation is repeated until
// these places are settled.
//
//===----------------------------------------------------------------------===//
#include "passes/Sharding/Layout.h"
#include "passes/Sharding/OpLayouts.h"
#include "passes/Sharding/Passes.h"

using namespace mlir;
using namespace zc::train;

namespace zc {
#define GEN_PASS_DEF_PROPAGATESHARDINGPASS
#include "passes/Sharding/Passes.h.inc"

namespace {

double bytesOf(TypeRange types) {
  double bytes = 0;
  for (Type type : types)
    bytes += double(numElements(type)) *
             cast<ShapedType>(type).getElementTypeBitWidth();
  return bytes;
}

/// One program.
class Propagation {
public:
  Propagation(func::FuncOp program, SymbolTable &symbols, dist::MeshAttr mesh)
      : program(program), block(program.getBody().front()), symbols(symbols),
        mesh(mesh) {}

  void run() {
    separateCheapValues();
    reduceGradientsOnce();
    readArguments();
    forwards();
    backwards();
    // Users may want a reduced value in parts; then their own results change.
    for (unsigned round = 0; settleReshards() && round < kMaxRounds; ++round) {
      forwards();
      backwards();
    }
    write();
  }

private:
  static constexpr unsigned kMaxRounds = 8;

  void separateCheapValues();
  void reduceGradientsOnce();
  dist::ReshardOp reduceOnce(Value value, StringRef traffic);
  void readArguments();
  void forwards();
  void forward(Operation *op);
  Operation *replaceByFinerOps(Operation *op);
  void backwards();
  void backward(Operation *op);
  bool settleReshards();
  std::optional<Layout> findDemand(Value value, bool mayDiffer);
  Layout returnedLayout(unsigned index);
  Layout stateLayout(Attribute symbol, Type type);
  OpLayouts plan(Operation *op, ArrayRef<Layout> hints);
  void write();

  bool isFree(Value value) const {
    return isZero(value) || openAccumulators.contains(value);
  }

  func::FuncOp program;
  Block &block;
  SymbolTable &symbols;
  dist::MeshAttr mesh;
  DenseMap<Value, Layout> layouts;
  DenseMap<Operation *, OpLayouts> plans;
  DenseMap<Operation *, Layout> settled; // of reshards
  /// Accumulators whose division follows from what is added to them.
  DenseSet<Value> openAccumulators;
};

} // namespace

/// What costs nothing and makes more out of less may be meant whole by one user
/// and in part by another.
void Propagation::separateCheapValues() {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block))) {
    auto cost = dyn_cast<CostOpInterface>(op);
    if (!cost || cost.getFlops() > 0 || op.getNumResults() != 1 ||
        bytesOf(op.getResultTypes()) <= bytesOf(op.getOperandTypes()))
      continue;
    OpBuilder builder(&op);
    for (OpOperand &use :
         llvm::make_early_inc_range(llvm::drop_begin(op.getUses())))
      use.set(builder.clone(op)->getResult(0));
  }
}

dist::ReshardOp Propagation::reduceOnce(Value value, StringRef traffic) {
  OpBuilder builder(program.getContext());
  builder.setInsertionPointAfterValue(value);
  auto reshard = dist::ReshardOp::create(builder, value.getLoc(), value);
  reshard->setAttr(dist::kTrafficAttr, builder.getStringAttr(traffic));
  value.replaceAllUsesExcept(reshard, reshard);
  return reshard;
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
      // What is only on its way to be reduced is no gradient.
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
  for (BlockArgument argument : block.getArguments()) {
    unsigned index = argument.getArgNumber();
    Layout &layout = layouts[argument];
    layout = layoutOf(argument, mesh);
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
  return OpPlanner(op, actual, hints, isFreeOperand, mesh).plan();
}

/// Whether a value, and all that is made of it alone, ends in reshards or is
/// concatenated for one.
static bool isOnlyReduced(Value value) {
  return llvm::all_of(value.getUsers(), [](Operation *user) {
    if (isa<dist::ReshardOp>(user) || user->hasAttr(kStagingAttr))
      return true;
    return user->getNumResults() == 1 && !user->use_empty() &&
           isOnlyReduced(user->getResult(0));
  });
}

Operation *Propagation::replaceByFinerOps(Operation *op) {
  auto actual = llvm::map_to_vector(
      op->getOperands(), [&](Value value) { return layouts.at(value); });
  if (!OpPlanner(
           op, actual, {}, [](unsigned) { return false; }, mesh)
           .needsFinerOps())
    return nullptr;
  OpBuilder builder(op);
  Operation *before = op->getPrevNode();
  SmallVector<Value> finer = cast<ShardableOpInterface>(op).decompose(builder);
  if (finer.empty())
    return nullptr;
  Operation *first = before ? before->getNextNode() : &block.front();
  Operation *end = op->getNextNode();
  op->replaceAllUsesWith(finer);
  op->erase();
  // A parameter's gradient is reduced with its like.
  for (Operation *made = first; made != end; made = made->getNextNode())
    if (!llvm::all_of(made->getResults(), isOnlyReduced))
      made->setAttr(dist::kTrafficAttr,
                    builder.getStringAttr(dist::kStatistics));
  return first;
}

void Propagation::forward(Operation *op) {
  if (auto reshard = dyn_cast<dist::ReshardOp>(op)) {
    OpLayouts &mine = plans[op];
    Layout layout = layouts.at(reshard.getInput());
    mine.operands = {layout};
    layout.unreduced.clear();
    if (auto found = settled.find(op); found != settled.end())
      layout = found->second;
    if (auto fixed = op->getAttrOfType<dist::ShardingAttr>(dist::kShardingAttr))
      layout = Layout::from(fixed, mesh);
    mine.results = {layout};
    layouts[reshard] = layout;
    return;
  }
  OpLayouts &mine = plans[op] = plan(op, {});
  for (auto [result, layout] : llvm::zip(op->getResults(), mine.results))
    layouts[result] = layout;
}

static bool isStatistic(Operation *op) {
  auto traffic = op->getAttrOfType<StringAttr>(dist::kTrafficAttr);
  return traffic && traffic.getValue() == dist::kStatistics &&
         !isa<dist::ReshardOp>(op);
}

void Propagation::forwards() {
  plans.clear();
  for (Operation *op = &block.front(); op != block.getTerminator();) {
    if (!isa<dist::ReshardOp>(op))
      if (Operation *first = replaceByFinerOps(op)) {
        op = first;
        continue;
      }
    forward(op);
    Operation *next = op->getNextNode();
    // A sum that a finer form takes is used where it is whole.
    if (isStatistic(op))
      for (Value result : op->getResults())
        if (!layouts.at(result).unreduced.empty() &&
            !isa<dist::ReshardOp>(*result.user_begin()))
          next = reduceOnce(result, dist::kStatistics);
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
  auto dim = program.getResultAttrOfType<IntegerAttr>(index, kBatchDimAttr);
  if (dim)
    whole.dims[dim.getInt()] = layouts.at(value).dims[dim.getInt()];
  return whole;
}

/// How all users want a value; nothing if nobody uses it or they differ. With
/// `mayDiffer`, the finest of what they want.
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
  return to.unreduced.empty() && from.unreduced.empty() && to != from;
}

void Propagation::backward(Operation *op) {
  if (isa<dist::ReshardOp>(op))
    return;
  SmallVector<Layout> hints;
  bool any = false;
  for (Value result : op->getResults()) {
    std::optional<Layout> demand = findDemand(result, /*mayDiffer=*/false);
    Layout &mine = layouts.at(result);
    if (demand && isZero(result) && !demand->unreduced.empty()) {
      plans.at(op).results[0] = mine = *demand;
      return;
    }
    bool useful = demand && refines(*demand, mine);
    hints.push_back(useful ? *demand : mine);
    any |= useful;
  }
  if (!any)
    return;
  OpLayouts finer = plan(op, hints);
  if (ArrayRef(finer.results) != ArrayRef(hints))
    return;
  for (auto [result, layout] : llvm::zip(op->getResults(), finer.results))
    layouts[result] = layout;
  plans[op] = std::move(finer);
}

void Propagation::backwards() {
  for (Operation &op : llvm::reverse(block.without_terminator()))
    backward(&op);
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
// What was decided
//===----------------------------------------------------------------------===//

void Propagation::write() {
  auto setArgument = [&](BlockArgument argument, const Layout &layout) {
    program.setArgAttr(argument.getArgNumber(), dist::kShardingAttr,
                       layout.toAttr(mesh));
  };
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
  for (BlockArgument argument : block.getArguments()) {
    if (openAccumulators.contains(argument))
      layouts[argument] =
          stateLayout(program.getArgAttr(argument.getArgNumber(), kStateAttr),
                      argument.getType());
    setArgument(argument, layouts.at(argument));
  }
  for (Operation &op : block.without_terminator()) {
    OpLayouts &mine = plans.at(&op);
    op.setAttr(dist::kOperandsAttr, toArrayAttr(mine.operands, mesh));
    op.setAttr(dist::kResultsAttr, toArrayAttr(mine.results, mesh));
  }
  for (unsigned index = 0; index < program.getNumResults(); ++index)
    program.setResultAttr(index, dist::kShardingAttr,
                          returnedLayout(index).toAttr(mesh));
}

namespace {

struct PropagateSharding
    : public impl::PropagateShardingPassBase<PropagateSharding> {
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
      // What is added to an accumulator is known by now.
      Propagation(program, symbols, mesh).run();
    }
  }

private:
  static LogicalResult checkOps(func::FuncOp program) {
    if (!program.getBody().hasOneBlock())
      return program.emitError("is not one block of ops");
    for (Operation &op : program.getBody().front().without_terminator())
      if (!isa<ShardableOpInterface, dist::ReshardOp>(op))
        return op.emitError("has no sharding rule");
    return success();
  }
};

} // namespace
} // namespace zc
