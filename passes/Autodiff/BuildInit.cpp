//===- BuildInit.cpp - what states hold before the first step -------------===//
//
// Weights never enter the IR; neither do the keys they are drawn by. Whatever
// differs between two draws of one shape reaches their kernels through memory,
// so that equal layers share one.
//
//===----------------------------------------------------------------------===//
#include "dialects/Dist/Shares.h"
#include "dialects/Train/Ops/OpSupport.h"
#include "dialects/Train/ProgramBuilder.h"
#include "passes/Autodiff/Passes.h"

#include <map>

using namespace mlir;
using namespace zc::train;

namespace zc {
#define GEN_PASS_DEF_BUILDINITPASS
#include "passes/Autodiff/Passes.h.inc"

namespace {

/// A vector whose `blocks` are divided in `parts` each, as programs hold it: of
/// every block the first part, then of every block the second.
Value reorderBlocks(OpBuilder &builder, Location loc, Value vector,
                    ArrayRef<int64_t> blocks, int64_t parts) {
  SmallVector<Type> types;
  int64_t size = 0;
  for (int64_t block : blocks) {
    types.push_back(withShape(vector.getType(), {block}));
    size += block;
  }
  auto split = SplitOp::create(builder, loc, types, vector, /*dim=*/0);
  SmallVector<Value> columns;
  for (Value block : split.getResults())
    columns.push_back(reshape(builder, loc, block,
                              {parts, numElements(block.getType()) / parts}));
  auto type = withShape(vector.getType(), {parts, size / parts});
  Value rows = ConcatOp::create(builder, loc, type, columns, /*dim=*/1);
  return reshape(builder, loc, rows, {size});
}

/// Every element's row-major index, as files count, is the sum of these. The
/// members of units, which stand in a module of their own, are divided over
/// `mesh`, too.
SmallVector<Value> buildPositions(OpBuilder &builder, StateOp state,
                                  dist::MeshAttr mesh) {
  Location loc = state.getLoc();
  RankedTensorType whole = state.getWholeType();
  ArrayRef<int64_t> shape = whole.getShape();
  auto sharding = state->getAttrOfType<dist::ShardingAttr>(dist::kShardingAttr);
  SmallVector<Value> positions;
  int64_t stride = 1;
  for (size_t end = shape.size(); end > 0; --end) {
    int64_t dim = end - 1, size = shape[dim];
    if (size > 1) {
      auto type = RankedTensorType::get({size}, builder.getI64Type());
      Value vector = IotaOp::create(builder, loc, type, stride);
      if (auto blocks = dist::getBlocks(state, dim); !blocks.empty())
        vector =
            reorderBlocks(builder, loc, vector, blocks,
                          dist::getGroupSize(mesh, sharding.getDims()[dim]));
      positions.push_back(broadcast(builder, loc, vector, shape, {dim}));
    }
    stride *= size;
  }
  return positions;
}

struct BuildInit : public impl::BuildInitPassBase<BuildInit> {
  void runOnOperation() override {
    hasUnits = getOperation().lookupSymbol(dist::kUnitModule) != nullptr;
    SmallVector<StateOp> states;
    for (auto state : getOperation().getOps<StateOp>())
      if (!state.hasInitialValue() && !isWrittenByHost(state) &&
          state.getKind() != kCopy && !areMembersStored(state))
        states.push_back(state);
    buildCopies();
    if (states.empty())
      return;
    OpBuilder builder(&getContext());
    func::FuncOp init = createProgram(builder, kInitProgram);
    if (failed(buildKeys(init, builder, states)))
      return signalPassFailure();
    ProgramGrowth growth(init);
    for (StateOp state : states)
      growth.addResult(buildValue(builder, state), bindTo(state));
  }

private:
  /// An empty program, with the builder in front of its end.
  func::FuncOp createProgram(OpBuilder &builder, StringRef name) {
    builder.setInsertionPointToEnd(getOperation().getBody());
    Location loc = NameLoc::get(builder.getStringAttr(name));
    auto program = func::FuncOp::create(builder, loc, name,
                                        builder.getFunctionType({}, {}));
    builder.setInsertionPointToStart(program.addEntryBlock());
    builder.setInsertionPoint(func::ReturnOp::create(builder, loc));
    return program;
  }

  /// Builds the program that runs after parameters were read from files.
  void buildCopies() {
    OpBuilder builder(&getContext());
    SmallVector<StateOp> copies;
    for (auto state : getOperation().getOps<StateOp>())
      if (state.getKind() == kCopy)
        copies.push_back(state);
    if (copies.empty())
      return;
    ProgramGrowth growth(createProgram(builder, kCopyProgram));
    SymbolTable symbols(getOperation());
    for (StateOp copy : copies) {
      auto parameter = symbols.lookup<StateOp>(*copy.getParameter());
      Value value = narrow(builder, copy.getLoc(),
                           growth.getStateArgument(parameter), copy.getType());
      growth.addResult(value, bindTo(copy));
    }
  }

  SmallVector<StateOp> getMembers(StateOp unit) {
    if (!hasUnits) // of many states it is not asked each time
      return {};
    return dist::getUnitMembers(getOperation(), unit.getSymName());
  }

  /// Whether the unit's members have initial values: all have, or none.
  bool areMembersStored(StateOp unit) {
    auto members = getMembers(unit);
    return !members.empty() && members.front().hasInitialValue();
  }

  static bool isWrittenByHost(StateOp state) {
    return state.getKind() == kScalar &&
           (state.getSymName() == kSeed || state.getCoordinate());
  }

  static std::optional<int64_t> drawIndex(StateOp state) {
    if (!state.getDraw())
      return std::nullopt;
    auto index = state.getDraw()->getAs<IntegerAttr>(kDrawIndex);
    return index ? std::optional(index.getInt()) : std::nullopt;
  }

  /// The key of index i is splitmix64's i-th number from the seed on, made from
  /// the one before by the same operations as every other.
  LogicalResult buildKeys(func::FuncOp init, OpBuilder &builder,
                          ArrayRef<StateOp> states) {
    keys.clear();
    for (StateOp state : states) {
      SmallVector<StateOp> drawn = getMembers(state);
      drawn.push_back(state);
      for (StateOp each : drawn)
        if (std::optional<int64_t> index = drawIndex(each))
          keys[*index] = nullptr;
    }
    if (keys.empty())
      return success();
    auto type = RankedTensorType::get({}, builder.getI64Type());
    FailureOr<StateOp> seed = getScalarState(getOperation(), kSeed, type);
    if (failed(seed))
      return failure();
    Location loc = init.getLoc();
    constexpr int64_t kGoldenRatio = 0x9e3779b97f4a7c15;
    Value increment = ConstantOp::create(
        builder, loc, DenseElementsAttr::get(type, kGoldenRatio));
    Value zero = splat(builder, loc, type, 0);
    Value state = getStateArgument(init, *seed);
    int64_t next = 0;
    for (auto &[index, key] : keys) {
      for (; next <= index; ++next)
        state = AddOp::create(builder, loc, state, increment);
      key = RandomKeyOp::create(builder, loc, state, zero);
    }
    return success();
  }

  /// How a member is divided by axes that do not divide the vector alone.
  dist::ShareRule getShares(StateOp member) {
    auto shares = dist::getShares(
        member.getTensorType(),
        member->getAttrOfType<dist::ShardingAttr>(dist::kShardingAttr),
        dist::getMesh(getOperation()));
    assert(shares && "units are formed of what has equal shares");
    return *shares;
  }

  /// Members one after another, then zeros; so each share of them.
  Value buildVector(OpBuilder &builder, StateOp unit,
                    ArrayRef<StateOp> members) {
    SmallVector<Value> values;
    SmallVector<dist::ShareRule> shares;
    for (StateOp member : members) {
      values.push_back(buildValue(builder, member));
      shares.push_back(getShares(member));
    }
    int64_t length = unit.getTensorType().getDimSize(0) / shares.front().count;
    Value packed =
        dist::packShares(builder, unit.getLoc(), values, shares, length);
    return reshape(builder, unit.getLoc(), packed,
                   unit.getTensorType().getShape());
  }

  Value buildValue(OpBuilder &builder, StateOp state) {
    if (auto members = getMembers(state); !members.empty())
      return buildVector(builder, state, members);
    Value whole = buildWhole(builder, state);
    if (whole.getType() == state.getType())
      return whole;
    SmallVector<int64_t> none(state.getTensorType().getRank(), 0);
    return PadOp::create(builder, state.getLoc(), state.getType(), whole, none,
                         none);
  }

  /// Without the zeros behind dims.
  Value buildWhole(OpBuilder &builder, StateOp state) {
    Location loc = state.getLoc();
    RankedTensorType type = state.getWholeType();
    DictionaryAttr draw = state.getDraw().value_or(DictionaryAttr());
    auto number = [&](StringRef kind) {
      return draw ? draw.getAs<FloatAttr>(kind) : FloatAttr();
    };
    std::optional<int64_t> index = drawIndex(state);
    if (!index) {
      FloatAttr constant = number(kDrawConstant);
      return splat(builder, loc, type,
                   constant ? constant.getValueAsDouble() : 0);
    }
    Value key = broadcast(builder, loc, keys[*index], type.getShape(), {});
    auto positions =
        buildPositions(builder, state, dist::getMesh(getOperation()));
    if (FloatAttr bound = number(kDrawUniform))
      return RandomUniformOp::create(builder, loc, type, key, positions, bound);
    if (FloatAttr std = number(kDrawTruncated))
      return buildTruncated(builder, loc, key, positions, type, std);
    return RandomNormalOp::create(builder, loc, type, key, positions,
                                  number(kDrawNormal));
  }

  /// Picks the first of several draws within two standard deviations, or clips
  /// the last, which happens to one number in 200,000.
  static Value buildTruncated(OpBuilder &builder, Location loc, Value key,
                              ValueRange positions, RankedTensorType type,
                              FloatAttr std) {
    constexpr int64_t kDraws = 4;
    double most = 2 * std.getValueAsDouble();
    Value limit = splat(builder, loc, type, most);
    Value least = splat(builder, loc, type, -most);
    auto drawNumber = [&](int64_t number) {
      Value data = splat(builder, loc, key.getType(), double(number));
      Value other = RandomKeyOp::create(builder, loc, key, data);
      return RandomNormalOp::create(builder, loc, type, other, positions, std)
          .getResult();
    };
    Value value = drawNumber(0);
    value = MaxOp::create(builder, loc, least,
                          MinOp::create(builder, loc, limit, value));
    for (int64_t number = 1; number < kDraws; ++number) {
      Value first = drawNumber(number);
      Value size = AbsOp::create(builder, loc, first);
      value = SelectOp::create(
          builder, loc, type, compare(builder, loc, Predicate::Le, size, limit),
          first, value);
    }
    return value;
  }

  bool hasUnits = false;
  std::map<int64_t, Value> keys; // by the draws' indices
};

} // namespace
} // namespace zc
