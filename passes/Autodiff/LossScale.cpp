//===- LossScale.cpp - loss scaling as a predicated update ----------------===//
#include "passes/Autodiff/LossScale.h"

#include "dialects/Train/ProgramBuilder.h"
#include "passes/Autodiff/Optimizers/UpdateBuilder.h"

#include <limits>

using namespace mlir;
using namespace zc::train;

namespace zc {

/// PyTorch's growth_interval, growth_factor and backoff_factor.
static constexpr int64_t kGrowthInterval = 2000;
static constexpr double kGrowth = 2, kBackoff = 0.5;

LossScale::LossScale(func::FuncOp program) : program(program) {
  auto module = program->getParentOfType<ModuleOp>();
  auto find = [&](StringRef name) {
    auto found = module.lookupSymbol<StateOp>(name);
    return found && found.getKind() == kScalar ? found : StateOp();
  };
  goodSteps = find(kGoodSteps);
  state = find(kLossScale);
}

Value LossScale::unscale(OpBuilder &builder, Value gradient) {
  if (!state)
    return gradient;
  UpdateBuilder u{builder, gradient.getLoc()};
  Value scale = getStateArgument(program, state);
  return u.mul(gradient, u.spread(u.div(u.number(scale, 1), scale), gradient));
}

void LossScale::update(OpBuilder &builder, Value norm) {
  if (!state)
    return;
  UpdateBuilder u{builder, state.getLoc()};
  // False for what is no number, too.
  isFinite = compare(builder, u.loc, Predicate::Lt, norm,
                     u.number(norm, std::numeric_limits<double>::infinity()));
  if (goodSteps)
    adapt(builder, norm);
  addResult(
      program, u.select(isFinite, u.number(norm, 0), u.number(norm, 1)),
      builder.getNamedAttr(kMetricAttr, builder.getStringAttr("skipped")));
}

void LossScale::adapt(OpBuilder &builder, Value norm) {
  UpdateBuilder u{builder, state.getLoc()};
  Value scale = getStateArgument(program, state);
  Value steps = getStateArgument(program, goodSteps);
  Value zero = u.number(steps, 0);
  Value next = u.select(isFinite, u.add(steps, u.number(steps, 1)), zero);
  Value grows = compare(builder, u.loc, Predicate::Ge, next,
                        u.number(next, kGrowthInterval));
  Value good = u.select(grows, u.mul(scale, kGrowth), scale);
  Value scaled = u.select(isFinite, good, u.mul(scale, kBackoff));
  auto bind = [&](StringRef attribute, Attribute what) {
    return builder.getNamedAttr(attribute, what);
  };
  addResult(program, scaled,
            bind(kStateAttr, FlatSymbolRefAttr::get(state.getSymNameAttr())));
  addResult(
      program, u.select(grows, zero, next),
      bind(kStateAttr, FlatSymbolRefAttr::get(goodSteps.getSymNameAttr())));
  addResult(program, scaled,
            bind(kMetricAttr, builder.getStringAttr("loss_scale")));
}

Value LossScale::choose(OpBuilder &builder, Value updated, Value old) {
  if (!state)
    return updated;
  UpdateBuilder u{builder, updated.getLoc()};
  auto type = cast<RankedTensorType>(updated.getType());
  return u.select(broadcast(builder, u.loc, isFinite, type.getShape(), {}),
                  updated, old);
}

} // namespace zc
