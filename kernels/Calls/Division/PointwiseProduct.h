// Decides which convolutions are matrix products. This header links nothing.
#ifndef ZC_KERNELS_CALLS_DIVISION_POINTWISEPRODUCT_H
#define ZC_KERNELS_CALLS_DIVISION_POINTWISEPRODUCT_H

#include "kernels/Calls/Convolution.h"
#include "kernels/Calls/Matmul.h"

#include <optional>

namespace zc::kernels {

/// Whether [N, C, spatial...] lies densely in memory with the channels fastest.
bool isDenseChannelsLast(const StridedTensor &image);

/// Whether the dims lie densely in memory, the last fastest.
bool isDense(const StridedTensor &tensor);

/// The product over [pixels, channels] that a convolution of float32 with one
/// tap, without groups, strides and pads, or its source's gradient is.
std::optional<MatmulSpec> pointwiseProduct(const ConvolutionSpec &spec);

} // namespace zc::kernels

#endif // ZC_KERNELS_CALLS_DIVISION_POINTWISEPRODUCT_H
