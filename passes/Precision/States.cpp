//===- States.cpp - states of mixed precision -----------------------------===//
#include "passes/Precision/States.h"

#include "dialects/Dist/DistDialect.h"
#include "dialects/Train/Ops/OpSupport.h"
#include "dialects/Train/ProgramBuilder.h"

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

/// As PyTorch's GradScaler begins.
LogicalResult addLossScale(ModuleOp module) {
  constexpr double kFirstScale = 65536;
  Builder builder(module.getContext());
  auto scale = getScalarState(module, kLossScale,
                              RankedTensorType::get({}, builder.getF32Type()));
  auto steps = getScalarState(module, kGoodSteps,
                              RankedTensorType::get({}, builder.getI64Type()));
  if (failed(scale) || failed(steps))
    return failure();
  scale->setDrawAttr(builder.getDictionaryAttr(builder.getNamedAttr(
      kDrawConstant, builder.getF64FloatAttr(kFirstScale))));
  return success();
}

} // namespace zc
