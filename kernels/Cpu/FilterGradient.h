// The gradient of a convolution's filter as one long product over the pixels of
// its destination, for the cases in which the library is slow on channels-last
// images: few products per pixel (one tap) or pixels far apart (strides).
#ifndef ZC_KERNELS_CPU_FILTERGRADIENT_H
#define ZC_KERNELS_CPU_FILTERGRADIENT_H

#include "kernels/Calls/Division/FilterGradientSplit.h"

namespace zc::kernels {

/// Images [batch, height, width, channels] and how a destination's pixel finds
/// the source's pixel of a tap. Index 0 is vertical, 1 horizontal.
struct FilterGradientImages {
  const float *source, *destination;
  int64_t channels, filters;
  int64_t sourceSize[2], destinationSize[2], kernelSize[2];
  int64_t stride[2], dilation[2], pad[2];
};

/// The part of one task. Results are rows of `resultRow` floats, of which the
/// task writes its own rows and panels.
struct FilterGradientTask {
  FilterGradientImages images;
  FilterGradientShape shape;
  int64_t depthBegin, depthEnd, rowBegin, rowEnd, panelBegin, panelEnd;
  float *result;
  int64_t resultRow;
  float *scratch; // 64-byte aligned
};

/// Sums the parts of filters [begin, end) into the gradient [filters, channels,
/// taps].
struct FilterGradientSum {
  const float *parts;
  int64_t count; // of parts, each rows * columns floats
  FilterGradientShape shape;
  int64_t begin, end;
  float *gradient;
};

/// The functions of one instruction set.
struct FilterGradientFunctions {
  void (*multiply)(const FilterGradientTask &);
  void (*sum)(const FilterGradientSum &);
};

namespace baseline {
FilterGradientFunctions filterGradientFunctions();
}
namespace avx2 {
FilterGradientFunctions filterGradientFunctions();
}
namespace avx512 {
FilterGradientFunctions filterGradientFunctions();
}

} // namespace zc::kernels

#endif // ZC_KERNELS_CPU_FILTERGRADIENT_H
