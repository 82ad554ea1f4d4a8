//===- ApplyZero.cpp - --zc-apply-zero ------------------------------------===//
//
// ZeRO (Rajbhandari et al. 2020) is a sharding of flat vectors: parameters of a
// unit follow one another in one, padded so that it divides evenly. The
// states' shardings say whether moments, gradients or also parameters are
// divided over the ranks; collectives follow as for any other value. If
// other axes (tp) shard parameters already, the vector holds those ranks'
// shares one behind the other, each padded: it is divided over these axes
// first.
//
// Where the optimizer looks at rows and columns, a unit is one parameter in its
// own shape, of which the ranks divide one dim.
//
//===----------------------------------------------------------------------===//
#include "dialects/Dist/Shares.h"
#include "dialects/Onnx/Location.h"
#include "dialects/Train/Ops/OpSupport.h"
#include "dialects/Train/ProgramBuilder.h"
#include "dialects/Train/Versions.h"
#include "passes/Analysis/Views.h"
#include "passes/Autodiff/ParameterGroup.h"
#include "passes/Sharding/Layout.h"
#include "passes/Sharding/Passes.h"
#include "passes/Sharding/VectorKind.h"
#include "passes/Sharding/WeightReads.h"
#include "passes/Sharding/ZeroUnit.h"

using namespace mlir;
using namespace zc::train;

namespace zc {
#define GEN_PASS_DEF_APPLYZEROPASS
#include "passes/Sharding/Passes.h.inc"

namespace {

/// Bytes. Smaller layers share a unit with what comes before; parameters
/// outside of layers from the other size on have units of their own.
constexpr int64_t kSmallUnit = 64 * 1024, kLargeUnit = 16 * 1024 * 1024;

/// The module of a parameter up to its number in a list of layers,
/// "transformer.h.3" of "transformer.h.3.attn.weight"; empty outside of any.
std::string layerOf(StringRef name) {
  StringRef module = name.contains('.') ? name.rsplit('.').first : "";
  return onnx::getLayerPath(module).str();
}

struct ApplyZero : public impl::ApplyZeroPassBase<ApplyZero> {
  using ApplyZeroPassBase::ApplyZeroPassBase;

  void runOnOperation() override {
    mesh = dist::getMesh(getOperation());
    program = getOperation().lookupSymbol<func::FuncOp>(kStepProgram);
    if (!mesh || !program) {
      getOperation().emitError("expected a dist.mesh and @step with gradients");
      return signalPassFailure();
    }
    for (const std::string &name : axes)
      if (int axis = mesh.findAxis(name);
          axis >= 0 && mesh.getSizes()[axis] > 1)
        zeroAxes.push_back(axis);
    if (zeroAxes.empty() || stage == 0)
      return;
    if (failed(divideUnits()))
      return signalPassFailure();
    const Axes all = zeroAxes;
    while (!skipped.empty()) {
      // Experts, which one of these axes divides already: over the others.
      rest = std::exchange(skipped, {});
      zeroAxes = otherAxes(rest.front(), all);
      units.clear();
      if (!zeroAxes.empty() && failed(divideUnits()))
        return signalPassFailure();
    }
  }

private:
  LogicalResult divideUnits() {
    if (byDims)
      findDims();
    else if (failed(formUnits()))
      return failure();
    for (auto [index, unit] : llvm::enumerate(units))
      byDims ? divideState(unit) : createState(unit, index);
    byDims ? divideGradients() : packGradients();
    for (auto each : getOperation().getOps<func::FuncOp>())
      readUnits(each);
    if (!byDims)
      moveMembers();
    return success();
  }

  /// Those of `axes` that do not divide the state.
  Axes otherAxes(StateOp state, const Axes &axes) const {
    auto sharding =
        state->getAttrOfType<dist::ShardingAttr>(dist::kShardingAttr);
    Axes others = axes;
    if (sharding)
      llvm::erase_if(others, [&](int axis) {
        return Layout::from(sharding, mesh).divides(axis);
      });
    return others;
  }

  // --- Which parameters share a vector

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
    auto sharding =
        state->getAttrOfType<dist::ShardingAttr>(dist::kShardingAttr);
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
    if (auto shares = dist::getShares(state.getTensorType(), sharding, mesh))
      parameters.push_back({state, *shares, getVectorKind(state, *shares)});
  }

  LogicalResult formUnits() {
    int64_t wanted = 0;
    bool bySize = !StringRef(unit).getAsInteger(10, wanted);
    if (!bySize && unit != "auto" && unit != "layer")
      return getOperation().emitError("unit: expected auto, layer or a number "
                                      "of bytes, found '")
             << unit << "'";
    llvm::MapVector<Attribute, Unit> rest; // outside of layers, by kind
    std::string last;
    for (Member &member : findParameters()) {
      std::string layer = bySize ? "bytes" : layerOf(member.state.getSymName());
      if (layer.empty()) {
        Unit &open = rest[member.kind];
        if (!open.members.empty() && !mayJoin(open, member))
          units.push_back(std::exchange(open, Unit()));
        open.add(member);
        continue;
      }
      auto joins = [&](Unit &unit) {
        if (unit.front().kind != member.kind || !hasRoom(unit, member.bytes()))
          return false;
        return bySize ? unit.bytes() < wanted : layer == last;
      };
      // A layer has one unit a kind: look back over those of this layer.
      Unit *home = nullptr;
      for (Unit &unit : llvm::reverse(units)) {
        if (!bySize && layerOf(unit.front().state.getSymName()) != layer)
          break;
        if (joins(unit)) {
          home = &unit;
          break;
        }
      }
      last = layer;
      (home ? *home : units.emplace_back()).add(member);
    }
    for (auto &[kind, unit] : rest)
      units.push_back(std::move(unit));
    if (unit == "auto")
      joinSmallUnits();
    for (Unit &unit : units)
      unit.align();
    return success();
  }

  /// An embedding and a head, first and last of all, would stay gathered for
  /// each other's sake.
  bool mayJoin(Unit &open, Member &member) const {
    const bool isLarge =
        open.bytes() >= kLargeUnit || member.bytes() >= kLargeUnit;
    return hasRoom(open, member.bytes()) && !(unit == "auto" && isLarge);
  }

  bool hasRoom(Unit &unit, int64_t bytes) const {
    return mostBytes == 0 || unit.bytes() + bytes <= mostBytes;
  }

  void joinSmallUnits() {
    SmallVector<Unit> joined;
    for (Unit &unit : units) {
      Unit *home = nullptr;
      for (Unit &before : llvm::reverse(joined))
        if (before.front().kind == unit.front().kind) {
          if (hasRoom(before, unit.bytes()))
            home = &before;
          break;
        }
      if (!home ||
          (unit.bytes() >= kSmallUnit && home->bytes() >= kSmallUnit)) {
        joined.push_back(std::move(unit));
        continue;
      }
      for (Member &member : unit.members)
        home->add(member);
    }
    units = std::move(joined);
  }

  // --- Parameters in their shapes

  static Layout layoutOf(StateOp state, dist::MeshAttr mesh) {
    auto sharding =
        state->getAttrOfType<dist::ShardingAttr>(dist::kShardingAttr);
    return sharding ? Layout::from(sharding, mesh)
                    : Layout::replicated(state.getTensorType());
  }

  /// The first dim that divides evenly, and is not of blocks.
  std::optional<int64_t> findDim(StateOp state) {
    Layout layout = layoutOf(state, mesh);
    for (auto [dim, size] : llvm::enumerate(state.getTensorType().getShape()))
      if (size % (groupSize(layout.dims[dim], mesh) *
                  groupSize(zeroAxes, mesh)) ==
              0 &&
          dist::getBlocks(state, dim).empty())
        return dim;
    return std::nullopt;
  }

  void findDims() {
    SmallVector<StringRef> left;
    for (Member &member : findParameters()) {
      std::optional<int64_t> dim = findDim(member.state);
      if (!dim) {
        left.push_back(member.state.getSymName());
        continue;
      }
      Unit &unit = units.emplace_back();
      unit.add(member);
      unit.dim = dim;
    }
    if (left.empty())
      return;
    auto ranks = std::to_string(groupSize(zeroAxes, mesh));
    std::string note = "--zero leaves " + llvm::join(left, ", ") +
                       " whole: no dim divides among " + ranks + " ranks";
    SmallVector<Attribute> notes;
    if (auto old = getOperation()->getAttrOfType<ArrayAttr>(dist::kNotesAttr))
      llvm::append_range(notes, old);
    notes.push_back(StringAttr::get(&getContext(), note));
    getOperation()->setAttr(dist::kNotesAttr,
                            ArrayAttr::get(&getContext(), notes));
  }

  void divideState(Unit &unit) {
    unit.state = unit.front().state;
    unit.copy = findCopy(unit.state);
    unit.whole = layoutOf(unit.state, mesh).toAttr(mesh);
    dist::ShardingAttr divided = shardingOf(unit, /*divided=*/true);
    unit.state->setAttr(dist::kMomentsAttr, divided);
    for (StateOp state : {unit.state, unit.copy})
      if (state && (stage == 3 || (unit.copy && state != unit.copy))) {
        state->setAttr(dist::kShardingAttr, divided);
        state->setAttr(dist::kWhyAttr, whyDivided(state));
      }
  }

  StringAttr whyDivided(StateOp state) {
    auto said = state->getAttrOfType<StringAttr>(dist::kWhyAttr);
    return StringAttr::get(&getContext(),
                           (said ? said.getValue() + "; " : Twine()) +
                               "flag --zero");
  }

  void divideGradients() {
    for (Unit &unit : units)
      for (unsigned i = 0; stage >= 2 && i < program.getNumResults(); ++i) {
        auto symbol =
            program.getResultAttrOfType<FlatSymbolRefAttr>(i, kGradientAttr);
        if (symbol && symbol.getAttr() == unit.state.getSymNameAttr())
          program.setResultAttr(i, dist::kShardingAttr,
                                shardingOf(unit, /*divided=*/true));
      }
  }

  // --- The vector's state

  /// Over what divides its members, and over the ranks of ZeRO where `divided`.
  dist::ShardingAttr shardingOf(Unit &unit, bool divided) {
    if (unit.dim) {
      Layout layout = Layout::from(unit.whole, mesh);
      if (divided)
        layout.dims[*unit.dim].append(zeroAxes);
      return layout.toAttr(mesh);
    }
    Layout layout = Layout::replicated(1);
    for (auto axis : unit.front().shares.axes.getAsRange<StringAttr>())
      layout.dims[0].push_back(mesh.findAxis(axis));
    if (divided)
      layout.dims[0].append(zeroAxes);
    return layout.toAttr(mesh);
  }

  /// A state that every rank has whole says nothing.
  void divide(StateOp state, Unit &unit, bool divided) {
    if (divided || unit.numShares() > 1)
      state->setAttr(dist::kShardingAttr, shardingOf(unit, divided));
  }

  void createState(Unit &unit, unsigned index) {
    int64_t ranks = groupSize(zeroAxes, mesh);
    int64_t length = llvm::divideCeil(unit.size, ranks) * ranks;
    StateOp first = unit.front().state;
    auto type = RankedTensorType::get(length * unit.numShares(),
                                      first.getTensorType().getElementType());
    std::string name = "unit." + std::to_string(index);
    while (getOperation().lookupSymbol(name))
      name += "_";
    unit.state =
        addState(getOperation(), name, type, kParameter, first.getLoc());
    unit.state.setDecay(first.getDecay());
    ParameterGroup::of(first).setOn(unit.state);
    if (Attribute holders = first->getAttr(kHoldersAttr))
      unit.state->setAttr(kHoldersAttr, holders);
    if (Attribute delay = first->getAttr(kDelayAttr))
      unit.state->setAttr(kDelayAttr, delay);
    unit.state->setAttr(dist::kMomentsAttr, shardingOf(unit, !keepsMoments));
    createCopy(unit);
    // A vector that only the optimizer reads is divided with the moments.
    divide(unit.state, unit, !keepsMoments && (stage == 3 || unit.copy));
    for (Member &member : unit.members) {
      member.state->setAttr(
          dist::kUnitAttr, FlatSymbolRefAttr::get(unit.state.getSymNameAttr()));
      member.state->setAttr(
          dist::kUnitOffsetAttr,
          IntegerAttr::get(IntegerType::get(&getContext(), 64), member.offset));
    }
  }

  void createCopy(Unit &unit) {
    StateOp first = unit.front().state, like = findCopy(first);
    if (!like)
      return;
    StringRef suffix = like.getSymName().drop_front(first.getSymName().size());
    unit.copy = addState(
        getOperation(), (unit.state.getSymName() + suffix).str(),
        withShape(like.getType(), unit.state.getTensorType().getShape()), kCopy,
        unit.state.getLoc());
    unit.copy.setParameter(unit.state.getSymName());
    if (Attribute delay = like->getAttr(kDelayAttr))
      unit.copy->setAttr(kDelayAttr, delay);
    divide(unit.copy, unit, stage == 3);
  }

  /// Members are known to files and to no program.
  void moveMembers() {
    OpBuilder builder = OpBuilder::atBlockEnd(getOperation().getBody());
    auto members = getOperation().lookupSymbol<ModuleOp>(dist::kUnitModule);
    if (!members)
      members =
          ModuleOp::create(builder, getOperation().getLoc(), dist::kUnitModule);
    for (Unit &unit : units)
      for (Member &member : unit.members) {
        if (StateOp copy = findCopy(member.state))
          copy.erase();
        member.state->moveBefore(members.getBody(), members.getBody()->end());
      }
  }

  // --- Gradients

  void packGradients() {
    for (Unit &unit : units) {
      SmallVector<Value> gradients;
      for (Member &member : unit.members)
        gradients.push_back(takeGradient(member));
      OpBuilder builder(&getContext());
      setInsertionPointAfter(builder, gradients);
      Value flat = pack(builder, unit, gradients);
      SmallVector<NamedAttribute> attributes = {builder.getNamedAttr(
          kGradientAttr, FlatSymbolRefAttr::get(unit.state.getSymNameAttr()))};
      if (stage >= 2)
        attributes.push_back(builder.getNamedAttr(
            dist::kShardingAttr, shardingOf(unit, /*divided=*/true)));
      addResult(program, flat, attributes);
    }
  }

  /// The gradients as the unit's vector.
  Value pack(OpBuilder &builder, Unit &unit, ArrayRef<Value> gradients) {
    Location loc = unit.state.getLoc();
    auto shares = llvm::map_to_vector(
        unit.members, [](Member &member) { return member.shares; });
    Value flat =
        dist::packShares(builder, loc, gradients, shares, unit.length());
    markPacked(builder, flat.getDefiningOp());
    flat = reshape(builder, loc, flat, unit.state.getTensorType().getShape());
    markPacked(builder, flat.getDefiningOp());
    return flat;
  }

  void markPacked(OpBuilder &builder, Operation *op) {
    op->setAttr(dist::kTrafficAttr, builder.getStringAttr(dist::kGradients));
    op->setAttr(kStagingAttr, builder.getUnitAttr());
    if (late)
      op->setAttr(kLateAttr, builder.getUnitAttr());
  }

  Value takeGradient(Member &member) {
    for (unsigned i = 0; i < program.getNumResults(); ++i) {
      auto symbol =
          program.getResultAttrOfType<FlatSymbolRefAttr>(i, kGradientAttr);
      if (!symbol || symbol.getAttr() != member.state.getSymNameAttr())
        continue;
      Value value = program.getBody().front().getTerminator()->getOperand(i);
      eraseResult(program, i);
      // Kept until the end, it is what the report calls a gradient.
      if (late && value.getDefiningOp())
        markResult(cast<OpResult>(value), kKeptGradientsAttr);
      return value;
    }
    llvm_unreachable("units are formed of parameters with gradients");
  }

  /// The place where the last gradient of the unit is available.
  void setInsertionPointAfter(OpBuilder &builder, ArrayRef<Value> gradients) {
    Operation *last = nullptr;
    auto visit = [&](bool constants) {
      for (Value gradient : gradients)
        if (Operation *producer = gradient.getDefiningOp())
          if ((producer->getNumOperands() == 0) == constants &&
              (!last || last->isBeforeInBlock(producer)))
            last = producer;
    };
    visit(/*constants=*/false);
    // A constant may stand anywhere.
    if (last)
      for (Value gradient : gradients)
        if (Operation *producer = gradient.getDefiningOp();
            producer && last->isBeforeInBlock(producer))
          producer->moveBefore(last);
    visit(/*constants=*/true);
    if (last)
      builder.setInsertionPointAfter(last);
    else
      builder.setInsertionPointToStart(&program.getBody().front());
  }

  // --- Parameters

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

  /// Every use of a member becomes one of a part of the vector.
  void readUnits(func::FuncOp each) {
    Operation *loss = each == program ? findLoss(each) : nullptr;
    if (stage == 3)
      placeWeightReads(each, reshardAfterForward ? loss : nullptr);
    llvm::BitVector unused(each.getNumArguments());
    Unit *last = nullptr;
    Operation *lastUse = nullptr;
    for (Unit &unit : units)
      if (Operation *use = firstUse(
              findArguments(each, unit, unit.copy && each == program), loss,
              /*backward=*/false))
        if (!lastUse || lastUse->isBeforeInBlock(use)) {
          lastUse = use;
          last = &unit;
        }
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

  void readUnit(func::FuncOp each, Unit &unit, Operation *loss, bool copies,
                llvm::BitVector &unused) {
    StateOp state = copies ? unit.copy : unit.state;
    auto arguments = findArguments(each, unit, copies);
    Value vector;
    for (bool backward : {false, true}) {
      Operation *first = firstUse(arguments, loss, backward);
      if (!first)
        continue;
      if (!vector) {
        vector = getStateArgument(each, state);
        unused.resize(each.getNumArguments());
      }
      OpBuilder builder(first);
      dist::ShardingAttr readable = shardingOf(unit, /*divided=*/false);
      auto sharding =
          state->getAttrOfType<dist::ShardingAttr>(dist::kShardingAttr);
      if (unit.dim && (!sharding || sharding == readable))
        return; // read as it is
      Value whole = vector;
      if (sharding && sharding != readable) {
        if (!gathersWide) // each rank rounds what it sends
          whole =
              roundAsRead(builder, vector,
                          llvm::to_vector(llvm::make_second_range(arguments)),
                          loss, backward);
        whole = gather(builder, whole, readable, backward);
      }
      for (auto [member, argument] : arguments)
        replaceUses(unit, *member, argument, whole, loss, backward);
    }
    for (auto [member, argument] : arguments)
      if (!unit.dim)
        unused.set(argument.getArgNumber());
  }

  Value gather(OpBuilder &builder, Value vector, dist::ShardingAttr readable,
               bool backward) {
    auto whole = dist::ReshardOp::create(builder, vector.getLoc(), vector);
    whole->setAttr(dist::kShardingAttr, readable);
    whole->setAttr(dist::kTrafficAttr,
                   builder.getStringAttr(dist::kParameters));
    // Two gathers of one vector are two.
    whole->setAttr(dist::kPassAttr,
                   builder.getStringAttr(backward ? "backward" : "forward"));
    return whole;
  }

  void replaceUses(Unit &unit, Member &member, BlockArgument argument,
                   Value whole, Operation *loss, bool backward) {
    Operation *own = nullptr;
    SmallVector<OpOperand *> uses;
    for (OpOperand &use : argument.getUses())
      if (!makesGathered(use.getOwner(), whole) &&
          isBackward(use.getOwner(), loss) == backward) {
        uses.push_back(&use);
        if (!own || use.getOwner()->isBeforeInBlock(own))
          own = use.getOwner();
      }
    if (uses.empty())
      return;
    OpBuilder builder(own);
    Value part = whole;
    auto type = cast<RankedTensorType>(withElementType(
        argument.getType(), getElementTypeOrSelf(whole.getType())));
    if (!unit.dim)
      part = dist::unpackShares(builder, argument.getLoc(), whole,
                                member.offset, type, member.shares);
    for (OpOperand *use : uses)
      replaceRead(*use, part);
  }

  dist::MeshAttr mesh;
  func::FuncOp program;
  Axes zeroAxes;
  SmallVector<StateOp> skipped; // in this round
  SmallVector<StateOp> rest;    // the parameters of a later round, or none
  SmallVector<Unit> units;
};

} // namespace
} // namespace zc
