#include "runtime/Io/Convert.h"
#include "runtime/Base/Bfloat16.h"
#include "runtime/Base/Float16.h"
#include "runtime/Plan/Types.h"

#include <cmath>
#include <cstring>

namespace zc {
namespace {

struct Half {
  uint16_t bits;
};
struct Bfloat16 {
  uint16_t bits;
};

template <typename T> T loadAt(const char *data, int64_t index) {
  T value;
  std::memcpy(&value, data + index * int64_t(sizeof(T)), sizeof(T));
  return value;
}

template <typename T> void storeAt(char *data, int64_t index, T value) {
  std::memcpy(data + index * int64_t(sizeof(T)), &value, sizeof(T));
}

template <typename From, typename To>
int64_t convertIntegers(const char *source, char *target, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    From value = loadAt<From>(source, i);
    To converted = static_cast<To>(value);
    if (static_cast<From>(converted) != value ||
        (value < From(0)) != (converted < To(0)))
      return i;
    storeAt(target, i, converted);
  }
  return count;
}

template <typename From> auto widen(From value) { return value; }
float widen(Half value) { return halfToFloat(value.bits); }

template <typename From, typename To>
int64_t convertFloats(const char *source, char *target, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    auto value = widen(loadAt<From>(source, i));
    if constexpr (std::is_same_v<To, Bfloat16>)
      storeAt(target, i, floatToBfloat16(static_cast<float>(value)));
    else
      storeAt(target, i, static_cast<To>(value));
    if constexpr (sizeof(value) > sizeof(To) && !std::is_same_v<To, Bfloat16>)
      if (std::isfinite(value) && !std::isfinite(static_cast<To>(value)))
        return i;
  }
  return count;
}

template <size_t bytes>
int64_t copyElements(const char *source, char *target, int64_t count) {
  std::memcpy(target, source, static_cast<size_t>(count) * bytes);
  return count;
}

int64_t convertBools(const char *source, char *target, int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    target[i] = source[i] != 0;
  return count;
}

template <typename To> Converter fromInteger(const NpyArray &array) {
  if (array.kind == 'f' || array.kind == 'b')
    return nullptr;
  bool isSigned = array.kind == 'i';
  switch (array.itemSize) {
  case 1:
    return isSigned ? convertIntegers<int8_t, To>
                    : convertIntegers<uint8_t, To>;
  case 2:
    return isSigned ? convertIntegers<int16_t, To>
                    : convertIntegers<uint16_t, To>;
  case 4:
    return isSigned ? convertIntegers<int32_t, To>
                    : convertIntegers<uint32_t, To>;
  default:
    return isSigned ? convertIntegers<int64_t, To>
                    : convertIntegers<uint64_t, To>;
  }
}

template <typename To> Converter fromFloat(const NpyArray &array) {
  if (array.kind != 'f')
    return nullptr;
  switch (array.itemSize) {
  case 2:
    return convertFloats<Half, To>;
  case 4:
    return convertFloats<float, To>;
  default:
    return sizeof(To) == sizeof(double) ? convertFloats<double, To> : nullptr;
  }
}

/// A float is finite unless all bits of its exponent are set.
template <typename Bits>
bool hasNonFinite(std::string_view bytes, Bits exponent) {
  bool found = false;
  for (size_t at = 0; at < bytes.size(); at += sizeof(Bits)) {
    Bits bits;
    std::memcpy(&bits, bytes.data() + at, sizeof(bits));
    found |= (bits & exponent) == exponent;
  }
  return found;
}

/// Labels that count or that say yes and no, as numbers.
template <typename From, typename To>
int64_t convertNumbers(const char *source, char *target, int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    storeAt(target, i, static_cast<To>(loadAt<From>(source, i)));
  return count;
}

template <typename To> Converter fromLabel(const NpyArray &array) {
  const bool isSigned = array.kind == 'i';
  if (array.kind == 'b')
    return convertNumbers<uint8_t, To>;
  if (array.kind != 'i' && array.kind != 'u')
    return nullptr;
  switch (array.itemSize) {
  case 1:
    return isSigned ? convertNumbers<int8_t, To> : convertNumbers<uint8_t, To>;
  case 2:
    return isSigned ? convertNumbers<int16_t, To>
                    : convertNumbers<uint16_t, To>;
  case 4:
    return isSigned ? convertNumbers<int32_t, To>
                    : convertNumbers<uint32_t, To>;
  default:
    return isSigned ? convertNumbers<int64_t, To>
                    : convertNumbers<uint64_t, To>;
  }
}

} // namespace

Converter findMeantConverter(const NpyArray &array, plan::DataType target,
                             bool isLabel) {
  if (array.kind == 'f' && array.itemSize == 8 && target == plan::F32)
    return convertFloats<double, float>;
  if (!isLabel)
    return nullptr;
  if (target == plan::F32)
    return fromLabel<float>(array);
  if (target == plan::F64)
    return fromLabel<double>(array);
  if (array.kind == 'b' && target == plan::I64)
    return fromLabel<int64_t>(array);
  if (array.kind == 'b' && target == plan::I32)
    return fromLabel<int32_t>(array);
  return nullptr;
}

NpyArray describeElements(plan::DataType type) {
  NpyArray array;
  array.itemSize = int(elementBytes(type));
  switch (type) {
  case plan::F32:
  case plan::F64:
  case plan::F16:
    array.kind = 'f';
    break;
  case plan::BOOL:
    array.kind = 'b';
    break;
  case plan::U8:
  case plan::U16:
  case plan::U32:
  case plan::U64:
    array.kind = 'u';
    break;
  case plan::BF16: // NumPy has none
    array.itemSize = 0;
    break;
  default:
    array.kind = 'i';
    break;
  }
  return array;
}

bool allFinite(plan::DataType type, std::string_view bytes) {
  switch (type) {
  case plan::F32:
    return !hasNonFinite<uint32_t>(bytes, 0x7f800000);
  case plan::F64:
    return !hasNonFinite<uint64_t>(bytes, 0x7ff0000000000000);
  case plan::F16:
    return !hasNonFinite<uint16_t>(bytes, 0x7c00);
  case plan::BF16:
    return !hasNonFinite<uint16_t>(bytes, 0x7f80);
  default:
    return true;
  }
}

Converter findConverter(const NpyArray &array, plan::DataType target) {
  switch (target) {
  case plan::I8:
    return fromInteger<int8_t>(array);
  case plan::U8:
    return fromInteger<uint8_t>(array);
  case plan::I16:
    return fromInteger<int16_t>(array);
  case plan::U16:
    return fromInteger<uint16_t>(array);
  case plan::I32:
    return fromInteger<int32_t>(array);
  case plan::U32:
    return fromInteger<uint32_t>(array);
  case plan::I64:
    return fromInteger<int64_t>(array);
  case plan::U64:
    return fromInteger<uint64_t>(array);
  case plan::F32:
    return fromFloat<float>(array);
  case plan::F64:
    return fromFloat<double>(array);
  case plan::BF16:
    return fromFloat<Bfloat16>(array);
  case plan::F16:
    return array.kind == 'f' && array.itemSize == 2 ? copyElements<2> : nullptr;
  case plan::BOOL:
    return array.kind == 'b' ? convertBools : nullptr;
  default:
    return nullptr;
  }
}

int64_t integerAt(const char *data, plan::DataType type, int64_t index) {
  switch (type) {
  case plan::I8:
    return loadAt<int8_t>(data, index);
  case plan::U8:
    return loadAt<uint8_t>(data, index);
  case plan::I16:
    return loadAt<int16_t>(data, index);
  case plan::U16:
    return loadAt<uint16_t>(data, index);
  case plan::I32:
    return loadAt<int32_t>(data, index);
  case plan::U32:
    return loadAt<uint32_t>(data, index);
  case plan::U64: {
    uint64_t value = loadAt<uint64_t>(data, index);
    return value > uint64_t(INT64_MAX) ? INT64_MAX : int64_t(value);
  }
  default:
    assert(type == plan::I64 && "only integers have integer elements");
    return loadAt<int64_t>(data, index);
  }
}

} // namespace zc
