// Convolutions and poolings of the fake of cuDNN.
#ifndef ZC_TEST_UNIT_RUNTIME_DEVICE_CUDA_FAKEDNNIMAGES_H
#define ZC_TEST_UNIT_RUNTIME_DEVICE_CUDA_FAKEDNNIMAGES_H

#include "test/unit/runtime/Device/Cuda/FakeArray.h"

#include <cudnn_graph.h>
#include <vector>

namespace zc::test {

/// A tensor in memory.
struct Image {
  std::vector<int64_t> dims, strides;
  Array array;

  int64_t place(const std::vector<int64_t> &index) const {
    int64_t offset = 0;
    for (size_t i = 0; i < dims.size(); ++i)
      offset += index[i] * strides[i];
    return offset;
  }
  int64_t numElements() const {
    int64_t count = 1;
    for (int64_t dim : dims)
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
};

/// Windows over the spatial dims; `padsHigh` only bounds the result's size.
struct Windows {
  std::vector<int64_t> sizes, padsLow, padsHigh, strides, dilations;

  /// Whether images of `x` have windows as many as `y` has elements.
  bool fit(const std::vector<int64_t> &x, const std::vector<int64_t> &y) const;
};

/// `op`: a convolution's descriptor type, which says which tensor is computed;
/// `beta` times what it holds is added.
struct Convolution {
  cudnnBackendDescriptorType_t op;
  Windows windows;
  Image source, filter, destination;
  double beta;

  bool isSound() const;
  void run() const;

private:
  template <typename F> void forEach(F visit) const;
};

/// The largest of each window's elements, a NaN if there is one; their average;
/// or from the gradient of the latter that of the image.
struct Pooling {
  cudnnResampleMode_t mode;
  bool isGradient;
  Windows windows;
  Image image, pooled;

  bool isSound() const;
  void run() const;

private:
  /// Where the elements lie that the window at a place has on the image.
  std::vector<int64_t> elementsAt(const std::vector<int64_t> &place) const;
  double divisor(size_t elements) const;
  double largest(const std::vector<int64_t> &elements) const;
  void runGradient() const;
};

} // namespace zc::test

#endif // ZC_TEST_UNIT_RUNTIME_DEVICE_CUDA_FAKEDNNIMAGES_H
