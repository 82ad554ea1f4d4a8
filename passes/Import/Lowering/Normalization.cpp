//===- Normalization.cpp - layer, batch, instance, group, RMS, ... --------===//
#include "dialects/Train/Ops/OpSupport.h"
#include "passes/Import/Lowering/LoweringRegistry.h"
#include "passes/Import/Lowering/NodeContext.h"

using namespace mlir;
using namespace zc;

// --- Shared ----------------------------------------------------------------

static FloatAttr doubleAttr(TensorBuilder &build, double value) {
  return build.builder.getF64FloatAttr(value);
}

// Narrow floats are normalised in f32, as ONNX's stash_type says.
static Type computeType(NodeContext &context, Value x) {
  Type element = elementTypeOf(x);
  bool narrow = element.isF16() || element.isBF16();
  bool stash = context.node.getInt("stash_type", 1) == 1;
  return narrow && stash ? context.build.builder.getF32Type() : element;
}

static train::LayerNormOp layerNorm(TensorBuilder &build, Value x, Value scale,
                                    Value bias, int64_t axis, double epsilon) {
  Type statistics = train::withShape(x.getType(), shapeOf(x).take_front(axis));
  return train::LayerNormOp::create(
      build.builder, build.loc, x.getType(), statistics, statistics, x, scale,
      bias, build.builder.getI64IntegerAttr(axis), doubleAttr(build, epsilon));
}

// The dims from `axis` on to mean 0 and variance 1.
static Value standardize(TensorBuilder &build, Value x, int64_t axis,
                         double epsilon) {
  Type normalised = train::withShape(x.getType(), shapeOf(x).drop_front(axis));
  return layerNorm(build, x, build.splat(normalised, 1),
                   build.splat(normalised, 0), axis, epsilon)
      .getResult();
}

static Value scaleAndShift(TensorBuilder &build, Value x, Value scale,
                           Value bias, ArrayRef<int64_t> dims) {
  x = build.mul(x, build.broadcast(scale, shapeOf(x), dims));
  return build.add(x, build.broadcast(bias, shapeOf(x), dims));
}

// --- LayerNormalization, RMSNormalization ----------------------------------

// Scale or bias over the normalised dims, `fill` where the node has none.
static FailureOr<Value> overNormalised(NodeContext &context, unsigned index,
                                       RankedTensorType type, double fill) {
  Value value = context.operand(index);
  if (!value)
    return context.build.splat(type, fill);
  SmallVector<int64_t> shape(type.getShape());
  if (broadcastShapes(shapeOf(value), shape) != shape) {
    context.emitError() << "cannot broadcast input " << index << ", a "
                        << value.getType() << ", to the normalised dims "
                        << type;
    return failure();
  }
  Value narrow = context.build.convert(value, type.getElementType());
  return context.build.broadcast(narrow, shape);
}

static LogicalResult lowerLayerNorm(NodeContext &context) {
  if (failed(context.requireFloat(0)))
    return failure();
  TensorBuilder &build = context.build;
  Value input = context.operand(0);
  FailureOr<int64_t> axis =
      context.getAxis(context.node.getInt("axis", -1), rankOf(input));
  if (failed(axis))
    return failure();
  Value x = build.convert(input, computeType(context, input));
  auto normalised = train::withShape(x.getType(), shapeOf(x).drop_front(*axis));
  auto scale = overNormalised(context, 1, normalised, 1);
  auto bias = overNormalised(context, 2, normalised, 0);
  if (failed(scale) || failed(bias))
    return failure();
  train::LayerNormOp norm = layerNorm(build, x, *scale, *bias, *axis,
                                      context.getFloat("epsilon", 1e-5));
  // Mean and 1 / deviation keep the normalised dims with size 1.
  for (unsigned index : {1u, 2u})
    if (context.isUsed(index)) {
      Value kept =
          build.reshape(norm->getResult(index), context.resultShape(index));
      if (failed(context.set(index, kept)))
        return failure();
    }
  return context.set(build.convert(norm.getResult(), elementTypeOf(input)));
}

static LogicalResult lowerRmsNorm(NodeContext &context) {
  if (failed(context.requireFloat(0)))
    return failure();
  TensorBuilder &build = context.build;
  Value input = context.operand(0);
  FailureOr<int64_t> axis =
      context.getAxis(context.node.getInt("axis", -1), rankOf(input));
  if (failed(axis))
    return failure();
  Value x = build.convert(input, computeType(context, input));
  auto dims = llvm::to_vector(llvm::seq<int64_t>(*axis, rankOf(x)));
  Value square = build.mean(build.mul(x, x), dims, true);
  Value factor = build.unary<train::RsqrtOp>(
      build.add(square, context.getFloat("epsilon", 1e-5)));
  Value result = build.mul(x, build.broadcast(factor, shapeOf(x)));
  auto scale = overNormalised(
      context, 1, train::withShape(x.getType(), shapeOf(x).drop_front(*axis)),
      1);
  if (failed(scale))
    return failure();
  result = build.mul(result, build.broadcast(*scale, shapeOf(x)));
  return context.set(build.convert(result, elementTypeOf(input)));
}

// --- BatchNormalization ----------------------------------------------------

namespace {
struct BatchNorm {
  Value input, scale, bias, mean, variance;
  double epsilon, momentum;
};
} // namespace

static FailureOr<BatchNorm> readBatchNorm(NodeContext &context) {
  TensorBuilder &build = context.build;
  if (failed(context.requireFloat(0)))
    return failure();
  Value input = context.operand(0);
  if (rankOf(input) < 2) {
    context.emitError() << "expected an input of at least 2 dims, found "
                        << input.getType();
    return failure();
  }
  SmallVector<Value> channels;
  for (unsigned index : {1u, 2u, 3u, 4u}) {
    Value value = context.operand(index);
    if (!value || shapeOf(value) != ArrayRef(shapeOf(input)[1])) {
      context.emitError() << "expected input " << index << " to have "
                          << shapeOf(input)[1] << " elements, one per channel";
      return failure();
    }
    channels.push_back(build.convert(value, elementTypeOf(input)));
  }
  return BatchNorm{input,
                   channels[0],
                   channels[1],
                   channels[2],
                   channels[3],
                   context.getFloat("epsilon", 1e-5),
                   context.getFloat("momentum", 0.9)};
}

// running * momentum + batch * (1 - momentum).
static LogicalResult setRunning(NodeContext &context, unsigned index,
                                Value running, Value batch, double momentum) {
  if (!context.isUsed(index))
    return success();
  TensorBuilder &build = context.build;
  Value updated =
      build.add(build.mul(running, momentum), build.mul(batch, 1 - momentum));
  return context.set(
      index,
      build.convert(updated, context.resultType(index).getElementType()));
}

// The node's statistics are values like any other, so it means what it says:
// normalise with the batch's own statistics and return updated ones.
static LogicalResult lowerTrainingBatchNorm(NodeContext &context,
                                            const BatchNorm &norm) {
  TensorBuilder &build = context.build;
  auto op = train::BatchNormTrainingOp::create(
      build.builder, build.loc, norm.input.getType(), norm.mean.getType(),
      norm.variance.getType(), norm.input, norm.scale, norm.bias,
      build.builder.getI64IntegerAttr(1), doubleAttr(build, norm.epsilon));
  if (failed(setRunning(context, 1, norm.mean, op.getMean(), norm.momentum)) ||
      failed(setRunning(context, 2, norm.variance, op.getVariance(),
                        norm.momentum)))
    return failure();
  return context.set(op.getResult());
}

static LogicalResult lowerBatchNorm(NodeContext &context) {
  FailureOr<BatchNorm> norm = readBatchNorm(context);
  if (failed(norm))
    return failure();
  TensorBuilder &build = context.build;
  bool training = context.node.getInt("training_mode", 0) != 0;
  bool hasStatistics = context.initializer(3) && context.initializer(4);
  if (training && !hasStatistics && !context.options.frozenBatchNorm)
    return lowerTrainingBatchNorm(context, *norm);
  for (unsigned index = 1; index < context.node.getNumResults(); ++index)
    if (failed(context.requireUnused(index, "running statistics")))
      return failure();
  // Given statistics that are computed have nowhere to be updated.
  bool updates = hasStatistics && !context.options.frozenBatchNorm;
  return context.set(train::BatchNormOp::create(
      build.builder, build.loc, norm->input.getType(), norm->input, norm->scale,
      norm->bias, norm->mean, norm->variance,
      build.builder.getI64IntegerAttr(1), doubleAttr(build, norm->epsilon),
      updates ? doubleAttr(build, norm->momentum) : FloatAttr(),
      updates && !training ? build.builder.getUnitAttr() : UnitAttr()));
}

// --- Instance, group, mean-variance ----------------------------------------

// [N, groups, rest]: one group's elements are one dim.
static Value splitGroups(TensorBuilder &build, Value x, int64_t groups) {
  int64_t samples = shapeOf(x)[0];
  int64_t all = ShapedType::getNumElements(shapeOf(x));
  return build.reshape(x, {samples, groups, all / (samples * groups)});
}

static LogicalResult lowerInstanceNorm(NodeContext &context) {
  if (failed(context.requireFloat(0)))
    return failure();
  TensorBuilder &build = context.build;
  Value x = context.operand(0);
  if (rankOf(x) < 3)
    return context.emitError() << "expected an input of at least 3 dims";
  Value standard = standardize(build, splitGroups(build, x, shapeOf(x)[1]), 2,
                               context.getFloat("epsilon", 1e-5));
  return context.set(scaleAndShift(build, build.reshape(standard, shapeOf(x)),
                                   context.operand(1), context.operand(2), 1));
}

// Scale and bias are per group in opset 18, per channel from 21 on.
static LogicalResult lowerGroupNorm(NodeContext &context) {
  if (failed(context.requireFloat(0)))
    return failure();
  TensorBuilder &build = context.build;
  Value input = context.operand(0);
  int64_t groups = context.node.getInt("num_groups", 0);
  if (rankOf(input) < 2 || groups < 1 || shapeOf(input)[1] % groups != 0)
    return context.emitError()
           << "cannot split the channels of " << input.getType() << " into "
           << groups << " groups";
  Value x = build.convert(input, computeType(context, input));
  Value standard = standardize(build, splitGroups(build, x, groups), 2,
                               context.getFloat("epsilon", 1e-5));
  if (context.node.getSinceVersion() >= 21)
    standard = build.reshape(standard, shapeOf(x));
  Type element = elementTypeOf(x);
  Value result =
      scaleAndShift(build, standard, build.convert(context.operand(1), element),
                    build.convert(context.operand(2), element), 1);
  return context.set(
      build.convert(build.reshape(result, shapeOf(x)), elementTypeOf(input)));
}

static LogicalResult lowerMeanVariance(NodeContext &context) {
  if (failed(context.requireFloat(0)))
    return failure();
  TensorBuilder &build = context.build;
  Value x = context.operand(0);
  SmallVector<int64_t> axes{0, 2, 3};
  if (auto given = context.node.getInts("axes"))
    axes.assign(given->begin(), given->end());
  FailureOr<SmallVector<int64_t>> dims = context.getAxes(axes, rankOf(x));
  if (failed(dims))
    return failure();
  Value mean = build.mean(x, *dims, true);
  Value centred = build.sub(x, build.broadcast(mean, shapeOf(x)));
  Value variance = build.mean(build.mul(centred, centred), *dims, true);
  Value deviation = build.add(build.unary<train::SqrtOp>(variance), 1e-9);
  return context.set(
      build.div(centred, build.broadcast(deviation, shapeOf(x))));
}

static LogicalResult lowerLpNorm(NodeContext &context) {
  if (failed(context.requireFloat(0)))
    return failure();
  TensorBuilder &build = context.build;
  Value x = context.operand(0);
  FailureOr<int64_t> dim =
      context.getAxis(context.node.getInt("axis", -1), rankOf(x));
  if (failed(dim))
    return failure();
  int64_t power = context.node.getInt("p", 2);
  if (power != 1 && power != 2)
    return context.emitError() << "expected p to be 1 or 2, found " << power;
  Value norm = power == 1
                   ? build.reduce(ReduceKind::Sum, build.abs(x), *dim, true)
                   : build.unary<train::SqrtOp>(build.reduce(
                         ReduceKind::Sum, build.mul(x, x), *dim, true));
  // A vector of zeros stays one.
  Value isZero = build.compare(Predicate::Eq, norm, 0.0);
  Value safe = build.select(isZero, build.splatLike(norm, 1), norm);
  return context.set(build.div(x, build.broadcast(safe, shapeOf(x))));
}

// --- LRN -------------------------------------------------------------------

static LogicalResult lowerLrn(NodeContext &context) {
  if (failed(context.requireFloat(0)))
    return failure();
  TensorBuilder &build = context.build;
  Value x = context.operand(0);
  int64_t size = context.node.getInt("size", 0);
  if (rankOf(x) < 2 || size < 1)
    return context.emitError()
           << "expected an input of at least 2 dims and a positive size";
  SmallVector<int64_t> low(rankOf(x), 0), high(rankOf(x), 0);
  low[1] = (size - 1) / 2;
  high[1] = size - 1 - low[1];
  Value squares = build.pad(build.mul(x, x), low, high);
  Value sum;
  for (int64_t at = 0; at < size; ++at) {
    Value term = build.slice(squares, 1, at, shapeOf(x)[1]);
    sum = sum ? build.add(sum, term) : term;
  }
  double alpha = context.getFloat("alpha", 1e-4);
  Value base =
      build.add(build.mul(sum, alpha / size), context.getFloat("bias", 1.0));
  Value power = train::PowOp::create(
      build.builder, build.loc, base.getType(), base,
      build.splatLike(base, context.getFloat("beta", 0.75)));
  return context.set(build.div(x, power));
}

void zc::registerNormalization(LoweringRegistry &registry) {
  registry.add("LayerNormalization", 17, 17, lowerLayerNorm);
  registry.add("RMSNormalization", 23, 23, lowerRmsNorm);
  registry.add("BatchNormalization", 9, 15, lowerBatchNorm);
  registry.add("InstanceNormalization", 6, 22, lowerInstanceNorm);
  registry.add("GroupNormalization", 18, 21, lowerGroupNorm);
  registry.add("MeanVarianceNormalization", 9, 13, lowerMeanVariance);
  registry.add("LpNormalization", 1, 22, lowerLpNorm);
  registry.add("LRN", 1, 13, lowerLrn);
}
