//===- FlatUnits.cpp - several parameters in one vector -------------------===//
//
// Parameters of a unit follow one another in a vector, padded so that it
// divides evenly. If other axes (tp) shard parameters already, the vector holds
// those ranks' shares one behind the other, each padded: it is divided over
// these axes first.
//
//===----------------------------------------------------------------------===//
#include "passes/Sharding/ZeroStrategy.h"

#include "dialects/Dist/Shares.h"
#include "dialects/Onnx/Location.h"
#include "dialects/Train/Ops/OpSupport.h"
#include "dialects/Train/ProgramBuilder.h"
#include "dialects/Train/Versions.h"
#include "passes/Autodiff/ParameterGroup.h"

using namespace mlir;
using namespace zc::train;

namespace zc {
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

class FlatUnits : public ZeroStrategy {
public:
  using ZeroStrategy::ZeroStrategy;

  FailureOr<SmallVector<Unit>> formUnits(ArrayRef<Member> parameters) override {
    SmallVector<Unit> units;
    int64_t wanted = 0;
    bool bySize = !StringRef(settings.unit).getAsInteger(10, wanted);
    if (!bySize && settings.unit != "auto" && settings.unit != "layer")
      return settings.module.emitError("unit: expected auto, layer or a number "
                                       "of bytes, found '")
             << settings.unit << "'";
    llvm::MapVector<Attribute, Unit> rest; // outside of layers, by kind
    std::string last;
    for (Member member : parameters) {
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
    if (settings.unit == "auto")
      joinSmallUnits(units);
    for (Unit &unit : units)
      unit.align();
    return units;
  }

  void placeStates(MutableArrayRef<Unit> units) override {
    for (auto [index, unit] : llvm::enumerate(units))
      createState(unit, index);
  }

  void placeGradients(MutableArrayRef<Unit> units) override {
    for (Unit &unit : units) {
      SmallVector<Value> gradients;
      for (Member &member : unit.members)
        gradients.push_back(takeGradient(member));
      OpBuilder builder(settings.module.getContext());
      setInsertionPointAfter(builder, gradients);
      Value flat = pack(builder, unit, gradients);
      SmallVector<NamedAttribute> attributes = {builder.getNamedAttr(
          kGradientAttr, FlatSymbolRefAttr::get(unit.state.getSymNameAttr()))};
      if (settings.stage >= 2)
        attributes.push_back(builder.getNamedAttr(
            dist::kShardingAttr, shardingOf(unit, /*divided=*/true)));
      addResult(settings.program, flat, attributes);
    }
  }

  dist::ShardingAttr shardingOf(Unit &unit, bool divided) override {
    Layout layout = Layout::replicated(1);
    for (auto axis : unit.front().shares.axes.getAsRange<StringAttr>())
      layout.dims[0].push_back(settings.mesh.findAxis(axis));
    if (divided)
      layout.dims[0].append(settings.axes);
    return layout.toAttr(settings.mesh);
  }

  Value takeMember(OpBuilder &builder, Location loc, Value whole,
                   Member &member, RankedTensorType type) override {
    return dist::unpackShares(builder, loc, whole, member.offset, type,
                              member.shares);
  }

  bool keepsMembers() const override { return false; }

  /// Members are known to files and to no program.
  void finish(MutableArrayRef<Unit> units) override {
    OpBuilder builder = OpBuilder::atBlockEnd(settings.module.getBody());
    auto members = settings.module.lookupSymbol<ModuleOp>(dist::kUnitModule);
    if (!members)
      members = ModuleOp::create(builder, settings.module.getLoc(),
                                 dist::kUnitModule);
    for (Unit &unit : units)
      for (Member &member : unit.members) {
        if (StateOp copy = findCopy(member.state))
          copy.erase();
        member.state->moveBefore(members.getBody(), members.getBody()->end());
      }
  }

private:
  /// An embedding and a head, first and last of all, would stay gathered for
  /// each other's sake.
  bool mayJoin(Unit &open, Member &member) const {
    const bool isLarge =
        open.bytes() >= kLargeUnit || member.bytes() >= kLargeUnit;
    return hasRoom(open, member.bytes()) &&
           !(settings.unit == "auto" && isLarge);
  }

  bool hasRoom(Unit &unit, int64_t bytes) const {
    return settings.mostBytes == 0 ||
           unit.bytes() + bytes <= settings.mostBytes;
  }

  void joinSmallUnits(SmallVector<Unit> &units) const {
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

  /// A state that every rank has whole says nothing.
  void divide(StateOp state, Unit &unit, bool divided) {
    if (divided || unit.numShares() > 1)
      state->setAttr(dist::kShardingAttr, shardingOf(unit, divided));
  }

  void createState(Unit &unit, unsigned index) {
    int64_t ranks = groupSize(settings.axes, settings.mesh);
    int64_t length = llvm::divideCeil(unit.size, ranks) * ranks;
    StateOp first = unit.front().state;
    auto type = RankedTensorType::get(length * unit.numShares(),
                                      first.getTensorType().getElementType());
    std::string name = "unit." + std::to_string(index);
    while (settings.module.lookupSymbol(name))
      name += "_";
    unit.state =
        addState(settings.module, name, type, kParameter, first.getLoc());
    unit.state.setDecay(first.getDecay());
    ParameterGroup::of(first).setOn(unit.state);
    unit.state.setHoldersAttr(first.getHoldersAttr());
    unit.state.setDelay(first.getDelay());
    unit.state->setAttr(dist::kMomentsAttr,
                        shardingOf(unit, !settings.keepsMoments));
    createCopy(unit);
    // A vector that only the optimizer reads is divided with the moments.
    divide(unit.state, unit,
           !settings.keepsMoments && (settings.stage == 3 || unit.copy));
    for (Member &member : unit.members) {
      member.state.setUnit(unit.state.getSymName());
      member.state.setUnitOffset(member.offset);
    }
  }

  void createCopy(Unit &unit) {
    StateOp first = unit.front().state, like = findCopy(first);
    if (!like)
      return;
    StringRef suffix = like.getSymName().drop_front(first.getSymName().size());
    unit.copy = addState(
        settings.module, (unit.state.getSymName() + suffix).str(),
        withShape(like.getType(), unit.state.getTensorType().getShape()), kCopy,
        unit.state.getLoc());
    unit.copy.setParameter(unit.state.getSymName());
    unit.copy.setDelay(like.getDelay());
    divide(unit.copy, unit, settings.stage == 3);
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
    dist::setTraffic(op, dist::kGradients);
    op->setAttr(kStagingAttr, builder.getUnitAttr());
    if (settings.late)
      op->setAttr(kLateAttr, builder.getUnitAttr());
  }

  Value takeGradient(Member &member) {
    for (unsigned i = 0; i < settings.program.getNumResults(); ++i) {
      auto symbol = settings.program.getResultAttrOfType<FlatSymbolRefAttr>(
          i, kGradientAttr);
      if (!symbol || symbol.getAttr() != member.state.getSymNameAttr())
        continue;
      Value value =
          settings.program.getBody().front().getTerminator()->getOperand(i);
      eraseResult(settings.program, i);
      // Kept until the end, it is what the report calls a gradient.
      if (settings.late && value.getDefiningOp())
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
      builder.setInsertionPointToStart(&settings.program.getBody().front());
  }
};

} // namespace

std::unique_ptr<ZeroStrategy> makeFlatUnits(const ZeroSettings &settings) {
  return std::make_unique<FlatUnits>(settings);
}

} // namespace zc
