//===- AccumulateGradients.cpp - a step from several micro-batches --------===//
//
// The step program of a part of the batch is cut where gradients are whole for
// that part: `micro` adds them to accumulators, `apply` takes the sums.
//
//===----------------------------------------------------------------------===//
#include "dialects/Dist/DistDialect.h"
#include "passes/Autodiff/Optimizers/UpdateBuilder.h"
#include "passes/Autodiff/Passes.h"
#include "passes/Autodiff/ProgramBuilder.h"

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
    if (failed(countMicroBatches()) || failed(moveLoss()))
      return signalPassFailure();
    for (unsigned i = 0; i < micro.getNumResults();)
      if (auto parameter =
              micro.getResultAttrOfType<FlatSymbolRefAttr>(i, kGradientAttr)) {
        if (failed(moveGradient(i, parameter)))
          return signalPassFailure();
      } else {
        ++i;
      }
  }

private:
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
      wide.getDefiningOp()->setAttr(kStaysTermAttr, builder.getUnitAttr());
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
    // Among ranks, the sum stays unreduced, which no product in place does.
    Value sum;
    if (dist::getMesh(getOperation()))
      sum = AddOp::create(builder, value.getLoc(), old, value);
    else
      sum = addInPlace(builder, value.getLoc(), old, value);
    addResult(micro, sum, binding(kStateAttr, symbol));
    Value total = getStateArgument(apply, state);
    addResult(apply, splat(*end, value.getLoc(), value.getType(), 0),
              binding(kStateAttr, symbol));
    return total;
  }

  /// What dropout tells micro-batches apart by starts again with every step.
  LogicalResult countMicroBatches() {
    auto state = getOperation().lookupSymbol<StateOp>(kMicroBatch);
    if (!state || state.getKind() != kScalar)
      return success();
    Attribute symbol = FlatSymbolRefAttr::get(state.getSymNameAttr());
    OpBuilder builder(micro.getBody().front().getTerminator());
    Value next =
        AddOp::create(builder, state.getLoc(), getStateArgument(micro, state),
                      splat(builder, state.getLoc(), state.getTensorType(), 1));
    addResult(micro, next, binding(kStateAttr, symbol));
    addResult(apply, splat(*end, state.getLoc(), state.getTensorType(), 0),
              binding(kStateAttr, symbol));
    return success();
  }

  /// The loss is a sum, to be divided by how many it is the sum of.
  LogicalResult moveLoss() {
    std::optional<unsigned> count = findMetric(micro, kLossCount);
    if (count) {
      FailureOr<Value> total = moveResult(*count, kLossCount);
      if (failed(total))
        return failure();
      UpdateBuilder u{*end, total->getLoc()};
      factor = u.div(u.number(*total, 1), *total);
    }
    std::optional<unsigned> index = findMetric(micro, kLoss);
    FailureOr<Value> loss =
        index ? moveResult(*index, kLoss)
              : FailureOr<Value>(micro.emitError("expected a metric \"loss\""));
    if (failed(loss))
      return failure();
    addResult(apply, scale(*loss),
              binding(kMetricAttr, StringAttr::get(&getContext(), kLoss)));
    return success();
  }

  LogicalResult moveGradient(unsigned index, FlatSymbolRefAttr parameter) {
    FailureOr<Value> sum = moveResult(index, parameter.getValue());
    if (failed(sum))
      return failure();
    addResult(apply, scale(*sum), binding(kGradientAttr, parameter));
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
