// Upper bounds of the scratch memory that a CPU library kernel may use, as pure
// functions of its spec: the compiler plans a workspace of this size, and
// preparing the kernel fails over to a leaner implementation, or ends with a
// message, when the library on the running machine asks for more.
// Links nothing: the compiler must not depend on the library.
#ifndef ZC_KERNELS_CPU_WORKSPACE_H
#define ZC_KERNELS_CPU_WORKSPACE_H

#include "kernels/Calls/Attention.h"
#include "kernels/Calls/Convolution.h"
#include "kernels/Calls/GroupedMatmul.h"
#include "kernels/Calls/Matmul.h"

namespace zc::kernels {

/// Bytes, a multiple of 64, enough for at most `threads` threads.
uint64_t matmulWorkspaceBound(const MatmulSpec &spec, int threads);
uint64_t convolutionWorkspaceBound(const ConvolutionSpec &spec, int threads);
uint64_t attentionWorkspaceBound(const AttentionSpec &spec, int threads);
uint64_t groupedMatmulWorkspaceBound(const GroupedMatmulSpec &spec,
                                     int threads);

/// The same by the type of spec; 0 for kinds of calls that need none on CPUs.
inline uint64_t workspaceBound(const MatmulSpec &spec, int threads) {
  return matmulWorkspaceBound(spec, threads);
}
inline uint64_t workspaceBound(const ConvolutionSpec &spec, int threads) {
  return convolutionWorkspaceBound(spec, threads);
}
inline uint64_t workspaceBound(const AttentionSpec &spec, int threads) {
  return attentionWorkspaceBound(spec, threads);
}
inline uint64_t workspaceBound(const GroupedMatmulSpec &spec, int threads) {
  return groupedMatmulWorkspaceBound(spec, threads);
}
template <typename Spec> uint64_t workspaceBound(const Spec &, int) {
  return 0;
}

} // namespace zc::kernels

#endif // ZC_KERNELS_CPU_WORKSPACE_H
