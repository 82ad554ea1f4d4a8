// The classes of a histogram of gradients' magnitudes.
#ifndef ZC_RUNTIME_PLAN_GRADIENTEDGES_H
#define ZC_RUNTIME_PLAN_GRADIENTEDGES_H

namespace zc {

/// Exponents of the powers of two at which it is cut. Below the first,
/// float32's least number, are zeros alone; float16's least number is 2^-24.
inline constexpr int kGradientEdges[] = {-149, -40, -36, -32, -28, -24, -20,
                                         -16,  -12, -8,  -4,  0,   4};

} // namespace zc

#endif // ZC_RUNTIME_PLAN_GRADIENTEDGES_H
