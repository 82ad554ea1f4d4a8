//===- Warp.h - threads of a GPU that run in step ---------------*- C++ -*-===//
#ifndef ZC_PASSES_CODEGEN_CUDA_WARP_H
#define ZC_PASSES_CODEGEN_CUDA_WARP_H

#include <cstdint>

namespace zc::cuda {

/// The threads of a warp. They read memory in sectors of 32 bytes.
inline constexpr int64_t kWarp = 32;

} // namespace zc::cuda

#endif // ZC_PASSES_CODEGEN_CUDA_WARP_H
