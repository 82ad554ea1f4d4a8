// Convolutions of dense channels-last float32 images, and their images'
// gradients, by our own register tiles: a sum of one product a tap, of rows of
// pixels as they lie. For processors that the library has no vectors for.
#ifndef ZC_KERNELS_CPU_CONVOLUTIONTILES_H
#define ZC_KERNELS_CPU_CONVOLUTIONTILES_H

#include <cstdint>

namespace zc::kernels {

/// Images [batch, height, width, channels]: the source and the destination of
/// the convolution, of which one is read and the other is the result. Index 0
/// is vertical, 1 horizontal.
struct ConvolutionImages {
  const float *read;
  float *result;
  int64_t readChannels, resultChannels;
  int64_t sourceSize[2], destinationSize[2], kernelSize[2];
  int64_t stride[2], dilation[2], pad[2];
  bool backward; // the result is the source's gradient
};

/// Some rows of the result, counted over all images.
struct ConvolutionTilesTask {
  ConvolutionImages images;
  const float *filter; // [taps, readChannels, resultChannels]
  int64_t begin, end;
};

/// The function of one instruction set.
using ConvolutionTilesFunction = void (*)(const ConvolutionTilesTask &);

namespace baseline {
ConvolutionTilesFunction convolutionTilesFunction();
}
namespace avx2 {
ConvolutionTilesFunction convolutionTilesFunction();
}
namespace avx512 {
ConvolutionTilesFunction convolutionTilesFunction();
}

} // namespace zc::kernels

#endif // ZC_KERNELS_CPU_CONVOLUTIONTILES_H
