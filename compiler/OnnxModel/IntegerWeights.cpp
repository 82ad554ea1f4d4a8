#include "compiler/OnnxModel/IntegerWeights.h"

#include "compiler/OnnxModel/ModelFile.h"

#include "llvm/Support/MathExtras.h"
#include <cmath>
#include <cstring>

using namespace zc;
using llvm::createStringError;
using llvm::Expected;
using Data = proto::TensorProto;

IntegerWeights::IntegerWeights(const proto::ModelProto &model) {
  for (const proto::NodeProto &node : model.graph().node())
    if (node.op_type() == "DequantizeLinear" && node.domain().empty())
      nodes[node.input(0)] = &node;
  for (const proto::TensorProto &tensor : model.graph().initializer())
    tensors[tensor.name()] = &tensor;
}

void IntegerWeights::setBytes(const std::string &name, std::string_view bytes) {
  filled[name] = bytes;
}

Expected<std::string> IntegerWeights::read(const std::string &name,
                                           int32_t &dataType) const {
  auto tensor = tensors.find(name);
  if (tensor == tensors.end())
    return createStringError("'" + name + "' is not stored in the model");
  dataType = tensor->second->data_type();
  auto bytes = filled.find(name);
  if (bytes != filled.end())
    return std::string(bytes->second);
  return readTensorBytes(ModelFile(), *tensor->second);
}

// --- Numbers
// -------------------------------------------------------------------

static std::vector<float> asFloats(std::string_view bytes) {
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), values.size() * sizeof(float));
  return values;
}

namespace {
struct IntegerType {
  unsigned bits, bytes;
  bool isSigned;
};
} // namespace

static IntegerType getType(int32_t dataType) {
  bool isUnsigned = dataType == Data::UINT2 || dataType == Data::UINT4 ||
                    dataType == Data::UINT8 || dataType == Data::UINT16;
  unsigned bytes = getElementBytes(dataType), packed = getPackedBits(dataType);
  return {packed ? packed : 8 * bytes, bytes, !isUnsigned};
}

static int64_t readInteger(std::string_view bytes, size_t index,
                           IntegerType type) {
  uint64_t value = 0;
  std::memcpy(&value, bytes.data() + index * type.bytes, type.bytes);
  return type.isSigned ? llvm::SignExtend64(value, 8 * type.bytes)
                       : int64_t(value);
}

// Rounds as QuantizeLinear does; NaN becomes 0.
static int64_t toInteger(float real, float scale, int64_t zero,
                         IntegerType type) {
  double low = type.isSigned ? -std::ldexp(1.0, type.bits - 1) : 0;
  double high = std::ldexp(1.0, type.bits - type.isSigned) - 1;
  double whole = std::nearbyint(real / scale) + double(zero);
  return std::isnan(whole) ? 0 : int64_t(std::clamp(whole, low, high));
}

// Files pack small integers, the first in the low bits.
static std::string pack(const std::vector<int64_t> &values, IntegerType type) {
  std::string bytes;
  if (type.bits >= 8) {
    for (int64_t value : values)
      bytes.append(reinterpret_cast<const char *>(&value), type.bytes);
    return bytes;
  }
  unsigned each = 8 / type.bits, mask = (1u << type.bits) - 1;
  bytes.assign(llvm::divideCeil(values.size(), each), '\0');
  for (size_t i = 0; i < values.size(); ++i)
    bytes[i / each] |= char((values[i] & mask) << (i % each * type.bits));
  return bytes;
}

// --- One tensor
// ----------------------------------------------------------------

static int64_t getAxis(const proto::NodeProto &node, int64_t rank) {
  int64_t axis = 1;
  for (const proto::AttributeProto &attribute : node.attribute())
    if (attribute.name() == "axis")
      axis = attribute.i();
  return axis < 0 ? axis + rank : axis;
}

Expected<std::string> IntegerWeights::quantise(const proto::TensorProto &tensor,
                                               std::string_view real) const {
  auto fail = [&](const std::string &what) {
    return createStringError("tensor '" + tensor.name() +
                             "' is trained but cannot be quantised: " + what);
  };
  const proto::NodeProto *node = nodes.lookup(tensor.name());
  if (!node)
    return fail("no DequantizeLinear reads it");
  int32_t scaleType = 0, zeroType = tensor.data_type();
  auto scaleBytes = read(node->input(1), scaleType);
  if (!scaleBytes)
    return fail(llvm::toString(scaleBytes.takeError()));
  if (scaleType != Data::FLOAT)
    return fail("expected a scale of float32");
  std::string zeroBytes;
  if (node->input_size() > 2 && !node->input(2).empty()) {
    auto bytes = read(node->input(2), zeroType);
    if (!bytes)
      return fail(llvm::toString(bytes.takeError()));
    zeroBytes = *bytes;
  }
  std::vector<float> scales = asFloats(*scaleBytes), numbers = asFloats(real);
  int64_t rank = tensor.dims_size(), axis = getAxis(*node, rank), inner = 1;
  bool isSplat = scales.size() == 1;
  if (!isSplat &&
      (axis < 0 || axis >= rank || int64_t(scales.size()) != tensor.dims(axis)))
    return fail("its scale is neither one nor one for each place of its axis");
  for (int64_t dim = axis + 1; dim < rank && !isSplat; ++dim)
    inner *= tensor.dims(dim);
  IntegerType type = getType(tensor.data_type());
  std::vector<int64_t> values;
  for (size_t i = 0; i < numbers.size(); ++i) {
    size_t at = isSplat ? 0 : i / inner % scales.size();
    int64_t zero =
        zeroBytes.empty() ? 0 : readInteger(zeroBytes, at, getType(zeroType));
    values.push_back(toInteger(numbers[i], scales[at], zero, type));
  }
  return pack(values, type);
}
