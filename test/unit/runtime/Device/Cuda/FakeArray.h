// Numbers of one type in the memory of the fake GPU.
#ifndef ZC_TEST_UNIT_RUNTIME_DEVICE_CUDA_FAKEARRAY_H
#define ZC_TEST_UNIT_RUNTIME_DEVICE_CUDA_FAKEARRAY_H

#include "test/unit/runtime/Device/Cuda/PtxValues.h"

#include <cstdint>

namespace zc::test {

enum class Type { F32, BF16, F16 };

/// Numbers of one type in memory.
struct Array {
  Type type = Type::F32;
  char *memory = nullptr;

  double get(int64_t index) const {
    switch (type) {
    case Type::BF16:
      return float(reinterpret_cast<const BFloat16 *>(memory)[index]);
    case Type::F16:
      return float(reinterpret_cast<const Half *>(memory)[index]);
    default:
      return reinterpret_cast<const float *>(memory)[index];
    }
  }
  void set(int64_t index, double value) const {
    switch (type) {
    case Type::BF16:
      reinterpret_cast<BFloat16 *>(memory)[index] = BFloat16(value);
      break;
    case Type::F16:
      reinterpret_cast<Half *>(memory)[index] = Half(value);
      break;
    default:
      reinterpret_cast<float *>(memory)[index] = float(value);
    }
  }
};

inline Array arrayOf(Type type, const void *memory) {
  return {type, static_cast<char *>(const_cast<void *>(memory))};
}

} // namespace zc::test

#endif // ZC_TEST_UNIT_RUNTIME_DEVICE_CUDA_FAKEARRAY_H
