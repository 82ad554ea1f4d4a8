//===- BuildBackward.cpp - reverse-mode differentiation -------------------===//
//
// One walk backwards over the step program. A first walk finds active values
// (those that depend on a parameter), so that no gradient of data or of
// constants is ever built.
//
//===----------------------------------------------------------------------===//
#include "dialects/Train/Ops/OpSupport.h"
#include "dialects/Train/ProgramBuilder.h"
#include "dialects/Train/StateLookup.h"
#include "dialects/Train/Tokens.h"
#include "passes/Analysis/Messages.h"
#include "passes/Autodiff/ActiveValues.h"
#include "passes/Autodiff/Passes.h"
#include "passes/Autodiff/StopGradients.h"
#include "passes/Precision/States.h"

using namespace mlir;
using namespace zc::train;

namespace zc {
#define GEN_PASS_DEF_BUILDBACKWARDPASS
#include "passes/Autodiff/Passes.h.inc"

namespace {

/// A value and its own gradient: where a walk backwards begins.
struct Seed {
  Value value, gradient;
};

class Differentiator {
public:
  explicit Differentiator(func::FuncOp step)
      : step(step), block(step.getBody().front()),
        builder(block.getTerminator()) {}

  /// Gradients of `targets` (null where none reaches), or a diagnostic.
  LogicalResult run(ArrayRef<Seed> seeds, ArrayRef<Value> targets,
                    SmallVectorImpl<Value> &gradients) {
    active = findActiveValues(step, targets);
    SmallVector<Operation *> forward;
    for (Operation &op : block.without_terminator())
      forward.push_back(&op);
    for (const Seed &seed : seeds)
      accumulate(seed.value, seed.gradient);
    for (Operation *op : llvm::reverse(forward))
      if (failed(differentiate(op)))
        return failure();
    for (Value target : targets)
      gradients.push_back(total.lookup(target));
    return success();
  }

private:
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
    if (!step || (!index && !sendsActivations(step))) {
      getOperation().emitError("expected @step with a metric \"loss\"");
      return signalPassFailure();
    }
    SmallVector<Value> targets = findTrained(step), gradients;
    const size_t numParameters = targets.size();
    if (targets.empty()) {
      step.emitError("no parameter is left to train; the loss depends on none, "
                     "or --freeze and --train exclude all");
      return signalPassFailure();
    }
    SmallVector<unsigned> answered = findAnswered(step);
    for (unsigned argument : answered)
      targets.push_back(step.getArgument(argument));
    Operation *lastForward = getLast(step);
    SmallVector<Seed> seeds;
    if (index)
      seeds.push_back(seedLoss(step, *index));
    addReceivedSeeds(step, seeds);
    // The seeds come first: forward ops are those that were there before.
    if (failed(Differentiator(step).run(seeds, targets, gradients)))
      return signalPassFailure();
    dropStopGradients(getOperation());
    ProgramGrowth growth(step);
    for (auto [parameter, gradient] :
         llvm::zip(ArrayRef(targets).take_front(numParameters), gradients)) {
      if (!gradient)
        continue;
      ++numGradients;
      growth.addResult(
          asOfCopy(parameter, gradient),
          NamedAttribute(StringAttr::get(&getContext(), kGradientAttr),
                         parameterOf(parameter)));
    }
    for (auto [argument, gradient] :
         llvm::zip(answered, ArrayRef(gradients).drop_front(numParameters)))
      answer(step, growth, argument, gradient);
    if (lastForward)
      roundAgain(step, lastForward);
  }

private:
  static bool sendsActivations(func::FuncOp step) {
    return llvm::any_of(llvm::seq(step.getNumResults()), [&](unsigned result) {
      return getSent(step, result).has_value();
    });
  }

  static Operation *getLast(func::FuncOp step) {
    return step.getBody().front().getTerminator()->getPrevNode();
  }

  /// The gradient of a parameter that is rounded where it is read has 16 bits,
  /// as one of a copy would.
  static Value asOfCopy(Value parameter, Value gradient) {
    auto widened = gradient.getDefiningOp<ConvertOp>();
    bool isRounded = llvm::all_of(parameter.getUsers(), [](Operation *user) {
      return roundsParameter(user);
    });
    return widened && isRounded &&
                   isNarrow(getElementTypeOrSelf(widened.getInput().getType()))
               ? widened.getInput()
               : gradient;
  }

  /// No rounded parameter is kept from the forward to the backward.
  static void roundAgain(func::FuncOp step, Operation *lastForward) {
    SmallVector<Operation *> roundings;
    for (Operation &op : step.getOps())
      if (roundsParameter(&op))
        roundings.push_back(&op);
    for (Operation *op : roundings) {
      Operation *first = nullptr;
      for (Operation *user : op->getUsers())
        if (lastForward->isBeforeInBlock(user) &&
            (!first || user->isBeforeInBlock(first)))
          first = user;
      if (!first)
        continue;
      OpBuilder builder(first);
      Operation *again = builder.clone(*op);
      cast<ConvertOp>(again).setOfBackward(true);
      op->getResult(0).replaceUsesWithIf(
          again->getResult(0), [&](OpOperand &use) {
            return use.getOwner() != again &&
                   lastForward->isBeforeInBlock(use.getOwner());
          });
    }
  }

  /// Received activations whose gradients another role waits for.
  static SmallVector<unsigned> findAnswered(func::FuncOp step) {
    return llvm::to_vector(llvm::make_filter_range(
        llvm::seq(step.getNumArguments()), [&](unsigned argument) {
          auto end = getReceived(step, argument);
          return end && end->hasGradient;
        }));
  }

  /// The loss's own gradient is 1, or the scale that keeps small ones.
  Seed seedLoss(func::FuncOp step, unsigned index) {
    Operation *end = step.getBody().front().getTerminator();
    OpBuilder builder(end);
    Value loss = end->getOperand(index);
    auto state = getOperation().lookupSymbol<StateOp>(kLossScale);
    if (!state || state.getKind() != kScalar)
      return {loss, splat(builder, loss.getLoc(), loss.getType(), 1)};
    return {loss, convert(builder, loss.getLoc(), getStateArgument(step, state),
                          getElementTypeOrSelf(loss.getType()))};
  }

  /// A tensor that is sent comes back as its gradient, an argument.
  void addReceivedSeeds(func::FuncOp step, SmallVectorImpl<Seed> &seeds) {
    for (unsigned result = 0; result < step.getNumResults(); ++result) {
      auto end = getSent(step, result);
      if (!end || !end->hasGradient)
        continue;
      Value value = step.getBody().front().getTerminator()->getOperand(result);
      SmallVector<NamedAttribute> attributes = describe(
          kReceiveAttr, end->gradient(),
          step.getResultAttrOfType<IntegerAttr>(result, kBatchDimAttr),
          step.getResultAttrOfType<IntegerAttr>(result, kTokenDimAttr));
      seeds.push_back({value, addArgument(step, value.getType(), attributes,
                                          value.getLoc())});
    }
  }

  /// Sends the gradient of a received activation; zeros where none reaches it.
  void answer(func::FuncOp step, ProgramGrowth &growth, unsigned argument,
              Value gradient) {
    Value value = step.getArgument(argument);
    OpBuilder builder(step.getBody().front().getTerminator());
    if (!gradient)
      gradient = splat(builder, value.getLoc(), value.getType(), 0);
    growth.addResult(
        gradient,
        describe(kSendAttr, getReceived(step, argument)->gradient(),
                 step.getArgAttrOfType<IntegerAttr>(argument, kBatchDimAttr),
                 step.getArgAttrOfType<IntegerAttr>(argument, kTokenDimAttr)));
  }

  SmallVector<NamedAttribute> describe(StringRef name, const MessageEnd &end,
                                       IntegerAttr batchDim,
                                       IntegerAttr tokenDim) {
    Builder builder(&getContext());
    SmallVector<NamedAttribute> attributes = {
        builder.getNamedAttr(name, end.toAttr(&getContext()))};
    if (batchDim)
      attributes.push_back(builder.getNamedAttr(kBatchDimAttr, batchDim));
    if (tokenDim)
      attributes.push_back(builder.getNamedAttr(kTokenDimAttr, tokenDim));
    return attributes;
  }

  /// A copy's gradient is its parameter's.
  FlatSymbolRefAttr parameterOf(Value argument) {
    StateOp state = findState(argument);
    return state.getKind() == kCopy
               ? FlatSymbolRefAttr::get(&getContext(), *state.getParameter())
               : stateOf(argument);
  }
};

} // namespace
} // namespace zc
