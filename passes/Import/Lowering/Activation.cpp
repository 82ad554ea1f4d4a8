//===- Activation.cpp - the nonlinearities between layers -----------------===//
//
// Values are ONNX's; where ONNX is silent, at the kinks, gradients are
// PyTorch's.
//
//===----------------------------------------------------------------------===//
#include "dialects/Train/GradientOps.h"
#include "passes/Import/Lowering/LoweringRegistry.h"
#include "passes/Import/Lowering/NodeContext.h"

using namespace mlir;
using namespace zc;

namespace {
using Function = Value (*)(NodeContext &, TensorBuilder &, Value);
} // namespace

// Lowers a function of one floating-point operand.
template <Function compute> static LogicalResult lower(NodeContext &context) {
  if (failed(context.requireFloat(0)))
    return failure();
  return context.set(compute(context, context.build, context.operand(0)));
}

// --- Straight lines --------------------------------------------------------

static Value relu(NodeContext &, TensorBuilder &build, Value x) {
  return build.unary<train::ReluOp>(x);
}

static LogicalResult lowerRelu(NodeContext &context) {
  Value x = context.operand(0);
  if (isFloat(x))
    return lower<relu>(context);
  return context.set(context.build.max(x, context.build.splatLike(x, 0)));
}

static Value leakyRelu(NodeContext &context, TensorBuilder &build, Value x) {
  Value scaled = build.mul(x, context.getFloat("alpha", 0.01));
  return build.select(build.compare(Predicate::Gt, x, 0.0), x, scaled);
}

static Value thresholdedRelu(NodeContext &context, TensorBuilder &build,
                             Value x) {
  Value above = build.compare(Predicate::Gt, x, context.getFloat("alpha", 1.0));
  return build.select(above, x, build.splatLike(x, 0));
}

static Value shrink(NodeContext &context, TensorBuilder &build, Value x) {
  double lambda = context.getFloat("lambd", 0.5);
  double bias = context.getFloat("bias", 0.0);
  Value inner = build.select(build.compare(Predicate::Gt, x, lambda),
                             build.add(x, -bias), build.splatLike(x, 0));
  return build.select(build.compare(Predicate::Lt, x, -lambda),
                      build.add(x, bias), inner);
}

// The bounds pass the gradient, as in torch.clamp; NaN stays NaN.
static Value clamp(TensorBuilder &build, Value x, Value low, Value high) {
  if (low)
    x = build.select(build.compare(Predicate::Lt, x, low), low, x);
  if (high)
    x = build.select(build.compare(Predicate::Gt, x, high), high, x);
  return x;
}

static Value hardSigmoidOf(TensorBuilder &build, Value x, double alpha,
                           double beta) {
  Value line = build.line(x, alpha, beta);
  return clamp(build, line, build.splatLike(x, 0), build.splatLike(x, 1));
}

static Value hardSigmoid(NodeContext &context, TensorBuilder &build, Value x) {
  return hardSigmoidOf(build, x, context.getFloat("alpha", 0.2),
                       context.getFloat("beta", 0.5));
}

static Value hardSwish(NodeContext &, TensorBuilder &build, Value x) {
  // (x + 3) / 6 has all digits near -3, x / 6 + 0.5 not. The kinks are x's own:
  // of a number next to 3 the sum may be rounded to 6.
  Value safe = build.select(build.compare(Predicate::Gt, build.abs(x), 3.0),
                            build.splatLike(x, 0), x);
  Value middle = build.div(build.mul(safe, build.line(safe, 1, 3)), 6.0);
  Value left = build.select(build.compare(Predicate::Lt, x, -3.0),
                            build.splatLike(x, 0), middle);
  return build.select(build.compare(Predicate::Gt, x, 3.0), x, left);
}

static LogicalResult lowerClip(NodeContext &context) {
  TensorBuilder &build = context.build;
  Value x = context.operand(0);
  auto bound = [&](unsigned index, StringRef name) -> Value {
    if (context.node.hasAttribute(name))
      return build.splatLike(x, context.getFloat(name, 0));
    Value value = context.operand(index);
    return value ? build.broadcast(build.reshape(value, {}), zc::shapeOf(x))
                 : Value();
  };
  for (unsigned index : {1u, 2u})
    if (Value value = context.operand(index))
      if (cast<RankedTensorType>(value.getType()).getNumElements() != 1)
        return context.emitError()
               << "expected input " << index << " to hold one element, found "
               << value.getType();
  return context.set(clamp(build, x, bound(1, "min"), bound(2, "max")));
}

static LogicalResult lowerPRelu(NodeContext &context) {
  TensorBuilder &build = context.build;
  Value x = context.operand(0), slope = context.operand(1);
  if (failed(broadcastTogether(context, x, slope)))
    return failure();
  return context.set(build.select(build.compare(Predicate::Gt, x, 0.0), x,
                                  build.mul(slope, x)));
}

// --- Exponentials ----------------------------------------------------------

// x where x > 0, else scale (e^(x / width) - 1). The exponential never sees a
// positive x: it could overflow, and 0 times infinity is a NaN in the gradient.
static Value elu(TensorBuilder &build, Value x, double scale, double width) {
  Value positive = build.compare(Predicate::Gt, x, 0.0);
  Value safe = build.select(positive, build.splatLike(x, 0), x);
  Value power =
      build.unary<train::Expm1Op>(width == 1 ? safe : build.div(safe, width));
  Value curve = build.mul(power, scale);
  return build.select(positive, x, curve);
}

static Value eluOf(NodeContext &context, TensorBuilder &build, Value x) {
  return elu(build, x, context.getFloat("alpha", 1.0), 1);
}

static Value stopGradient(TensorBuilder &build, Value x) {
  return train::StopGradientOp::create(build.builder, build.loc, x.getType(),
                                       x);
}

// The slope, e^(x / alpha), shows the rounding of its exponent as often as that
// is large: it is that of the same curve in float64, which has no digits to
// spare near 0, where the value is float32's.
static Value celu(NodeContext &context, TensorBuilder &build, Value x) {
  double alpha = context.getFloat("alpha", 1.0);
  Type element = elementTypeOf(x), f64 = build.builder.getF64Type();
  if (alpha == 1 || !element.isF32())
    return elu(build, x, alpha, alpha);
  double stored = context.node.getFloat("alpha", 1.0);
  Value positive = build.compare(Predicate::Gt, x, 0.0);
  Value safe = build.select(positive, build.splatLike(x, 0), x);
  auto curveOf = [&](Value at, double width) {
    Value power = build.unary<train::Expm1Op>(build.div(at, width));
    return build.mul(power, width);
  };
  Value wide =
      build.convert(curveOf(build.convert(safe, f64), stored), element);
  Value nothing = build.sub(wide, stopGradient(build, wide));
  Value curve = build.add(stopGradient(build, curveOf(safe, alpha)), nothing);
  return build.select(positive, x, curve);
}

static Value selu(NodeContext &context, TensorBuilder &build, Value x) {
  double alpha = context.getFloat("alpha", 1.67326319217681884765625);
  double gamma = context.getFloat("gamma", 1.05070102214813232421875);
  return build.mul(elu(build, x, alpha, 1), gamma);
}

static Value softplus(NodeContext &, TensorBuilder &build, Value x) {
  return build.unary<train::SoftplusOp>(x);
}

static Value softsign(NodeContext &, TensorBuilder &build, Value x) {
  return build.unary<train::SoftsignOp>(x);
}

static Value sigmoid(NodeContext &, TensorBuilder &build, Value x) {
  return build.unary<train::SigmoidOp>(x);
}

static Value tanh(NodeContext &, TensorBuilder &build, Value x) {
  return build.unary<train::TanhOp>(x);
}

static Value mish(NodeContext &, TensorBuilder &build, Value x) {
  return build.unary<train::MishOp>(x);
}

static Value swish(NodeContext &context, TensorBuilder &build, Value x) {
  return build.swish(x, context.getFloat("alpha", 1.0));
}

static LogicalResult lowerGelu(NodeContext &context) {
  if (failed(context.requireFloat(0)))
    return failure();
  StringRef approximate = context.node.getString("approximate", "none");
  if (approximate != "none" && approximate != "tanh")
    return context.emitError()
           << "expected approximate to be 'none' or 'tanh', found '"
           << approximate << "'";
  Value x = context.operand(0);
  return context.set(train::GeluOp::create(context.build.builder,
                                           context.build.loc, x.getType(), x,
                                           approximate == "tanh"));
}

// --- Softmax and its kin ---------------------------------------------------

static Value softmax(TensorBuilder &build, Value x, int64_t dim) {
  return build.softmax(x, dim);
}

static Value logSoftmax(TensorBuilder &build, Value x, int64_t dim) {
  return build.logSoftmax(x, dim);
}

// 1 at the first largest element.
static Value hardmax(TensorBuilder &build, Value x, int64_t dim) {
  Type integer = build.builder.getI64Type();
  Value top = build.broadcast(build.reduce(ReduceKind::Max, x, dim, true),
                              zc::shapeOf(x));
  Value position = build.iota(zc::shapeOf(x), dim, integer);
  Value none = build.splatLike(position, zc::shapeOf(x)[dim]);
  Value candidate = build.select(build.isExtreme(x, top), position, none);
  Value first = build.reduce(ReduceKind::Min, candidate, dim, true);
  return build.convert(build.compare(Predicate::Eq, position,
                                     build.broadcast(first, zc::shapeOf(x))),
                       elementTypeOf(x));
}

using AlongDim = Value (*)(TensorBuilder &, Value, int64_t);

template <AlongDim compute>
static LogicalResult lowerAlongAxis(NodeContext &context) {
  if (failed(context.requireFloat(0)))
    return failure();
  Value x = context.operand(0);
  FailureOr<int64_t> dim =
      context.getAxis(context.node.getInt("axis", -1), rankOf(x));
  return failed(dim) ? failure() : context.set(compute(context.build, x, *dim));
}

// Before opset 13 all dims from `axis` on were one.
template <AlongDim compute>
static LogicalResult lowerFlattened(NodeContext &context) {
  if (failed(context.requireFloat(0)))
    return failure();
  Value x = context.operand(0);
  SmallVector<int64_t> shape(zc::shapeOf(x));
  int64_t axis = context.node.getInt("axis", 1);
  if (axis < 0)
    axis += shape.size();
  if (axis < 0 || axis > static_cast<int64_t>(shape.size()))
    return context.emitError() << "axis is outside " << x.getType();
  int64_t rows = ShapedType::getNumElements(ArrayRef(shape).take_front(axis));
  int64_t columns =
      ShapedType::getNumElements(ArrayRef(shape).drop_front(axis));
  Value flat = context.build.reshape(x, {rows, columns});
  return context.set(
      context.build.reshape(compute(context.build, flat, 1), shape));
}

// --- The table -------------------------------------------------------------

void zc::registerActivation(LoweringRegistry &registry) {
  registry.add("Relu", 6, 14, lowerRelu);
  registry.add("LeakyRelu", 6, 16, lower<leakyRelu>);
  registry.add("PRelu", 7, 16, lowerPRelu);
  registry.add("ThresholdedRelu", 10, 22, lower<thresholdedRelu>);
  registry.add("Shrink", 9, 9, lower<shrink>);
  registry.add("Clip", 6, 13, lowerClip);
  registry.add("HardSigmoid", 6, 22, lower<hardSigmoid>);
  registry.add("HardSwish", 14, 22, lower<hardSwish>);
  registry.add("Elu", 6, 22, lower<eluOf>);
  registry.add("Celu", 12, 28, lower<celu>);
  registry.add("Selu", 6, 22, lower<selu>);
  registry.add("Softplus", 1, 22, lower<softplus>);
  registry.add("Softsign", 1, 22, lower<softsign>);
  registry.add("Sigmoid", 6, 13, lower<sigmoid>);
  registry.add("Tanh", 6, 13, lower<tanh>);
  registry.add("Mish", 18, 22, lower<mish>);
  registry.add("Swish", 24, 24, lower<swish>);
  registry.add("Gelu", 20, 20, lowerGelu);
  registry.add("Softmax", 1, 11, lowerFlattened<softmax>);
  registry.add("Softmax", 13, 13, lowerAlongAxis<softmax>);
  registry.add("LogSoftmax", 1, 11, lowerFlattened<logSoftmax>);
  registry.add("LogSoftmax", 13, 13, lowerAlongAxis<logSoftmax>);
  registry.add("Hardmax", 1, 11, lowerFlattened<hardmax>);
  registry.add("Hardmax", 13, 13, lowerAlongAxis<hardmax>);
}
