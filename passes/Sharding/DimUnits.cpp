//===- DimUnits.cpp - parameters in their shapes --------------------------===//
//
// Where the optimizer looks at rows and columns, a unit is one parameter in its
// own shape, of which the ranks divide one dim.
//
//===----------------------------------------------------------------------===//
#include "passes/Sharding/ZeroStrategy.h"

#include "dialects/Dist/Notes.h"
#include "dialects/Train/ProgramBuilder.h"

using namespace mlir;
using namespace zc::train;

namespace zc {
namespace {

class DimUnits : public ZeroStrategy {
public:
  using ZeroStrategy::ZeroStrategy;

  FailureOr<SmallVector<Unit>> formUnits(ArrayRef<Member> parameters) override {
    SmallVector<Unit> units;
    SmallVector<StringRef> left;
    for (Member member : parameters) {
      std::optional<int64_t> dim = findDim(member.state);
      if (!dim) {
        left.push_back(member.state.getSymName());
        continue;
      }
      Unit &unit = units.emplace_back();
      unit.add(member);
      unit.dim = dim;
    }
    if (!left.empty())
      note(left);
    return units;
  }

  void placeStates(MutableArrayRef<Unit> units) override {
    for (Unit &unit : units)
      divideState(unit);
  }

  void placeGradients(MutableArrayRef<Unit> units) override {
    for (Unit &unit : units)
      for (unsigned i = 0;
           settings.stage >= 2 && i < settings.program.getNumResults(); ++i) {
        auto symbol = settings.program.getResultAttrOfType<FlatSymbolRefAttr>(
            i, kGradientAttr);
        if (symbol && symbol.getAttr() == unit.state.getSymNameAttr())
          settings.program.setResultAttr(i, dist::kShardingAttr,
                                         shardingOf(unit, /*divided=*/true));
      }
  }

  dist::ShardingAttr shardingOf(Unit &unit, bool divided) override {
    Layout layout = Layout::from(unit.whole, settings.mesh);
    if (divided)
      layout.dims[*unit.dim].append(settings.axes);
    return layout.toAttr(settings.mesh);
  }

  Value takeMember(OpBuilder &, Location, Value whole, Member &,
                   RankedTensorType) override {
    return whole;
  }

  bool keepsMembers() const override { return true; }

private:
  static Layout layoutOf(StateOp state, dist::MeshAttr mesh) {
    auto sharding =
        state->getAttrOfType<dist::ShardingAttr>(dist::kShardingAttr);
    return sharding ? Layout::from(sharding, mesh)
                    : Layout::replicated(state.getTensorType());
  }

  /// The first dim that divides evenly, and is not of blocks.
  std::optional<int64_t> findDim(StateOp state) {
    Layout layout = layoutOf(state, settings.mesh);
    for (auto [dim, size] : llvm::enumerate(state.getTensorType().getShape()))
      if (size % (groupSize(layout.dims[dim], settings.mesh) *
                  groupSize(settings.axes, settings.mesh)) ==
              0 &&
          dist::getBlocks(state, dim).empty())
        return dim;
    return std::nullopt;
  }

  /// Adds a note on parameters that stay whole.
  void note(ArrayRef<StringRef> left) {
    auto ranks = std::to_string(groupSize(settings.axes, settings.mesh));
    dist::addNote(settings.module, "--zero leaves " + llvm::join(left, ", ") +
                                       " whole: no dim divides among " + ranks +
                                       " ranks");
  }

  void divideState(Unit &unit) {
    unit.state = unit.front().state;
    unit.copy = findCopy(unit.state);
    unit.whole = layoutOf(unit.state, settings.mesh).toAttr(settings.mesh);
    dist::ShardingAttr divided = shardingOf(unit, /*divided=*/true);
    unit.state->setAttr(dist::kMomentsAttr, divided);
    for (StateOp state : {unit.state, unit.copy})
      if (state && (settings.stage == 3 || (unit.copy && state != unit.copy))) {
        state->setAttr(dist::kShardingAttr, divided);
        state.setWhyAttr(whyDivided(state));
      }
  }

  StringAttr whyDivided(StateOp state) {
    StringAttr said = state.getWhyAttr();
    return StringAttr::get(settings.module.getContext(),
                           (said ? said.getValue() + "; " : Twine()) +
                               "flag --zero");
  }
};

} // namespace

std::unique_ptr<ZeroStrategy> makeDimUnits(const ZeroSettings &settings) {
  return std::make_unique<DimUnits>(settings);
}

} // namespace zc
