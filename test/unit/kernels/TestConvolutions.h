// Convolutions for the kernel tests, and what they are.
#ifndef ZC_TEST_UNIT_KERNELS_TESTCONVOLUTIONS_H
#define ZC_TEST_UNIT_KERNELS_TESTCONVOLUTIONS_H

#include "kernels/Cpu/Primitive.h"
#include "test/unit/kernels/TestTensors.h"

#include <functional>

namespace zc::kernels::test {

/// A square two-dimensional convolution.
struct Case {
  int64_t batch, channels, filters, size, kernel, stride, dilation, pad, groups;
};

inline ConvolutionSpec makeSpec(const Case &c, ConvolutionKind kind,
                                bool last) {
  int64_t out =
      (c.size + 2 * c.pad - c.dilation * (c.kernel - 1) - 1) / c.stride + 1;
  auto layout = last ? channelsLast : rowMajor;
  ConvolutionSpec spec;
  spec.kind = kind;
  spec.source = layout({c.batch, c.channels, c.size, c.size});
  spec.filter =
      rowMajor({c.filters, c.channels / c.groups, c.kernel, c.kernel});
  spec.destination = layout({c.batch, c.filters, out, out});
  spec.strides = {c.stride, c.stride};
  spec.dilations = {c.dilation, c.dilation};
  spec.padsLow = spec.padsHigh = {c.pad, c.pad};
  spec.groups = c.groups;
  return spec;
}

inline int64_t offset(const StridedTensor &t, int64_t a, int64_t b, int64_t c,
                      int64_t d) {
  return a * t.strides[0] + b * t.strides[1] + c * t.strides[2] +
         d * t.strides[3];
}

/// Calls `visit(source, filter, destination)` with the offsets of every
/// product.
inline void
forEachProduct(const ConvolutionSpec &s,
               const std::function<void(int64_t, int64_t, int64_t)> &visit) {
  const Dims &src = s.source.dims, &fil = s.filter.dims,
             &dst = s.destination.dims;
  int64_t perGroup = fil[0] / s.groups;
  for (int64_t n = 0; n < dst[0]; ++n)
    for (int64_t k = 0; k < dst[1]; ++k)
      for (int64_t y = 0; y < dst[2]; ++y)
        for (int64_t x = 0; x < dst[3]; ++x)
          for (int64_t c = 0; c < fil[1]; ++c)
            for (int64_t i = 0; i < fil[2]; ++i)
              for (int64_t j = 0; j < fil[3]; ++j) {
                int64_t h =
                    y * s.strides[0] + i * s.dilations[0] - s.padsLow[0];
                int64_t w =
                    x * s.strides[1] + j * s.dilations[1] - s.padsLow[1];
                if (h < 0 || h >= src[2] || w < 0 || w >= src[3])
                  continue;
                visit(offset(s.source, n, k / perGroup * fil[1] + c, h, w),
                      offset(s.filter, k, c, i, j),
                      offset(s.destination, n, k, y, x));
              }
}

/// The operand that a kernel computes: source 0, filter 1, destination 2.
inline size_t resultOf(const ConvolutionSpec &spec) {
  return spec.kind == ConvolutionKind::Forward         ? 2
         : spec.kind == ConvolutionKind::BackwardInput ? 0
                                                       : 1;
}

} // namespace zc::kernels::test

#endif // ZC_TEST_UNIT_KERNELS_TESTCONVOLUTIONS_H
