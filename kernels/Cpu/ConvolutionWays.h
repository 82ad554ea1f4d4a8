// Ways to compute a convolution other than the library's convolutions. Private
// to this folder.
#ifndef ZC_KERNELS_CPU_CONVOLUTIONWAYS_H
#define ZC_KERNELS_CPU_CONVOLUTIONWAYS_H

#include "kernels/Cpu/Primitive.h"

namespace zc::kernels {

/// A filter's gradient as a product by tiles, or null where that cannot be,
/// needs more than `workspaceBytes`, or wants vectors that are not there;
/// `ifQuicker`: or where the rule says that the library is quicker.
std::unique_ptr<Primitive> createFilterGradient(const ConvolutionSpec &spec,
                                                uint64_t workspaceBytes,
                                                bool ifQuicker);

/// Whether the rule takes convolutions of one tap of this kind as products.
bool pointwiseByProduct(ConvolutionKind kind);

/// A convolution of one tap as a matmul by that way, or null where it is none
/// or its matmul needs more than `workspaceBytes`.
std::unique_ptr<Primitive>
createPointwiseConvolution(const ConvolutionSpec &spec, uint64_t workspaceBytes,
                           Way way);

/// By Winograd's minimal filtering, or null where that cannot be (Winograd.h),
/// needs more than `workspaceBytes`, or wants vectors that are not there.
std::unique_ptr<Primitive> createWinograd(const ConvolutionSpec &spec,
                                          uint64_t workspaceBytes);

/// Sizes, steps and pads of a convolution over two dims, as the structs that
/// tiles are told by hold them.
template <typename Images>
void setGeometry(const ConvolutionSpec &spec, Images &images) {
  for (int i = 0; i < 2; ++i) {
    images.sourceSize[i] = spec.source.dims[2 + i];
    images.destinationSize[i] = spec.destination.dims[2 + i];
    images.kernelSize[i] = spec.filter.dims[2 + i];
    images.stride[i] = spec.strides[i];
    images.dilation[i] = spec.dilations[i];
    images.pad[i] = spec.padsLow[i];
  }
}

} // namespace zc::kernels

#endif // ZC_KERNELS_CPU_CONVOLUTIONWAYS_H
