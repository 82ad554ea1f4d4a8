#include "compiler/Import/HostTensor.h"

#include "compiler/OnnxModel/ModelFile.h"

#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"
#include <cassert>
#include <cmath>
#include <cstring>

using namespace zc;
using llvm::APFloat;
using llvm::ArrayRef;
using DataType = proto::TensorProto;

int64_t zc::getNumElements(ArrayRef<int64_t> dims) {
  int64_t count = 1;
  bool isEmpty = false, isTooLarge = false;
  for (int64_t dim : dims) {
    isEmpty |= dim == 0;
    isTooLarge |= dim < 0 || llvm::MulOverflow(count, dim, count);
  }
  return isEmpty && !isTooLarge ? 0 : isTooLarge ? INT64_MAX : count;
}

Dims zc::getStrides(ArrayRef<int64_t> dims) {
  Dims strides(dims.size(), 1);
  for (int64_t i = int64_t(dims.size()) - 2; i >= 0; --i)
    strides[i] = strides[i + 1] * dims[i + 1];
  return strides;
}

std::optional<Dims> zc::broadcast(ArrayRef<int64_t> a, ArrayRef<int64_t> b) {
  if (a.size() < b.size())
    std::swap(a, b);
  Dims result(a);
  size_t shift = a.size() - b.size();
  for (size_t i = 0; i < b.size(); ++i) {
    int64_t &dim = result[shift + i];
    if (dim == 1)
      dim = b[i];
    else if (b[i] != 1 && b[i] != dim)
      return std::nullopt;
  }
  return result;
}

// --- Rounding
// --------------------------------------------------------------------

static double roundThrough(const llvm::fltSemantics &semantics, double value) {
  APFloat wide(value);
  bool losesInfo;
  wide.convert(semantics, APFloat::rmNearestTiesToEven, &losesInfo);
  wide.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &losesInfo);
  return wide.convertToDouble();
}

double zc::roundTo(int32_t dataType, double value) {
  switch (dataType) {
  case DataType::FLOAT:
    return static_cast<float>(value);
  case DataType::FLOAT16:
    return roundThrough(APFloat::IEEEhalf(), value);
  case DataType::BFLOAT16:
    return roundThrough(APFloat::BFloat(), value);
  default:
    return value;
  }
}

int64_t zc::wrapTo(int32_t dataType, int64_t value) {
  switch (dataType) {
  case DataType::BOOL:
    return value != 0;
  case DataType::INT2:
    return llvm::SignExtend64(value, 2);
  case DataType::UINT2:
    return value & 3;
  case DataType::INT4:
    return llvm::SignExtend64(value, 4);
  case DataType::UINT4:
    return value & 15;
  case DataType::INT8:
    return int8_t(value);
  case DataType::UINT8:
    return uint8_t(value);
  case DataType::INT16:
    return int16_t(value);
  case DataType::UINT16:
    return uint16_t(value);
  case DataType::INT32:
    return int32_t(value);
  case DataType::UINT32:
    return uint32_t(value);
  default:
    return value;
  }
}

// --- HostTensor
// --------------------------------------------------------------------

HostTensor::HostTensor(int32_t dataType, ArrayRef<int64_t> dims)
    : dataType(dataType), dims(dims), stored(dims) {
  if (isFloat())
    floats.resize(getNumStored());
  else
    ints.resize(getNumStored());
}

HostTensor HostTensor::ofInts(ArrayRef<int64_t> values) {
  HostTensor result(DataType::INT64, {int64_t(values.size())});
  result.ints = values.vec();
  return result;
}

bool HostTensor::isFloat() const { return isFloatType(dataType); }

double HostTensor::getFloat(int64_t index) const {
  if (isFloat())
    return floats[index];
  if (dataType == DataType::UINT64)
    return double(uint64_t(ints[index]));
  return double(ints[index]);
}

int64_t HostTensor::getInt(int64_t index) const {
  if (!isFloat())
    return ints[index];
  double value = floats[index];
  // Out of range is undefined in C++ and in ONNX; saturate.
  if (std::isnan(value))
    return 0;
  if (value >= 9.2233720368547758e18)
    return std::numeric_limits<int64_t>::max();
  if (value <= -9.2233720368547758e18)
    return std::numeric_limits<int64_t>::min();
  return int64_t(value);
}

void HostTensor::set(int64_t index, double value) {
  assert(isFloat());
  floats[index] = roundTo(dataType, value);
}

void HostTensor::set(int64_t index, int64_t value) {
  assert(!isFloat());
  ints[index] = wrapTo(dataType, value);
}

std::vector<int64_t> HostTensor::getInts() const {
  assert(!isFloat());
  return isCompressed() ? dense().ints : ints;
}

HostTensor HostTensor::dense() const {
  if (!isCompressed())
    return *this;
  HostTensor result(dataType, dims);
  BroadcastIndex from(stored, dims);
  for (int64_t i = 0, e = result.getNumStored(); i < e; ++i, ++from)
    if (isFloat())
      result.floats[i] = floats[*from];
    else
      result.ints[i] = ints[*from];
  return result;
}

// Whether the values do not vary along dim `axis` (bits are compared: 0 and -0
// differ, equal NaNs do not).
template <typename Value>
static bool isConstantAlong(const std::vector<Value> &values,
                            ArrayRef<int64_t> stored, size_t axis) {
  int64_t inner = getStrides(stored)[axis], size = stored[axis];
  if (values.empty())
    return true;
  int64_t outer = values.size() / (inner * size);
  for (int64_t o = 0; o < outer; ++o) {
    const Value *first = values.data() + o * size * inner;
    for (int64_t i = 1; i < size; ++i)
      if (std::memcmp(first, first + i * inner, inner * sizeof(Value)) != 0)
        return false;
  }
  return true;
}

template <typename Value>
static void keepFirstAlong(std::vector<Value> &values, Dims &stored,
                           size_t axis) {
  int64_t inner = getStrides(stored)[axis], size = stored[axis];
  int64_t outer = values.size() / (inner * size);
  for (int64_t o = 0; o < outer; ++o)
    std::copy_n(values.begin() + o * size * inner, inner,
                values.begin() + o * inner);
  values.resize(outer * inner);
  stored[axis] = 1;
}

HostTensor HostTensor::compressed() const {
  HostTensor result = *this;
  if (getNumStored() <= 1)
    return result;
  for (size_t axis = 0; axis < dims.size(); ++axis) {
    if (result.stored[axis] == 1)
      continue;
    if (isFloat() && isConstantAlong(result.floats, result.stored, axis))
      keepFirstAlong(result.floats, result.stored, axis);
    else if (!isFloat() && isConstantAlong(result.ints, result.stored, axis))
      keepFirstAlong(result.ints, result.stored, axis);
  }
  return result;
}

// --- Bytes
// -------------------------------------------------------------------------

static const llvm::fltSemantics &getSemantics(int32_t dataType) {
  return dataType == DataType::FLOAT16 ? APFloat::IEEEhalf()
                                       : APFloat::BFloat();
}

static double readFloat(int32_t dataType, const char *from) {
  if (dataType == DataType::DOUBLE) {
    double value;
    std::memcpy(&value, from, sizeof value);
    return value;
  }
  if (dataType == DataType::FLOAT) {
    float value;
    std::memcpy(&value, from, sizeof value);
    return value;
  }
  uint16_t bits;
  std::memcpy(&bits, from, sizeof bits);
  APFloat value(getSemantics(dataType), llvm::APInt(16, bits));
  bool losesInfo;
  value.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven,
                &losesInfo);
  return value.convertToDouble();
}

static void writeFloat(int32_t dataType, double value, std::string &out) {
  auto append = [&](const auto &bits) {
    out.append(reinterpret_cast<const char *>(&bits), sizeof bits);
  };
  if (dataType == DataType::DOUBLE)
    return append(value);
  if (dataType == DataType::FLOAT)
    return append(static_cast<float>(value));
  APFloat wide(value);
  bool losesInfo;
  wide.convert(getSemantics(dataType), APFloat::rmNearestTiesToEven,
               &losesInfo);
  append(uint16_t(wide.bitcastToAPInt().getZExtValue()));
}

HostTensor HostTensor::fromBytes(int32_t dataType, ArrayRef<int64_t> dims,
                                 llvm::StringRef bytes) {
  HostTensor result(dataType, dims);
  uint64_t size = getElementBytes(dataType);
  assert(size != 0 && bytes.size() == size * result.getNumStored());
  for (int64_t i = 0, e = result.getNumStored(); i < e; ++i) {
    const char *from = bytes.data() + i * size;
    if (result.isFloat()) {
      result.floats[i] = readFloat(dataType, from);
      continue;
    }
    int64_t value = 0;
    std::memcpy(&value, from, size);
    result.ints[i] = wrapTo(dataType, value);
  }
  return result;
}

std::string HostTensor::toBytes() const {
  std::string out;
  uint64_t size = getElementBytes(dataType);
  out.reserve(size * getNumStored());
  for (int64_t i = 0, e = getNumStored(); i < e; ++i)
    if (isFloat())
      writeFloat(dataType, floats[i], out);
    else
      out.append(reinterpret_cast<const char *>(&ints[i]), size);
  return out;
}

// --- BroadcastIndex
// ------------------------------------------------------------------

BroadcastIndex::BroadcastIndex(ArrayRef<int64_t> stored,
                               ArrayRef<int64_t> space)
    : space(space), strides(space.size(), 0), position(space.size(), 0) {
  assert(stored.size() <= space.size());
  size_t shift = space.size() - stored.size();
  Dims own = getStrides(stored);
  for (size_t i = 0; i < stored.size(); ++i)
    strides[shift + i] = stored[i] == 1 ? 0 : own[i];
}

BroadcastIndex &BroadcastIndex::operator++() {
  for (size_t i = space.size(); i-- > 0;) {
    offset += strides[i];
    if (++position[i] < space[i])
      return *this;
    offset -= strides[i] * space[i];
    position[i] = 0;
  }
  return *this;
}
