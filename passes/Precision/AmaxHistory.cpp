//===- AmaxHistory.cpp - scales from the steps before ---------------------===//
#include "passes/Precision/AmaxHistory.h"

#include "dialects/Train/Float8Ops.h"
#include "dialects/Train/Ops/OpSupport.h"
#include "dialects/Train/ProgramBuilder.h"

#include <limits>

using namespace mlir;
using namespace zc::train;

namespace zc {

FailureOr<AmaxHistory> AmaxHistory::add(func::FuncOp step, StringRef weight,
                                        StringRef kind, int64_t steps,
                                        Location loc) {
  auto module = step->getParentOfType<ModuleOp>();
  std::string slot = (kAmaxSlotPrefix + kind).str(), name;
  for (int number = 1;; ++number) {
    std::string tried =
        number == 1 ? slot : slot + "." + std::to_string(number);
    name = getSlotName(weight, tried);
    auto taken = module.lookupSymbol(name);
    if (!taken) {
      slot = tried;
      break;
    }
    auto other = dyn_cast<StateOp>(taken);
    if (!other || !isAmaxHistory(other))
      return refuseName(taken, name);
  }
  OpBuilder builder(step);
  auto type = RankedTensorType::get({steps + 1}, builder.getF32Type());
  StateOp state = addState(module, name, type, kOptimizer, loc);
  state.setParameter(weight);
  state.setSlot(slot);
  return AmaxHistory(step, state, getStateArgument(step, state));
}

static Value take(OpBuilder &builder, Location loc, Value from, int64_t begin,
                  int64_t length) {
  return SliceOp::create(builder, loc, withShape(from.getType(), {length}),
                         from, ArrayRef<int64_t>{begin}, ArrayRef<int64_t>{1});
}

static int64_t lengthOf(Value history) {
  return cast<RankedTensorType>(history.getType()).getDimSize(0);
}

Value AmaxHistory::largest(OpBuilder &builder, double unknown) {
  Location loc = history.getLoc();
  auto scalar = withShape(history.getType(), {});
  Value before = take(builder, loc, history, 1, lengthOf(history) - 1);
  Value size =
      AmaxOp::create(builder, loc, scalar, before, ArrayRef<int64_t>{0});
  Value isKnown = compare(builder, loc, Predicate::Gt, size,
                          splat(builder, loc, scalar, 0));
  return SelectOp::create(builder, loc, isKnown, size,
                          splat(builder, loc, scalar, unknown));
}

void AmaxHistory::record(OpBuilder &builder, Value size) {
  Location loc = history.getLoc();
  Value last = take(builder, loc, history, 0, 1);
  // An infinite one, or NaN, would stay for as many steps as there are.
  const double infinity = std::numeric_limits<double>::infinity();
  Value isFinite = compare(builder, loc, Predicate::Lt, size,
                           splat(builder, loc, size.getType(), infinity));
  size = SelectOp::create(builder, loc, isFinite, size,
                          splat(builder, loc, size.getType(), 0));
  Value most =
      MaxOp::create(builder, loc, last, reshape(builder, loc, size, {1}));
  Value before = take(builder, loc, history, 1, lengthOf(history) - 1);
  Value next = ConcatOp::create(builder, loc, history.getType(),
                                ValueRange{most, before}, 0);
  addResult(step, next, bindTo(state));
}

Value rollHistory(OpBuilder &builder, Location loc, Value history) {
  Value zero = splat(builder, loc, withShape(history.getType(), {1}), 0);
  Value kept = take(builder, loc, history, 0, lengthOf(history) - 1);
  return ConcatOp::create(builder, loc, history.getType(),
                          ValueRange{zero, kept}, 0);
}

} // namespace zc
