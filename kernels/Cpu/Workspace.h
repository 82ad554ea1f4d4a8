// Upper bounds of the scratch memory that a CPU library kernel may use, as pure
// functions of its spec: the compiler plans a workspace of this size, and
// preparing the kernel fails over to a leaner implementation, or ends with a
// message, when the library on the running machine asks for more.
// Links nothing: the compiler must not depend on the library.
#ifndef ZC_KERNELS_CPU_WORKSPACE_H
#define ZC_KERNELS_CPU_WORKSPACE_H

#include "kernels/Spec.h"

namespace zc::kernels {

/// Bytes, a multiple of 64, enough for at most `threads` threads.
uint64_t matmulWorkspaceBound(const MatmulSpec &spec, int threads);
uint64_t convolutionWorkspaceBound(const ConvolutionSpec &spec, int threads);
uint64_t attentionWorkspaceBound(const AttentionSpec &spec, int threads);
uint64_t groupedMatmulWorkspaceBound(const GroupedMatmulSpec &spec,
                                     int threads);

} // namespace zc::kernels

#endif // ZC_KERNELS_CPU_WORKSPACE_H
