#include "runtime/Comm/Reduce.h"
#include "runtime/Base/Bfloat16.h"

namespace zc {
namespace {

/// NaN is larger than anything, whichever side it comes from: a rank's failure
/// must reach all.
template <typename T> T larger(T a, T b) { return b > a || b != b ? b : a; }

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
      out[i] = larger(out[i], in[i]);
}

void reduceBfloat16(void *target, const void *source, int64_t count,
                    Reduction reduction) {
  auto *out = static_cast<uint16_t *>(target);
  auto *in = static_cast<const uint16_t *>(source);
  for (int64_t i = 0; i < count; ++i) {
    float a = bfloat16ToFloat(out[i]), b = bfloat16ToFloat(in[i]);
    out[i] =
        floatToBfloat16(reduction == Reduction::Sum ? a + b : larger(a, b));
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
