//===- AccumulateGradients.cpp - a step from several micro-batches --------===//
//
// The step program of a part of the batch is cut where gradients are whole for
// that part: `micro` adds them to accumulators, `apply` takes the sums.
//
//===----------------------------------------------------------------------===//
#include "dialects/Dist/DistDialect.h"
#include "dialects/Train/ProgramBuilder.h"
#include "dialects/Train/Versions.h"
#include "passes/Analysis/Messages.h"
#include "passes/Autodiff/ExpertMetrics.h"
#include "passes/Autodiff/LayerMetrics.h"
#include "passes/Autodiff/Optimizers/UpdateBuilder.h"
#include "passes/Autodiff/Passes.h"
#include "passes/Autodiff/RoleSum.h"
#include "passes/Autodiff/UpdateSharding.h"

using namespace mlir;
using namespace zc::train;

namespace zc {
#define GEN_PASS_DEF_ACCUMULATEGRADIENTSPASS
#include "passes/Autodiff/Passes.h.inc"

namespace {

struct AccumulateGradients
    : public impl::AccumulateGradientsPassBase<AccumulateGradients> {
  void runOnOperation() override {
    micro = getOperation().lookupSymbol<func::FuncOp>(kStepProgram);
    if (!micro) {
      getOperation().emitError("expected @step");
      return signalPassFailure();
    }
    micro.setSymName(kMicroProgram);
    apply = createApply();
    end.emplace(apply.getBody().front().getTerminator());
    if (failed(countMicroBatches()) || failed(moveLoss()) ||
        failed(moveExpertMetrics()))
      return signalPassFailure();
    if (failed(moveGradients()))
      signalPassFailure();
  }

private:
  /// Gradients that several roles add up come first, in the order of their
  /// names: each role meets them in an order of its own, and all must send in
  /// one.
  LogicalResult moveGradients() {
    SmallVector<StringRef> shared;
    for (unsigned i = 0; i < micro.getNumResults(); ++i)
      if (auto parameter = getParameter(i); parameter && getHolders(parameter))
        shared.push_back(parameter.getValue());
    llvm::sort(shared);
    for (StringRef name : shared)
      for (unsigned i = 0; i < micro.getNumResults(); ++i)
        if (auto parameter = getParameter(i);
            parameter && parameter.getValue() == name) {
          if (failed(moveGradient(i, parameter)))
            return failure();
          break;
        }
    for (unsigned i = 0; i < micro.getNumResults();)
      if (auto parameter = getParameter(i)) {
        if (failed(moveGradient(i, parameter)))
          return failure();
      } else {
        ++i;
      }
    return success();
  }

  /// The parameter whose gradient is result `index` of `micro`, or null.
  FlatSymbolRefAttr getParameter(unsigned index) {
    return micro.getResultAttrOfType<FlatSymbolRefAttr>(index, kGradientAttr);
  }

  /// The roles that have a copy of a parameter; null: this one alone.
  DenseI64ArrayAttr getHolders(FlatSymbolRefAttr parameter) {
    return getOperation()
        .lookupSymbol<StateOp>(parameter.getValue())
        .getHoldersAttr();
  }

  NamedAttribute binding(StringRef attribute, Attribute value) {
    return NamedAttribute(StringAttr::get(&getContext(), attribute), value);
  }

  func::FuncOp createApply() {
    OpBuilder builder(micro);
    builder.setInsertionPointAfter(micro);
    auto program = func::FuncOp::create(builder, micro.getLoc(), kApplyProgram,
                                        builder.getFunctionType({}, {}));
    builder.setInsertionPointToStart(program.addEntryBlock());
    func::ReturnOp::create(builder, micro.getLoc());
    return program;
  }

  /// Ranks add up micro-batches each by itself, and send once a step.
  static Value widenTerm(OpBuilder &builder, Value value, Attribute sharding) {
    Value wide = widen(builder, value.getLoc(), value);
    if (wide != value && !sharding)
      wide.getDefiningOp<ConvertOp>().setStaysTerm(true);
    return wide;
  }

  /// The sum of `value`, which result `index` of `micro` is, over the
  /// micro-batches: an argument of `apply`, which also starts it again at 0.
  FailureOr<Value> moveResult(unsigned index, const Twine &what) {
    Value value = micro.getBody().front().getTerminator()->getOperand(index);
    Attribute sharding = micro.getResultAttr(index, dist::kShardingAttr);
    eraseResult(micro, index);
    OpBuilder builder(micro.getBody().front().getTerminator());
    value = widenTerm(builder, value, sharding);
    std::string name = (kAccumulatedPrefix + what).str();
    if (Operation *taken = getOperation().lookupSymbol(name))
      return refuseName(taken, name);
    StateOp state = addState(getOperation(), name, value.getType(),
                             kAccumulator, value.getLoc());
    if (sharding)
      state->setAttr(dist::kShardingAttr, sharding);
    auto symbol = FlatSymbolRefAttr::get(state.getSymNameAttr());
    Value old = getStateArgument(micro, state);
    auto sum = AddOp::create(builder, value.getLoc(), old, value);
    sum.setInPlace(true);
    addResult(micro, sum, binding(kStateAttr, symbol));
    Value total = getStateArgument(apply, state);
    addResult(apply, splat(*end, value.getLoc(), value.getType(), 0),
              binding(kStateAttr, symbol));
    return total;
  }

  /// A replica of a stage counts its own micro-batches, count; all numbers are
  /// as one role's that computes each: count * turns + turn.
  Value numberByTurns(StateOp state, Value count) {
    auto turns = getOperation()->getAttrOfType<IntegerAttr>(kTurnsAttr);
    if (!turns)
      return count;
    OpBuilder builder = OpBuilder::atBlockBegin(&micro.getBody().front());
    Location loc = state.getLoc();
    auto number = [&](StringRef name) {
      return splat(
          builder, loc, state.getTensorType(),
          double(getOperation()->getAttrOfType<IntegerAttr>(name).getInt()));
    };
    Value scaled = MulOp::create(builder, loc, count, number(kTurnsAttr));
    Value place = AddOp::create(builder, loc, scaled, number(kTurnAttr));
    count.replaceAllUsesExcept(place, scaled.getDefiningOp());
    return count;
  }

  /// Resets with every step the number by which dropout tells micro-batches
  /// apart.
  LogicalResult countMicroBatches() {
    auto state = getOperation().lookupSymbol<StateOp>(kMicroBatch);
    if (!state || state.getKind() != kScalar)
      return success();
    Attribute symbol = FlatSymbolRefAttr::get(state.getSymNameAttr());
    Value count = numberByTurns(state, getStateArgument(micro, state));
    OpBuilder builder(micro.getBody().front().getTerminator());
    Value next =
        AddOp::create(builder, state.getLoc(), count,
                      splat(builder, state.getLoc(), state.getTensorType(), 1));
    addResult(micro, next, binding(kStateAttr, symbol));
    addResult(apply, splat(*end, state.getLoc(), state.getTensorType(), 0),
              binding(kStateAttr, symbol));
    return success();
  }

  /// The loss is a sum, to be divided by how many it is the sum of.
  LogicalResult moveLoss() {
    FailureOr<Value> count = moveMetric(kLossCount), loss = moveMetric(kLoss);
    if (failed(count) || failed(loss))
      return failure();
    if (!*loss)
      return micro.emitError("expected a metric \"loss\"");
    Value total = *loss, number = *count;
    // Without flush no role waits for others: each reports its own.
    if (getOperation()->hasAttr(kRoleAttr) &&
        !getOperation()->hasAttr(kNoFlushAttr) &&
        failed(sumOverRoles(total, number)))
      return failure();
    if (number) {
      UpdateBuilder u{*end, number.getLoc()};
      factor = u.div(u.number(number, 1), number);
    }
    addResult(apply, scale(total),
              binding(kMetricAttr, StringAttr::get(&getContext(), kLoss)));
    return success();
  }

  LogicalResult moveExpertMetrics() {
    for (StringRef name : {kExpertTokens, kExpertOverflow}) {
      if (!findMetric(micro, name))
        continue;
      FailureOr<Value> total = moveMetric(name);
      if (failed(total))
        return failure();
      addResult(apply, *total,
                binding(kMetricAttr, StringAttr::get(&getContext(), name)));
    }
    return success();
  }

  /// The sum of a metric over micro-batches; null if the step has none. A
  /// metric that another role of the pipeline computes is 0 here.
  FailureOr<Value> moveMetric(StringRef name) {
    if (std::optional<unsigned> index = findMetric(micro, name))
      return moveResult(*index, name);
    auto types =
        getOperation()->getAttrOfType<DictionaryAttr>(kMetricTypesAttr);
    auto type = types ? types.getAs<TypeAttr>(name) : TypeAttr();
    if (!type)
      return Value();
    Location loc = NameLoc::get(StringAttr::get(&getContext(), "loss"));
    Value zero = splat(*end, loc, type.getValue(), 0);
    return widen(*end, loc, zero);
  }

  /// Moves the metrics of this role's layers.
  LogicalResult moveLayerMetrics(LayerMetrics::Sums &sums) {
    for (unsigned i = 0; i < micro.getNumResults();) {
      auto name = micro.getResultAttrOfType<StringAttr>(i, kMetricAttr);
      if (!name || findLayerMetric(name).empty()) {
        ++i;
        continue;
      }
      FailureOr<Value> sum = moveResult(i, name.getValue());
      if (failed(sum))
        return failure();
      sums[name.str()] = *sum;
    }
    return success();
  }

  /// All in one message. `count` may be null.
  LogicalResult sumOverRoles(Value &loss, Value &count) {
    LayerMetrics layers(getOperation());
    LayerMetrics::Sums rows;
    if (failed(moveLayerMetrics(rows)))
      return failure();
    OpBuilder &builder = *end;
    Location loc = loss.getLoc();
    auto type = cast<RankedTensorType>(loss.getType());
    Type element = type.getElementType();
    SmallVector<Value> terms = {reshape(builder, loc, loss, {1})};
    if (count)
      terms.push_back(
          reshape(builder, loc, convert(builder, loc, count, element), {1}));
    const int64_t scalars = terms.size();
    if (layers.size())
      terms.push_back(convert(
          builder, loc, layers.buildTerm(builder, loc, apply, rows), element));
    Value all = ConcatOp::create(
        builder, loc, withShape(type, {scalars + layers.size()}), terms, 0);
    Value sum = buildRoleSum(builder, loc, all, dist::kScalars);
    auto take = [&](int64_t index, int64_t length) -> Value {
      return SliceOp::create(builder, loc, withShape(type, {length}), sum,
                             ArrayRef<int64_t>{index}, ArrayRef<int64_t>{1});
    };
    loss = reshape(builder, loc, take(0, 1), {});
    if (count)
      count = convert(builder, loc, reshape(builder, loc, take(1, 1), {}),
                      getElementTypeOrSelf(count.getType()));
    if (layers.size())
      layers.addResults(builder, apply,
                        convert(builder, loc, take(scalars, layers.size()),
                                builder.getF32Type()));
    return success();
  }

  /// All holders divide what they add up in one way: as the update wants it.
  Value sumOverHolders(StateOp parameter, Value gradient,
                       DenseI64ArrayAttr holders) {
    Value sum = buildRoleSum(*end, gradient.getLoc(), gradient,
                             dist::kGradients, holders);
    Attribute sharding = getUpdateSharding(parameter);
    if (!sharding)
      sharding = dist::getReplicated(
          &getContext(), cast<RankedTensorType>(gradient.getType()).getRank());
    sum.getDefiningOp()->setAttr(dist::kShardingAttr, sharding);
    return sum;
  }

  LogicalResult moveGradient(unsigned index, FlatSymbolRefAttr parameter) {
    FailureOr<Value> sum = moveResult(index, parameter.getValue());
    if (failed(sum))
      return failure();
    Value whole = *sum;
    // Copies of a parameter in several roles have one gradient.
    if (DenseI64ArrayAttr holders = getHolders(parameter))
      whole = sumOverHolders(
          getOperation().lookupSymbol<StateOp>(parameter.getValue()), whole,
          holders);
    addResult(apply, scale(whole), binding(kGradientAttr, parameter));
    return success();
  }

  Value scale(Value sum) {
    UpdateBuilder u{*end, sum.getLoc()};
    return factor ? u.mul(sum, u.spread(factor, sum)) : sum;
  }

  func::FuncOp micro, apply;
  std::optional<OpBuilder> end; // of apply
  Value factor;                 // in apply; null: sums are what is wanted
};

} // namespace
} // namespace zc
