#include "runtime/Comm/Reduce.h"
#include "runtime/Base/Bfloat16.h"
#include "runtime/Base/Float16.h"

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

template <float (*widen)(uint16_t), uint16_t (*narrow)(float)>
void reduceNarrow(void *target, const void *source, int64_t count,
                  Reduction reduction) {
  auto *out = static_cast<uint16_t *>(target);
  auto *in = static_cast<const uint16_t *>(source);
  for (int64_t i = 0; i < count; ++i) {
    float a = widen(out[i]), b = widen(in[i]);
    out[i] = narrow(reduction == Reduction::Sum ? a + b : larger(a, b));
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
    reduceNarrow<bfloat16ToFloat, floatToBfloat16>(target, source, count,
                                                   reduction);
    return Status();
  case ElementType::F16:
    reduceNarrow<halfToFloat, floatToHalf>(target, source, count, reduction);
    return Status();
  default:
    return makeError(StatusCode::Unsupported,
                     "elements of this type cannot be reduced");
  }
}

} // namespace zc
