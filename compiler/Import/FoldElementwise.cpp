// Operators that work element by element, with numpy's broadcasting.
#include "compiler/Import/ConstantFolder.h"

#include "compiler/OnnxModel/Float8Type.h"
#include "compiler/OnnxModel/ModelFile.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>

using namespace zc;
using DataType = proto::TensorProto;

// A result of the logical dims that the operands broadcast to, storing a dim
// once where no operand varies along it.
static std::optional<HostTensor>
makeBroadcast(int32_t dataType, llvm::ArrayRef<const HostTensor *> inputs) {
  Dims dims, stored;
  for (const HostTensor *input : inputs) {
    std::optional<Dims> wider = broadcast(dims, input->dims);
    if (!wider)
      return std::nullopt;
    dims = *wider;
    stored = *broadcast(stored, input->stored);
  }
  if (getNumElements(stored) > kMaxFoldedElements)
    return std::nullopt;
  HostTensor result(dataType, stored);
  result.dims = dims;
  return result;
}

template <typename Function>
static FoldResults mapUnary(const FoldRequest &request, Function function) {
  const HostTensor *input = request.getInput(0);
  if (!input)
    return std::nullopt;
  HostTensor result = *input;
  for (double &value : result.floats)
    value = roundTo(result.dataType, double(function(value)));
  for (int64_t &value : result.ints)
    value = wrapTo(result.dataType, int64_t(function(value)));
  return one(std::move(result));
}

// For operators that ONNX defines on floating-point types alone.
template <double (*function)(double)>
static FoldResults mapFloat(const FoldRequest &request) {
  const HostTensor *input = request.getInput(0);
  if (!input || !input->isFloat())
    return std::nullopt;
  return mapUnary(request, function);
}

template <typename Function>
static FoldResults mapBinary(const FoldRequest &request,
                             std::optional<int32_t> resultType,
                             Function function) {
  const HostTensor *a = request.getInput(0), *b = request.getInput(1);
  if (!a || !b || a->dataType != b->dataType)
    return std::nullopt;
  auto result = makeBroadcast(resultType.value_or(a->dataType), {a, b});
  if (!result)
    return std::nullopt;
  BroadcastIndex left(a->stored, result->stored);
  BroadcastIndex right(b->stored, result->stored);
  for (int64_t i = 0, e = result->getNumStored(); i < e; ++i, ++left, ++right)
    if (!function(*a, *left, *b, *right, *result, i))
      return std::nullopt;
  return one(std::move(*result));
}

// An operator of two numbers; `Op` has of(double, double) and of(int64, int64).
template <typename Op>
static FoldResults arithmetic(const FoldRequest &request) {
  return mapBinary(request, std::nullopt,
                   [](const HostTensor &a, int64_t i, const HostTensor &b,
                      int64_t j, HostTensor &out, int64_t k) {
                     if (a.isFloat())
                       out.set(k, Op::of(a.floats[i], b.floats[j]));
                     else if (std::optional<int64_t> value =
                                  Op::of(a.ints[i], b.ints[j]))
                       out.set(k, *value);
                     else
                       return false;
                     return true;
                   });
}

namespace {
// Integers wrap around, as every back end's do.
int64_t wrapped(uint64_t value) { return int64_t(value); }

struct Add {
  static double of(double a, double b) { return a + b; }
  static std::optional<int64_t> of(int64_t a, int64_t b) {
    return wrapped(uint64_t(a) + uint64_t(b));
  }
};
struct Sub {
  static double of(double a, double b) { return a - b; }
  static std::optional<int64_t> of(int64_t a, int64_t b) {
    return wrapped(uint64_t(a) - uint64_t(b));
  }
};
struct Mul {
  static double of(double a, double b) { return a * b; }
  static std::optional<int64_t> of(int64_t a, int64_t b) {
    return wrapped(uint64_t(a) * uint64_t(b));
  }
};
struct Div {
  static double of(double a, double b) { return a / b; }
  static std::optional<int64_t> of(int64_t a, int64_t b) {
    if (b == 0 || (b == -1 && a == std::numeric_limits<int64_t>::min()))
      return std::nullopt;
    return a / b; // towards zero, as ONNX says
  }
};
struct Min {
  static double of(double a, double b) {
    return std::isnan(a) || a < b ? a : b;
  }
  static std::optional<int64_t> of(int64_t a, int64_t b) {
    return std::min(a, b);
  }
};
struct Max {
  static double of(double a, double b) {
    return std::isnan(a) || a > b ? a : b;
  }
  static std::optional<int64_t> of(int64_t a, int64_t b) {
    return std::max(a, b);
  }
};
struct Bits {
  static double of(double, double) { return 0; }
};
struct And : Bits {
  using Bits::of;
  static std::optional<int64_t> of(int64_t a, int64_t b) { return a & b; }
};
struct Or : Bits {
  using Bits::of;
  static std::optional<int64_t> of(int64_t a, int64_t b) { return a | b; }
};
struct Xor : Bits {
  using Bits::of;
  static std::optional<int64_t> of(int64_t a, int64_t b) { return a ^ b; }
};
} // namespace

// Beyond the type's width, or backwards, nothing is left but the sign.
static FoldResults foldBitShift(const FoldRequest &request) {
  bool isLeft = request.getString("direction", "LEFT") == "LEFT";
  return mapBinary(request, std::nullopt,
                   [&](const HostTensor &a, int64_t i, const HostTensor &b,
                       int64_t j, HostTensor &out, int64_t k) {
                     if (a.isFloat())
                       return false;
                     int64_t value = a.ints[i], count = b.ints[j];
                     int64_t width = 8 * getElementBytes(a.dataType);
                     bool isInside = count >= 0 && count < width;
                     uint64_t bits = value;
                     if (isLeft)
                       out.set(k, isInside ? int64_t(bits << count) : 0);
                     else if (a.dataType == DataType::UINT64)
                       out.set(k, isInside ? int64_t(bits >> count) : 0);
                     else
                       out.set(k, value >> (isInside ? count : 63));
                     return true;
                   });
}

// Python's remainder for integers (the divisor's sign), C's with fmod=1.
static FoldResults foldMod(const FoldRequest &request) {
  bool truncated = request.getInt("fmod", 0);
  return mapBinary(request, std::nullopt,
                   [&](const HostTensor &a, int64_t i, const HostTensor &b,
                       int64_t j, HostTensor &out, int64_t k) {
                     if (a.isFloat()) {
                       out.set(k, std::fmod(a.floats[i], b.floats[j]));
                       return truncated;
                     }
                     int64_t divisor = b.ints[j];
                     if (divisor == 0)
                       return false;
                     int64_t rest = divisor == -1 ? 0 : a.ints[i] % divisor;
                     if (!truncated && rest != 0 && (rest < 0) != (divisor < 0))
                       rest += divisor;
                     out.set(k, rest);
                     return true;
                   });
}

static FoldResults foldPow(const FoldRequest &request) {
  const HostTensor *base = request.getInput(0), *power = request.getInput(1);
  if (!base || !power)
    return std::nullopt;
  auto result = makeBroadcast(base->dataType, {base, power});
  if (!result)
    return std::nullopt;
  BroadcastIndex i(base->stored, result->stored);
  BroadcastIndex j(power->stored, result->stored);
  for (int64_t k = 0, e = result->getNumStored(); k < e; ++k, ++i, ++j) {
    double value = std::pow(base->getFloat(*i), power->getFloat(*j));
    if (base->isFloat())
      result->set(k, value);
    else if (std::fabs(value) < 9007199254740992.0) // exact as a double
      result->set(k, int64_t(value));
    else
      return std::nullopt;
  }
  return one(std::move(*result));
}

template <typename Compare>
static FoldResults compareWith(const FoldRequest &request) {
  return mapBinary(request, DataType::BOOL,
                   [](const HostTensor &a, int64_t i, const HostTensor &b,
                      int64_t j, HostTensor &out, int64_t k) {
                     bool result;
                     if (a.isFloat())
                       result = Compare()(a.floats[i], b.floats[j]);
                     else if (a.dataType == DataType::UINT64)
                       result =
                           Compare()(uint64_t(a.ints[i]), uint64_t(b.ints[j]));
                     else
                       result = Compare()(a.ints[i], b.ints[j]);
                     out.set(k, int64_t(result));
                     return true;
                   });
}

// Sum, Min and Max take any number of operands.
template <typename Op> static FoldResults variadic(const FoldRequest &request) {
  if (request.inputs.empty() || !request.inputs[0])
    return std::nullopt;
  FoldResults result = one(*request.inputs[0]);
  for (const HostTensor *next : request.inputs.drop_front()) {
    HostTensor left = std::move(result->front());
    const HostTensor *pair[] = {&left, next};
    result = arithmetic<Op>({request.node, pair, request.sinceVersion});
    if (!result)
      return std::nullopt;
  }
  return result;
}

static FoldResults foldWhere(const FoldRequest &request) {
  const HostTensor *condition = request.getInput(0);
  const HostTensor *yes = request.getInput(1), *no = request.getInput(2);
  if (!condition || !yes || !no || yes->dataType != no->dataType)
    return std::nullopt;
  auto result = makeBroadcast(yes->dataType, {condition, yes, no});
  if (!result)
    return std::nullopt;
  BroadcastIndex c(condition->stored, result->stored);
  BroadcastIndex y(yes->stored, result->stored);
  BroadcastIndex n(no->stored, result->stored);
  for (int64_t k = 0, e = result->getNumStored(); k < e; ++k, ++c, ++y, ++n) {
    bool chosen = condition->ints[*c];
    if (yes->isFloat())
      result->floats[k] = chosen ? yes->floats[*y] : no->floats[*n];
    else
      result->ints[k] = chosen ? yes->ints[*y] : no->ints[*n];
  }
  return one(std::move(*result));
}

static FoldResults foldClip(const FoldRequest &request) {
  const HostTensor *input = request.getInput(0);
  if (!input || request.sinceVersion < 11)
    return std::nullopt;
  FoldResults result = one(*input);
  if (const HostTensor *low = request.getInput(1)) {
    HostTensor left = std::move(result->front());
    const HostTensor *pair[] = {&left, low};
    result = arithmetic<Max>({request.node, pair, request.sinceVersion});
  }
  if (const HostTensor *high = request.getInput(2); high && result) {
    HostTensor left = std::move(result->front());
    const HostTensor *pair[] = {&left, high};
    result = arithmetic<Min>({request.node, pair, request.sinceVersion});
  }
  return result;
}

HostTensor zc::castTo(const HostTensor &tensor, int32_t dataType) {
  HostTensor result(dataType, tensor.stored);
  result.dims = tensor.dims;
  for (int64_t i = 0, e = tensor.getNumStored(); i < e; ++i)
    if (result.isFloat())
      result.set(i, tensor.getFloat(i));
    else if (dataType == DataType::BOOL && tensor.isFloat())
      result.set(i, int64_t(tensor.floats[i] != 0));
    else
      result.set(i, tensor.getInt(i));
  return result;
}

static FoldResults foldCast(const FoldRequest &request) {
  int32_t dataType = request.getInt("to", 0);
  if (!request.getInput(0) || getElementBytes(dataType) == 0 ||
      isFloat8Type(dataType) || isFloat8Type(request.getInput(0)->dataType))
    return std::nullopt;
  return one(castTo(*request.getInput(0), dataType));
}

static FoldResults foldCastLike(const FoldRequest &request) {
  if (!request.getInput(0) || !request.getInput(1) ||
      isFloat8Type(request.getInput(0)->dataType) ||
      isFloat8Type(request.getInput(1)->dataType))
    return std::nullopt;
  return one(castTo(*request.getInput(0), request.getInput(1)->dataType));
}

static FoldResults foldIdentity(const FoldRequest &request) {
  if (!request.getInput(0))
    return std::nullopt;
  return one(*request.getInput(0));
}

static FoldResults foldNeg(const FoldRequest &request) {
  return mapUnary(request, [](auto value) { return -value; });
}

static FoldResults foldAbs(const FoldRequest &request) {
  return mapUnary(request,
                  [](auto value) { return value < 0 ? -value : value; });
}

static FoldResults foldRelu(const FoldRequest &request) {
  return mapUnary(request, [](auto value) { return value < 0 ? 0 : value; });
}

static FoldResults foldSign(const FoldRequest &request) {
  return mapUnary(request, [](auto value) {
    return decltype(value)((value > 0) - (value < 0));
  });
}

static FoldResults foldNot(const FoldRequest &request) {
  return mapUnary(request, [](auto value) { return value == 0; });
}

static FoldResults foldBitwiseNot(const FoldRequest &request) {
  const HostTensor *input = request.getInput(0);
  if (!input || input->isFloat())
    return std::nullopt;
  HostTensor result = *input;
  for (int64_t i = 0, e = result.getNumStored(); i < e; ++i)
    result.set(i, ~input->ints[i]);
  return one(std::move(result));
}

static FoldResults foldIsNan(const FoldRequest &request) {
  const HostTensor *input = request.getInput(0);
  if (!input || !input->isFloat())
    return std::nullopt;
  HostTensor result(DataType::BOOL, input->stored);
  result.dims = input->dims;
  for (auto [out, in] : llvm::zip(result.ints, input->floats))
    out = std::isnan(in);
  return one(std::move(result));
}

static double reciprocal(double x) { return 1 / x; }
static double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

llvm::ArrayRef<FoldEntry> zc::getElementwiseFolders() {
  static const FoldEntry entries[] = {
      {"Abs", foldAbs},
      {"Add", arithmetic<Add>},
      {"And", arithmetic<And>},
      {"BitShift", foldBitShift},
      {"BitwiseAnd", arithmetic<And>},
      {"BitwiseNot", foldBitwiseNot},
      {"BitwiseOr", arithmetic<Or>},
      {"BitwiseXor", arithmetic<Xor>},
      {"Cast", foldCast},
      {"CastLike", foldCastLike},
      {"Ceil", mapFloat<std::ceil>},
      {"Clip", foldClip},
      {"Cos", mapFloat<std::cos>},
      {"Div", arithmetic<Div>},
      {"Equal", compareWith<std::equal_to<>>},
      {"Erf", mapFloat<std::erf>},
      {"Exp", mapFloat<std::exp>},
      {"Floor", mapFloat<std::floor>},
      {"Greater", compareWith<std::greater<>>},
      {"GreaterOrEqual", compareWith<std::greater_equal<>>},
      {"Identity", foldIdentity},
      {"IsNaN", foldIsNan},
      {"Less", compareWith<std::less<>>},
      {"LessOrEqual", compareWith<std::less_equal<>>},
      {"Log", mapFloat<std::log>},
      {"Max", variadic<Max>},
      {"Min", variadic<Min>},
      {"Mod", foldMod},
      {"Mul", arithmetic<Mul>},
      {"Neg", foldNeg},
      {"Not", foldNot},
      {"Or", arithmetic<Or>},
      {"Pow", foldPow},
      {"Reciprocal", mapFloat<reciprocal>},
      {"Relu", foldRelu},
      {"Round", mapFloat<std::nearbyint>}, // halves to even
      {"Sigmoid", mapFloat<sigmoid>},
      {"Sign", foldSign},
      {"Sin", mapFloat<std::sin>},
      {"Sqrt", mapFloat<std::sqrt>},
      {"Sub", arithmetic<Sub>},
      {"Sum", variadic<Add>},
      {"Tan", mapFloat<std::tan>},
      {"Tanh", mapFloat<std::tanh>},
      {"Where", foldWhere},
      {"Xor", arithmetic<Xor>},
  };
  return entries;
}
