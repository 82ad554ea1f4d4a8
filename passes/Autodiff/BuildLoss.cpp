//===- BuildLoss.cpp - step and eval from the forward function ------------===//
//
// Training and evaluation are different programs from here on: differences
// (batch statistics, the loss's mean, weights for padding) are resolved once,
// so that neither program has a branch.
//
//===----------------------------------------------------------------------===//
#include "dialects/Train/Ops/OpSupport.h"
#include "dialects/Train/ProgramBuilder.h"
#include "passes/Autodiff/AddedLosses.h"
#include "passes/Autodiff/BatchStatistics.h"
#include "passes/Autodiff/Dropout.h"
#include "passes/Autodiff/EvaluationMetrics.h"
#include "passes/Autodiff/ExpertMetrics.h"
#include "passes/Autodiff/Losses.h"
#include "passes/Autodiff/Passes.h"
#include "passes/Autodiff/SplitBatch.h"
#include "passes/Autodiff/StopGradients.h"

using namespace mlir;
using namespace zc::train;

namespace zc {
#define GEN_PASS_DEF_BUILDLOSSPASS
#include "passes/Autodiff/Passes.h.inc"

namespace {

std::unique_ptr<Loss> makeLoss(const BuildLossPassOptions &options) {
  if (options.loss == "softmax-cross-entropy") {
    CrossEntropyOptions chosen;
    chosen.classAxis = options.classAxis;
    chosen.ignoreIndex = options.ignoreIndex;
    chosen.smoothing = options.labelSmoothing;
    chosen.classWeights = options.classWeights;
    return makeSoftmaxCrossEntropy(std::move(chosen));
  }
  if (options.loss == "mse")
    return makeMeanSquaredError();
  if (options.loss == "l1")
    return makeMeanAbsoluteError();
  if (options.loss == "huber")
    return makeHuber(options.huberDelta);
  if (options.loss == "bce-with-logits")
    return makeBinaryCrossEntropy(options.posWeight, options.classWeights);
  if (options.loss == "none")
    return makeOwnLoss();
  return nullptr;
}

/// Index of the output the loss is of, or a diagnostic.
FailureOr<unsigned> findLogits(func::FuncOp forward, StringRef name) {
  std::string outputs;
  for (unsigned i = 0; i < forward.getNumResults(); ++i) {
    auto output = forward.getResultAttrOfType<StringAttr>(i, kOutputAttr);
    if (!output)
      continue;
    if (name.empty() || output.getValue() == name)
      return i;
    outputs += (outputs.empty() ? "'" : ", '") + output.getValue().str() + "'";
  }
  forward.emitError("no output named '")
      << name << "' for the loss; the model has " << outputs;
  return failure();
}

LogicalResult checkLabelsName(func::FuncOp forward, StringRef name) {
  for (unsigned i = 0; i < forward.getNumArguments(); ++i) {
    auto input = forward.getArgAttrOfType<StringAttr>(i, kInputAttr);
    if (input && input.getValue() == name)
      return forward.emitError("the model has an input named '")
             << name
             << "', the name of the loss's labels; choose another with "
                "--labels";
  }
  return success();
}

int64_t batchDimOf(func::FuncOp program, unsigned result) {
  auto dim = program.getResultAttrOfType<IntegerAttr>(result, kBatchDimAttr);
  return dim ? dim.getInt() : -1;
}

/// Losses are of float32 at least, whatever the model computes with.
Value inSinglePrecision(OpBuilder &builder, Location loc, Value output) {
  auto type = cast<RankedTensorType>(output.getType());
  if (!isa<FloatType>(type.getElementType()) ||
      type.getElementTypeBitWidth() >= 32)
    return output;
  return ConvertOp::create(builder, loc,
                           withElementType(type, builder.getF32Type()), output);
}

/// The labels as a new input of `program`.
Value addLabels(func::FuncOp program, OpBuilder &builder, Location loc,
                Loss &loss, RankedTensorType logits, RankedTensorType type,
                int64_t batchDim, StringRef name) {
  SmallVector<NamedAttribute> attributes = {
      builder.getNamedAttr(kInputAttr, builder.getStringAttr(name)),
      builder.getNamedAttr(kLabelAttr, builder.getUnitAttr())};
  if (batchDim >= 0)
    attributes.push_back(builder.getNamedAttr(
        kBatchDimAttr, builder.getI64IntegerAttr(batchDim)));
  SmallVector<int64_t> range = loss.labelRange(logits);
  if (!range.empty())
    attributes.push_back(
        builder.getNamedAttr(kRangeAttr, builder.getDenseI64ArrayAttr(range)));
  return addArgument(program, type, attributes, loc);
}

/// How many elements count, each by its weight.
Value buildCount(OpBuilder &builder, Location loc, const SampleLosses &losses) {
  if (losses.weights)
    return sumAll(builder, loc, losses.weights);
  auto type = cast<RankedTensorType>(losses.losses.getType());
  return splat(builder, loc, withShape(type, {}), type.getNumElements());
}

/// Mean over the elements that count.
Value buildMean(OpBuilder &builder, Location loc, const SampleLosses &losses) {
  Value sum = sumAll(builder, loc, losses.losses);
  return DivOp::create(builder, loc, sum, buildCount(builder, loc, losses));
}

/// A sum over one of `parts` of the samples, or how many it is of, in units of
/// the power of two next above the most that all parts can have, where one
/// counts `most` times at most.
Value inUnits(OpBuilder &builder, Location loc, Value sum,
              const SampleLosses &losses, int64_t parts, double most) {
  auto type = cast<ShapedType>(losses.losses.getType());
  double unit =
      std::exp2(std::ceil(std::log2(type.getNumElements() * parts * most)));
  return MulOp::create(builder, loc, sum,
                       splat(builder, loc, sum.getType(), 1 / unit));
}

struct BuildLoss : public impl::BuildLossPassBase<BuildLoss> {
  using BuildLossPassBase::BuildLossPassBase;

  void runOnOperation() override {
    func::FuncOp forward =
        getOperation().lookupSymbol<func::FuncOp>(kForwardProgram);
    if (!forward) {
      getOperation().emitError("expected a function @forward");
      return signalPassFailure();
    }
    if (mode == "infer") {
      if (failed(dropNothing(forward)))
        return signalPassFailure();
      dropStopGradients(getOperation());
      return forward.setSymName(kEvalProgram);
    }
    std::unique_ptr<Loss> function = makeLoss(selected());
    if (!function) {
      forward.emitError("unknown loss '")
          << loss.getValue()
          << "'; expected softmax-cross-entropy, mse, l1, huber, "
             "bce-with-logits or none";
      return signalPassFailure();
    }
    auto index = findLogits(forward, logits);
    if (failed(index) || failed(checkLoss(forward, *index, *function)) ||
        failed(buildStep(forward, *index, *function)))
      return signalPassFailure();
    // A micro-batch is what memory was planned for; but a loss of the model's
    // own is right for the whole batch alone.
    SmallVector<PartKind> kinds;
    bool hasLabels = static_cast<bool>(function->labelType(
        cast<RankedTensorType>(forward.getResultTypes()[*index])));
    if (accumulate > 1 && hasLabels &&
        failed(split(forward, *index, *function, kinds)))
      return signalPassFailure();
    if (failed(dropNothing(forward)))
      return signalPassFailure();
    buildEval(forward, *index, *function);
  }

private:
  BuildLossPassOptions selected() {
    BuildLossPassOptions options;
    options.loss = loss;
    options.classAxis = classAxis;
    options.ignoreIndex = ignoreIndex;
    options.labelSmoothing = labelSmoothing;
    llvm::append_range(options.classWeights, classWeights);
    options.posWeight = posWeight;
    options.huberDelta = huberDelta;
    return options;
  }

  LogicalResult checkLoss(func::FuncOp forward, unsigned index,
                          Loss &function) {
    auto type = cast<RankedTensorType>(forward.getResultTypes()[index]);
    std::string error = function.check(type);
    if (!error.empty())
      return forward.emitError("output '")
             << forward.getResultAttrOfType<StringAttr>(index, kOutputAttr)
                    .getValue()
             << "' has type " << type << ": " << error;
    if (std::string doubt = function.warn(type); !doubt.empty())
      forward.emitWarning("output '")
          << forward.getResultAttrOfType<StringAttr>(index, kOutputAttr)
                 .getValue()
          << "' has type " << type << ": " << doubt;
    if (!function.labelType(type))
      return success();
    int64_t batchDim = batchDimOf(forward, index);
    if (batchDim >= 0 && function.labelDim(type, batchDim) < 0)
      return forward.emitError("the class axis, ")
             << batchDim
             << ", is where the samples are; choose another with --class-axis";
    return checkLabelsName(forward, labels);
  }

  /// Loss of every sample of `program`, against new labels.
  SampleLosses buildLosses(func::FuncOp program, unsigned index, Loss &function,
                           OpBuilder &builder, bool wantCorrect) {
    Operation *terminator = program.getBody().front().getTerminator();
    Value output = terminator->getOperand(index);
    builder.setInsertionPoint(terminator);
    Location loc = NameLoc::get(builder.getStringAttr("loss"));
    output = inSinglePrecision(builder, loc, output);
    auto type = cast<RankedTensorType>(output.getType());
    int64_t batchDim = batchDimOf(program, index);
    Value target;
    int64_t labelDim = -1;
    if (auto labelType = function.labelType(type)) {
      labelDim = batchDim < 0 ? -1 : function.labelDim(type, batchDim);
      target = addLabels(program, builder, loc, function, type, labelType,
                         labelDim, labels.getValue());
    }
    SampleLosses losses =
        function.build(builder, loc, output, target, wantCorrect);
    losses.batchDim = labelDim;
    return losses;
  }

  /// Labels are of samples, and so must be what they are compared with.
  LogicalResult split(func::FuncOp program, unsigned index, Loss &function,
                      SmallVector<PartKind> &kinds) {
    auto found = splitBatch(program, accumulate);
    if (failed(found))
      return failure();
    kinds = *found;
    auto type = cast<RankedTensorType>(program.getResultTypes()[index]);
    if (kinds[index] == PartKind::Own || !function.labelType(type))
      return success();
    return program.emitError("the loss is of sums over all samples, so that a "
                             "step cannot be accumulated from parts of them");
  }

  LogicalResult buildStep(func::FuncOp forward, unsigned index,
                          Loss &function) {
    OpBuilder builder(forward);
    auto step = cast<func::FuncOp>(builder.clone(*forward));
    step.setSymName(kStepProgram);
    auto added = findAddedLosses(forward, addedLosses);
    if (failed(added))
      return failure();
    SmallVector<PartKind> kinds(step.getNumResults(), PartKind::Own);
    if (accumulate > 1 && failed(split(step, index, function, kinds)))
      return failure();
    SampleLosses losses = buildLosses(step, index, function, builder, false);
    Location loc = NameLoc::get(builder.getStringAttr("loss"));
    Value mean = accumulate > 1 ? sumAll(builder, loc, losses.losses)
                                : buildMean(builder, loc, losses);
    if (kinds[index] == PartKind::Mean)
      mean = DivOp::create(builder, loc, mean,
                           splat(builder, loc, mean.getType(), accumulate));
    Value count;
    if (accumulate > 1 && function.labelType(cast<RankedTensorType>(
                              forward.getResultTypes()[index])))
      count = buildCount(builder, loc, losses);
    mean = addLosses(builder, loc, mean, count, *added,
                     step.getBody().front().getTerminator()->getOperands(),
                     kinds, accumulate);
    if (count && divideSums) {
      double most = function.getMostWeight();
      mean = inUnits(builder, loc, mean, losses, accumulate, most);
      count = inUnits(builder, loc, count, losses, accumulate, most);
    }
    for (unsigned i = step.getNumResults(); i > 0; --i)
      eraseResult(step, i - 1);
    addResult(step, mean,
              builder.getNamedAttr(kMetricAttr, builder.getStringAttr("loss")));
    if (count)
      addResult(
          step, count,
          builder.getNamedAttr(kMetricAttr, builder.getStringAttr(kLossCount)));
    if (expertMetrics)
      addExpertMetrics(step, layerMetrics);
    if (failed(trainBatchNorms(step, statisticsShares)) ||
        failed(dropElements(step, accumulate)))
      return failure();
    eraseDeadOps(step);
    eraseUnusedArguments(step);
    return success();
  }

  void buildEval(func::FuncOp forward, unsigned index, Loss &function) {
    forward.setSymName(kEvalProgram);
    OpBuilder builder(forward);
    SampleLosses losses = buildLosses(forward, index, function, builder, true);
    addEvaluationMetrics(forward, builder,
                         NameLoc::get(builder.getStringAttr("loss")), losses);
  }
};

} // namespace
} // namespace zc
