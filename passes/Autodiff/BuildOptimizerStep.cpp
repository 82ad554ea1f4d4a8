//===- BuildOptimizerStep.cpp - gradients to new values -------------------===//
#include "dialects/Dist/DistDialect.h"
#include "dialects/Train/ProgramBuilder.h"
#include "dialects/Train/Versions.h"
#include "passes/Autodiff/GradientNorm.h"
#include "passes/Autodiff/LossScale.h"
#include "passes/Autodiff/Optimizers/Optimizers.h"
#include "passes/Autodiff/Optimizers/UpdateBuilder.h"
#include "passes/Autodiff/ParameterGroup.h"
#include "passes/Autodiff/Passes.h"
#include "passes/Autodiff/UpdateSharding.h"

#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace zc::train;

namespace zc {
#define GEN_PASS_DEF_BUILDOPTIMIZERSTEPPASS
#include "passes/Autodiff/Passes.h.inc"

namespace {

struct BuildOptimizerStep
    : public impl::BuildOptimizerStepPassBase<BuildOptimizerStep> {
  using BuildOptimizerStepPassBase::BuildOptimizerStepPassBase;

  void runOnOperation() override {
    auto step = getOperation().lookupSymbol<func::FuncOp>(kApplyProgram);
    if (!step)
      step = getOperation().lookupSymbol<func::FuncOp>(kStepProgram);
    rules.clear();
    if (!step || !makeOptimizer(ParameterGroup())) {
      getOperation().emitError("expected @step and an optimizer sgd, adam, "
                               "adamw, adafactor, sm3 or onebit-adam");
      return signalPassFailure();
    }
    if (freezesVariance() && failed(keepForLaterSteps(step)))
      return signalPassFailure();
    SmallVector<Gradient> gradients = takeGradients(step);
    for (const Gradient &gradient : gradients)
      getRule(gradient.parameter); // all are there when scalars are built
    if (failed(checkStates(gradients)))
      return signalPassFailure();
    OpBuilder builder(step.getBody().front().getTerminator());
    if (failed(buildScalars(step, builder)))
      return signalPassFailure();
    // The memory report counts these values as gradients.
    for (const Gradient &gradient : gradients)
      if (auto result = dyn_cast<OpResult>(gradient.value))
        markResult(result, kGradientsAttr);
    for (Gradient &gradient : gradients)
      gradient.value = widen(builder, gradient.value.getLoc(), gradient.value);
    LossScale scale(step);
    for (Gradient &gradient : gradients)
      gradient.value = scale.unscale(builder, gradient.value);
    FailureOr<Value> norm = buildNorm(step, builder, gradients);
    if (failed(norm))
      return signalPassFailure();
    scale.update(builder, *norm);
    // A step that is skipped does not count.
    OpOperand &next =
        step.getBody().front().getTerminator()->getOpOperand(countResult);
    next.set(scale.choose(builder, next.get(), oldCount));
    if (freezesVariance() && failed(countVarianceStep(step, next.get())))
      return signalPassFailure();
    findCopies();
    ProgramGrowth growth(step);
    for (const Gradient &gradient : gradients)
      updateParameter(growth, builder, gradient, scale);
  }

private:
  /// Whether later steps end otherwise: this one is of the warm-up.
  bool freezesVariance() const { return optimizer == "onebit-adam"; }

  static LogicalResult keepForLaterSteps(func::FuncOp apply) {
    if (apply.getSymName() != kApplyProgram)
      return apply.emitError("steps that end in two ways are no one program; "
                             "expected @apply, as --zc-accumulate-gradients "
                             "makes it");
    OpBuilder builder(apply);
    builder.setInsertionPointAfter(apply);
    cast<func::FuncOp>(builder.clone(*apply)).setSymName(kCompressedProgram);
    return success();
  }

  /// Later steps leave the number as it is.
  LogicalResult countVarianceStep(func::FuncOp step, Value count) {
    FailureOr<StateOp> state =
        getScalarState(getOperation(), kVarianceStep, count.getType());
    if (succeeded(state))
      addResult(step, count, bindTo(*state));
    return state;
  }

  /// The update rule of the parameter's group.
  Optimizer &getRule(StateOp parameter) {
    ParameterGroup group = ParameterGroup::of(parameter);
    std::shared_ptr<Optimizer> &rule = rules[group];
    if (!rule) {
      std::unique_ptr<Optimizer> own = makeOptimizer(group);
      if (averageDecay >= 0)
        own = makeAveraged(std::move(own), averageDecay);
      rule = std::move(own);
    }
    return *rule;
  }

  std::unique_ptr<Optimizer> makeOptimizer(const ParameterGroup &group) {
    BuildOptimizerStepPassOptions options;
    options.momentum = momentum;
    options.nesterov = nesterov;
    options.beta1 = beta1;
    options.beta2 = beta2;
    options.eps = eps;
    options.weightDecay = group.weightDecay.value_or(weightDecay.getValue());
    const OptimizerKind *kind = findOptimizer(optimizer);
    return kind ? kind->make(options) : nullptr;
  }

  /// The moments of a parameter. First ones may have 16 bits: a step changes
  /// them by a tenth; second ones change by less than such digits.
  std::vector<Slot> getSlots(StateOp parameter) {
    std::vector<Slot> slots =
        getRule(parameter).slots(parameter.getTensorType());
    for (Slot &slot : slots)
      if (momentPrecision == "bf16" &&
          (slot.name == "exp_avg" || slot.name == "momentum_buffer"))
        slot.type = cast<RankedTensorType>(
            withElementType(slot.type, BFloat16Type::get(&getContext())));
    return slots;
  }

  /// The optimizer's states must not meet initializers of the same name, and
  /// zeros behind a parameter must mean nothing to it.
  LogicalResult checkStates(ArrayRef<Gradient> gradients) {
    for (Gradient gradient : gradients)
      if (!getRule(gradient.parameter).ignoresZeros() &&
          gradient.parameter.getWholeType() !=
              gradient.parameter.getTensorType())
        return gradient.parameter.emitError()
               << "parameter '" << gradient.parameter.getSymName() << "' is "
               << gradient.parameter.getWholeType()
               << " with zeros behind a dim, so that it divides evenly, which "
               << optimizer << " would count; divide another dim of it";
    SymbolTable taken(getOperation());
    for (Gradient gradient : gradients)
      for (const Slot &slot : getSlots(gradient.parameter)) {
        std::string name =
            getSlotName(gradient.parameter.getSymName(), slot.name);
        if (Operation *other = taken.lookup(name))
          return refuseName(other, name);
      }
    return success();
  }

  /// `lr` is written by the host before each step; the count is of steps done.
  LogicalResult buildScalars(func::FuncOp step, OpBuilder &builder) {
    Location loc = NameLoc::get(builder.getStringAttr("optimizer"));
    auto lrType = RankedTensorType::get({}, builder.getF32Type());
    auto stepType = RankedTensorType::get({}, builder.getI64Type());
    auto lr = getScalarState(getOperation(), kLearningRate, lrType);
    auto count = getScalarState(getOperation(), kStepCount, stepType);
    if (failed(lr) || failed(count))
      return failure();
    Value rate = getStateArgument(step, *lr);
    Value old = getStateArgument(step, *count);
    Value next =
        AddOp::create(builder, loc, old, splat(builder, loc, stepType, 1));
    UpdateBuilder u{builder, loc};
    Value number = u.convert(next, builder.getF64Type());
    if (failed(buildNumbers(step)))
      return failure();
    for (auto &[group, rule] : rules) {
      Value own = group.rateScale == 1 ? rate : u.mul(rate, group.rateScale);
      rule->buildShared(builder, loc, own, number);
    }
    oldCount = old;
    countResult = step.getNumResults();
    addResult(step, next, bindTo(*count));
    return success();
  }

  /// Numbers that the run may change; those of a group are its own.
  LogicalResult buildNumbers(func::FuncOp step) {
    if (!settingsAtRunTime)
      return success();
    bool isSound = true;
    for (auto &[group, rule] : rules)
      rule->visitNumbers([&, hasDecay = group.weightDecay.has_value()](
                             StringRef name, RuleNumber &number) {
        if (hasDecay && name == "weight-decay")
          return;
        FailureOr<Value> state = getSetting(step, name, number.value);
        isSound &= succeeded(state);
        number.state = state.value_or(Value());
      });
    return success(isSound);
  }

  /// The argument for a number of the optimizer that the run may change.
  FailureOr<Value> getSetting(func::FuncOp step, StringRef name, double value) {
    Builder builder(&getContext());
    auto state =
        getScalarState(getOperation(), (kSettingStatePrefix + name).str(),
                       RankedTensorType::get({}, builder.getF64Type()));
    if (failed(state))
      return failure();
    state->setDrawAttr(builder.getDictionaryAttr(
        builder.getNamedAttr(kDrawConstant, builder.getF64FloatAttr(value))));
    return getStateArgument(step, *state);
  }

  /// A limit of gradients as a float32 tensor of no dims.
  FailureOr<Value> getLimit(func::FuncOp step, UpdateBuilder &u, Value norm,
                            StringRef name, double value) {
    if (!settingsAtRunTime)
      return u.number(norm, value);
    FailureOr<Value> limit = getSetting(step, name, value);
    if (failed(limit))
      return failure();
    return u.convert(*limit, u.builder.getF32Type());
  }

  /// A parameter that several roles hold counts in the first of them.
  bool isCounted(StateOp parameter) {
    DenseI64ArrayAttr holders = parameter.getHoldersAttr();
    auto role = getOperation()->getAttrOfType<IntegerAttr>(kRoleAttr);
    return !holders || !role || holders[0] == role.getInt();
  }

  /// The norm is a metric; with a limit to it, gradients are scaled down.
  FailureOr<Value> buildNorm(func::FuncOp step, OpBuilder &builder,
                             MutableArrayRef<Gradient> gradients) {
    Location loc = NameLoc::get(builder.getStringAttr("gradient norm"));
    SmallVector<Value> values;
    SmallVector<GradientDivision> divisions;
    int64_t padding = 0;
    for (const Gradient &gradient : gradients) {
      if (!isCounted(gradient.parameter))
        continue;
      values.push_back(gradient.value);
      divisions.push_back(getDivision(gradient.parameter));
      padding += countPadding(gradient.parameter);
    }
    bool hasRoles = getOperation()->hasAttr(kRoleAttr) &&
                    !getOperation()->hasAttr(kNoFlushAttr);
    Value norm = buildGlobalNorm(builder, loc, values, divisions, hasRoles);
    addResult(
        step, norm,
        builder.getNamedAttr(kMetricAttr, builder.getStringAttr("grad_norm")));
    if (!gradientEdges.empty())
      addResult(
          step,
          buildGradientCounts(builder, loc, values, divisions,
                              llvm::to_vector<0>(llvm::make_range(
                                  gradientEdges.begin(), gradientEdges.end())),
                              padding, hasRoles),
          builder.getNamedAttr(kMetricAttr,
                               builder.getStringAttr("gradient_counts")));
    UpdateBuilder u{builder, loc};
    if (clipNorm > 0) {
      FailureOr<Value> limit = getLimit(step, u, norm, "clip-norm", clipNorm);
      if (failed(limit))
        return failure();
      Value factor = buildClipFactor(builder, loc, norm, *limit);
      for (Gradient &gradient : gradients)
        gradient.value =
            u.mul(gradient.value, u.spread(factor, gradient.value));
    }
    if (clipValue > 0) {
      FailureOr<Value> limit = getLimit(step, u, norm, "clip-value", clipValue);
      if (failed(limit))
        return failure();
      Value least = u.sub(u.number(*limit, 0), *limit);
      for (Gradient &gradient : gradients)
        gradient.value =
            u.max(u.min(gradient.value, u.spread(*limit, gradient.value)),
                  u.spread(least, gradient.value));
    }
    return norm;
  }

  /// The zeros behind a parameter, or behind the members of a unit, with which
  /// it divides evenly.
  int64_t countPadding(StateOp parameter) {
    const int64_t all = parameter.getTensorType().getNumElements();
    const auto members =
        dist::getUnitMembers(getOperation(), parameter.getSymName());
    if (members.empty())
      return all - parameter.getWholeType().getNumElements();
    int64_t used = 0;
    for (StateOp member : members)
      used += member.getWholeType().getNumElements();
    return all - used;
  }

  /// How the gradient of a parameter will be divided: as its moments are.
  static GradientDivision getDivision(StateOp parameter) {
    dist::ShardingAttr sharding = getUpdateSharding(parameter);
    SmallVector<int64_t> parts(parameter.getTensorType().getRank(), 1);
    SmallVector<Attribute> axes;
    if (sharding)
      for (auto [number, dim] : llvm::zip_equal(parts, sharding.getDims())) {
        number = dist::getGroupSize(dist::getMesh(parameter), dim);
        llvm::append_range(axes, dim);
      }
    return {parts, ArrayAttr::get(parameter.getContext(), axes)};
  }

  /// A state is divided as its parameter is, along the dims that it has too.
  static Attribute getSharding(StateOp parameter, RankedTensorType slot) {
    dist::ShardingAttr sharding = getUpdateSharding(parameter);
    RankedTensorType type = parameter.getTensorType();
    if (!sharding || type.getRank() != slot.getRank())
      return {};
    SmallVector<ArrayAttr> dims;
    for (auto [dim, axes] : llvm::enumerate(sharding.getDims()))
      dims.push_back(type.getDimSize(dim) == slot.getDimSize(dim)
                         ? axes
                         : ArrayAttr::get(slot.getContext(), {}));
    return dist::ShardingAttr::get(slot.getContext(), dims, {});
  }

  /// And its dims are blocks, or have zeros behind them, as the parameter's.
  static void copyForm(StateOp parameter, StateOp slot) {
    Builder builder(parameter.getContext());
    SmallVector<Attribute> blocks;
    RankedTensorType type = slot.getTensorType();
    SmallVector<int64_t> whole(type.getShape());
    for (auto [dim, size] : llvm::enumerate(type.getShape())) {
      bool same = size == parameter.getTensorType().getDimSize(dim);
      blocks.push_back(builder.getDenseI64ArrayAttr(
          same ? dist::getBlocks(parameter, dim) : ArrayRef<int64_t>()));
      if (same)
        whole[dim] = parameter.getWholeType().getDimSize(dim);
    }
    if (parameter.getBlocks())
      slot.setBlocksAttr(builder.getArrayAttr(blocks));
    if (ArrayRef(whole) != type.getShape())
      slot->setAttr(dist::kWholeAttr, TypeAttr::get(withShape(type, whole)));
  }

  /// Maps parameters to their copies once: there may be many states.
  void findCopies() {
    copies.clear();
    for (auto state : getOperation().getOps<StateOp>())
      if (state.getKind() == kCopy)
        copies[*state.getParameter()] = state;
  }

  void updateParameter(ProgramGrowth &step, OpBuilder &builder,
                       const Gradient &gradient, LossScale &scale) {
    StateOp parameter = gradient.parameter;
    Optimizer &rule = getRule(parameter);
    StringRef name = parameter.getSymName();
    SmallVector<StateOp> states;
    ParameterUpdate update{step.getStateArgument(parameter),
                           gradient.value,
                           parameter.getDecay(),
                           {}};
    for (const Slot &slot : getSlots(parameter)) {
      StateOp state = addState(getOperation(), getSlotName(name, slot.name),
                               slot.type, kOptimizer, parameter.getLoc());
      state.setParameter(name);
      state.setSlot(slot.name);
      if (Attribute sharding = getSharding(parameter, slot.type))
        state->setAttr(dist::kShardingAttr, sharding);
      copyForm(parameter, state);
      states.push_back(state);
      update.moments.push_back(
          widen(builder, parameter.getLoc(), step.getStateArgument(state)));
    }
    SmallVector<Value> before = update.moments;
    // Where the parameter comes from says where its update comes from.
    Value updated = rule.update(builder, parameter.getLoc(), update);
    updated = scale.choose(builder, updated, update.parameter);
    step.addResult(updated, bindTo(parameter));
    if (StateOp copy = copies.lookup(name))
      step.addResult(
          narrow(builder, parameter.getLoc(), updated, copy.getType()),
          bindTo(copy));
    for (auto [state, moment, old] : llvm::zip(states, update.moments, before))
      step.addResult(narrow(builder, parameter.getLoc(),
                            scale.choose(builder, moment, old),
                            state.getType()),
                     bindTo(state));
  }

  // Shared, as a pass must be copyable.
  std::map<ParameterGroup, std::shared_ptr<Optimizer>> rules;
  Value oldCount; // of steps done
  unsigned countResult = 0;
  llvm::StringMap<StateOp> copies; // by parameter
};

} // namespace
} // namespace zc
