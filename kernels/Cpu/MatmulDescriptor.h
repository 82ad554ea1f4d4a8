// What the ways to multiply matrices share. Private to this folder.
#ifndef ZC_KERNELS_CPU_MATMULDESCRIPTOR_H
#define ZC_KERNELS_CPU_MATMULDESCRIPTOR_H

#include "kernels/Cpu/OneDnn.h"
#include "kernels/Cpu/Primitive.h"

namespace zc::kernels::onednn {

/// The library's product of `spec`, with scratch memory from us; with `anyB` in
/// whatever layout of b it likes best. `operations` outlives the result. Throws
/// dnnl::error where there is none.
dnnl::matmul::primitive_desc describeMatmul(const MatmulSpec &spec, bool anyB,
                                            KeptOperations &operations);

/// The product with b copied, `rows` of its rows at a time, into the layout
/// that the library likes best, or null where it likes b as it lies or needs
/// more than `workspaceBytes`.
std::unique_ptr<Primitive> createPackedMatmul(const MatmulSpec &spec,
                                              int64_t rows,
                                              uint64_t workspaceBytes);

} // namespace zc::kernels::onednn

#endif // ZC_KERNELS_CPU_MATMULDESCRIPTOR_H
