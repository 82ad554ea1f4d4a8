//===- Loss.cpp - losses inside the model ---------------------------------===//
//
// Both ONNX losses take [N, C, d1, ...] and labels [N, d1, ...]; they differ in
// how a sample's loss is found, not in what becomes of it.
//
//===----------------------------------------------------------------------===//
#include "passes/Import/Lowering/LoweringRegistry.h"
#include "passes/Import/Lowering/NodeContext.h"

using namespace mlir;
using namespace zc;

// No label equals it, so it says that none is ignored.
static constexpr int64_t kNothingIgnored = std::numeric_limits<int64_t>::min();

static int64_t ignoredLabel(NodeContext &context) {
  return context.node.getInt("ignore_index", kNothingIgnored);
}

static LogicalResult checkLoss(NodeContext &context) {
  if (failed(context.requireFloat(0)))
    return failure();
  Value scores = context.operand(0), labels = context.operand(1);
  SmallVector<int64_t> samples(shapeOf(scores));
  if (samples.size() >= 2)
    samples.erase(samples.begin() + 1);
  if (rankOf(scores) < 2 || shapeOf(labels) != ArrayRef(samples))
    return context.emitError()
           << "expected scores [N, C, ...] and labels "
              "[N, ...], found "
           << scores.getType() << " and " << labels.getType();
  int64_t classes = shapeOf(scores)[1];
  int64_t ignored = ignoredLabel(context);
  context.ranges.restrict(labels, 0, classes,
                          ignored == kNothingIgnored
                              ? std::nullopt
                              : std::optional<int64_t>(ignored));
  return success();
}

/// Where the label is the ignored one; null when none is.
static Value ignoredMask(NodeContext &context) {
  int64_t ignored = ignoredLabel(context);
  if (ignored == kNothingIgnored)
    return Value();
  Value labels = context.operand(1);
  auto type = cast<RankedTensorType>(labels.getType());
  auto scalar =
      context.build.builder.getIntegerAttr(type.getElementType(), ignored);
  Value splat =
      train::ConstantOp::create(context.build.builder, context.build.loc,
                                DenseElementsAttr::get(type, scalar));
  return context.build.compare(Predicate::Eq, labels, splat);
}

// The weight of each sample: that of its class, 0 for an ignored one.
static Value sampleWeights(NodeContext &context, Type type) {
  TensorBuilder &build = context.build;
  Value labels = context.operand(1), mask = ignoredMask(context);
  Value weights = build.splat(type, 1);
  if (Value perClass = context.operand(2)) {
    Value safe =
        mask ? build.select(mask, build.splatLike(labels, 0), labels) : labels;
    weights = build.gather(perClass, safe, 0);
  }
  return mask ? build.select(mask, build.splat(type, 0), weights) : weights;
}

// `loss` is 0 where the label is ignored.
static LogicalResult reduceLoss(NodeContext &context, Value loss) {
  TensorBuilder &build = context.build;
  Value weights = sampleWeights(context, loss.getType());
  if (context.operand(2))
    loss = build.mul(loss, weights);
  StringRef reduction = context.node.getString("reduction", "mean");
  if (reduction == "none")
    return context.set(loss);
  auto dims = llvm::to_vector(llvm::seq<int64_t>(0, rankOf(loss)));
  Value sum = build.reduce(ReduceKind::Sum, loss, dims);
  if (reduction == "sum")
    return context.set(sum);
  if (reduction != "mean")
    return context.emitError() << "expected reduction to be 'none', 'sum' or "
                                  "'mean', found '"
                               << reduction << "'";
  return context.set(
      build.div(sum, build.reduce(ReduceKind::Sum, weights, dims)));
}

// PyTorch's label_smoothing: a share of each sample's loss is the mean over all
// classes.
static FailureOr<Value> smooth(NodeContext &context, Value loss) {
  double share = context.node.getFloat(onnx::kLabelSmoothing, 0);
  if (share == 0)
    return loss;
  if (context.has(2)) {
    context.emitError() << "smooths labels and weighs classes, which zc cannot "
                           "do together";
    return failure();
  }
  TensorBuilder &build = context.build;
  Value all =
      build.neg(build.mean(build.logSoftmax(context.operand(0), 1), {1}));
  if (Value mask = ignoredMask(context))
    all = build.select(mask, build.splatLike(all, 0), all);
  return build.add(build.mul(loss, 1 - share), build.mul(all, share));
}

static LogicalResult lowerCrossEntropy(NodeContext &context) {
  if (failed(checkLoss(context)))
    return failure();
  TensorBuilder &build = context.build;
  Value scores = context.operand(0), labels = context.operand(1);
  SmallVector<int64_t> classesLast{0};
  for (int64_t dim = 2; dim < rankOf(scores); ++dim)
    classesLast.push_back(dim);
  classesLast.push_back(1);
  auto lossType = RankedTensorType::get(shapeOf(labels), elementTypeOf(scores));
  auto op = train::SoftmaxCrossEntropyOp::create(
      build.builder, build.loc, lossType, lossType,
      build.transpose(scores, classesLast), labels, ignoredLabel(context));
  if (context.isUsed(1) && failed(context.set(1, build.logSoftmax(scores, 1))))
    return failure();
  FailureOr<Value> loss = smooth(context, op.getLoss());
  return failed(loss) ? failure() : reduceLoss(context, *loss);
}

// The input holds log probabilities: minus the label's one is the loss.
static LogicalResult lowerNegativeLogLikelihood(NodeContext &context) {
  if (failed(checkLoss(context)))
    return failure();
  TensorBuilder &build = context.build;
  Value input = context.operand(0), labels = context.operand(1);
  ArrayRef<int64_t> shape = shapeOf(input);
  SmallVector<int64_t> sampleDims{0};
  for (int64_t dim = 2; dim < rankOf(input); ++dim)
    sampleDims.push_back(dim);
  Value isLabel =
      build.compare(Predicate::Eq, build.broadcast(labels, shape, sampleDims),
                    build.iota(shape, 1, elementTypeOf(labels)));
  Value picked =
      build.reduce(ReduceKind::Sum,
                   build.select(isLabel, input, build.splatLike(input, 0)), 1);
  Value loss = build.neg(picked);
  if (Value mask = ignoredMask(context))
    loss = build.select(mask, build.splatLike(loss, 0), loss);
  return reduceLoss(context, loss);
}

void zc::registerLoss(LoweringRegistry &registry) {
  registry.add("SoftmaxCrossEntropyLoss", 12, 13, lowerCrossEntropy);
  registry.add("NegativeLogLikelihoodLoss", 12, 22, lowerNegativeLogLikelihood);
}
