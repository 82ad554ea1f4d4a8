// A stand-in for cuDNN's pooling, which computes what it is asked for and
// refuses what the documentation does.
#include "test/unit/runtime/Device/Cuda/FakeDnnTensor.h"
#include "test/unit/runtime/Device/Cuda/FakeDriver.h"

#include <cmath>
#include <cstdlib>
#include <limits>

using namespace zc::test;

namespace {

struct Pooling {
  std::vector<int> window, pads, strides;
};

struct Pool {
  Pooling pooling;
  Tensor x, y;
  Array source, destination;
  double alpha, beta;

  /// The largest of the window's elements that are on the image; a NaN is.
  double largest(const std::vector<int64_t> &place) const {
    double result = -std::numeric_limits<double>::infinity();
    Tensor window = {pooling.window, {}, Type::F32};
    for (int64_t linear = 0; linear < window.numElements(); ++linear) {
      std::vector<int64_t> index = place, tap = window.indexOf(linear);
      bool inside = true;
      for (size_t i = 0; i < tap.size(); ++i) {
        int64_t pixel =
            place[i + 2] * pooling.strides[i] - pooling.pads[i] + tap[i];
        inside = inside && pixel >= 0 && pixel < x.dims[i + 2];
        index[i + 2] = pixel;
      }
      if (!inside)
        continue;
      double value = source.get(x.place(index));
      if (value > result || std::isnan(value))
        result = value;
      if (std::isnan(value))
        return result;
    }
    return result;
  }

  void run() const {
    for (int64_t linear = 0; linear < y.numElements(); ++linear) {
      std::vector<int64_t> place = y.indexOf(linear);
      int64_t at = y.place(place);
      destination.set(at, alpha * largest(place) +
                              (beta == 0 ? 0 : beta * destination.get(at)));
    }
  }

  /// The sizes that the library gives the result.
  bool isSound() const {
    size_t spatial = x.dims.size() - 2;
    if (x.dims.size() != y.dims.size() || spatial != pooling.window.size() ||
        spatial < 2 || spatial > 3 || x.type != y.type ||
        x.dims[0] != y.dims[0] || x.dims[1] != y.dims[1])
      return false;
    for (size_t i = 0; i < spatial; ++i) {
      int reach = x.dims[i + 2] + 2 * pooling.pads[i] - pooling.window[i];
      if (reach < 0 || reach / pooling.strides[i] + 1 != y.dims[i + 2])
        return false;
    }
    return true;
  }
};

} // namespace

extern "C" {

cudnnStatus_t cudnnCreatePoolingDescriptor(cudnnPoolingDescriptor_t *pooling) {
  *pooling = reinterpret_cast<cudnnPoolingDescriptor_t>(new Pooling);
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnDestroyPoolingDescriptor(cudnnPoolingDescriptor_t pooling) {
  delete &object<Pooling>(pooling);
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSetPoolingNdDescriptor(cudnnPoolingDescriptor_t pooling,
                                          cudnnPoolingMode_t mode,
                                          cudnnNanPropagation_t nan, int rank,
                                          const int *window, const int *pads,
                                          const int *strides) {
  if (std::getenv("ZC_FAKE_CUDNN_NO_POOLING") || mode != CUDNN_POOLING_MAX ||
      nan != CUDNN_PROPAGATE_NAN)
    return CUDNN_STATUS_NOT_SUPPORTED;
  object<Pooling>(pooling) = {
      {window, window + rank}, {pads, pads + rank}, {strides, strides + rank}};
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnPoolingForward(cudnnHandle_t,
                                  cudnnPoolingDescriptor_t pooling,
                                  const void *alpha, cudnnTensorDescriptor_t x,
                                  const void *source, const void *beta,
                                  cudnnTensorDescriptor_t y,
                                  void *destination) {
  Pool pool = {object<Pooling>(pooling),
               object<Tensor>(x),
               object<Tensor>(y),
               arrayOf(object<Tensor>(x).type, source),
               arrayOf(object<Tensor>(y).type, destination),
               *static_cast<const float *>(alpha),
               *static_cast<const float *>(beta)};
  if (!pool.isSound())
    return CUDNN_STATUS_BAD_PARAM;
  enqueueFake(dnnStream(),
              "cudnnPoolingForward " + pool.x.print() + " -> " + pool.y.print(),
              [=] { pool.run(); });
  return CUDNN_STATUS_SUCCESS;
}

} // extern "C"
