// Strided tensors for the kernel tests.
#ifndef ZC_TEST_UNIT_KERNELS_TESTTENSORS_H
#define ZC_TEST_UNIT_KERNELS_TESTTENSORS_H

#include "kernels/Spec.h"

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <gtest/gtest.h>
#include <memory>
#include <numeric>
#include <vector>

namespace zc::kernels::test {

using Dims = std::vector<int64_t>;

/// The strides of a tensor whose dims lie in memory in the given order, slowest
/// first.
inline Dims stridesInOrder(const Dims &dims, const std::vector<int> &order) {
  Dims strides(dims.size());
  int64_t stride = 1;
  for (size_t i = order.size(); i-- > 0;) {
    strides[order[i]] = stride;
    stride *= dims[order[i]];
  }
  return strides;
}

inline StridedTensor rowMajor(const Dims &dims) {
  std::vector<int> order(dims.size());
  std::iota(order.begin(), order.end(), 0);
  return {ElementType::F32, dims, stridesInOrder(dims, order)};
}

/// The last two dims swapped in memory.
inline StridedTensor transposed(const Dims &dims) {
  std::vector<int> order(dims.size());
  std::iota(order.begin(), order.end(), 0);
  std::swap(order[dims.size() - 1], order[dims.size() - 2]);
  return {ElementType::F32, dims, stridesInOrder(dims, order)};
}

/// [N, C, spatial...] with the channels fastest.
inline StridedTensor channelsLast(const Dims &dims) {
  std::vector<int> order(dims.size());
  std::iota(order.begin(), order.end(), 0);
  order.erase(order.begin() + 1);
  order.push_back(1);
  return {ElementType::F32, dims, stridesInOrder(dims, order)};
}

inline int64_t elements(const StridedTensor &tensor) {
  int64_t last = 0;
  for (size_t i = 0; i < tensor.dims.size(); ++i)
    last += (tensor.dims[i] - 1) * tensor.strides[i];
  return last + 1;
}

/// Reproducible values in [-1, 1].
inline std::vector<float> fill(const StridedTensor &tensor, uint32_t seed) {
  std::vector<float> values(elements(tensor));
  for (float &value : values) {
    seed = seed * 1664525u + 1013904223u;
    value = float(seed >> 8) / float(1 << 23) - 1.0f;
  }
  return values;
}

/// Workspace with a guard behind it, which a kernel must not touch.
class GuardedWorkspace {
public:
  explicit GuardedWorkspace(uint64_t bytes) : bytes(bytes) {
    memory.reset(static_cast<char *>(
        std::aligned_alloc(64, (bytes + kGuard + 63) / 64 * 64)));
    std::memset(memory.get() + bytes, 0x5a, kGuard);
  }
  void *get() const { return memory.get(); }
  bool intact() const {
    for (int i = 0; i < kGuard; ++i)
      if (memory.get()[bytes + i] != 0x5a)
        return false;
    return true;
  }

private:
  struct Free {
    void operator()(char *pointer) const { std::free(pointer); }
  };
  static constexpr int kGuard = 256;
  uint64_t bytes;
  std::unique_ptr<char, Free> memory;
};

/// Whether this machine has the instructions by which oneDNN multiplies
/// bfloat16 and float32 in blocks.
inline bool machineHasAvx512() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx512f");
#else
  return false;
#endif
}

constexpr int kThreads = 2;
constexpr float kTolerance = 1e-5f; // of the sum of magnitudes

} // namespace zc::kernels::test

#endif // ZC_TEST_UNIT_KERNELS_TESTTENSORS_H
