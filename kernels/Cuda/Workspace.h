// Upper bounds of the scratch memory that GPU libraries are given, as pure
// functions of a spec: the libraries choose among the algorithms that need no
// more. Links nothing.
#ifndef ZC_KERNELS_CUDA_WORKSPACE_H
#define ZC_KERNELS_CUDA_WORKSPACE_H

#include "kernels/Spec.h"

namespace zc::kernels::cuda {

/// Bytes, a multiple of 256, with those that an address that is none wastes.
uint64_t matmulWorkspaceBound(const MatmulSpec &spec);
uint64_t convolutionWorkspaceBound(const ConvolutionSpec &spec);
uint64_t attentionWorkspaceBound(const AttentionSpec &spec);
uint64_t normWorkspaceBound(const NormSpec &spec);

} // namespace zc::kernels::cuda

#endif // ZC_KERNELS_CUDA_WORKSPACE_H
