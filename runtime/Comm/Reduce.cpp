#include "runtime/Comm/Reduce.h"

#include <algorithm>
#include <cstring>

namespace zc {
namespace {

template <typename T>
void reduceElements(void *target, const void *source, int64_t count,
                    Reduction reduction) {
  T *out = static_cast<T *>(target);
  const T *in = static_cast<const T *>(source);
  if (reduction == Reduction::Sum)
    for (int64_t i = 0; i < count; ++i)
      out[i] += in[i];
  else
    for (int64_t i = 0; i < count; ++i)
      out[i] = std::max(out[i], in[i]);
}

float widen(uint16_t bits) {
  uint32_t wide = uint32_t(bits) << 16;
  float value;
  std::memcpy(&value, &wide, sizeof(value));
  return value;
}

uint16_t narrow(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  if (value != value)
    return static_cast<uint16_t>((bits >> 16) | 0x40);
  bits += 0x7fff + ((bits >> 16) & 1); // to nearest, ties to even
  return static_cast<uint16_t>(bits >> 16);
}

void reduceBfloat16(void *target, const void *source, int64_t count,
                    Reduction reduction) {
  auto *out = static_cast<uint16_t *>(target);
  auto *in = static_cast<const uint16_t *>(source);
  for (int64_t i = 0; i < count; ++i) {
    float a = widen(out[i]), b = widen(in[i]);
    out[i] = narrow(reduction == Reduction::Sum ? a + b : std::max(a, b));
  }
}

} // namespace

Status reduceInto(void *target, const void *source, int64_t count,
                  ElementType type, Reduction reduction) {
  switch (type) {
  case ElementType::F32:
    reduceElements<float>(target, source, count, reduction);
    return Status();
  case ElementType::F64:
    reduceElements<double>(target, source, count, reduction);
    return Status();
  case ElementType::I32:
    reduceElements<int32_t>(target, source, count, reduction);
    return Status();
  case ElementType::I64:
    reduceElements<int64_t>(target, source, count, reduction);
    return Status();
  case ElementType::BF16:
    reduceBfloat16(target, source, count, reduction);
    return Status();
  default:
    return makeError(StatusCode::Unsupported,
                     "elements of this type cannot be reduced");
  }
}

} // namespace zc
