//===- Float8Step.h - sizes of products of 8-bit floats ---------*- C++ -*-===//
#ifndef ZC_PASSES_PRECISION_FLOAT8STEP_H
#define ZC_PASSES_PRECISION_FLOAT8STEP_H

#include <cstdint>

namespace zc {

/// M, K and N of matrices of 8-bit floats are multiples of it (cuBLAS: 16
/// bytes).
inline constexpr int64_t kFloat8Step = 16;

} // namespace zc

#endif // ZC_PASSES_PRECISION_FLOAT8STEP_H
