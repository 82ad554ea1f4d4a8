//===- Elementwise.cpp - arithmetic, comparison, logic --------------------===//
#include "passes/Import/Lowering/LoweringRegistry.h"
#include "passes/Import/Lowering/NodeContext.h"
#include "passes/Import/Lowering/Random.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace zc;

namespace {
using Binary = llvm::function_ref<Value(TensorBuilder &, Value, Value)>;
} // namespace

// --- Binary ----------------------------------------------------------------

// Up to opset 6 the second operand was broadcast from an axis; those versions
// are not registered.
static LogicalResult lowerBinary(NodeContext &context, Binary combine) {
  Value a = context.operand(0), b = context.operand(1);
  if (failed(broadcastTogether(context, a, b)))
    return failure();
  return context.set(combine(context.build, a, b));
}

template <Value (TensorBuilder::*combine)(Value, Value)>
static LogicalResult lowerArithmetic(NodeContext &context) {
  return lowerBinary(context, [](TensorBuilder &build, Value a, Value b) {
    return (build.*combine)(a, b);
  });
}

// x sigmoid(x), as which SiLU is exported, keeps x alone for its gradient.
static LogicalResult lowerMul(NodeContext &context) {
  Value a = context.operand(0), b = context.operand(1);
  for (auto [x, other] : {std::pair(a, b), std::pair(b, a)}) {
    auto sigmoid = other.getDefiningOp<train::SigmoidOp>();
    if (sigmoid && sigmoid.getInput() == x)
      return context.set(context.build.swish(x, 1));
  }
  return lowerArithmetic<&TensorBuilder::mul>(context);
}

template <typename Op> static LogicalResult lowerLogic(NodeContext &context) {
  return lowerBinary(context, [](TensorBuilder &build, Value a, Value b) {
    return Op::create(build.builder, build.loc, a.getType(), a, b);
  });
}

static LoweringFunction comparison(Predicate predicate) {
  const bool isLess = predicate == Predicate::Lt || predicate == Predicate::Le;
  return [=](NodeContext &context) {
    if (Value bits = compareDraw(context, isLess))
      return context.set(bits);
    return lowerBinary(context, [&](TensorBuilder &build, Value a, Value b) {
      return build.compare(predicate, a, b);
    });
  };
}

// Computes the remainder of float64 values that are exact in float32, finite
// and not 0: a - n b for the whole n that leaves less than b, with the sign of
// a. The quotient has up to 278 bits; 28 of them at a time leave products of 53
// bits, which are exact.
static Value exactRemainder(TensorBuilder &build, Value a, Value b) {
  constexpr int kBits = 28, kMost = 278;
  auto both = [&](Value left, Value right) -> Value {
    return train::AndOp::create(build.builder, build.loc, left.getType(), left,
                                right);
  };
  Value negative = build.compare(Predicate::Lt, a, 0.0);
  Value turned = build.compare(Predicate::Ne,
                               build.compare(Predicate::Lt, b, 0.0), negative);
  b = build.select(turned, build.sub(build.splatLike(b, 0), b), b);
  for (int shift = kMost / kBits * kBits; shift >= 0; shift -= kBits) {
    Value scaled = build.mul(b, std::ldexp(1.0, shift));
    Value whole = build.convert(
        build.convert(build.div(a, scaled), build.builder.getI64Type()),
        elementTypeOf(a));
    Value rest = build.sub(a, build.mul(whole, scaled));
    // Where the quotient was rounded up to a whole number.
    Value tooMuch =
        both(build.compare(Predicate::Ne,
                           build.compare(Predicate::Lt, rest, 0.0), negative),
             build.compare(Predicate::Ne, rest, 0.0));
    a = build.select(tooMuch, build.add(rest, scaled), rest);
  }
  return a;
}

// The remainder of a truncated quotient, as C's % and fmod.
static Value remainder(TensorBuilder &build, Value a, Value b) {
  if (!isFloat(a))
    return build.sub(a, build.mul(build.div(a, b), b));
  double infinity = std::numeric_limits<double>::infinity();
  Type element = elementTypeOf(a), f64 = build.builder.getF64Type();
  Value wideA = build.convert(a, f64), wideB = build.convert(b, f64);
  // Minus itself, a quotient that is infinite or none is NaN. b may be
  // infinite. Those of float32 have fewer bits.
  Value quotient = build.div(wideA, wideB);
  Value endless = build.compare(Predicate::Eq, build.abs(wideB), infinity);
  Value fits = build.compare(Predicate::Lt, build.abs(quotient), 0x1p278);
  Value rest = exactRemainder(
      build, build.select(fits, wideA, build.splatLike(wideA, 0)),
      build.select(
          train::AndOp::create(
              build.builder, build.loc, fits.getType(), fits,
              build.compare(Predicate::Lt, build.abs(wideB), infinity)),
          wideB, build.splatLike(wideB, 1)));
  rest = build.select(fits, rest, build.sub(quotient, quotient));
  Value finite = build.compare(Predicate::Lt, build.abs(wideA), infinity);
  Value unchanged = train::AndOp::create(build.builder, build.loc,
                                         finite.getType(), finite, endless);
  return build.convert(build.select(unchanged, wideA, rest), element);
}

// Without `fmod` the result has the divisor's sign, as numpy.mod.
static LogicalResult lowerMod(NodeContext &context) {
  bool likeC = context.node.getInt("fmod", 0) != 0;
  return lowerBinary(context, [&](TensorBuilder &build, Value a, Value b) {
    Value rest = remainder(build, a, b);
    if (likeC)
      return rest;
    Value signsDiffer =
        build.compare(Predicate::Ne, build.compare(Predicate::Lt, rest, 0.0),
                      build.compare(Predicate::Lt, b, 0.0));
    Value adjust = train::AndOp::create(
        build.builder, build.loc, signsDiffer.getType(), signsDiffer,
        build.compare(Predicate::Ne, rest, 0.0));
    return build.select(adjust, build.add(rest, b), rest);
  });
}

// --- Powers ----------------------------------------------------------------

// x^n for the exponents that models are full of, without a logarithm: its
// gradient is NaN where x is negative. Null for the others.
static Value constantPower(TensorBuilder &build, Value x, double exponent) {
  if (exponent == 1)
    return x;
  if (exponent == 2)
    return build.mul(x, x);
  if (exponent == 3)
    return build.mul(build.mul(x, x), x);
  if (exponent == 4)
    return build.mul(build.mul(x, x), build.mul(x, x));
  if (!isFloat(x))
    return Value();
  if (exponent == 0.5)
    return build.unary<train::SqrtOp>(x);
  if (exponent == -0.5)
    return build.unary<train::RsqrtOp>(x);
  if (exponent == -1)
    return build.div(build.splatLike(x, 1), x);
  return Value();
}

static std::optional<double> splatExponent(NodeContext &context) {
  onnx::InitializerOp exponent = context.initializer(1);
  if (!exponent || exponent.getTrained() || !exponent.getValue())
    return std::nullopt;
  auto value = dyn_cast<DenseElementsAttr>(*exponent.getValue());
  if (!value || !value.isSplat())
    return std::nullopt;
  if (isa<FloatType>(value.getElementType()))
    return value.getSplatValue<APFloat>().convertToDouble();
  return static_cast<double>(value.getSplatValue<APInt>().getSExtValue());
}

static LogicalResult lowerPow(NodeContext &context) {
  TensorBuilder &build = context.build;
  Value base = context.operand(0);
  if (auto exponent = splatExponent(context)) {
    Value x = build.broadcast(base, context.resultShape());
    if (Value power = constantPower(build, x, *exponent))
      return context.set(power);
  }
  Value exponent = context.operand(1);
  if (failed(broadcastTogether(context, base, exponent)))
    return failure();
  // train.pow takes floats of one type; integers are exact in f64 up to 2^53.
  Type type = isFloat(base) ? elementTypeOf(base) : build.builder.getF64Type();
  base = build.convert(base, type);
  exponent = build.convert(exponent, type);
  Value power = train::PowOp::create(build.builder, build.loc, base.getType(),
                                     base, exponent);
  return context.set(
      build.convert(power, context.resultType().getElementType()));
}

// --- Variadic --------------------------------------------------------------

static FailureOr<Value> combineAll(NodeContext &context, Binary combine) {
  Value result;
  for (Value operand : context.operands()) {
    if (!result) {
      result = operand;
      continue;
    }
    if (failed(broadcastTogether(context, result, operand)))
      return failure();
    result = combine(context.build, result, operand);
  }
  if (!result)
    return context.emitError() << "expected at least one input, found none";
  return result;
}

template <Value (TensorBuilder::*combine)(Value, Value)>
static LogicalResult lowerVariadic(NodeContext &context) {
  auto result = combineAll(context, [](TensorBuilder &build, Value a, Value b) {
    return (build.*combine)(a, b);
  });
  return failed(result) ? failure() : context.set(*result);
}

static Value addValues(TensorBuilder &build, Value a, Value b) {
  return build.add(a, b);
}

static LogicalResult lowerMean(NodeContext &context) {
  FailureOr<Value> sum = combineAll(context, addValues);
  if (failed(sum))
    return failure();
  return context.set(context.build.div(*sum, context.operands().size()));
}

// --- Unary -----------------------------------------------------------------

template <typename Op> static LogicalResult lowerUnary(NodeContext &context) {
  if (failed(context.requireFloat(0)))
    return failure();
  return context.set(context.build.unary<Op>(context.operand(0)));
}

/// log(sigmoid(x)), as which logsigmoid is exported, is -softplus(-x), which is
/// finite where the sigmoid is 0.
static LogicalResult lowerLog(NodeContext &context) {
  auto sigmoid = context.operand(0).getDefiningOp<train::SigmoidOp>();
  if (!sigmoid)
    return lowerUnary<train::LogOp>(context);
  TensorBuilder &build = context.build;
  Value opposite = build.neg(sigmoid.getInput());
  return context.set(build.neg(build.unary<train::SoftplusOp>(opposite)));
}

template <Value (TensorBuilder::*compute)(Value)>
static LogicalResult lowerSigned(NodeContext &context) {
  return context.set((context.build.*compute)(context.operand(0)));
}

static LogicalResult lowerReciprocal(NodeContext &context) {
  Value x = context.operand(0);
  return context.set(context.build.div(context.build.splatLike(x, 1), x));
}

// Made of comparisons, so its gradient is zero.
static LogicalResult lowerSign(NodeContext &context) {
  TensorBuilder &build = context.build;
  Value x = context.operand(0);
  auto where = [&](Predicate predicate) {
    return build.convert(build.compare(predicate, x, 0.0), elementTypeOf(x));
  };
  return context.set(build.sub(where(Predicate::Gt), where(Predicate::Lt)));
}

// --- Predicates and selection ----------------------------------------------

template <typename Op> static LogicalResult lowerToBool(NodeContext &context) {
  Value x = context.operand(0);
  return context.set(Op::create(context.build.builder, context.build.loc,
                                context.resultType(), x));
}

static LogicalResult lowerIsNan(NodeContext &context) {
  if (failed(context.requireFloat(0)))
    return failure();
  return lowerToBool<train::IsNanOp>(context);
}

static LogicalResult lowerIsInf(NodeContext &context) {
  if (failed(context.requireFloat(0)))
    return failure();
  TensorBuilder &build = context.build;
  Value x = context.operand(0);
  double infinity = std::numeric_limits<double>::infinity();
  bool positive = context.node.getInt("detect_positive", 1) != 0;
  bool negative = context.node.getInt("detect_negative", 1) != 0;
  if (positive && negative)
    return context.set(build.compare(Predicate::Eq, build.abs(x), infinity));
  if (!positive && !negative)
    return context.set(build.splat(context.resultType(), 0));
  return context.set(
      build.compare(Predicate::Eq, x, positive ? infinity : -infinity));
}

static LogicalResult lowerWhere(NodeContext &context) {
  Value condition = context.operand(0);
  Value a = context.operand(1), b = context.operand(2);
  if (failed(broadcastTogether(context, a, b)) ||
      failed(broadcastTogether(context, condition, a)) ||
      failed(broadcastTogether(context, a, b)))
    return failure();
  return context.set(context.build.select(condition, a, b));
}

// --- The table -------------------------------------------------------------

static void registerBinary(LoweringRegistry &registry) {
  registry.add("Add", 7, 14, lowerArithmetic<&TensorBuilder::add>);
  registry.add("Sub", 7, 14, lowerArithmetic<&TensorBuilder::sub>);
  registry.add("Mul", 7, 14, lowerMul);
  registry.add("Div", 7, 14, lowerArithmetic<&TensorBuilder::div>);
  registry.add("Mod", 10, 28, lowerMod);
  registry.add("Pow", 7, 15, lowerPow);
  registry.add("And", 7, 7, lowerLogic<train::AndOp>);
  registry.add("Or", 7, 7, lowerLogic<train::OrOp>);
  registry.add("Xor", 7, 7, comparison(Predicate::Ne));
  registry.add("Equal", 7, 19, comparison(Predicate::Eq));
  registry.add("Greater", 7, 13, comparison(Predicate::Gt));
  registry.add("GreaterOrEqual", 12, 16, comparison(Predicate::Ge));
  registry.add("Less", 7, 13, comparison(Predicate::Lt));
  registry.add("LessOrEqual", 12, 16, comparison(Predicate::Le));
  registry.add("Max", 8, 13, lowerVariadic<&TensorBuilder::max>);
  registry.add("Min", 8, 13, lowerVariadic<&TensorBuilder::min>);
  registry.add("Sum", 8, 13, lowerVariadic<&TensorBuilder::add>);
  registry.add("Mean", 8, 13, lowerMean);
}

void zc::registerElementwise(LoweringRegistry &registry) {
  registerBinary(registry);
  registry.add("Abs", 6, 13, lowerSigned<&TensorBuilder::abs>);
  registry.add("Neg", 6, 13, lowerSigned<&TensorBuilder::neg>);
  registry.add("Exp", 6, 13, lowerUnary<train::ExpOp>);
  registry.add("Log", 6, 13, lowerLog);
  registry.add("Sqrt", 6, 13, lowerUnary<train::SqrtOp>);
  registry.add("Erf", 9, 13, lowerUnary<train::ErfOp>);
  registry.add("Sin", 7, 22, lowerUnary<train::SinOp>);
  registry.add("Cos", 7, 22, lowerUnary<train::CosOp>);
  registry.add("Tan", 7, 22, lowerUnary<train::TanOp>);
  registry.add("Asin", 7, 22, lowerUnary<train::AsinOp>);
  registry.add("Acos", 7, 22, lowerUnary<train::AcosOp>);
  registry.add("Atan", 7, 22, lowerUnary<train::AtanOp>);
  registry.add("Floor", 6, 13, lowerUnary<train::FloorOp>);
  registry.add("Ceil", 6, 13, lowerUnary<train::CeilOp>);
  registry.add("Round", 11, 22, lowerUnary<train::RoundOp>);
  registry.add("Sinh", 9, 22, lowerUnary<train::SinhOp>);
  registry.add("Cosh", 9, 22, lowerUnary<train::CoshOp>);
  registry.add("Asinh", 9, 22, lowerUnary<train::AsinhOp>);
  registry.add("Acosh", 9, 22, lowerUnary<train::AcoshOp>);
  registry.add("Atanh", 9, 22, lowerUnary<train::AtanhOp>);
  registry.add("Reciprocal", 6, 13, lowerReciprocal);
  registry.add("Sign", 9, 13, lowerSign);
  registry.add("Not", 1, 1, lowerToBool<train::NotOp>);
  registry.add("IsNaN", 9, 20, lowerIsNan);
  registry.add("IsInf", 10, 20, lowerIsInf);
  registry.add("Where", 9, 16, lowerWhere);
}
