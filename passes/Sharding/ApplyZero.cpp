//===- ApplyZero.cpp - --zc-apply-zero ------------------------------------===//
//
// ZeRO (Rajbhandari et al. 2020) is a sharding of flat vectors: parameters of a
// unit follow one another in one, padded so that it divides evenly. What is
// divided over the ranks, moments, gradients or the parameters too, is said by
// the states' shardings; collectives follow as for any other value.
//
//===----------------------------------------------------------------------===//
#include "dialects/Onnx/Location.h"
#include "dialects/Train/Ops/OpSupport.h"
#include "passes/Autodiff/ProgramBuilder.h"
#include "passes/Sharding/Layout.h"
#include "passes/Sharding/Passes.h"

using namespace mlir;
using namespace zc::train;

namespace zc {
#define GEN_PASS_DEF_APPLYZEROPASS
#include "passes/Sharding/Passes.h.inc"

namespace {

/// Layers smaller than this share a unit with what comes before.
constexpr int64_t kSmallUnit = 64 * 1024; // bytes

/// The module of a parameter up to its number in a list of layers,
/// "transformer.h.3" of "transformer.h.3.attn.weight"; empty outside of any.
std::string layerOf(StringRef name) {
  StringRef module = name.contains('.') ? name.rsplit('.').first : "";
  return onnx::getLayerPath(module).str();
}

struct Member {
  StateOp state;
  int64_t offset = 0;
  int64_t size() { return state.getTensorType().getNumElements(); }
};

struct Unit {
  SmallVector<Member> members;
  StateOp state;
  StateOp copy;     // in 16 bits, which the step reads; null: it reads `state`
  int64_t size = 0; // without padding

  void add(StateOp member) {
    members.push_back({member, size});
    size += member.getTensorType().getNumElements();
  }
  StateOp front() { return members.front().state; }
  int64_t bytes() {
    return size * (front().getTensorType().getElementTypeBitWidth() / 8);
  }
};

/// Whether two parameters may lie in one vector.
bool fitTogether(StateOp a, StateOp b) {
  return a.getTensorType().getElementType() ==
             b.getTensorType().getElementType() &&
         a.getDecay() == b.getDecay() &&
         a.hasInitialValue() == b.hasInitialValue();
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
    if (failed(formUnits()))
      return signalPassFailure();
    for (auto [index, unit] : llvm::enumerate(units))
      createState(unit, index);
    packGradients();
    for (auto each : getOperation().getOps<func::FuncOp>())
      readUnits(each);
    moveMembers();
  }

private:
  // --- Which parameters share a vector

  SmallVector<StateOp> findParameters() {
    SmallVector<StateOp> parameters;
    for (auto state : getOperation().getOps<StateOp>())
      for (unsigned i = 0; i < program.getNumResults(); ++i) {
        auto symbol =
            program.getResultAttrOfType<FlatSymbolRefAttr>(i, kGradientAttr);
        if (symbol && symbol.getAttr() == state.getSymNameAttr() &&
            !state->hasAttr(dist::kShardingAttr))
          parameters.push_back(state);
      }
    return parameters;
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
    for (StateOp state : findParameters()) {
      std::string layer = bySize ? "bytes" : layerOf(state.getSymName());
      if (layer.empty()) {
        Builder builder(&getContext());
        Attribute kind = builder.getArrayAttr(
            {TypeAttr::get(state.getTensorType().getElementType()),
             builder.getBoolAttr(state.getDecay()),
             builder.getBoolAttr(state.hasInitialValue())});
        rest[kind].add(state);
        continue;
      }
      auto joins = [&](Unit &unit) {
        if (!fitTogether(unit.front(), state))
          return false;
        return bySize ? unit.bytes() < wanted : layer == last;
      };
      // A layer has one unit a kind: look back over those of this layer.
      Unit *home = nullptr;
      for (Unit &unit : llvm::reverse(units)) {
        if (!bySize && layerOf(unit.front().getSymName()) != layer)
          break;
        if (joins(unit)) {
          home = &unit;
          break;
        }
      }
      last = layer;
      (home ? *home : units.emplace_back()).add(state);
    }
    for (auto &[kind, unit] : rest)
      units.push_back(std::move(unit));
    if (unit == "auto")
      joinSmallUnits();
    return success();
  }

  void joinSmallUnits() {
    SmallVector<Unit> joined;
    for (Unit &unit : units) {
      Unit *home = nullptr;
      for (Unit &before : llvm::reverse(joined))
        if (fitTogether(before.front(), unit.front())) {
          home = &before;
          break;
        }
      if (!home ||
          (unit.bytes() >= kSmallUnit && home->bytes() >= kSmallUnit)) {
        joined.push_back(std::move(unit));
        continue;
      }
      for (Member &member : unit.members)
        home->add(member.state);
    }
    units = std::move(joined);
  }

  // --- The vector's state

  dist::ShardingAttr dividedVector() {
    Layout layout = Layout::replicated(1);
    layout.dims[0] = zeroAxes;
    return layout.toAttr(mesh);
  }

  void createState(Unit &unit, unsigned index) {
    int64_t ranks = groupSize(zeroAxes, mesh);
    int64_t length = (unit.size + ranks - 1) / ranks * ranks;
    auto type = RankedTensorType::get(
        length, unit.front().getTensorType().getElementType());
    std::string name = "unit." + std::to_string(index);
    while (getOperation().lookupSymbol(name))
      name += "_";
    unit.state =
        addState(getOperation(), name, type, kParameter, unit.front().getLoc());
    unit.state.setDecay(unit.front().getDecay());
    unit.state->setAttr(dist::kMomentsAttr, dividedVector());
    createCopy(unit);
    // What only the optimizer reads is divided with the moments.
    if (stage == 3 || unit.copy)
      unit.state->setAttr(dist::kShardingAttr, dividedVector());
    for (Member &member : unit.members) {
      member.state->setAttr(
          dist::kUnitAttr, FlatSymbolRefAttr::get(unit.state.getSymNameAttr()));
      member.state->setAttr(
          dist::kUnitOffsetAttr,
          IntegerAttr::get(IntegerType::get(&getContext(), 64), member.offset));
    }
  }

  void createCopy(Unit &unit) {
    StateOp like = findCopy(unit.front());
    if (!like)
      return;
    StringRef suffix =
        like.getSymName().drop_front(unit.front().getSymName().size());
    unit.copy = addState(
        getOperation(), (unit.state.getSymName() + suffix).str(),
        withShape(like.getType(), unit.state.getTensorType().getShape()), kCopy,
        unit.state.getLoc());
    unit.copy.setParameter(unit.state.getSymName());
    if (stage == 3)
      unit.copy->setAttr(dist::kShardingAttr, dividedVector());
  }

  /// Members are known to files and to no program.
  void moveMembers() {
    OpBuilder builder = OpBuilder::atBlockEnd(getOperation().getBody());
    auto members =
        ModuleOp::create(builder, getOperation().getLoc(), dist::kUnitModule);
    for (Unit &unit : units)
      for (Member &member : unit.members) {
        if (StateOp copy = findCopy(member.state))
          copy.erase();
        member.state->moveBefore(members.getBody(), members.getBody()->end());
      }
  }

  // --- Gradients

  int64_t padding(Unit &unit) {
    return unit.state.getTensorType().getDimSize(0) - unit.size;
  }

  void packGradients() {
    for (Unit &unit : units) {
      SmallVector<Value> parts;
      for (Member &member : unit.members)
        parts.push_back(takeGradient(member));
      OpBuilder builder(program.getBody().front().getTerminator());
      Location loc = unit.state.getLoc();
      for (Value &part : parts) {
        int64_t size = cast<RankedTensorType>(part.getType()).getNumElements();
        part = reshape(builder, loc, part, {size});
      }
      if (int64_t rest = padding(unit))
        parts.push_back(
            splat(builder, loc, withShape(parts.front().getType(), {rest}), 0));
      auto type = withShape(parts.front().getType(),
                            unit.state.getTensorType().getShape());
      auto flat = ConcatOp::create(builder, loc, type, parts, /*dim=*/0);
      flat->setAttr(dist::kTrafficAttr,
                    builder.getStringAttr(dist::kGradients));
      flat->setAttr(kStagingAttr, builder.getUnitAttr());
      if (late)
        flat->setAttr(kLateAttr, builder.getUnitAttr());
      placeAfterOperands(flat);
      SmallVector<NamedAttribute> attributes = {builder.getNamedAttr(
          kGradientAttr, FlatSymbolRefAttr::get(unit.state.getSymNameAttr()))};
      if (stage >= 2)
        attributes.push_back(
            builder.getNamedAttr(dist::kShardingAttr, dividedVector()));
      addResult(program, flat, attributes);
    }
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

  /// As soon as the last gradient of the unit is there.
  static void placeAfterOperands(Operation *op) {
    Operation *last = nullptr;
    SmallVector<Operation *> chain = {op};
    for (Value operand : op->getOperands()) {
      Operation *producer = operand.getDefiningOp();
      if (auto reshape = dyn_cast_or_null<ReshapeOp>(producer)) {
        chain.push_back(reshape);
        producer = reshape.getInput().getDefiningOp();
      }
      if (producer && (!last || last->isBeforeInBlock(producer)) &&
          producer->getNumOperands() > 0)
        last = producer;
    }
    if (!last)
      return;
    for (Operation *each : chain)
      each->moveAfter(last);
    for (Value operand : op->getOperands())
      if (Operation *producer = operand.getDefiningOp();
          producer && producer->getNumOperands() == 0)
        producer->moveAfter(last);
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
    llvm::BitVector unused(each.getNumArguments());
    Unit *last = nullptr;
    Operation *lastUse = nullptr;
    for (Unit &unit : units)
      if (Operation *use = firstUse(each, unit, loss, /*backward=*/false))
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

  static bool isBackward(Operation *use, Operation *loss) {
    return loss && loss->isBeforeInBlock(use);
  }

  Operation *firstUse(func::FuncOp each, Unit &unit, Operation *loss,
                      bool backward) {
    return firstUse(
        findArguments(each, unit, /*copies=*/unit.copy && each == program),
        loss, backward);
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
      Value whole = state->hasAttr(dist::kShardingAttr)
                        ? gather(builder, vector, backward)
                        : vector;
      for (auto [member, argument] : arguments)
        replaceUses(*member, argument, whole, loss, backward);
    }
    for (auto [member, argument] : arguments)
      unused.set(argument.getArgNumber());
  }

  Value gather(OpBuilder &builder, Value vector, bool backward) {
    auto whole = dist::ReshardOp::create(builder, vector.getLoc(), vector);
    whole->setAttr(dist::kShardingAttr, Layout::replicated(1).toAttr(mesh));
    whole->setAttr(dist::kTrafficAttr,
                   builder.getStringAttr(dist::kParameters));
    // Two gathers of one vector are two.
    whole->setAttr(dist::kPassAttr,
                   builder.getStringAttr(backward ? "backward" : "forward"));
    return whole;
  }

  void replaceUses(Member &member, BlockArgument argument, Value whole,
                   Operation *loss, bool backward) {
    Operation *own = nullptr;
    SmallVector<OpOperand *> uses;
    for (OpOperand &use : argument.getUses())
      if (isBackward(use.getOwner(), loss) == backward) {
        uses.push_back(&use);
        if (!own || use.getOwner()->isBeforeInBlock(own))
          own = use.getOwner();
      }
    if (uses.empty())
      return;
    OpBuilder builder(own);
    auto type = cast<RankedTensorType>(argument.getType());
    Location loc = argument.getLoc();
    Value part =
        SliceOp::create(builder, loc, withShape(type, {member.size()}), whole,
                        ArrayRef<int64_t>{member.offset}, ArrayRef<int64_t>{1});
    part = reshape(builder, loc, part, type.getShape());
    for (OpOperand *use : uses)
      use->set(part);
  }

  dist::MeshAttr mesh;
  func::FuncOp program;
  Axes zeroAxes;
  SmallVector<Unit> units;
};

} // namespace
} // namespace zc
