// Convolutions by our own register tiles. Private to this folder.
#ifndef ZC_KERNELS_CPU_TILECONVOLUTION_H
#define ZC_KERNELS_CPU_TILECONVOLUTION_H

#include "kernels/Cpu/Primitive.h"

namespace zc::kernels {

/// Whether it is a convolution or an image's gradient, of float32, of dense
/// channels-last images without groups, whose results have channels in
/// sixteens.
bool mayTileConvolution(const ConvolutionSpec &spec);

/// Null where tiles don't take it or it needs more than `workspaceBytes`.
std::unique_ptr<Primitive> createTileConvolution(const ConvolutionSpec &spec,
                                                 uint64_t workspaceBytes);

} // namespace zc::kernels

#endif // ZC_KERNELS_CPU_TILECONVOLUTION_H
