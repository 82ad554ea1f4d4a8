//===- ApplyZero.cpp - --zc-apply-zero ------------------------------------===//
//
// ZeRO (Rajbhandari et al. 2020) is a sharding of units of parameters, which a
// strategy forms (ZeroStrategy.h). The states' shardings say whether moments,
// gradients or also parameters are divided over the ranks; collectives follow
// as for any other value.
//
//===----------------------------------------------------------------------===//
#include "dialects/Dist/Shares.h"
#include "dialects/Train/Ops/OpSupport.h"
#include "dialects/Train/ProgramBuilder.h"
#include "passes/Analysis/Views.h"
#include "passes/Sharding/Layout.h"
#include "passes/Sharding/Passes.h"
#include "passes/Sharding/VectorKind.h"
#include "passes/Sharding/WeightReads.h"
#include "passes/Sharding/ZeroStrategy.h"

using namespace mlir;
using namespace zc::train;

namespace zc {
#define GEN_PASS_DEF_APPLYZEROPASS
#include "passes/Sharding/Passes.h.inc"

namespace {

struct ApplyZero : public impl::ApplyZeroPassBase<ApplyZero> {
  using ApplyZeroPassBase::ApplyZeroPassBase;

  void runOnOperation() override {
    mesh = dist::getMesh(getOperation());
    program = getOperation().lookupSymbol<func::FuncOp>(kStepProgram);
    if (!mesh || !program) {
      getOperation().emitError("expected a dist.mesh and @step with gradients");
      return signalPassFailure();
    }
    zeroAxes = findAxes();
    if (zeroAxes.empty() || stage == 0)
      return;
    if (failed(divideUnits()) || failed(divideRest(Axes(zeroAxes))))
      signalPassFailure();
  }

private:
  /// The axes of the mesh along which there are several ranks.
  Axes findAxes() const {
    Axes found;
    for (const std::string &name : axes)
      if (int axis = mesh.findAxis(name);
          axis >= 0 && mesh.getSizes()[axis] > 1)
        found.push_back(axis);
    return found;
  }

  /// Experts, which one of `all` axes divides already: over the others.
  LogicalResult divideRest(const Axes &all) {
    while (!skipped.empty()) {
      rest = std::exchange(skipped, {});
      zeroAxes = otherAxes(rest.front(), all);
      if (!zeroAxes.empty() && failed(divideUnits()))
        return failure();
    }
    return success();
  }

  LogicalResult divideUnits() {
    const ZeroSettings settings = {getOperation(), program, mesh,
                                   zeroAxes,       stage,   unit,
                                   mostBytes,      late,    keepsMoments};
    strategy = byDims ? makeDimUnits(settings) : makeFlatUnits(settings);
    auto formed = strategy->formUnits(findParameters());
    if (failed(formed))
      return failure();
    units = std::move(*formed);
    strategy->placeStates(units);
    strategy->placeGradients(units);
    for (auto each : getOperation().getOps<func::FuncOp>())
      readUnits(each);
    strategy->finish(units);
    return success();
  }

  static dist::ShardingAttr shardingOf(StateOp state) {
    return state->getAttrOfType<dist::ShardingAttr>(dist::kShardingAttr);
  }

  /// The axes among `axes` that do not divide the state.
  Axes otherAxes(StateOp state, const Axes &axes) const {
    dist::ShardingAttr sharding = shardingOf(state);
    Axes others = axes;
    if (sharding)
      llvm::erase_if(others, [&](int axis) {
        return Layout::from(sharding, mesh).divides(axis);
      });
    return others;
  }

  // --- Which parameters are divided

  SmallVector<Member> findParameters() {
    SmallVector<Member> parameters;
    for (auto state : getOperation().getOps<StateOp>())
      for (unsigned i = 0; i < program.getNumResults(); ++i) {
        auto symbol =
            program.getResultAttrOfType<FlatSymbolRefAttr>(i, kGradientAttr);
        if (symbol && symbol.getAttr() == state.getSymNameAttr())
          addParameter(state, parameters);
      }
    return parameters;
  }

  /// Skips a state that these axes shard already, until another round; a state
  /// that other axes shard in unequal shares stays as it is.
  void addParameter(StateOp state, SmallVectorImpl<Member> &parameters) {
    // A vector of experts' parameters stays as it is: files know what is in it.
    if ((!rest.empty() && !llvm::is_contained(rest, state)) ||
        !dist::getUnitMembers(getOperation(), state.getSymName()).empty())
      return;
    if (otherAxes(state, zeroAxes).size() < zeroAxes.size()) {
      // By hand it may be divided over all of them.
      if (!otherAxes(state, zeroAxes).empty())
        skipped.push_back(state);
      return;
    }
    if (auto shares =
            dist::getShares(state.getTensorType(), shardingOf(state), mesh))
      parameters.push_back({state, *shares, getVectorKind(state, *shares)});
  }

  // --- Reads of parameters

  /// Where the backward begins: behind the loss.
  static Operation *findLoss(func::FuncOp each) {
    std::optional<unsigned> index = findMetric(each, kLoss);
    Operation *end = each.getBody().front().getTerminator();
    return index ? end->getOperand(*index).getDefiningOp() : nullptr;
  }

  /// The arguments of `each` that a unit's members, or their copies, are bound
  /// to.
  SmallVector<std::pair<Member *, BlockArgument>>
  findArguments(func::FuncOp each, Unit &unit, bool copies) {
    SmallVector<std::pair<Member *, BlockArgument>> arguments;
    for (Member &member : unit.members) {
      StateOp state = copies ? findCopy(member.state) : member.state;
      if (Value argument = findStateArgument(each, state.getSymName()))
        arguments.push_back({&member, cast<BlockArgument>(argument)});
    }
    return arguments;
  }

  /// The unit that the forward reads last, or null.
  Unit *findLast(func::FuncOp each, Operation *loss) {
    Unit *last = nullptr;
    Operation *lastUse = nullptr;
    for (Unit &unit : units) {
      auto arguments = findArguments(each, unit, unit.copy && each == program);
      Operation *use = firstUse(arguments, loss, /*backward=*/false);
      if (!use || (lastUse && !lastUse->isBeforeInBlock(use)))
        continue;
      lastUse = use;
      last = &unit;
    }
    return last;
  }

  /// Every use of a member becomes one of a part of the vector.
  void readUnits(func::FuncOp each) {
    Operation *loss = each == program ? findLoss(each) : nullptr;
    if (stage == 3)
      placeWeightReads(each, reshardAfterForward ? loss : nullptr);
    llvm::BitVector unused(each.getNumArguments());
    const Unit *last = findLast(each, loss);
    for (Unit &unit : units) {
      bool again = loss && stage == 3 && reshardAfterForward &&
                   (&unit != last || reshardLast);
      readUnit(each, unit, again ? loss : nullptr, /*copies=*/false, unused);
      if (unit.copy)
        readUnit(each, unit, again ? loss : nullptr, /*copies=*/true, unused);
    }
    (void)each.eraseArguments(unused);
  }

  static Operation *
  firstUse(ArrayRef<std::pair<Member *, BlockArgument>> arguments,
           Operation *loss, bool backward) {
    Operation *first = nullptr;
    for (auto [member, argument] : arguments)
      for (Operation *user : argument.getUsers())
        if (isBackward(user, loss) == backward &&
            (!first || user->isBeforeInBlock(first)))
          first = user;
    return first;
  }

  using Arguments = SmallVector<std::pair<Member *, BlockArgument>>;

  void readUnit(func::FuncOp each, Unit &unit, Operation *loss, bool copies,
                llvm::BitVector &unused) {
    StateOp state = copies ? unit.copy : unit.state;
    const Arguments arguments = findArguments(each, unit, copies);
    const dist::ShardingAttr sharding = shardingOf(state),
                             readable =
                                 strategy->shardingOf(unit, /*divided=*/false);
    const bool isDivided = sharding && sharding != readable;
    Value vector;
    for (bool backward : {false, true}) {
      Operation *first = firstUse(arguments, loss, backward);
      if (!first)
        continue;
      if (!vector) {
        vector = getStateArgument(each, state);
        unused.resize(each.getNumArguments());
      }
      if (strategy->keepsMembers() && !isDivided)
        return; // read as it is
      OpBuilder builder(first);
      Value whole = isDivided ? gatherUnit(builder, vector, readable, arguments,
                                           loss, backward)
                              : vector;
      for (auto [member, argument] : arguments)
        replaceUses(*member, argument, whole, loss, backward);
    }
    if (!strategy->keepsMembers())
      for (auto [member, argument] : arguments)
        unused.set(argument.getArgNumber());
  }

  Value gatherUnit(OpBuilder &builder, Value vector,
                   dist::ShardingAttr readable, const Arguments &arguments,
                   Operation *loss, bool backward) {
    if (!gathersWide) // each rank rounds what it sends
      vector = roundAsRead(builder, vector,
                           llvm::to_vector(llvm::make_second_range(arguments)),
                           loss, backward);
    return gather(builder, vector, readable, backward);
  }

  Value gather(OpBuilder &builder, Value vector, dist::ShardingAttr readable,
               bool backward) {
    auto whole = dist::ReshardOp::create(builder, vector.getLoc(), vector);
    whole->setAttr(dist::kShardingAttr, readable);
    dist::setTraffic(whole, dist::kParameters);
    // Two gathers of one vector are two.
    dist::setPass(whole, backward ? dist::StepPass::Backward
                                  : dist::StepPass::Forward);
    return whole;
  }

  void replaceUses(Member &member, BlockArgument argument, Value whole,
                   Operation *loss, bool backward) {
    SmallVector<OpOperand *> uses;
    for (OpOperand &use : argument.getUses())
      if (!makesGathered(use.getOwner(), whole) &&
          isBackward(use.getOwner(), loss) == backward)
        uses.push_back(&use);
    if (uses.empty())
      return;
    const auto *first = llvm::min_element(uses, [](auto *a, auto *b) {
      return a->getOwner()->isBeforeInBlock(b->getOwner());
    });
    OpBuilder builder((*first)->getOwner());
    auto type = cast<RankedTensorType>(withElementType(
        argument.getType(), getElementTypeOrSelf(whole.getType())));
    Value part =
        strategy->takeMember(builder, argument.getLoc(), whole, member, type);
    for (OpOperand *use : uses)
      replaceRead(*use, part);
  }

  dist::MeshAttr mesh;
  func::FuncOp program;
  Axes zeroAxes;
  SmallVector<StateOp> skipped; // in this round
  SmallVector<StateOp> rest;    // the parameters of a later round, or none
  std::shared_ptr<ZeroStrategy> strategy; // of this round
  SmallVector<Unit> units;
};

} // namespace
} // namespace zc
