// Upper bounds of the scratch memory that GPU libraries are given, as pure
// functions of a spec: the libraries choose among the algorithms that need no
// more. Links nothing.
#ifndef ZC_KERNELS_CUDA_WORKSPACE_H
#define ZC_KERNELS_CUDA_WORKSPACE_H

#include "kernels/Calls/Attention.h"
#include "kernels/Calls/Convolution.h"
#include "kernels/Calls/Matmul.h"
#include "kernels/Calls/Norm.h"

namespace zc::kernels::cuda {

/// Bytes, a multiple of 256, with those that an address that is none wastes.
uint64_t matmulWorkspaceBound(const MatmulSpec &spec);
uint64_t convolutionWorkspaceBound(const ConvolutionSpec &spec);
uint64_t attentionWorkspaceBound(const AttentionSpec &spec);
uint64_t normWorkspaceBound(const NormSpec &spec);

/// The same by the type of spec; 0 for kinds of calls that need none on GPUs.
inline uint64_t workspaceBound(const MatmulSpec &spec) {
  return matmulWorkspaceBound(spec);
}
inline uint64_t workspaceBound(const ConvolutionSpec &spec) {
  return convolutionWorkspaceBound(spec);
}
inline uint64_t workspaceBound(const AttentionSpec &spec) {
  return attentionWorkspaceBound(spec);
}
inline uint64_t workspaceBound(const NormSpec &spec) {
  return normWorkspaceBound(spec);
}
template <typename Spec> uint64_t workspaceBound(const Spec &) { return 0; }

} // namespace zc::kernels::cuda

#endif // ZC_KERNELS_CUDA_WORKSPACE_H
