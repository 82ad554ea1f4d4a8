// Tensors as library kernels take them, in plain values. A kernel's spec is in
// the room of its kind of call (kernels/Calls): the compiler bounds the
// kernel's workspace from it, the runtime creates the kernel from the same one.
#ifndef ZC_KERNELS_SPEC_H
#define ZC_KERNELS_SPEC_H

#include <cstdint>
#include <vector>

namespace zc::kernels {

enum class ElementType : uint8_t {
  F32,
  F64,
  F16,
  BF16,
  Bool,
  I8,
  U8,
  I16,
  U16,
  I32,
  U32,
  I64,
  U64,
};

/// Bytes of one element.
inline int64_t elementBytes(ElementType type) {
  switch (type) {
  case ElementType::F64:
  case ElementType::I64:
  case ElementType::U64:
    return 8;
  case ElementType::F32:
  case ElementType::I32:
  case ElementType::U32:
    return 4;
  case ElementType::F16:
  case ElementType::BF16:
  case ElementType::I16:
  case ElementType::U16:
    return 2;
  case ElementType::Bool:
  case ElementType::I8:
  case ElementType::U8:
    return 1;
  }
  return 0;
}

/// A tensor seen through strides, which count elements as dims do.
struct StridedTensor {
  ElementType type = ElementType::F32;
  std::vector<int64_t> dims;
  std::vector<int64_t> strides;
};

} // namespace zc::kernels

#endif // ZC_KERNELS_SPEC_H
