// Convolutions by our own register tiles. Private to this folder.
#ifndef ZC_KERNELS_CPU_TILECONVOLUTION_H
#define ZC_KERNELS_CPU_TILECONVOLUTION_H

#include "kernels/Cpu/Primitive.h"

namespace zc::kernels {

/// A convolution or its image's gradient, or null where it is not of float32,
/// of dense channels-last images without groups, whose results have channels
/// in sixteens, or needs more than `workspaceBytes`.
std::unique_ptr<Primitive> createTileConvolution(const ConvolutionSpec &spec,
                                                 uint64_t workspaceBytes);

} // namespace zc::kernels

#endif // ZC_KERNELS_CPU_TILECONVOLUTION_H
