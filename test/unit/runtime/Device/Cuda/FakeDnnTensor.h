// What the fakes of cuDNN's calls share: a tensor's descriptor.
#ifndef ZC_TEST_UNIT_RUNTIME_DEVICE_CUDA_FAKEDNNTENSOR_H
#define ZC_TEST_UNIT_RUNTIME_DEVICE_CUDA_FAKEDNNTENSOR_H

#include "test/unit/runtime/Device/Cuda/FakeArray.h"

#include <cudnn.h>
#include <string>
#include <vector>

namespace zc::test {

/// Behind a cudnnTensorDescriptor_t and a cudnnFilterDescriptor_t.
struct Tensor {
  std::vector<int> dims, strides;
  Type type = Type::F32;

  int64_t place(const std::vector<int64_t> &index) const {
    int64_t offset = 0;
    for (size_t i = 0; i < dims.size(); ++i)
      offset += index[i] * strides[i];
    return offset;
  }

  int64_t numElements() const {
    int64_t count = 1;
    for (int dim : dims)
      count *= dim;
    return count;
  }

  /// The indices of the element `linear` of all in row-major order.
  std::vector<int64_t> indexOf(int64_t linear) const {
    std::vector<int64_t> index(dims.size());
    for (size_t i = dims.size(); i > 0; --i) {
      index[i - 1] = linear % dims[i - 1];
      linear /= dims[i - 1];
    }
    return index;
  }

  /// "[2,3,4,4]@48,1,12,3", as a line of the calls has it.
  std::string print() const {
    std::string text = "[";
    for (size_t i = 0; i < dims.size(); ++i)
      text += (i ? "," : "") + std::to_string(dims[i]);
    text += "]@";
    for (size_t i = 0; i < strides.size(); ++i)
      text += (i ? "," : "") + std::to_string(strides[i]);
    return text;
  }
};

inline Type typeOf(cudnnDataType_t type) {
  return type == CUDNN_DATA_BFLOAT16 ? Type::BF16
         : type == CUDNN_DATA_HALF   ? Type::F16
                                     : Type::F32;
}

template <typename T, typename Handle> T &object(Handle handle) {
  return *reinterpret_cast<T *>(handle);
}

} // namespace zc::test

#endif // ZC_TEST_UNIT_RUNTIME_DEVICE_CUDA_FAKEDNNTENSOR_H
