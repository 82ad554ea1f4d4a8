// Ways to compute a convolution other than the library's convolutions. Private
// to this folder.
#ifndef ZC_KERNELS_CPU_CONVOLUTIONWAYS_H
#define ZC_KERNELS_CPU_CONVOLUTIONWAYS_H

#include "kernels/Cpu/Primitive.h"

namespace zc::kernels {

/// A filter's gradient as a product by tiles, or null where that is not the
/// way, needs more than `workspaceBytes`, or wants vectors that are not there.
std::unique_ptr<Primitive> createFilterGradient(const ConvolutionSpec &spec,
                                                uint64_t workspaceBytes);

/// A convolution of one tap as a matmul, or null where it is none or its
/// matmul needs more than `workspaceBytes`.
std::unique_ptr<Primitive>
createPointwiseConvolution(const ConvolutionSpec &spec,
                           uint64_t workspaceBytes);

} // namespace zc::kernels

#endif // ZC_KERNELS_CPU_CONVOLUTIONWAYS_H
