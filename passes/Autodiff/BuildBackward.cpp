//===- BuildBackward.cpp - reverse-mode differentiation -------------------===//
//
// One walk backwards over the step program. Which values matter is decided
// first (a value is *active* when a parameter reaches it), so that no gradient
// of data or of constants is ever built.
//
//===----------------------------------------------------------------------===//
#include "dialects/Train/Ops/OpSupport.h"
#include "dialects/Train/StateLookup.h"
#include "passes/Autodiff/Passes.h"
#include "passes/Autodiff/ProgramBuilder.h"
#include "passes/Autodiff/StopGradients.h"

using namespace mlir;
using namespace zc::train;

namespace zc {
#define GEN_PASS_DEF_BUILDBACKWARDPASS
#include "passes/Autodiff/Passes.h.inc"

namespace {

bool isFloat(Value value) {
  return isa<FloatType>(getElementTypeOrSelf(value.getType()));
}

class Differentiator {
public:
  explicit Differentiator(func::FuncOp step)
      : step(step), block(step.getBody().front()),
        builder(block.getTerminator()) {}

  /// Gradients of `parameters` (null where none reaches), or a diagnostic.
  /// `scale`: the loss's own gradient, a float32; null: 1.
  LogicalResult run(Value loss, Value scale, ArrayRef<Value> parameters,
                    SmallVectorImpl<Value> &gradients) {
    for (Value parameter : parameters)
      active.insert(parameter);
    markActive();
    SmallVector<Operation *> forward;
    for (Operation &op : block.without_terminator())
      forward.push_back(&op);
    accumulate(loss, scale ? convert(builder, loss.getLoc(), scale,
                                     getElementTypeOrSelf(loss.getType()))
                           : splat(builder, loss.getLoc(), loss.getType(), 1));
    for (Operation *op : llvm::reverse(forward))
      if (failed(differentiate(op)))
        return failure();
    for (Value parameter : parameters)
      gradients.push_back(total.lookup(parameter));
    return success();
  }

private:
  void markActive() {
    for (Operation &op : block.without_terminator()) {
      bool reached = llvm::any_of(op.getOperands(), [&](Value operand) {
        return active.contains(operand);
      });
      if (!reached || stopsGradient(op))
        continue;
      for (Value result : op.getResults())
        if (isFloat(result))
          active.insert(result);
    }
  }

  void accumulate(Value value, Value gradient) {
    Value &sum = total[value];
    sum = sum ? AddOp::create(builder, gradient.getLoc(), sum, gradient)
              : gradient;
  }

  LogicalResult differentiate(Operation *op) {
    SmallVector<Value> resultGrads;
    for (Value result : op->getResults())
      resultGrads.push_back(active.contains(result) ? total.lookup(result)
                                                    : Value());
    if (llvm::none_of(resultGrads, [](Value grad) { return bool(grad); }))
      return success();
    SmallVector<bool> wanted;
    for (Value operand : op->getOperands())
      wanted.push_back(active.contains(operand));
    if (llvm::none_of(wanted, [](bool want) { return want; }))
      return success();
    auto differentiable = dyn_cast<DifferentiableOpInterface>(op);
    if (!differentiable)
      return op->emitError("'")
             << op->getName() << "' has no gradient, but a parameter reaches "
             << "it; freeze the parameters before it with --freeze";
    SmallVector<Value> operandGrads(op->getNumOperands());
    if (failed(differentiable.vjp(builder, resultGrads, wanted, operandGrads)))
      return failure();
    for (auto [index, gradient] : llvm::enumerate(operandGrads))
      if (wanted[index] && gradient)
        accumulate(op->getOperand(index),
                   narrow(builder, gradient.getLoc(), gradient,
                          op->getOperand(index).getType()));
    return success();
  }

  func::FuncOp step;
  Block &block;
  OpBuilder builder;
  DenseSet<Value> active;
  DenseMap<Value, Value> total;
};

struct BuildBackward : public impl::BuildBackwardPassBase<BuildBackward> {
  void runOnOperation() override {
    auto step = getOperation().lookupSymbol<func::FuncOp>(kStepProgram);
    std::optional<unsigned> index;
    if (step)
      index = findMetric(step, kLoss);
    if (!index) {
      getOperation().emitError("expected @step with a metric \"loss\"");
      return signalPassFailure();
    }
    Value loss = step.getBody().front().getTerminator()->getOperand(*index);
    SmallVector<Value> parameters = findParameters(step), gradients;
    if (parameters.empty()) {
      step.emitError("no parameter is left to train; the loss depends on none, "
                     "or --freeze and --train exclude all");
      return signalPassFailure();
    }
    Value scale;
    if (auto state = getOperation().lookupSymbol<StateOp>(kLossScale))
      if (state.getKind() == kScalar)
        scale = getStateArgument(step, state);
    if (failed(Differentiator(step).run(loss, scale, parameters, gradients)))
      return signalPassFailure();
    dropStopGradients(getOperation());
    ProgramGrowth growth(step);
    for (auto [parameter, gradient] : llvm::zip(parameters, gradients)) {
      if (!gradient)
        continue;
      ++numGradients;
      growth.addResult(gradient, NamedAttribute(StringAttr::get(&getContext(),
                                                                kGradientAttr),
                                                parameterOf(parameter)));
    }
  }

private:
  /// A copy's gradient is its parameter's.
  FlatSymbolRefAttr parameterOf(Value argument) {
    StateOp state = findState(argument);
    return state.getKind() == kCopy
               ? FlatSymbolRefAttr::get(&getContext(), *state.getParameter())
               : stateOf(argument);
  }

  SmallVector<Value> findParameters(func::FuncOp step) {
    SmallVector<Value> parameters;
    for (BlockArgument argument : step.getArguments()) {
      StateOp state = findState(argument);
      if (state && (state.getKind() == kParameter || state.getKind() == kCopy))
        parameters.push_back(argument);
    }
    return parameters;
  }
};

} // namespace
} // namespace zc
