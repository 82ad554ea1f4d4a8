//===- Quantization.cpp - QuantizeLinear, DequantizeLinear ----------------===//
//
// A pair of both is a rounding with a straight-through gradient (Bengio et al.
// 2013): the gradient passes where the rounded value is inside the type's
// range, and is zero elsewhere, as that of PyTorch's fake_quantize. A scale
// that is trained gets the gradient of LSQ (Esser et al. 2020), without that
// paper's factor of 1 / sqrt(elements x range).
//
//===----------------------------------------------------------------------===//
#include "dialects/Onnx/Float8.h"
#include "dialects/Train/GradientOps.h"
#include "passes/Import/Lowering/Float8.h"
#include "passes/Import/Lowering/LoweringRegistry.h"
#include "passes/Import/Lowering/NodeContext.h"

using namespace mlir;
using namespace zc;

static std::optional<Float8> float8Operand(NodeContext &context,
                                           unsigned index) {
  return Float8::get(
      context.node.getString((onnx::kFloat8 + "." + Twine(index)).str(), ""));
}

static std::optional<Float8> float8Result(NodeContext &context) {
  return Float8::get(context.node.getString(onnx::kFloat8, ""));
}

// --- Scales and zero points ------------------------------------------------

// Element i along `dim` stands for `block` elements, the last one perhaps for
// fewer.
static Value repeatAlong(TensorBuilder &build, Value value, int64_t dim,
                         int64_t block, int64_t size) {
  SmallVector<int64_t> shape(shapeOf(value)), dims;
  int64_t count = shape[dim];
  shape.insert(shape.begin() + dim + 1, block);
  for (int64_t each = 0; each < rankOf(value); ++each)
    dims.push_back(each <= dim ? each : each + 1);
  Value repeated = build.broadcast(value, shape, dims);
  shape.erase(shape.begin() + dim + 1);
  shape[dim] = count * block;
  return build.slice(build.reshape(repeated, shape), dim, 0, size);
}

// One number for all, one for each place along `axis`, or one for each block
// of `block_size` along it.
static FailureOr<Value> spread(NodeContext &context, Value value,
                               ArrayRef<int64_t> shape) {
  TensorBuilder &build = context.build;
  if (cast<RankedTensorType>(value.getType()).getNumElements() == 1)
    return build.broadcast(build.reshape(value, {}), shape);
  int64_t rank = shape.size();
  FailureOr<int64_t> axis =
      context.getAxis(context.node.getInt("axis", 1), rank);
  if (failed(axis))
    return failure();
  if (rankOf(value) == 1 && shapeOf(value)[0] == shape[*axis])
    return build.broadcast(value, shape, *axis);
  int64_t block = context.node.getInt("block_size", 0);
  SmallVector<int64_t> expected(shape);
  if (block > 0)
    expected[*axis] = (shape[*axis] + block - 1) / block;
  if (block > 0 && shapeOf(value) == ArrayRef(expected))
    return repeatAlong(build, value, *axis, block, shape[*axis]);
  InFlightDiagnostic error = context.emitError();
  error << "expected a scale or zero point of one element, or of "
        << shape[*axis] << " along axis " << *axis;
  if (block > 0)
    error << ", or blocks of " << block << " along it";
  error << ", found " << value.getType();
  return failure();
}

// Digits of scales, and whole numbers up to 2^16, are more than 16 bits hold.
static Type computingType(TensorBuilder &build, Type element) {
  return element.isF64() ? element : build.builder.getF32Type();
}

// Operand `index` as numbers; of eight or four bits, what they stand for.
static Value numbersOf(NodeContext &context, unsigned index, Type element) {
  Value x = context.operand(index);
  if (auto type = float8Operand(context, index))
    x = type->decode(context.build, x);
  return context.build.convert(x, element);
}

static FailureOr<Value> operandAs(NodeContext &context, unsigned index,
                                  ArrayRef<int64_t> shape, Type element) {
  return spread(context, numbersOf(context, index, element), shape);
}

// As float32 divides: kernels may multiply by a reciprocal, which is another
// whole number near halves.
static Value divideExactly(TensorBuilder &build, Value x, Value scale) {
  Type element = elementTypeOf(x), wide = build.builder.getF64Type();
  return build.convert(
      build.div(build.convert(x, wide), build.convert(scale, wide)), element);
}

// --- QuantizeLinear --------------------------------------------------------

namespace {
struct Bounds {
  double low, high;
};
} // namespace

// The bounds of the integers that a node writes. Types of four and two bits are
// held in eight.
static Bounds getRange(onnx::NodeOp quantize) {
  auto type = cast<IntegerType>(getElementTypeOrSelf(quantize.getResult(0)));
  auto width = quantize.getInt(onnx::kPackedBits, type.getWidth());
  if (type.isUnsigned())
    return {0, std::ldexp(1, width) - 1};
  return {-std::ldexp(1, width - 1), std::ldexp(1, width - 1) - 1};
}

static Value stopGradient(TensorBuilder &build, Value x) {
  return train::StopGradientOp::create(build.builder, build.loc, x.getType(),
                                       x);
}

// The nearest whole number, the even one of two; the gradient passes. The
// difference is exact: it is less than x, or x itself.
static Value roundStraight(TensorBuilder &build, Value x) {
  Value rest = build.sub(build.unary<train::RoundOp>(x), x);
  return build.add(x, stopGradient(build, rest));
}

static Value clampTo(TensorBuilder &build, Value x, Bounds range) {
  Value below = build.compare(Predicate::Lt, x, range.low);
  Value above = build.compare(Predicate::Gt, x, range.high);
  return build.select(below, build.splatLike(x, range.low),
                      build.select(above, build.splatLike(x, range.high), x));
}

// To a float of eight or four bits. The gradient passes inside of its range.
static LogicalResult setFloat8(NodeContext &context, Value x, Float8 type) {
  TensorBuilder &build = context.build;
  if (!type.holdsZero())
    return context.emitError()
           << "rounds to powers of two, which zc only reads";
  const bool saturates = context.node.getInt("saturate", 1);
  Value inside = clampTo(build, x, {-type.largest(), type.largest()});
  Value nearest = type.round(build, saturates ? inside : x, saturates);
  Value rest = build.sub(nearest, inside);
  auto rounded = train::AddOp::create(build.builder, build.loc, inside,
                                      stopGradient(build, rest));
  rounded.setRounded(true);
  // A zero point is added, and with it the sign of a zero is lost.
  Value zero = build.splatLike(x, 0);
  Value signs = build.select(build.compare(Predicate::Eq, x, 0.0), zero, x);
  return context.set(type.encode(build, rounded, signs));
}

static LogicalResult lowerQuantize(NodeContext &context) {
  if (failed(context.requireFloat(0)) ||
      !isa<IntegerType>(context.resultType().getElementType()))
    return context.emitError()
           << "expected a floating-point tensor that becomes integers, found "
           << context.operand(0).getType() << " and " << context.resultType();
  TensorBuilder &build = context.build;
  Type element = computingType(build, elementTypeOf(context.operand(0)));
  Value x = build.convert(context.operand(0), element);
  FailureOr<Value> scale = operandAs(context, 1, shapeOf(x), element);
  if (failed(scale))
    return failure();
  x = divideExactly(build, x, *scale);
  if (auto type = float8Result(context))
    return setFloat8(context, x, *type);
  x = roundStraight(build, x);
  if (context.has(2)) {
    FailureOr<Value> zero = operandAs(context, 2, shapeOf(x), element);
    if (failed(zero))
      return failure();
    x = build.add(x, *zero);
  }
  return context.set(build.convert(clampTo(build, x, getRange(context.node)),
                                   context.resultType().getElementType()));
}

// --- DynamicQuantizeLinear ---------------------------------------------------

// The smallest or largest element of all, or 0; without dims.
static Value extremeOrZero(TensorBuilder &build, Value x, bool smallest) {
  auto dims = llvm::to_vector(llvm::seq<int64_t>(0, rankOf(x)));
  Value extreme =
      build.reduce(smallest ? ReduceKind::Min : ReduceKind::Max, x, dims);
  Value zero = build.splatLike(extreme, 0);
  return smallest ? build.min(extreme, zero) : build.max(extreme, zero);
}

// To uint8, by a scale such that the numbers and 0 just fit. Numbers that are
// all 0 have the scale 1.
static LogicalResult lowerDynamicQuantize(NodeContext &context) {
  if (failed(context.requireFloat(0)))
    return failure();
  TensorBuilder &build = context.build;
  Value x = context.operand(0);
  const Bounds bounds{0, 255};
  Value low = extremeOrZero(build, x, true);
  Value span = build.sub(extremeOrZero(build, x, false), low);
  Value scale = divideExactly(build, span, build.splatLike(span, 255));
  scale = build.select(build.compare(Predicate::Eq, scale, 0.0),
                       build.splatLike(scale, 1), scale);
  Value zero = clampTo(
      build,
      build.unary<train::RoundOp>(build.neg(divideExactly(build, low, scale))),
      bounds);
  Value whole = roundStraight(
      build, divideExactly(build, x, build.broadcast(scale, shapeOf(x))));
  whole = build.add(whole, build.broadcast(zero, shapeOf(x)));
  Type byte = context.resultType().getElementType();
  if (failed(
          context.set(0, build.convert(clampTo(build, whole, bounds), byte))))
    return failure();
  if (failed(context.set(1, scale)))
    return failure();
  return context.set(2, build.convert(zero, byte));
}

// --- DequantizeLinear ------------------------------------------------------

// The numbers that became bits.
static Value findRounded(Value bits) {
  SmallVector<Value> left{bits};
  DenseSet<Operation *> seen;
  for (size_t next = 0; next < left.size(); ++next) {
    Operation *op = left[next].getDefiningOp();
    if (!op || !seen.insert(op).second)
      continue;
    if (auto sum = dyn_cast<train::AddOp>(op); sum && sum.getRounded())
      return sum;
    llvm::append_range(left, op->getOperands());
  }
  return {};
}

// Whole numbers as floats; those that QuantizeLinear has just made before they
// became integers, so that gradients find their way.
static Value wholeNumbers(NodeContext &context, Type element) {
  Value x = context.operand(0);
  auto node = context.node.getInputs()[0].getDefiningOp<onnx::NodeOp>();
  auto conversion = x.getDefiningOp<train::ConvertOp>();
  if (float8Operand(context, 0)) {
    Value rounded =
        node && node.getOpType() == "QuantizeLinear" ? findRounded(x) : Value();
    return rounded ? context.build.convert(rounded, element)
                   : numbersOf(context, 0, element);
  }
  if (node && node.getOpType() == "QuantizeLinear" && conversion)
    x = conversion.getInput();
  return context.build.convert(x, element);
}

// --- Pairs of both ---------------------------------------------------------

// The QuantizeLinear of integers in front of a DequantizeLinear, if both have
// one scale and zero point.
static onnx::NodeOp findPartner(NodeContext &context) {
  auto other = context.node.getInputs()[0].getDefiningOp<onnx::NodeOp>();
  if (!other || other.getOpType() != "QuantizeLinear" ||
      !other.getDomain().empty() || float8Operand(context, 0))
    return {};
  auto axisOf = [](onnx::NodeOp node) { return node.getInt("axis", 1); };
  auto blockOf = [](onnx::NodeOp node) { return node.getInt("block_size", 0); };
  const bool agree =
      other.getOptionalInput(1) == context.node.getOptionalInput(1) &&
      other.getOptionalInput(2) == context.node.getOptionalInput(2) &&
      axisOf(other) == axisOf(context.node) &&
      blockOf(other) == blockOf(context.node);
  return agree ? other : onnx::NodeOp();
}

// Whether a gradient may be asked of the scale.
static bool mayLearnScale(NodeContext &context) {
  onnx::InitializerOp stored = context.initializer(1);
  return !stored || stored.getTrained();
}

// 0, with a gradient for `scale`: `slope` of the result's.
static Value addSlope(TensorBuilder &build, Value scale, Value slope) {
  return build.mul(stopGradient(build, slope),
                   build.sub(scale, stopGradient(build, scale)));
}

// Rounds x to integers and back. The gradient of the scale is rounded - x /
// scale inside the range. As a difference of two sums over all elements it
// would be the sums' rounding error where x lies near whole numbers, as weights
// that a file stores as integers do; Adam makes steps of such noise. So it is
// computed element by element, (result - x) / scale, which is 0 where x is a
// whole multiple of the scale.
static Value roundToGrid(TensorBuilder &build, Value x, Value scale, Value zero,
                         Bounds range, bool learnsScale) {
  Value fixed = stopGradient(build, scale);
  Value whole = roundStraight(build, divideExactly(build, x, fixed));
  if (zero)
    whole = build.add(whole, zero);
  Value bounded = clampTo(build, whole, range);
  Value outside = build.compare(Predicate::Ne, whole, bounded);
  if (zero)
    bounded = build.sub(bounded, zero);
  Value result = build.mul(bounded, fixed);
  if (!learnsScale)
    return result;
  Value slope =
      build.select(outside, bounded, build.div(build.sub(result, x), fixed));
  return build.add(result, addSlope(build, scale, slope));
}

static LogicalResult lowerPair(NodeContext &context, onnx::NodeOp quantize) {
  TensorBuilder &build = context.build;
  Type result = context.resultType().getElementType();
  Value x = context.operandOf(quantize, 0);
  Type element = computingType(build, elementTypeOf(x));
  x = build.convert(x, element);
  FailureOr<Value> scale = operandAs(context, 1, shapeOf(x), element);
  if (failed(scale))
    return failure();
  Value zero;
  if (context.has(2)) {
    FailureOr<Value> spread = operandAs(context, 2, shapeOf(x), element);
    if (failed(spread))
      return failure();
    zero = *spread;
  }
  return context.set(
      build.convert(roundToGrid(build, x, *scale, zero, getRange(quantize),
                                mayLearnScale(context)),
                    result));
}

static LogicalResult lowerDequantize(NodeContext &context) {
  TensorBuilder &build = context.build;
  if (onnx::NodeOp quantize = findPartner(context))
    return lowerPair(context, quantize);
  if (isFloat(context.operand(0)))
    return context.emitError()
           << "expected integers, found " << context.operand(0).getType();
  Type result = context.resultType().getElementType();
  Type element = computingType(build, result);
  Value x = wholeNumbers(context, element);
  FailureOr<Value> scale = operandAs(context, 1, shapeOf(x), element);
  if (failed(scale))
    return failure();
  if (context.has(2)) {
    FailureOr<Value> zero = operandAs(context, 2, shapeOf(x), element);
    if (failed(zero))
      return failure();
    x = build.sub(x, *zero);
  }
  return context.set(build.convert(build.mul(x, *scale), result));
}

void zc::registerQuantization(LoweringRegistry &registry) {
  registry.add("QuantizeLinear", 10, 28, lowerQuantize);
  registry.add("DequantizeLinear", 10, 28, lowerDequantize);
  registry.add("DynamicQuantizeLinear", 11, 11, lowerDynamicQuantize);
}
