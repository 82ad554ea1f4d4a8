// Operators on quantised tensors: whole numbers q that stand for
// scale (q - zero point). They are computed as floats of whole numbers, exact
// up to 2^24, between DequantizeLinear and QuantizeLinear, which are what
// training differentiates.
#include "compiler/Import/Contrib/ContribOperators.h"

#include "llvm/Support/MathExtras.h"

using namespace zc;
using llvm::Error;
using Data = proto::TensorProto;
using Names = ContribCall::Names;

namespace {
/// Operands of one quantised tensor.
struct Quantised {
  unsigned value, scale, zero;
};
} // namespace

// --- In and out
// -----------------------------------------------------------------

static Names withoutAbsentEnd(Names names) {
  while (!names.empty() && names.back().empty())
    names.pop_back();
  return names;
}

// scale (q - zero point).
static std::string addReal(ContribCall &call, Quantised x) {
  return call.add("DequantizeLinear", withoutAbsentEnd({call.operand(x.value),
                                                        call.operand(x.scale),
                                                        call.operand(x.zero)}));
}

static std::string addOne(ContribCall &call) {
  return call.add("Constant", {}, {attribute("value_float", 1.0f)});
}

// One number for each place along `axis` (or one for all), in line with a
// tensor of `rank` dims.
static std::string alongAxis(ContribCall &call, unsigned operand, int64_t axis,
                             int64_t rank) {
  std::string x = call.operand(operand);
  Dims dims = call.dims(operand);
  if (dims.size() != 1)
    return x;
  Dims shape(rank, 1);
  shape[axis] = dims[0];
  return call.reshape(x, shape);
}

// q - zero point, float.
static std::string addWhole(ContribCall &call, Quantised x, int64_t axis) {
  std::string whole =
      call.add("DequantizeLinear", {call.operand(x.value), addOne(call)});
  if (!call.has(x.zero))
    return whole;
  std::string zero = alongAxis(call, x.zero, axis, call.dims(x.value).size());
  return call.add("Sub", {whole, call.cast(zero, Data::FLOAT)});
}

static void giveQuantised(ContribCall &call, const std::string &real,
                          const std::string &scale, unsigned zero) {
  std::string point = call.operand(zero);
  if (point.empty()) // uint8 around 0
    return call.give(0, call.add("QuantizeLinear", {real, scale}));
  call.give(0, call.add("QuantizeLinear", {real, scale, point}));
}

// --- Products
// -------------------------------------------------------------------

// The product of whole numbers, scaled to those of the result.
static void giveRequantised(ContribCall &call, const std::string &product,
                            const std::string &scales, unsigned resultScale,
                            unsigned resultZero) {
  std::string factor =
      call.add("Div", {call.cast(scales, Data::FLOAT),
                       call.cast(call.operand(resultScale), Data::FLOAT)});
  giveQuantised(call, call.add("Mul", {product, factor}), addOne(call),
                resultZero);
}

static int64_t rankOf(const ContribCall &call, unsigned operand) {
  return call.dims(operand).size();
}

Error zc::buildQLinearMatMul(ContribCall &call) {
  int64_t left = rankOf(call, 0), right = rankOf(call, 3);
  if (left < 2 || right < 2)
    return refuse("expected matrices, found operands of ", std::to_string(left),
                  " and ", std::to_string(right), " dims");
  std::string product =
      call.add("MatMul", {addWhole(call, {0, 1, 2}, left - 2),
                          addWhole(call, {3, 4, 5}, right - 1)});
  std::string scales = call.add("Mul", {alongAxis(call, 1, left - 2, left),
                                        alongAxis(call, 4, right - 1, right)});
  giveRequantised(call, product, scales, 6, 7);
  return Error::success();
}

static ContribCall::Attributes takeAttributes(ContribCall &call,
                                              std::vector<const char *> names) {
  ContribCall::Attributes attributes;
  for (const char *name : names)
    if (const proto::AttributeProto *given = call.find(name))
      attributes.push_back(*given);
  return attributes;
}

static ContribCall::Attributes takeWindows(ContribCall &call) {
  return takeAttributes(call, {"auto_pad", "dilations", "group", "kernel_shape",
                               "pads", "strides"});
}

Error zc::buildQLinearConv(ContribCall &call) {
  int64_t rank = rankOf(call, 0);
  std::string product = call.add(
      "Conv", {addWhole(call, {0, 1, 2}, 1), addWhole(call, {3, 4, 5}, 0)},
      takeWindows(call));
  if (call.has(8))
    product = call.add(
        "Add", {product, call.cast(alongAxis(call, 8, 1, rank), Data::FLOAT)});
  std::string scales =
      call.add("Mul", {call.operand(1), alongAxis(call, 4, 1, rank)});
  giveRequantised(call, product, scales, 6, 7);
  return Error::success();
}

Error zc::buildQGemm(ContribCall &call) {
  bool flipped = call.getInt("transB", 0) != 0;
  std::string product =
      call.add("Gemm",
               {addWhole(call, {0, 1, 2}, 0),
                addWhole(call, {3, 4, 5}, flipped ? 0 : 1)},
               {attribute("transA", call.getInt("transA", 0)),
                attribute("transB", call.getInt("transB", 0))});
  if (call.has(6))
    product =
        call.add("Add", {product, call.cast(call.operand(6), Data::FLOAT)});
  std::string scales = call.add("Mul", {call.operand(1), call.operand(4)});
  double alpha = call.getFloat("alpha", 1);
  if (alpha != 1)
    scales = call.add("Mul", {scales, call.number(alpha, scales)});
  if (call.has(7))
    giveRequantised(call, product, scales, 7, 8);
  else
    call.give(0, call.add("Mul", {product, scales}));
  return Error::success();
}

// --- Products that stay integers
// ------------------------------------------------

// The most products of two numbers of eight bits whose sum float32 holds.
constexpr int64_t kExactTerms = (1 << 24) / (255 * 255);

// Sums of more terms are added as integers.
static std::string addIntegerProduct(ContribCall &call, const std::string &a,
                                     const std::string &b, int64_t terms,
                                     int64_t leftRank, int64_t rightRank) {
  std::string sum;
  for (int64_t begin = 0; begin < terms; begin += kExactTerms) {
    int64_t end = std::min(begin + kExactTerms, terms);
    bool whole = begin == 0 && end == terms;
    std::string left = whole ? a : call.slice(a, leftRank - 1, begin, end);
    std::string right = whole ? b : call.slice(b, rightRank - 2, begin, end);
    std::string part =
        call.cast(call.add("MatMul", {left, right}), Data::INT32);
    sum = sum.empty() ? part : call.add("Add", {sum, part});
  }
  return sum;
}

// Multiplies the operands' integers; int32.
static llvm::Expected<std::string>
addMatMulInteger(ContribCall &call, unsigned leftZero, unsigned rightZero) {
  int64_t left = rankOf(call, 0), right = rankOf(call, 1);
  if (left < 2 || right < 2)
    return refuse("expected matrices, found operands of ", std::to_string(left),
                  " and ", std::to_string(right), " dims");
  return addIntegerProduct(call, addWhole(call, {0, 0, leftZero}, left - 2),
                           addWhole(call, {1, 1, rightZero}, right - 1),
                           call.dims(0).back(), left, right);
}

Error zc::buildMatMulInteger(ContribCall &call) {
  auto product = addMatMulInteger(call, 2, 3);
  if (!product)
    return product.takeError();
  call.give(0, *product);
  return Error::success();
}

// Channels of the image, as many as float32 adds up exactly at a time.
Error zc::buildConvInteger(ContribCall &call) {
  std::string image = addWhole(call, {0, 0, 2}, 1);
  std::string filter = addWhole(call, {1, 1, 3}, 0);
  Dims dims = call.dims(1);
  int64_t window = 1, channels = dims[1], group = call.getInt("group", 1);
  for (int64_t size : llvm::ArrayRef<int64_t>(dims).drop_front(2))
    window *= size;
  int64_t most = kExactTerms / window;
  if (most == 0 || (group > 1 && most < channels))
    return refuse("adds up ", std::to_string(window * channels),
                  " products, expected at most ", std::to_string(kExactTerms),
                  " in a window or a group of several");
  std::string sum;
  for (int64_t begin = 0; begin < channels; begin += most) {
    int64_t end = std::min(begin + most, channels);
    bool whole = begin == 0 && end == channels;
    std::string part =
        call.add("Conv",
                 {whole ? image : call.slice(image, 1, begin, end),
                  whole ? filter : call.slice(filter, 1, begin, end)},
                 takeWindows(call));
    part = call.cast(part, Data::INT32);
    sum = sum.empty() ? part : call.add("Add", {sum, part});
  }
  call.give(0, sum);
  return Error::success();
}

// A float result from integers: scaled, and a bias added.
static Error giveScaled(ContribCall &call, llvm::Expected<std::string> product,
                        const std::string &scales, unsigned bias) {
  if (!product)
    return product.takeError();
  std::string result =
      call.add("Mul", {call.cast(*product, Data::FLOAT), scales});
  if (call.has(bias))
    result = call.add("Add", {result, call.operand(bias)});
  call.give(0, result);
  return Error::success();
}

Error zc::buildMatMulIntegerToFloat(ContribCall &call) {
  int64_t left = rankOf(call, 0), right = rankOf(call, 1);
  if (left < 2 || right < 2)
    return refuse("expected matrices");
  std::string scales = call.add("Mul", {alongAxis(call, 2, left - 2, left),
                                        alongAxis(call, 3, right - 1, right)});
  return giveScaled(call, addMatMulInteger(call, 4, 5), scales, 6);
}

Error zc::buildDynamicQuantizeMatMul(ContribCall &call) {
  int64_t left = rankOf(call, 0), right = rankOf(call, 1);
  if (left < 2 || right < 2)
    return refuse("expected matrices");
  Names made = call.addMany("DynamicQuantizeLinear", {call.operand(0)}, {}, 3);
  std::string whole = call.add("Sub", {call.cast(made[0], Data::FLOAT),
                                       call.cast(made[2], Data::FLOAT)});
  std::string product =
      addIntegerProduct(call, whole, addWhole(call, {1, 1, 3}, right - 1),
                        call.dims(0).back(), left, right);
  std::string scales =
      call.add("Mul", {made[1], alongAxis(call, 2, right - 1, right)});
  return giveScaled(call, product, scales, 4);
}

// --- Between DequantizeLinear and QuantizeLinear
// --------------------------------

static Error giveBinary(ContribCall &call, const char *op) {
  std::string result =
      call.add(op, {addReal(call, {0, 1, 2}), addReal(call, {3, 4, 5})});
  giveQuantised(call, result, call.operand(6), 7);
  return Error::success();
}

Error zc::buildQLinearAdd(ContribCall &call) { return giveBinary(call, "Add"); }
Error zc::buildQLinearMul(ContribCall &call) { return giveBinary(call, "Mul"); }

static Error giveUnary(ContribCall &call, const char *op,
                       ContribCall::Attributes attributes) {
  std::string result =
      call.add(op, {addReal(call, {0, 1, 2})}, std::move(attributes));
  giveQuantised(call, result, call.operand(3), 4);
  return Error::success();
}

Error zc::buildQLinearSigmoid(ContribCall &call) {
  return giveUnary(call, "Sigmoid", {});
}

Error zc::buildQLinearLeakyRelu(ContribCall &call) {
  return giveUnary(call, "LeakyRelu", takeAttributes(call, {"alpha"}));
}

Error zc::buildQLinearSoftmax(ContribCall &call) {
  int64_t rank = rankOf(call, 0), axis = call.getInt("axis", -1);
  if (call.getInt("opset", 13) < 13 && axis != -1 && axis != rank - 1)
    return refuse("expected a softmax along the last dim, found axis ",
                  std::to_string(axis), " of ", std::to_string(rank));
  return giveUnary(call, "Softmax", {attribute("axis", axis)});
}

static Error refuseChannelsLast(ContribCall &call) {
  if (call.getInt("channels_last", 0) != 0)
    return refuse("has its channels last, expected them behind the samples");
  return Error::success();
}

Error zc::buildQLinearGlobalAveragePool(ContribCall &call) {
  if (Error error = refuseChannelsLast(call))
    return error;
  return giveUnary(call, "GlobalAveragePool", {});
}

Error zc::buildQLinearAveragePool(ContribCall &call) {
  if (Error error = refuseChannelsLast(call))
    return error;
  return giveUnary(
      call, "AveragePool",
      takeAttributes(call, {"auto_pad", "ceil_mode", "count_include_pad",
                            "kernel_shape", "pads", "strides"}));
}

Error zc::buildQLinearReduceMean(ContribCall &call) {
  std::vector<int64_t> axes = call.getInts("axes");
  Names operands = {addReal(call, {0, 1, 2})};
  if (!axes.empty())
    operands.push_back(call.ints(axes));
  std::string mean =
      call.add("ReduceMean", operands, takeAttributes(call, {"keepdims"}));
  giveQuantised(call, mean, call.operand(3), 4);
  return Error::success();
}

Error zc::buildQLinearConcat(ContribCall &call) {
  Names parts;
  for (unsigned first = 2; call.has(first); first += 3)
    parts.push_back(addReal(call, {first, first + 1, first + 2}));
  std::string joined =
      call.add("Concat", parts, takeAttributes(call, {"axis"}));
  giveQuantised(call, joined, call.operand(0), 1);
  return Error::success();
}

Error zc::buildQLinearWhere(ContribCall &call) {
  std::string chosen =
      call.add("Where", {call.operand(0), addReal(call, {1, 2, 3}),
                         addReal(call, {4, 5, 6})});
  giveQuantised(call, chosen, call.operand(7), 8);
  return Error::success();
}

// --- ONNX Runtime's own forms of ONNX's operators
// -------------------------------

static Error giveSame(ContribCall &call, const char *op) {
  call.give(0, call.add(op,
                        withoutAbsentEnd({call.operand(0), call.operand(1),
                                          call.operand(2)}),
                        takeAttributes(call, {"axis", "block_size"})));
  return Error::success();
}

Error zc::buildQuantizeLinear(ContribCall &call) {
  return giveSame(call, "QuantizeLinear");
}

Error zc::buildDequantizeLinear(ContribCall &call) {
  return giveSame(call, "DequantizeLinear");
}

// --- MatMulNBits
// ----------------------------------------------------------------

// Bytes of packed numbers, [.., n] -> [.., n * 8 / bits], the first one in the
// low bits; float.
static std::string addUnpacked(ContribCall &call, unsigned operand, Dims shape,
                               int64_t bits) {
  std::string rest = call.cast(call.operand(operand), Data::FLOAT);
  Dims column = shape;
  column.push_back(1);
  std::string base = call.number(double(1 << bits), rest);
  Names parts;
  for (int64_t i = 0, count = 8 / bits; i < count; ++i) {
    std::string high = call.add("Floor", {call.add("Div", {rest, base})});
    std::string low = call.add("Sub", {rest, call.add("Mul", {high, base})});
    parts.push_back(call.reshape(low, column));
    rest = high;
  }
  shape.back() *= 8 / bits;
  return call.reshape(
      call.add("Concat", parts, {attribute("axis", int64_t(-1))}), shape);
}

namespace {
/// Sizes of a MatMulNBits: a weight of `columns` rows of `terms` numbers in
/// blocks.
struct Packing {
  int64_t terms, columns, bits, block, blocks;
};
} // namespace

static llvm::Expected<Packing> readPacking(ContribCall &call) {
  Packing packing{call.getInt("K", 0), call.getInt("N", 0),
                  call.getInt("bits", 4), call.getInt("block_size", 0), 0};
  if (packing.bits != 2 && packing.bits != 4 && packing.bits != 8)
    return refuse("expected numbers of 2, 4 or 8 bits, found ",
                  std::to_string(packing.bits));
  if (packing.terms <= 0 || packing.columns <= 0 || packing.block < 16)
    return refuse("expected K and N above 0 and a block_size of at least 16");
  if (call.has(4))
    return refuse("has a g_idx, which zc does not open");
  packing.blocks = llvm::divideCeil(packing.terms, packing.block);
  if (call.elementType(1) != Data::UINT8 ||
      getNumElements(call.dims(1)) !=
          packing.columns * packing.blocks * packing.block * packing.bits / 8)
    return refuse("expected a B of ", std::to_string(packing.columns), " x ",
                  std::to_string(packing.blocks), " x ",
                  std::to_string(packing.block * packing.bits / 8), " bytes");
  return packing;
}

// [columns, blocks, 1], float.
static std::string addZeroPoints(ContribCall &call, const Packing &packing,
                                 const std::string &like) {
  if (!call.has(3))
    return call.number(double(1 << (packing.bits - 1)), like);
  Dims shape = {packing.columns, packing.blocks, 1};
  if (call.elementType(3) != Data::UINT8)
    return call.reshape(call.cast(call.operand(3), Data::FLOAT), shape);
  int64_t bytes = llvm::divideCeil(packing.blocks * packing.bits, 8);
  std::string reshaped =
      addUnpacked(call, 3, {packing.columns, bytes}, packing.bits);
  return call.reshape(call.slice(reshaped, 1, 0, packing.blocks), shape);
}

Error zc::buildMatMulNBits(ContribCall &call) {
  auto packing = readPacking(call);
  if (!packing)
    return packing.takeError();
  auto [terms, columns, bits, block, blocks] = *packing;
  std::string whole = call.reshape(
      addUnpacked(call, 1, {columns, blocks * block * bits / 8}, bits),
      {columns, blocks, block});
  std::string scales = call.reshape(call.cast(call.operand(2), Data::FLOAT),
                                    {columns, blocks, 1});
  std::string shifted =
      call.add("Sub", {whole, addZeroPoints(call, *packing, whole)});
  std::string weight = call.reshape(call.add("Mul", {shifted, scales}),
                                    {columns, blocks * block});
  weight = call.slice(weight, 1, 0, terms);
  weight = call.add("CastLike", {weight, call.operand(0)});
  std::string product =
      call.add("MatMul", {call.operand(0), call.transpose(weight, {1, 0})});
  if (call.has(5))
    product = call.add("Add", {product, call.operand(5)});
  call.give(0, product);
  return Error::success();
}
