//===- States.cpp - states of mixed precision -----------------------------===//
#include "passes/Precision/States.h"

#include "dialects/Dist/DistDialect.h"
#include "dialects/Train/Ops/OpSupport.h"
#include "dialects/Train/ProgramBuilder.h"
#include "dialects/Train/StateLookup.h"

using namespace mlir;
using namespace zc::train;

namespace zc {

static StringRef getSuffix(FloatType element) {
  return element.isF16() ? "fp16" : "bf16";
}

FailureOr<StateOp> addCopy(StateOp parameter, FloatType element) {
  auto module = cast<ModuleOp>(parameter->getParentOp());
  std::string name = (parameter.getSymName() + "." + getSuffix(element)).str();
  if (Operation *taken = module.lookupSymbol(name))
    return refuseName(taken, name);
  StateOp copy =
      addState(module, name, withElementType(parameter.getType(), element),
               kCopy, parameter.getLoc());
  copy.setParameter(parameter.getSymName());
  if (Attribute sharding = parameter->getAttr(dist::kShardingAttr))
    copy->setAttr(dist::kShardingAttr, sharding);
  return copy;
}

void roundWhereRead(StateOp parameter, BlockArgument argument,
                    FloatType element) {
  if (argument.use_empty())
    return;
  Operation *first = *argument.getUsers().begin();
  for (Operation *user : argument.getUsers())
    if (user->isBeforeInBlock(first))
      first = user;
  OpBuilder builder(first);
  Value rounded = convert(builder, parameter.getLoc(), argument, element);
  Operation *op = rounded.getDefiningOp();
  cast<ConvertOp>(op).setRoundsParameter(true);
  argument.replaceAllUsesExcept(rounded, op);
}

StateOp findReadWeight(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isa<ConvertOp, ReshapeOp, TransposeOp>(op))
      return nullptr;
    value = op->getOperand(0);
  }
  StateOp state = findState(value);
  return state && (state.getKind() == kParameter || state.getKind() == kCopy)
             ? state
             : StateOp();
}

/// One that adapts begins as PyTorch's GradScaler.
LogicalResult addLossScale(ModuleOp module, double fixed) {
  constexpr double kFirstScale = 65536;
  Builder builder(module.getContext());
  auto scale = getScalarState(module, kLossScale,
                              RankedTensorType::get({}, builder.getF32Type()));
  if (failed(scale))
    return failure();
  if (fixed == 0 &&
      failed(getScalarState(module, kGoodSteps,
                            RankedTensorType::get({}, builder.getI64Type()))))
    return failure();
  scale->setDrawAttr(builder.getDictionaryAttr(builder.getNamedAttr(
      kDrawConstant,
      builder.getF64FloatAttr(fixed > 0 ? fixed : kFirstScale))));
  return success();
}

} // namespace zc
